"""API of the timeline of a person.

Source: insights.md section 12.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery
from msgspec import Meta, Struct

from fanion.errors import Invalid
from fanion.events.event import FUTURE
from fanion.persons.api import read_person_id
from fanion.persons.shown_values import CUT, ShownValues
from fanion.persons.timeline.model import Entry, Kind, called_flag, read_kinds, read_position
from fanion.persons.timeline.property_history import Operation
from fanion.persons.timeline.service import TimelinePage, TimelineQuery, Timelines
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import read_time_parameter
from fanion.rest.pagination import read_limit

# A larger limit is reduced to this.
ENTRIES_MAX = 500
# Changes of one event that are listed.
CHANGES_MAX = 100
# The scope that a key needs for each kind, besides that of persons.
SCOPES: dict[Kind, str] = {
    "event": "event:read",
    "properties": "event:read",
    "cohort": "cohort:read",
}
_PLACES = frozenset({"before", "cursor", "limit"})


class CalledFlag(Struct, kw_only=True):
    key: str
    value: Any


class TimelineEvent(Struct, kw_only=True):
    id: UUID
    name: str
    distinct_id: str
    flag: Annotated[
        CalledFlag | None, Meta(description="For `$feature_flag_called`: the flag and its value.")
    ]
    is_cut: Annotated[
        bool,
        Meta(
            description="True if its properties are too long to be read here: no flag, no changes."
        ),
    ]


class ChangedProperty(Struct, kw_only=True):
    name: str
    operation: Operation
    value: Annotated[Any, Meta(description="Null for `unset`.")]
    before: Annotated[
        Any, Meta(description="Null if the person did not have it, or if that is not known.")
    ]
    is_before_known: Annotated[
        bool, Meta(description="If false, `set_once` and `unset` may have changed nothing.")
    ]
    is_cut: Annotated[bool, Meta(description=f"True where {CUT}")]


class TimelineCohort(Struct, kw_only=True):
    id: int
    name: str
    is_static: bool


class PersonClient(Struct, kw_only=True):
    """The identity with which a person's client asks for flags."""

    distinct_id: str
    groups: Annotated[dict[str, str], Meta(description="Group type → group key.")]
    device_id: Annotated[str | None, Meta(description="`$device_id` of the client.")]
    seen_at: Annotated[
        datetime | None,
        Meta(description="Time of its newest event. Null without events: the id is then a guess."),
    ]


class TimelineEntry(Struct, kw_only=True):
    kind: Kind
    timestamp: Annotated[str, Meta(description="ISO 8601 with offset.")]
    session_id: Annotated[str | None, Meta(description="`$session_id` of the event.")]
    event: Annotated[
        TimelineEvent | None, Meta(description="What happened, or what changed the properties.")
    ]
    changes: Annotated[
        list[ChangedProperty] | None,
        Meta(description=f"For the kind `properties`, at most {CHANGES_MAX}; otherwise null."),
    ]
    changes_count: int
    cohort: Annotated[
        TimelineCohort | None,
        Meta(description="For the kind `cohort`: the cohort that was entered."),
    ]


class TimelineBody(Struct, kw_only=True):
    next: Annotated[
        str | None,
        Meta(description="Address of the next page; a page may have fewer entries than `limit`."),
    ]
    results: list[TimelineEntry]


