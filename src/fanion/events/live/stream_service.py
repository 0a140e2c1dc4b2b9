"""Streams of events as they are stored: `/events/stream/`.

Nothing is kept for a project without a reader. Streams with the same filter share one ring, and
each reads it at its own pace. A slow one misses events, is told so, and holds none of them.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

import msgspec

from fanion.db.engine import RecordsUnavailable
from fanion.errors import AppError, Unavailable
from fanion.events.event_body import PersonOfEvent
from fanion.events.live.messages import (
    OPENING,
    Reason,
    Sample,
    event_message,
    sample_message,
    skipped_message,
)
from fanion.events.live.pace import WINDOW_S, Pace, evenly
from fanion.events.live.ring import LiveEvent, LiveFilter, Ring
from fanion.runtime.background import wait_for_event
from fanion.server.flow_control import BufferBudget
from fanion.wire.event_stream import ACCESS_CHECK_S, HEARTBEAT, HEARTBEAT_S

STREAMS_MAX: Final = 200
STREAMS_OF_PROJECT_MAX: Final = 50
STREAMS_OF_USER_MAX: Final = 10  # a browser opens six connections to a server
RETRY_AFTER_S: Final = 10
# The limit for all rings of this process.
BYTES_MAX: Final = 64 * 2**20
# How long a ring is kept without a stream, so that a client that was cut off can continue.
LINGER_S: Final = 30.0
# Rings of a project. Those without a stream are given up first.
RINGS_OF_PROJECT_MAX: Final = 2 * STREAMS_OF_PROJECT_MAX
# The limit for the persons of one round, as JSON. Beyond it they are read one by one.
PERSONS_BYTES_MAX: Final = 2**20
# A client is slow if it misses events and takes longer than this to read what it was sent at once.
SLOW_S: Final = 2 * WINDOW_S

PersonsOf = Callable[[int, Iterable[str]], Awaitable[Mapping[str, PersonOfEvent]]]


class TooManyStreams(AppError):
    status, type, default_code = 429, "throttled_error", "too_many_streams"

    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("retry-after", str(RETRY_AFTER_S)),)


@dataclass(frozen=True, slots=True)
class Subscription:
    """A client's request for a stream.

    Attributes:
        last_event_id: "" for a client that has seen no event.
        may_read: Raises AppError when the client may no longer read the events.
        left: Returns when the client has disconnected.
    """

    project_id: int
    user_id: int
    filter: LiveFilter
    last_event_id: str
    may_read: Callable[[], Awaitable[None]]
    left: Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _SharedRing:
    """A ring and its readers.

    Attributes:
        idle_since: When the last reader left.
    """

    ring: Ring
    streams: "set[_Stream]" = field(default_factory=set)
    idle_since: float = 0.0


class LiveEvents:
    """The live events of all projects.

    Args:
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        persons_of: PersonsOf,
        clock: Callable[[], float] = time.monotonic,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self.persons_of = persons_of
        self.clock = clock
        self.heartbeat_s = heartbeat_s
        self.is_closed = False
        self._budget = BufferBudget(BYTES_MAX)
        self._rings: dict[int, dict[LiveFilter, _SharedRing]] = {}
        self._of_user: Counter[int] = Counter()
        self._expiry: asyncio.TimerHandle | None = None

    @property
    def streams(self) -> int:
        return sum(self._of_user.values())

    @property
    def bytes_held(self) -> int:
        """Return the bytes in all rings."""
        return self._budget.held

    # These methods are called by ingestion.

    @property
    def is_watched(self) -> bool:
        """Return whether a project has readers, or had some a moment ago."""
        return bool(self._rings)

    def filters(self, project_id: int) -> Sequence[LiveFilter]:
        """Return the filters for which there is a ring; none if the project has no reader."""
        rings = self._rings.get(project_id)
        return tuple(rings) if rings else ()

    def watched(self) -> Sequence[tuple[int, LiveFilter]]:
        """Return the projects with the filters for which there is a ring."""
        return [
            (project_id, live_filter)
            for project_id, rings in self._rings.items()
            for live_filter in rings
        ]

    def put_events(
        self, project_id: int, live_filter: LiveFilter, events: Iterable[LiveEvent], earlier: int
    ) -> None:
        """Add events that match a filter, in the order of their arrival.

        Args:
            earlier: As in `Ring.put_events`.
        """
        shared = self._rings.get(project_id, {}).get(live_filter)
        if shared is not None:
            shared.ring.put_events(events, earlier)
            now = self.clock()
            for stream in shared.streams:
                stream.notice(now)

    # These methods are called by the API.

    def messages(self, subscription: Subscription) -> AsyncGenerator[bytes]:
        """Return the pieces of the response, until access ends or the client has disconnected.

        Raises:
            TooManyStreams: A limit of streams is reached.
            Unavailable: The server is stopping.
        """
        self._require_room(subscription)
        return self._messages(subscription)

    def check_access(self, _: int = 0) -> None:
        """Check every stream's access right away, because someone may have lost theirs."""
        for stream in self._all_streams():
            stream.check_at = 0.0
            stream.woken.set()

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        for stream in self._all_streams():
            stream.woken.set()

    def _all_streams(self) -> "list[_Stream]":
        rings = [shared for rings in self._rings.values() for shared in rings.values()]
        return [stream for shared in rings for stream in shared.streams]

    def _require_room(self, subscription: Subscription) -> None:
        if self.is_closed:
            raise Unavailable("The server is stopping. Please retry.")
        of_project = self._rings.get(subscription.project_id, {}).values()
        for streams, limit, whose in (
            (self._of_user[subscription.user_id], STREAMS_OF_USER_MAX, "you"),
            (
                sum(len(shared.streams) for shared in of_project),
                STREAMS_OF_PROJECT_MAX,
                "this project",
            ),
            (self.streams, STREAMS_MAX, "this server"),
        ):
            if streams >= limit:
                raise TooManyStreams(f"{limit} event streams are already open for {whose}.")

    async def _messages(self, subscription: Subscription) -> AsyncGenerator[bytes]:
        shared = self._shared_ring(subscription.project_id, subscription.filter)
        stream = _Stream(self, shared.ring, subscription)
        shared.streams.add(stream)
        self._of_user[subscription.user_id] += 1
        try:
            async with aclosing(stream.pieces()) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            shared.streams.discard(stream)
            self._of_user[subscription.user_id] -= 1
            if not self._of_user[subscription.user_id]:
                del self._of_user[subscription.user_id]
            if not shared.streams:
                shared.idle_since = self.clock()
                self._expire_later()

    def _shared_ring(self, project_id: int, live_filter: LiveFilter) -> _SharedRing:
        rings = self._rings.setdefault(project_id, {})
        shared = rings.get(live_filter)
        if shared is None:
            if len(rings) >= RINGS_OF_PROJECT_MAX:
                self._give_up_oldest(rings)
            shared = rings[live_filter] = _SharedRing(Ring(self._budget))
        return shared

    def _give_up_oldest(self, rings: dict[LiveFilter, _SharedRing]) -> None:
        idle = [live_filter for live_filter, shared in rings.items() if not shared.streams]
        oldest = min(idle, key=lambda live_filter: rings[live_filter].idle_since)
        rings.pop(oldest).ring.clear()

    def _expire_later(self) -> None:
        if self._expiry is None:
            loop = asyncio.get_running_loop()
            self._expiry = loop.call_later(LINGER_S, self._expire)

    def _expire(self) -> None:
        """Give up the rings that have had no reader for LINGER_S."""
        self._expiry = None
        before, has_idle = self.clock() - LINGER_S, False
        for project_id, rings in list(self._rings.items()):
            for live_filter, shared in list(rings.items()):
                if not shared.streams and shared.idle_since <= before:
                    rings.pop(live_filter).ring.clear()
                has_idle = has_idle or not shared.streams
            if not rings:
                del self._rings[project_id]
        if has_idle and self._rings:
            self._expire_later()


