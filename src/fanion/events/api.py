"""Captured events over HTTP.

Source: capture.md section 8.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec import Meta, Struct

from fanion.actions.conditions import ResolvedAction, no_such_action
from fanion.errors import Invalid, NotFound
from fanion.events.event import FUTURE, Event, EventQuery, EventRejected
from fanion.events.event_body import EventBody, PersonOfEvent, event_body
from fanion.events.storage.store import EventStore
from fanion.events.values_service import PropertyValues
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import read_conditions, read_time_parameter
from fanion.properties.value_counts import PropertyValue, read_value_search
from fanion.rest.pagination import read_limit
from fanion.rest.validation import INTEGER_MAX
from fanion.wire.distinct_id import stored_distinct_id

# Decoding more than this takes over a millisecond or two, too long for the event loop.
DECODED_ON_LOOP_BYTES_MAX = 256 * 1024
EVENT_NAMES_MAX = 100


class EventPage(Struct, kw_only=True):
    next: Annotated[str | None, Meta(description="Address of the next page.")]
    results: list[EventBody]


PersonsOf = Callable[[int, Iterable[str]], Awaitable[Mapping[str, PersonOfEvent]]]
ActionsOf = Callable[[int, Collection[int]], Awaitable[Mapping[int, ResolvedAction]]]


@dataclass(frozen=True, slots=True)
class EventReading:
    """The sources of the events API.

    Attributes:
        persons_of: Returns the persons of a project by distinct id.
        actions_of: Returns the actions of a project by id, without those that do not exist.
    """

    store: EventStore
    persons_of: PersonsOf
    actions_of: ActionsOf

    async def action(self, project_id: int, action_id: int | None) -> ResolvedAction | None:
        """Return the action that the parameter `action_id` names.

        Raises:
            Invalid: There is no such action.
        """
        if action_id is None:
            return None
        action = (await self.actions_of(project_id, [action_id])).get(action_id)
        if action is None:
            raise no_such_action(action_id, "action_id")
        return action


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
        action_id: Annotated[int | None, QueryParameter(ge=1, le=INTEGER_MAX)] = None,
    ) -> EventPage:
        """List events, newest first, or oldest first with `orderBy=["timestamp"]`.

        `after` and `before` are dates, or relative ones such as `-4h`. `properties` is a JSON list
        of conditions on the event's properties or, with `"type": "person"`, on the properties that
        its person has now, or, with `"type": "element"`, on the elements that were clicked.
        `action_id` lists the events of an action.

        Following `next` to the end reads every event exactly once. It contains `cursor`, the id of
        the last row, which separates events of the same time.
        """
        now: datetime = request.app.state.now()
        action = await events.action(request.project.id, action_id)
        query = EventQuery(
            event=event,
            distinct_id=None if distinct_id is None else stored_distinct_id(distinct_id),
            person_id=None if person_id is None else _parse_uuid(person_id, "person_id"),
            after=read_time_parameter(after, "after", now),
            before=read_time_parameter(before, "before", now) or now + FUTURE,
            limit=read_limit(limit),
            ascending=_is_ascending(order_by),
            properties=read_conditions(properties, "events and persons", with_elements=True),
            now=now,
            cursor=_parse_uuid(cursor, "cursor") if cursor else None,
            action=None if action is None else action.condition,
        )
        if query.cursor is not None and not (after if query.ascending else before):
            bound = "after" if query.ascending else "before"
            raise Invalid(f"Use cursor together with {bound}, as in a next link.", attr="cursor")
        page = await _list_events(events.store, request.project.id, query)
        persons = await events.persons_of(request.project.id, {e.distinct_id for e in page})
        return EventPage(
            next=_next_address(request, query, page), results=await _event_bodies(page, persons)
        )

    @get("/values", summary="List values of a property of events")
    async def values(
        self,
        request: ManagementRequest,
        property_values: NamedDependency[PropertyValues],
        key: FromQuery[str | None] = None,
        value: FromQuery[str | None] = None,
        event_name: FromQuery[list[str] | None] = None,
    ) -> list[PropertyValue]:
        """List the 20 most frequent values, to choose from, with their number of events.

        `value` is a part of the value, in any case; `event_name` may be repeated. The key
        `custom_event` lists names of events that do not begin with `$`.

        Only events of the last 30 days are read, and of these the newest 500,000, or 50,000 if that
        takes longer than 3 seconds. Each of the first 100 members of a list counts as a value. A
        value with more than 400 characters is cut, and ends with `…`.
        """
        search = read_value_search(key, value)
        names = event_name or []
        if len(names) > EVENT_NAMES_MAX:
            raise Invalid(f"Ensure there are at most {EVENT_NAMES_MAX} names.", attr="event_name")
        now: datetime = request.app.state.now()
        return await property_values.of_events(request.project.id, search, names, now)

    @get("/{event_id:str}", summary="Retrieve an event")
    async def event(
        self,
        request: ManagementRequest,
        event_id: FromPath[UUID],
        events: NamedDependency[EventReading],
        include_person: FromQuery[bool] = False,
    ) -> EventBody:
        """Return the event. `person` is filled in with `include_person=true`."""
        stored = await events.store.get(request.project.id, event_id)
        if stored is None:
            raise NotFound
        persons: Mapping[str, PersonOfEvent] = {}
        if include_person:
            persons = await events.persons_of(request.project.id, [stored.distinct_id])
        return event_body(stored, persons)


async def _list_events(store: EventStore, project_id: int, query: EventQuery) -> Sequence[Event]:
    """Return the events.

    Raises:
        Invalid: The event store cannot compare the properties.
    """
    try:
        return await store.list(project_id, query)
    except EventRejected as error:
        raise Invalid(f"Properties cannot be compared: {error}.", attr="properties") from None


async def _event_bodies(
    events: Sequence[Event], persons: Mapping[str, PersonOfEvent]
) -> list[EventBody]:
    if sum(len(event.properties) for event in events) <= DECODED_ON_LOOP_BYTES_MAX:
        return [event_body(event, persons) for event in events]
    return await asyncio.to_thread(lambda: [event_body(event, persons) for event in events])


def _next_address(
    request: ManagementRequest, query: EventQuery, events: Sequence[Event]
) -> str | None:
    """Return this query from the last row on; None if the page is not full."""
    if len(events) < query.limit:
        return None
    bound = "after" if query.ascending else "before"
    written = {"limit": str(query.limit)}  # the limit as it was served
    for name, time in (("after", query.after), ("before", query.before)):
        if time is not None:  # relative times must not change between pages
            written[name] = time.isoformat()
    last = events[-1]
    parameters = [
        (name, written.get(name, value))
        for name, value in request.page.query
        if name not in (bound, "cursor")
    ]
    cursor = [(bound, last.timestamp.isoformat()), ("cursor", str(last.uuid))]
    return f"{request.address}?{urlencode([*parameters, *cursor])}"


def _is_ascending(order_by: str | None) -> bool:
    """Parse a JSON list such as `["-timestamp"]`. Events have no other order.

    Raises:
        Invalid: The text is something else.
    """
    if not order_by:
        return False
    try:
        order = msgspec.json.decode(order_by, type=list[Literal["timestamp", "-timestamp"]])
        return order[:1] == ["timestamp"]
    except msgspec.MsgspecError:
        raise Invalid('Must be ["timestamp"] or ["-timestamp"].', attr="orderBy") from None


def _parse_uuid(text: str, name: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Invalid("Must be a valid UUID.", attr=name) from None
