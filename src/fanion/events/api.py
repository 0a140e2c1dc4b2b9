"""Captured events over HTTP.

source: capture.md section 8
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec import Meta, Struct

from fanion.errors import Invalid, NotFound
from fanion.events.event import Event, EventQuery, EventRejected
from fanion.events.event_body import EventBody, PersonOfEvent, event_body
from fanion.events.storage.filters_sql import absolute
from fanion.events.storage.store import EventStore
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import read_conditions
from fanion.properties.values import parse_date_value
from fanion.rest.pagination import read_limit

# Decoding more than this takes more than a millisecond or two, which the event loop has not.
DECODED_ON_LOOP_BYTES_MAX = 256 * 1024
# Clocks differ a little; an event of the current moment must not be missing.
FUTURE = timedelta(seconds=5)


class EventPage(Struct, kw_only=True):
    next: Annotated[str | None, Meta(description="Address of the next page.")]
    results: list[EventBody]


PersonsOf = Callable[[int, Iterable[str]], Awaitable[Mapping[str, PersonOfEvent]]]


@dataclass(frozen=True, slots=True)
class EventReading:
    """persons_of: of a project, by distinct id"""

    store: EventStore
    persons_of: PersonsOf


class EventsApi(Controller):
    path = "/api/projects/{project_id:str}/events"
    tags = ("Events",)
    opt = scoped("event")

    @get("/", summary="List events")
    async def events(
        self,
        request: ManagementRequest,
        events: NamedDependency[EventReading],
        event: FromQuery[str | None] = None,
        distinct_id: FromQuery[str | None] = None,
        person_id: FromQuery[str | None] = None,
        after: FromQuery[str | None] = None,
        before: FromQuery[str | None] = None,
        properties: FromQuery[str | None] = None,
        limit: FromQuery[str | None] = None,
        order_by: Annotated[str | None, QueryParameter(name="orderBy")] = None,
        cursor: FromQuery[str | None] = None,
    ) -> EventPage:
        """The newest first, or with `orderBy=["timestamp"]` the oldest. `after` and `before` are
        dates, or relative ones such as `-4h`. `properties` is a JSON list of conditions on the
        event's properties, or with `"type": "person"` on those that its person has now.

        Following `next` to the end reads every event exactly once. It contains `cursor`, the id of
        the last row, which separates events of the same time."""
        now: datetime = request.app.state.now()
        conditions = read_conditions(properties, "events and persons")
        query = EventQuery(
            event=event,
            distinct_id=distinct_id,
            person_id=None if person_id is None else _uuid(person_id, "person_id"),
            after=_time(after, "after", now),
            before=_time(before, "before", now) or now + FUTURE,
            limit=read_limit(limit),
            ascending=_is_ascending(order_by),
            properties=tuple(absolute(one, now) for one in conditions),
            cursor=_uuid(cursor, "cursor") if cursor else None,
        )
        if query.cursor is not None and not (after if query.ascending else before):
            bound = "after" if query.ascending else "before"
            raise Invalid(f"Use cursor together with {bound}, as in a next link.", attr="cursor")
        found = await _found(events.store, request.project.id, query)
        persons = await events.persons_of(request.project.id, {e.distinct_id for e in found})
        return EventPage(next=_next(request, query, found), results=await _bodies(found, persons))

    @get("/{event_id:str}", summary="Retrieve an event")
    async def event(
        self,
        request: ManagementRequest,
        event_id: FromPath[UUID],
        events: NamedDependency[EventReading],
        include_person: FromQuery[bool] = False,
    ) -> EventBody:
        """`person` is filled in with `include_person=true`."""
        found = await events.store.get(request.project.id, event_id)
        if found is None:
            raise NotFound
        persons: Mapping[str, PersonOfEvent] = {}
        if include_person:
            persons = await events.persons_of(request.project.id, [found.distinct_id])
        return event_body(found, persons)


async def _found(store: EventStore, project_id: int, query: EventQuery) -> Sequence[Event]:
    """raises: Invalid"""
    try:
        return await store.list(project_id, query)
    except EventRejected as error:
        raise Invalid(f"Properties cannot be compared: {error}.", attr="properties") from None


async def _bodies(found: Sequence[Event], persons: Mapping[str, PersonOfEvent]) -> list[EventBody]:
    if sum(len(event.properties) for event in found) <= DECODED_ON_LOOP_BYTES_MAX:
        return [event_body(event, persons) for event in found]
    return await asyncio.to_thread(lambda: [event_body(event, persons) for event in found])


def _next(request: ManagementRequest, query: EventQuery, found: Sequence[Event]) -> str | None:
    """This query again, from the last row on; null when the page is not full."""
    if len(found) < query.limit:
        return None
    bound = "after" if query.ascending else "before"
    written = {"limit": str(query.limit)}  # as it was served
    for name, time in (("after", query.after), ("before", query.before)):
        if time is not None:  # relative times must not change between pages
            written[name] = time.isoformat()
    last = found[-1]
    parameters = [
        (name, written.get(name, value))
        for name, value in request.page.query
        if name not in (bound, "cursor")
    ]
    place = [(bound, last.timestamp.isoformat()), ("cursor", str(last.uuid))]
    return f"{request.address}?{urlencode([*parameters, *place])}"


def _is_ascending(order_by: str | None) -> bool:
    """A JSON list, as `["-timestamp"]`; events have no other order. raises: Invalid"""
    if not order_by:
        return False
    try:
        order = msgspec.json.decode(order_by, type=list[Literal["timestamp", "-timestamp"]])
        return order[:1] == ["timestamp"]
    except msgspec.MsgspecError:
        raise Invalid('Must be ["timestamp"] or ["-timestamp"].', attr="orderBy") from None


def _time(text: str | None, name: str, now: datetime) -> datetime | None:
    if not text:
        return None
    # In a query string a plus sign stands for a space.
    value = parse_date_value(text) or parse_date_value(text.replace(" ", "+"))
    if value is None:
        raise Invalid("Enter a valid date or a relative one such as -4h.", attr=name)
    return value if isinstance(value, datetime) else value.before(now)


def _uuid(text: str, name: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Invalid("Must be a valid UUID.", attr=name) from None
