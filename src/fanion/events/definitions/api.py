"""Event definitions over HTTP.

Source: api.md, "Event definitions"; capture.md section 7.
"""

from typing import Annotated
from uuid import UUID

from litestar import Controller, delete, get, patch, put
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody

from fanion.events.definitions.details import DetailQuery, Marks, read_hidden
from fanion.events.definitions.model import (
    EVENT_TYPES,
    DefinitionQuery,
    read_names,
    read_order,
    read_words,
)
from fanion.events.definitions.schemas import (
    DefinitionChanges,
    DefinitionReplacement,
    EventDefinitionBody,
    MarkChanges,
    VolumeBody,
    VolumesBody,
    definition_body,
)
from fanion.events.definitions.service import DefinitionService
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.pagination import Paged
from fanion.rest.unknown_fields import no_choice
from fanion.rest.validation import INTEGER_MAX, given_fields, normal_tags


class EventDefinitionsApi(Controller):
    path = "/api/projects/{project_id:str}/event_definitions"
    tags = ("Event definitions",)
    opt = scoped("event_definition")

    @get("/", summary="List event definitions")
    async def definitions(
        self,
        request: ManagementRequest,
        definitions: NamedDependency[DefinitionService],
        search: FromQuery[str | None] = None,
        ordering: FromQuery[list[str] | None] = None,
        event_type: FromQuery[str | None] = None,
        excluded_properties: FromQuery[str | None] = None,
        hidden: FromQuery[bool | None] = None,
        exclude_hidden: FromQuery[bool] = False,
        verified: FromQuery[bool | None] = None,
        tags: FromQuery[str | None] = None,
        owner: Annotated[int | None, QueryParameter(ge=1, le=INTEGER_MAX)] = None,
    ) -> Paged[EventDefinitionBody]:
        """List definitions, those seen on the latest day first, then by name.

        `ordering` may be repeated: `name`, `last_seen_at` or `last_seen_at::date`, with `-` for
        descending. `event_type` is `event`, `event_custom` or `event_posthog` (its name starts
        with `$`). `excluded_properties` is a JSON list of names to leave out. Every word of
        `search` must occur in the name. `exclude_hidden=true` is another name of `hidden=false`.
        `tags` is a JSON list of which one must match, `owner` the id of a user.
        """
        page = request.page
        query = DefinitionQuery(
            words=read_words(search),
            order=read_order(ordering or ()),
            event_type=_event_type(event_type),
            excluded=read_names(excluded_properties, "excluded_properties"),
            details=DetailQuery(
                tags=normal_tags(read_names(tags, "tags")),
                owner=owner,
                hidden=read_hidden(hidden, exclude_hidden),
                verified=verified,
            ),
            limit=page.limit,
            offset=page.offset,
        )
        listed, count = await definitions.store.list_definitions(request.project.id, query)
        return page.with_results([definition_body(definition) for definition in listed], count)

    @get("/volumes", summary="Count all events by day")
    async def volumes(
        self, request: ManagementRequest, definitions: NamedDependency[DefinitionService]
    ) -> VolumesBody:
        """Count the events of the last 30 days, including today, in the project's time zone.

        An event that was stored twice may count twice for some minutes, unlike in `volume` of one
        definition.
        """
        project = request.project
        return await definitions.volumes(project.id, project.timezone, request.app.state.now())

    @get("/{definition_id:str}", summary="Retrieve an event definition")
    async def definition(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        definitions: NamedDependency[DefinitionService],
    ) -> EventDefinitionBody:
        project_id = request.project.id
        return definition_body(await definitions.store.get_definition(project_id, definition_id))

    @patch("/{definition_id:str}", summary="Update an event definition")
    async def change(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        data: RequestBody[DefinitionChanges],
        definitions: NamedDependency[DefinitionService],
    ) -> EventDefinitionBody:
        """Update a definition.

        `tags` replace existing ones. `hidden` and `verified` take the place of each other. Stored
        events keep the former name.
        """
        sent = given_fields(data)
        changed = await definitions.change_definition(request.author, definition_id, sent)
        return definition_body(changed)

    @put("/{definition_id:str}", summary="Update an event definition, with its name")
    async def replace(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        data: RequestBody[DefinitionReplacement],
        definitions: NamedDependency[DefinitionService],
    ) -> EventDefinitionBody:
        """Update a definition. `name` is required; other omitted fields stay unchanged."""
        sent = given_fields(data)
        changed = await definitions.change_definition(request.author, definition_id, sent)
        return definition_body(changed)

    @delete("/{definition_id:str}", summary="Delete an event definition")
    async def remove(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        definitions: NamedDependency[DefinitionService],
    ) -> None:
        """Delete a definition. Its events stay.

        The next event with its name creates a new definition.
        """
        await definitions.remove_definition(request.author, definition_id)

    @get("/{definition_id:str}/marks", summary="Retrieve the marks of an event definition")
    async def marks(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        definitions: NamedDependency[DefinitionService],
    ) -> Marks:
        stored = await definitions.store.get_definition(request.project.id, definition_id)
        return Marks(hidden=stored.hidden, verified=stored.verified)

    @patch("/{definition_id:str}/marks", summary="Mark an event as hidden or verified")
    async def mark(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        data: RequestBody[MarkChanges],
        definitions: NamedDependency[DefinitionService],
    ) -> Marks:
        """Change the marks. Each takes the place of the other; omitted fields stay unchanged."""
        sent = given_fields(data)
        changed = await definitions.change_definition(request.author, definition_id, sent)
        return Marks(hidden=changed.hidden, verified=changed.verified)

    @get("/{definition_id:str}/volume", summary="Count an event by day")
    async def volume(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        definitions: NamedDependency[DefinitionService],
    ) -> VolumeBody:
        """Count the event on the last 30 days, including today, in the project's time zone."""
        definition = await definitions.store.get_definition(request.project.id, definition_id)
        return await definitions.volume(
            definition, request.project.timezone, request.app.state.now()
        )

    @get(
        "/{definition_id:str}/activity",
        summary="List an event definition's activity",
        scope="activity_log:read",
    )
    async def activity(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        definitions: NamedDependency[DefinitionService],
    ) -> ActivityPage:
        await definitions.store.get_definition(request.project.id, definition_id)
        records, scope = definitions.store.records, "EventDefinition"
        return await activity_page(request, records, scope, str(definition_id))


def _event_type(text: str | None) -> str:
    if not text:
        return "event"
    if text not in EVENT_TYPES:
        raise no_choice(text, EVENT_TYPES, "event_type")
    return text
