"""Live events on a server that does not ingest, which reads them from the event store.

Another server stores them, so this one does not know their places in the log. It looks for events
accepted since the last look, and a little before, because batches are stored out of order.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final, Never
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.events.event import Event, EventQuery, EventStoreUnavailable
from fanion.events.live.ring import EVENTS_MAX, LiveEvent, LiveFilter, live_event
from fanion.events.live.stream_service import LiveEvents
from fanion.events.storage.store import EventStore
from fanion.runtime.background import run_loop

POLL_S: Final = 0.5
OVERLAP: Final = timedelta(seconds=5)


class _Cursor(Struct):
    """The progress of one filter.

    Attributes:
        upto: The latest acceptance seen.
        seen: The events from OVERLAP before that on.
    """

    upto: datetime
    seen: set[UUID]


class LiveFollower:
    """A reader of live events from the event store.

    Args:
        is_ingesting: Returns whether this server stores all events itself, and shows them.
    """

    def __init__(
        self,
        live: LiveEvents,
        events: EventStore,
        is_ingesting: Callable[[], bool],
        now: Callable[[], datetime],
    ) -> None:
        self._live = live
        self._events = events
        self._is_ingesting = is_ingesting
        self._now = now
        self._cursors: dict[tuple[int, LiveFilter], _Cursor] = {}

    async def run(self) -> Never:
        """Look for events regularly, until cancelled."""
        await run_loop(self.look, POLL_S, "live_events_not_read", (EventStoreUnavailable,))

    async def look(self) -> None:
        """Show the events accepted since the last look.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        if self._is_ingesting() or not self._live.is_watched:
            self._cursors.clear()
            return
        watched = self._live.watched()
        for gone in self._cursors.keys() - set(watched):
            del self._cursors[gone]
        for project_id, live_filter in watched:
            await self._look(project_id, live_filter)

    async def _look(self, project_id: int, live_filter: LiveFilter) -> None:
        key = project_id, live_filter
        cursor = self._cursors.get(key)
        upto = self._now() if cursor is None else cursor.upto
        query = EventQuery(
            live_filter.event,
            live_filter.distinct_id,
            live_filter.person_id,
            received_after=upto - OVERLAP,
            limit=EVENTS_MAX,
            action=None if live_filter.action is None else live_filter.action.condition,
            now=self._now(),
        )
        events = await self._events.list(project_id, query)
        if cursor is not None:
            new = [event for event in events if event.uuid not in cursor.seen]
            self._live.put_events(project_id, live_filter, map(_live_event, _in_order(new)), 0)
        upto = max([upto, *(event.received_at for event in events)])
        self._cursors[key] = _Cursor(upto, {event.uuid for event in events})


def _in_order(events: Iterable[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event.received_at, event.timestamp))


class _Properties(Struct):
    chain: msgspec.Raw = msgspec.field(name="$elements_chain", default=msgspec.Raw(b'""'))


def _live_event(event: Event) -> LiveEvent:
    chain = msgspec.json.decode(event.properties, type=_Properties).chain
    return live_event(str(event.uuid), event, bytes(chain))
