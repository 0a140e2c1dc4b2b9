"""Event definitions over HTTP.

Source: api.md, "Event definitions"; capture.md section 7.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, ClassVar
from uuid import UUID

from litestar import Controller, delete, get, patch, put
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.db.engine import Records
from fanion.errors import NotFound, Unavailable
from fanion.events.definitions.model import (
    EVENT_TYPES,
    DefinitionQuery,
    EventDefinition,
    read_names,
    read_order,
    read_words,
)
from fanion.events.definitions.store import (
    Marks,
    change_definition,
    change_marks,
    find_definitions,
    get_definition,
    get_marks,
    remove_definition,
)
from fanion.events.event import EventStoreUnavailable, last_days
from fanion.events.storage.store import EventStore
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.model import UserSummary
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_DEFINITION,
    UNSUPPORTED_OF_DEFINITION,
)
from fanion.rest.unknown_fields import no_choice
from fanion.rest.validation import given_fields, normal_tags

NAME_CHARS_MAX = 400
VOLUMES_MAX = 1_000  # names of events in one answer

DefinitionName = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]


class DefinitionChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_DEFINITION
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_DEFINITION

    name: DefinitionName | UnsetType = UNSET
    created_at: datetime | UnsetType | None = UNSET
    last_seen_at: datetime | UnsetType | None = UNSET
    tags: list[str] | UnsetType | None = UNSET
    post_to_chat: bool | UnsetType = UNSET


class DefinitionReplacement(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_DEFINITION
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_DEFINITION

    name: DefinitionName
    created_at: datetime | UnsetType | None = UNSET
    last_seen_at: datetime | UnsetType | None = UNSET
    tags: list[str] | UnsetType | None = UNSET
    post_to_chat: bool | UnsetType = UNSET


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


class MarkChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    hidden: bool | UnsetType = UNSET
    verified: bool | UnsetType = UNSET


class MarksBody(Struct, kw_only=True):
    hidden: Annotated[bool, Meta(description="Hidden from lists of suggestions.")]
    verified: Annotated[bool, Meta(description="Known to be correct. Excludes `hidden`.")]


class DayVolume(Struct, kw_only=True):
    day: date
    count: int


class VolumeBody(Struct, kw_only=True):
    timezone: Annotated[
        str, Meta(description="The time zone of the project, to which the days belong.")
    ]
    total: int
    days: Annotated[list[DayVolume], Meta(description="The last 30, the oldest first.")]


class EventVolume(Struct, kw_only=True):
    event: str
    total: int
    counts: Annotated[list[int], Meta(description="One for each of `days`.")]


class VolumesBody(Struct, kw_only=True):
    timezone: Annotated[
        str, Meta(description="The time zone of the project, to which the days belong.")
    ]
    days: Annotated[list[date], Meta(description="The last 30, the oldest first.")]
    results: Annotated[
        list[EventVolume],
        Meta(description=f"The {VOLUMES_MAX:,} most frequent events, the most frequent first."),
    ]


@dataclass(frozen=True, slots=True)
class Definitions:
    """The event definitions, and the volume of their events."""

    records: Records
    events: EventStore

    async def get(self, project_id: int, definition_id: UUID) -> EventDefinition:
        """Return a definition.

        Raises:
            NotFound: The project does not have it.
        """
        return _require_definition(await get_definition(self.records, project_id, definition_id))

    async def volume(self, definition: EventDefinition, zone: str, now: datetime) -> VolumeBody:
        """Count an event by day.

        Raises:
            Unavailable: The event store does not answer.
        """
        days = last_days(now, zone)
        try:
            counts = await self.events.counts.daily(definition.project_id, definition.name, days)
        except EventStoreUnavailable as error:
            raise Unavailable from error
        counted = days.counted(counts)
        return VolumeBody(
            timezone=zone,
            total=sum(count for _, count in counted),
            days=[DayVolume(day=day, count=count) for day, count in counted],
        )

    async def volumes(self, project_id: int, zone: str, now: datetime) -> VolumesBody:
        """Count all events by day.

        Raises:
            Unavailable: The event store does not answer.
        """
        days = last_days(now, zone)
        try:
            volumes = await self.events.counts.volumes(project_id, days, VOLUMES_MAX)
        except EventStoreUnavailable as error:
            raise Unavailable from error
        return VolumesBody(
            timezone=zone,
            days=[day for day, _ in days.counted({})],
            results=[
                EventVolume(
                    event=name,
                    total=sum(counts.values()),
                    counts=[count for _, count in days.counted(counts)],
                )
                for name, counts in volumes.items()
            ],
        )


class EventDefinitionsApi(Controller):
    path = "/api/projects/{project_id:str}/event_definitions"
    tags = ("Event definitions",)
    opt = scoped("event_definition")

    @get("/", summary="List event definitions")
    async def definitions(
        self,
        request: ManagementRequest,
        definitions: NamedDependency[Definitions],
        search: FromQuery[str | None] = None,
        ordering: FromQuery[list[str] | None] = None,
        event_type: FromQuery[str | None] = None,
        excluded_properties: FromQuery[str | None] = None,
        hidden: FromQuery[bool | None] = None,
        verified: FromQuery[bool | None] = None,
    ) -> Paged[EventDefinitionBody]:
        """List definitions, those seen on the latest day first, then by name.

        `ordering` may be repeated: `name`, `last_seen_at` or `last_seen_at::date`, with `-` for
        descending. `event_type` is `event`, `event_custom` or `event_posthog` (its name starts
        with `$`). `excluded_properties` is a JSON list of names to leave out. Every word of
        `search` must occur in the name.
        """
        page = request.page
        query = DefinitionQuery(
            words=read_words(search),
            order=read_order(ordering or ()),
            event_type=_event_type(event_type),
            excluded=read_names(excluded_properties, "excluded_properties"),
            hidden=hidden,
            verified=verified,
            limit=page.limit,
            offset=page.offset,
        )
        listed, count = await find_definitions(definitions.records, request.project.id, query)
        return page.with_results([_definition_body(definition) for definition in listed], count)

    @get("/volumes", summary="Count all events by day")
    async def volumes(
        self, request: ManagementRequest, definitions: NamedDependency[Definitions]
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
        definitions: NamedDependency[Definitions],
    ) -> EventDefinitionBody:
        return _definition_body(await definitions.get(request.project.id, definition_id))

    @patch("/{definition_id:str}", summary="Update an event definition")
    async def change(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        data: RequestBody[DefinitionChanges],
        definitions: NamedDependency[Definitions],
    ) -> EventDefinitionBody:
        """Update a definition. `tags` replace existing ones. Stored events keep the former name."""
        return await _change_definition(request, definition_id, data, definitions)

    @put("/{definition_id:str}", summary="Update an event definition, with its name")
    async def replace(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        data: RequestBody[DefinitionReplacement],
        definitions: NamedDependency[Definitions],
    ) -> EventDefinitionBody:
        """Update a definition. `name` is required; other omitted fields stay unchanged."""
        return await _change_definition(request, definition_id, data, definitions)

    @delete("/{definition_id:str}", summary="Delete an event definition")
    async def remove(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        definitions: NamedDependency[Definitions],
    ) -> None:
        """Delete a definition. Its events stay.

        The next event with its name creates a new definition.
        """
        if not await remove_definition(definitions.records, request.author, definition_id):
            raise NotFound

    @get("/{definition_id:str}/marks", summary="Retrieve the marks of an event definition")
    async def marks(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        definitions: NamedDependency[Definitions],
    ) -> MarksBody:
        project_id = request.project.id
        return _marks_body(await get_marks(definitions.records, project_id, definition_id))

    @patch("/{definition_id:str}/marks", summary="Mark an event as hidden or verified")
    async def mark(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        data: RequestBody[MarkChanges],
        definitions: NamedDependency[Definitions],
    ) -> MarksBody:
        """Change the marks. Omitted fields stay unchanged."""
        new_marks = given_fields(data)
        author = request.author
        return _marks_body(
            await change_marks(definitions.records, author, definition_id, new_marks)
        )

    @get("/{definition_id:str}/volume", summary="Count an event by day")
    async def volume(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        definitions: NamedDependency[Definitions],
    ) -> VolumeBody:
        """Count the event on the last 30 days, including today, in the project's time zone."""
        definition = await definitions.get(request.project.id, definition_id)
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
        definitions: NamedDependency[Definitions],
    ) -> ActivityPage:
        await definitions.get(request.project.id, definition_id)
        records, scope = definitions.records, "EventDefinition"
        return await activity_page(request, records, scope, str(definition_id))


