"""Event definitions over HTTP.

source: capture.md section 7
"""

from datetime import datetime
from uuid import UUID

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from msgspec import Struct

from fanion.db.engine import Records
from fanion.errors import NotFound
from fanion.events.definitions_store import EventDefinition, definition, definitions
from fanion.projects.model import UserSummary
from fanion.projects.request import ManagementRequest, scoped
from fanion.rest.page import Paged


class EventDefinitionBody(Struct, kw_only=True):
    id: UUID
    name: str
    created_at: datetime | None
    last_seen_at: datetime | None
    last_updated_at: datetime | None
    tags: list[str]
    is_action: bool
    action_id: int | None
    is_calculating: bool
    last_calculated_at: datetime | None
    created_by: UserSummary | None
    post_to_chat: bool


class EventDefinitionsApi(Controller):
    path = "/api/projects/{project_id:str}/event_definitions"
    tags = ("Event definitions",)
    opt = scoped("event_definition")

    @get("/", summary="List event definitions")
    async def definitions(
        self, request: ManagementRequest, records: NamedDependency[Records]
    ) -> Paged[EventDefinitionBody]:
        """Those seen on the latest day first, then by name."""
        page = request.page
        async with records.read() as connection:
            count, found = await definitions(
                connection, request.project.id, page.limit, page.offset
            )
        return page.of([_shown(one) for one in found], count)

    @get("/{definition_id:str}", summary="Retrieve an event definition")
    async def definition(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        records: NamedDependency[Records],
    ) -> EventDefinitionBody:
        async with records.read() as connection:
            found = await definition(connection, request.project.id, definition_id)
        if found is None:
            raise NotFound
        return _shown(found)


def _shown(found: EventDefinition) -> EventDefinitionBody:
    return EventDefinitionBody(
        id=found.id,
        name=found.name,
        created_at=found.created_at,
        last_seen_at=found.last_seen_at,
        last_updated_at=found.last_updated_at,
        tags=found.tags,
        is_action=False,
        action_id=None,
        is_calculating=False,
        last_calculated_at=None,
        created_by=None,
        post_to_chat=found.post_to_chat,
    )