class _Stream:
    """The stream of one client.

    It deals with the events from `_next` on. It sends those before `_replayed_upto` one by one,
    because a client that was cut off must miss none of them.
    """

    def __init__(self, live: LiveEvents, ring: Ring, subscription: Subscription) -> None:
        self.woken = asyncio.Event()
        self.check_at = live.clock() + ACCESS_CHECK_S
        self._live = live
        self._ring = ring
        self._subscription = subscription
        self._next = self._replayed_upto = ring.count
        self._pace = Pace(live.clock())
        self._sent_at = live.clock()
        self._has_left = False
        self._unread_since: float | None = None

    def notice(self, now: float) -> None:
        """Record that there are new events."""
        if self._unread_since is None:
            self._unread_since = now
        self.woken.set()

    async def pieces(self) -> AsyncGenerator[bytes]:
        leaving = asyncio.create_task(self._note_leaving())
        try:
            yield OPENING
            if self._subscription.last_event_id and (missed := self._resume()):
                yield missed
            while await self._goes_on():
                async with aclosing(self._round()) as pieces:
                    async for piece in pieces:
                        yield piece
                        self._sent_at = self._live.clock()
                await self._wait()
        finally:
            leaving.cancel()

    async def _note_leaving(self) -> None:
        await self._subscription.left()
        self._has_left = True
        self.woken.set()

    def _resume(self) -> bytes:
        number = self._ring.find(self._subscription.last_event_id)
        if number is None:
            self._next = self._ring.first
            return skipped_message(None, Reason.RECONNECTED)
        self._next = number + 1
        return b""

    async def _goes_on(self) -> bool:
        if self._live.is_closed or self._has_left:
            return False
        now = self._live.clock()
        if now < self.check_at:
            return True
        self.check_at = now + ACCESS_CHECK_S
        try:
            await self._subscription.may_read()
        except (RecordsUnavailable, Unavailable):
            return True  # access is unknown until the store answers
        except AppError:
            return False
        return not (self._live.is_closed or self._has_left)

    async def _wait(self) -> None:
        """Wait for events that may be sent, for the next check or for the next heartbeat."""
        now = self._live.clock()
        until = min(self.check_at, self._sent_at + self._live.heartbeat_s)
        if self._next < self._ring.count:
            until = min(until, now + self._pace.wait_s(now))
        await wait_for_event(self.woken, max(0.0, until - now))
        self.woken.clear()

    async def _round(self) -> AsyncGenerator[bytes]:
        """Yield the messages that may be sent now."""
        now = self._live.clock()
        room = self._pace.room(now)
        if self._next == self._ring.count or room == 0:
            if now >= self._sent_at + self._live.heartbeat_s:
                yield HEARTBEAT
            return
        is_replay = self._next < self._replayed_upto
        round_ = self._replay(room) if is_replay else self._latest(room, now)
        async with aclosing(round_) as pieces:
            async for piece in pieces:
                yield piece

    async def _replay(self, room: int) -> AsyncGenerator[bytes]:
        """Yield the next events from before the client connected again."""
        first = min(max(self._next, self._ring.first), self._replayed_upto)
        if lost := first - self._next:
            yield skipped_message(lost, Reason.RECONNECTED)
        numbers = range(first, min(first + room, self._replayed_upto))
        self._next = numbers.stop
        self._pace.sent(len(numbers))
        async with aclosing(self._events(numbers)) as pieces:
            async for piece in pieces:
                yield piece

    async def _latest(self, room: int, now: float) -> AsyncGenerator[bytes]:
        """Yield all events since the last round, or a sample of them."""
        ring = self._ring
        fitting = ring.count - self._next
        numbers = range(max(self._next, ring.first), ring.count)
        waited_s = now - (now if self._unread_since is None else self._unread_since)
        self._next, self._unread_since = ring.count, None
        chosen = evenly(numbers, room)
        self._pace.sent(len(chosen))
        if len(chosen) < fitting:
            per_second = round(fitting / max(WINDOW_S, waited_s), 1)
            yield sample_message(Sample(fitting, len(chosen), per_second))
        async with aclosing(self._events(chosen)) as pieces:
            async for piece in pieces:
                yield piece
        if self._live.clock() - now > SLOW_S and (missed := max(0, ring.first - self._next)):
            self._next = ring.first
            yield skipped_message(missed, Reason.SLOW)

    async def _events(self, numbers: Sequence[int]) -> AsyncGenerator[bytes]:
        """Yield messages one at a time, and report how many events were lost or are too large."""
        missed = too_large = 0
        persons = await self._persons(numbers)
        for number in numbers:
            event = self._ring.get(number)
            if event is None:
                missed += 1
            elif event.is_too_large:
                too_large += 1
            else:
                if event.distinct_id not in persons:
                    persons = await self._persons([number])
                yield event_message(event, persons.get(event.distinct_id))
        if missed:
            yield skipped_message(missed, Reason.SLOW)
        if too_large:
            yield skipped_message(too_large, Reason.TOO_LARGE)

    async def _persons(self, numbers: Sequence[int]) -> Mapping[str, PersonOfEvent | None]:
        """Return the persons by distinct id, None for an id without a person.

        The result is empty if they take up more than PERSONS_BYTES_MAX.
        """
        events = [event for number in numbers if (event := self._ring.get(number)) is not None]
        distinct_ids = {event.distinct_id for event in events}
        try:
            persons = await self._live.persons_of(self._subscription.project_id, distinct_ids)
        except RecordsUnavailable:
            persons = {}
        if len(numbers) > 1 and len(msgspec.json.encode(persons)) > PERSONS_BYTES_MAX:
            return {}
        return {distinct_id: persons.get(distinct_id) for distinct_id in distinct_ids}