async def _change_definition(
    request: ManagementRequest,
    definition_id: UUID,
    data: DefinitionChanges | DefinitionReplacement,
    definitions: Definitions,
) -> EventDefinitionBody:
    await definitions.get(request.project.id, definition_id)
    values = given_fields(data)
    tags = values.pop("tags", None)
    if tags is not None:
        values["tags"] = normal_tags(tags)
    author = request.author
    return _definition_body(
        _require_definition(
            await change_definition(definitions.records, author, definition_id, values)
        )
    )


def _event_type(text: str | None) -> str:
    if not text:
        return "event"
    if text not in EVENT_TYPES:
        raise no_choice(text, EVENT_TYPES, "event_type")
    return text


def _require_definition(definition: EventDefinition | None) -> EventDefinition:
    if definition is None:
        raise NotFound
    return definition


def _marks_body(marks: Marks | None) -> MarksBody:
    if marks is None:
        raise NotFound
    return MarksBody(hidden=marks.hidden, verified=marks.verified)


def _definition_body(definition: EventDefinition) -> EventDefinitionBody:
    return EventDefinitionBody(
        id=definition.id,
        name=definition.name,
        created_at=definition.created_at,
        last_seen_at=definition.last_seen_at,
        last_updated_at=definition.last_updated_at,
        tags=definition.tags,
        is_action=False,
        action_id=None,
        is_calculating=False,
        last_calculated_at=None,
        created_by=None,
        post_to_chat=definition.post_to_chat,
    )