class TimelineApi(Controller):
    path = "/api/projects/{project_id:str}/persons"
    tags = ("Persons",)
    opt = scoped("person")

    @get("/{person_id:str}/timeline", summary="List what happened to a person")
    async def timeline(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        timelines: NamedDependency[Timelines],
        kind: FromQuery[str | None] = None,
        before: FromQuery[str | None] = None,
        limit: FromQuery[str | None] = None,
        cursor: FromQuery[str | None] = None,
    ) -> TimelineBody:
        """Return what happened to a person, newest first.

        The entries are events, changes of properties that events made, and cohorts entered, of the
        person and of those merged into it. `kind` selects some of `event`, `properties` and
        `cohort`, separated by commas. A key also needs the scope `event:read` for the first two,
        and `cohort:read` for the last.

        A value `before` is given where the last 500 events before it determine it. A cohort is
        listed if it was entered by one of its last 20 calculations or by its last change.

        Following `next` to the end reads each entry once.
        """
        kinds = read_kinds(kind)
        for scope in sorted({SCOPES[name] for name in kinds}):
            request.principal.require_access(request.project, scope)
        query = _timeline_query(request, kinds, before, limit, cursor)
        person = read_person_id(person_id)
        page = await timelines.timeline_page(request.project.id, person, query)
        results = await asyncio.to_thread(_entry_bodies, page.entries)
        return TimelineBody(next=_next_url(request, query, page), results=results)

    @get(
        "/{person_id:str}/current_client",
        summary="Retrieve the identity with which a person's client asks for flags",
    )
    async def current_client(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        timelines: NamedDependency[Timelines],
    ) -> PersonClient:
        """Return the distinct id, groups and device id that the person's browser or app uses now.

        They are those of its newest event, so that flags that are evaluated for them are the flags
        that the client gets. The anonymous id of a browser that was identified since is replaced.
        """
        client = await timelines.current_client(
            request.project.id, read_person_id(person_id), request.app.state.now()
        )
        return PersonClient(
            distinct_id=client.distinct_id,
            groups=dict(client.groups),
            device_id=client.device_id,
            seen_at=client.seen_at,
        )


def _timeline_query(
    request: ManagementRequest,
    kinds: frozenset[Kind],
    before: str | None,
    limit: str | None,
    cursor: str | None,
) -> TimelineQuery:
    now: datetime = request.app.state.now()
    if cursor and not before:
        raise Invalid("Use cursor together with before, as in a next link.", attr="cursor")
    return TimelineQuery(
        kinds,
        read_time_parameter(before, "before", now) or now + FUTURE,
        min(read_limit(limit), ENTRIES_MAX) or 1,
        read_position(cursor) if cursor else None,
    )


def _next_url(request: ManagementRequest, query: TimelineQuery, page: TimelinePage) -> str | None:
    if page.next is None:
        return None
    at, position = page.next
    others = [(name, value) for name, value in request.page.query if name not in _PLACES]
    paging = [
        ("limit", str(query.limit)),
        ("before", at.isoformat()),
        ("cursor", position.cursor_text()),
    ]
    return f"{request.address}?{urlencode([*others, *paging])}"


def _entry_bodies(entries: Sequence[Entry]) -> list[TimelineEntry]:
    values = ShownValues()
    return [_entry_body(entry, values) for entry in entries]


def _entry_body(entry: Entry, values: ShownValues) -> TimelineEntry:
    cohort, is_change = entry.cohort, entry.kind == "properties"
    return TimelineEntry(
        kind=entry.kind,
        timestamp=entry.timestamp.isoformat(),
        session_id=entry.session_id or None,
        event=_event_body(entry, values),
        changes=_change_bodies(entry, values) if is_change else None,
        changes_count=len(entry.changes),
        cohort=None
        if cohort is None
        else TimelineCohort(id=cohort.id, name=cohort.name, is_static=cohort.is_static),
    )


def _event_body(entry: Entry, values: ShownValues) -> TimelineEvent | None:
    event = entry.event
    if event is None:
        return None
    flag = called_flag(event)
    return TimelineEvent(
        id=event.uuid,
        name=event.name,
        distinct_id=event.distinct_id,
        flag=None if flag is None else CalledFlag(key=flag[0], value=values.show(flag[1])[0]),
        is_cut=event.properties is None,
    )


def _change_bodies(entry: Entry, values: ShownValues) -> list[ChangedProperty]:
    changed = []
    for change in entry.changes[:CHANGES_MAX]:
        value, is_value_cut = values.show(change.value)
        before, is_before_cut = values.show(change.before)
        changed.append(
            ChangedProperty(
                name=change.name,
                operation=change.operation,
                value=value,
                before=before,
                is_before_known=change.is_known,
                is_cut=is_value_cut or is_before_cut,
            )
        )
    return changed
