"""Streams of live events: what a client is sent, and what is kept in memory."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from fanion.db.engine import RecordsUnavailable
from fanion.errors import PermissionDenied, Unavailable
from fanion.events.event_body import PersonOfEvent
from fanion.events.live import stream_service
from fanion.events.live.messages import OPENING
from fanion.events.live.pace import EVENTS_PER_S
from fanion.events.live.ring import EVENTS_MAX, LiveEvent, LiveFilter
from fanion.events.live.stream_service import (
    STREAMS_MAX,
    STREAMS_OF_PROJECT_MAX,
    STREAMS_OF_USER_MAX,
    LiveEvents,
    Subscription,
    TooManyStreams,
)
from fanion.wire.event_stream import ACCESS_CHECK_S, HEARTBEAT
from tests.support.awaited import until_soon
from tests.support.sse import Message, messages

SOON_S = 60
PROJECT = 7
ALL = LiveFilter()


class Stopwatch:
    """A clock in seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Access:
    """The access of a client. The next check raises `error`, if it is set."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.asked = 0
        self.left = asyncio.Event()

    async def may_read(self) -> None:
        self.asked += 1
        if self.error is not None:
            raise self.error

    async def wait_left(self) -> None:
        await self.left.wait()


async def persons_of(project_id: int, distinct_ids: Iterable[str]) -> Mapping[str, PersonOfEvent]:
    return {
        distinct_id: PersonOfEvent(
            is_identified=True, distinct_ids=[distinct_id], properties={"email": f"{distinct_id}@x"}
        )
        for distinct_id in distinct_ids
        if distinct_id != "nobody"
    }


@pytest.fixture
def clock() -> Stopwatch:
    return Stopwatch()


@pytest.fixture
async def live(clock: Stopwatch) -> AsyncIterator[LiveEvents]:
    opened = LiveEvents(persons_of, clock)
    yield opened
    opened.close()


@pytest.fixture
async def access() -> Access:
    return Access()


def event(number: int, **fields: Any) -> LiveEvent:
    given = {"event": "e", "distinct_id": "ann", "properties": b'{"n":%d}' % number, **fields}
    at = datetime(2024, 3, 1, 12, tzinfo=UTC)
    return LiveEvent(position=f"1-{number}", uuid=UUID(int=number), timestamp=at, **given)


def events(start: int, end: int) -> list[LiveEvent]:
    return [event(number) for number in range(start, end)]


def subscription(access: Access, last: str = "", **fields: Any) -> Subscription:
    given = {"project_id": PROJECT, "user_id": 1, "filter": ALL, **fields}
    return Subscription(
        last_event_id=last, may_read=access.may_read, left=access.wait_left, **given
    )


@asynccontextmanager
async def open_stream(
    live: LiveEvents, access: Access, last: str = "", **fields: Any
) -> AsyncIterator[AsyncGenerator[bytes]]:
    """Open a stream and read its beginning."""
    pieces = live.messages(subscription(access, last, **fields))
    assert await anext(pieces) == OPENING
    try:
        async with asyncio.timeout(SOON_S):
            yield pieces
    finally:
        await pieces.aclose()


async def read(pieces: AsyncGenerator[bytes], number: int) -> list[Message]:
    """Read a number of messages."""
    received: list[Message] = []
    while len(received) < number:
        received += messages((await anext(pieces)).decode())
    return received


def numbers(received: list[Message]) -> list[int]:
    return [message.data["properties"]["n"] for message in received if message.event == "message"]


async def next_piece(pieces: AsyncGenerator[bytes]) -> asyncio.Task[bytes]:
    """Return a task that waits for the next piece."""
    task = asyncio.ensure_future(anext(pieces))
    for _ in range(5):
        await asyncio.sleep(0)
    return task


async def test_an_event_is_sent_as_the_list_of_events_has_it(
    live: LiveEvents, access: Access
) -> None:
    async with open_stream(live, access) as pieces:
        chain = b'"a:b\\n\\"c\\""'
        live.put_events(
            PROJECT, ALL, [event(3, properties=b'{"a":"x\\ny"}', elements_chain=chain)], 0
        )

        [message] = await read(pieces, 1)

    assert (message.event, message.id) == ("message", "1-3")
    assert message.data == {
        "id": str(UUID(int=3)),
        "distinct_id": "ann",
        "properties": {"a": "x\ny"},
        "event": "e",
        "timestamp": "2024-03-01T12:00:00+00:00",
        "person": {
            "is_identified": True,
            "distinct_ids": ["ann"],
            "properties": {"email": "ann@x"},
        },
        "elements": [],
        "elements_chain": 'a:b\n"c"',
    }


async def test_an_event_without_a_person_says_so(live: LiveEvents, access: Access) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, [event(1, distinct_id="nobody")], 0)

        assert (await read(pieces, 1))[0].data["person"] is None


async def test_events_are_sent_while_persons_cannot_be_read(
    clock: Stopwatch, access: Access
) -> None:
    async def down(*_: object) -> Mapping[str, PersonOfEvent]:
        raise RecordsUnavailable("down")

    live = LiveEvents(down, clock)
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, events(0, 2), 0)

        assert numbers(await read(pieces, 2)) == [0, 1]


async def test_persons_with_very_long_names_are_read_one_by_one(
    clock: Stopwatch, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_service, "PERSONS_BYTES_MAX", 100)
    sizes: list[int] = []

    async def noted(project_id: int, ids: Iterable[str]) -> Mapping[str, PersonOfEvent]:
        distinct_ids = list(ids)
        sizes.append(len(distinct_ids))
        return await persons_of(project_id, distinct_ids)

    live = LiveEvents(noted, clock)
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, [event(0), event(1, distinct_id="bea")], 0)

        received = await read(pieces, 2)

    assert [message.data["person"]["properties"]["email"] for message in received] == [
        "ann@x",
        "bea@x",
    ]
    assert sizes == [2, 1, 1]


async def test_nothing_is_kept_without_a_stream(live: LiveEvents, access: Access) -> None:
    assert (live.is_watched, live.filters(PROJECT)) == (False, ())
    live.put_events(PROJECT, ALL, events(0, 5), 0)
    async with open_stream(live, access):
        assert (live.filters(PROJECT), live.filters(PROJECT + 1)) == ((ALL,), ())
        live.put_events(PROJECT + 1, ALL, events(0, 5), 0)

        assert live.bytes_held == 0


async def test_streams_with_one_filter_share_what_is_kept(live: LiveEvents, access: Access) -> None:
    async with open_stream(live, access) as first:
        live.put_events(PROJECT, ALL, events(0, 3), 0)
        held = live.bytes_held
        async with open_stream(live, access) as second:
            live.put_events(PROJECT, ALL, events(3, 6), 0)

            assert numbers(await read(first, 6)) == list(range(6))
            assert numbers(await read(second, 3)) == [3, 4, 5]
            assert live.bytes_held == 2 * held


# ── Going on ─────────────────────────────────────────────────────────────────────────────


async def test_a_client_goes_on_behind_the_last_event_that_it_has_seen(
    live: LiveEvents, access: Access
) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, events(0, 2), 0)
        seen = await read(pieces, 1)
    live.put_events(PROJECT, ALL, events(2, 5), 0)

    async with open_stream(live, access, seen[0].id) as pieces:
        assert numbers(await read(pieces, 4)) == [1, 2, 3, 4]


async def test_a_client_is_told_that_its_last_event_is_forgotten(
    live: LiveEvents, access: Access
) -> None:
    async with open_stream(live, access):
        live.put_events(PROJECT, ALL, events(0, 3), 0)

        async with open_stream(live, access, "0-9") as pieces:
            received = await read(pieces, 4)

    assert received[0] == Message("skipped", "", {"events": None, "reason": "reconnected"})
    assert numbers(received) == [0, 1, 2]


async def test_what_a_client_missed_is_sent_whole_however_much_it_is(
    live: LiveEvents, access: Access, clock: Stopwatch
) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, events(0, 1), 0)
        [seen] = await read(pieces, 1)
    live.put_events(PROJECT, ALL, events(1, 121), 0)

    async with open_stream(live, access, seen.id) as pieces:
        received = await read(pieces, EVENTS_PER_S)
        live.put_events(PROJECT, ALL, events(121, 122), 0)
        while len(received) < 121:
            waiting = await next_piece(pieces)
            assert not waiting.done()  # until the next second
            clock.now += 1
            live.check_access()
            received += messages((await waiting).decode())
            received += await read(pieces, min(EVENTS_PER_S, 121 - len(received)) - 1)

    assert numbers(received) == list(range(1, 122))
    assert {message.event for message in received} == {"message"}


async def test_of_what_a_client_missed_the_lost_part_is_counted(
    live: LiveEvents, access: Access, clock: Stopwatch
) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, events(0, 1), 0)
        [seen] = await read(pieces, 1)
        live.put_events(PROJECT, ALL, events(1, 101), 0)

        async with open_stream(live, access, seen.id) as again:
            received = await read(again, EVENTS_PER_S)
            live.put_events(PROJECT, ALL, events(101, 1_091), 0)
            clock.now += 1
            received += await read(again, 11)

    assert numbers(received) == [*range(1, 51), *range(91, 101)]
    assert received[50] == Message("skipped", "", {"events": 40, "reason": "reconnected"})


async def test_rings_are_given_up_after_a_while_without_a_stream(
    clock: Stopwatch, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_service, "LINGER_S", 0.02)
    live = LiveEvents(persons_of, clock)
    async with open_stream(live, access, filter=LiveFilter("a")), open_stream(live, access):
        live.put_events(PROJECT, ALL, events(0, 3), 0)
    assert live.is_watched

    clock.now += 1

    async def is_given_up() -> bool:
        return not live.is_watched

    await until_soon(is_given_up, "the rings stay")
    assert (live.bytes_held, live.streams, live.filters(PROJECT)) == (0, 0, ())


async def test_of_many_rings_without_a_stream_the_oldest_is_given_up(
    live: LiveEvents, access: Access, clock: Stopwatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_service, "RINGS_OF_PROJECT_MAX", 3)
    for name in "abcd":
        clock.now += 1
        async with open_stream(live, access, filter=LiveFilter(name)):
            pass

    assert live.filters(PROJECT) == tuple(map(LiveFilter, "bcd"))


# ── More than a client is sent ───────────────────────────────────────────────────────────


async def test_of_too_many_events_a_sample_is_sent_that_says_so(
    live: LiveEvents, access: Access
) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, events(0, 200), 0)

        received = await read(pieces, 51)

    assert received[0] == Message("sample", "", {"events": 200, "shown": 50, "per_second": 200.0})
    assert numbers(received) == list(range(3, 200, 4))


async def test_of_a_burst_the_sample_counts_what_is_kept_no_more(
    live: LiveEvents, access: Access
) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, events(4_000, 5_000), 4_000)

        received = await read(pieces, 1 + EVENTS_PER_S)

    assert received[0].data == {"events": 5_000, "shown": EVENTS_PER_S, "per_second": 5_000.0}
    assert numbers(received)[-1] == 4_999


async def test_the_next_events_wait_for_the_next_second(
    live: LiveEvents, access: Access, clock: Stopwatch
) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, events(0, EVENTS_PER_S), 0)
        await read(pieces, EVENTS_PER_S)
        live.put_events(PROJECT, ALL, events(50, 55), 0)
        waiting = await next_piece(pieces)
        assert not waiting.done()

        clock.now += 1
        live.put_events(PROJECT, ALL, events(55, 56), 0)
        first = messages((await waiting).decode())

        assert numbers([*first, *await read(pieces, 5)]) == list(range(50, 56))


async def test_the_rate_of_a_sample_is_that_of_the_time_it_stands_for(
    live: LiveEvents, access: Access, clock: Stopwatch
) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, events(0, 100), 0)
        await read(pieces, 1 + EVENTS_PER_S)
        live.put_events(PROJECT, ALL, events(100, 300), 0)
        clock.now += 2

        received = await read(pieces, 1)

    assert received[0].data == {"events": 200, "shown": EVENTS_PER_S, "per_second": 100.0}


async def test_a_slow_client_is_told_how_many_it_missed_and_holds_none_of_them(
    live: LiveEvents, access: Access, clock: Stopwatch
) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, events(0, 10), 0)
        seen = await read(pieces, 4)
        held = live.bytes_held
        live.put_events(PROJECT, ALL, events(10, 3_010), 0)
        clock.now += 60
        assert live.bytes_held <= 110 * held  # a ring has at most 1,000 events

        received = await read(pieces, 2)

    assert numbers(seen) == [0, 1, 2, 3]
    assert received[0] == Message("skipped", "", {"events": 6, "reason": "slow"})
    assert received[1] == Message("skipped", "", {"events": 3_000 - EVENTS_MAX, "reason": "slow"})


async def test_a_client_that_is_slow_for_a_moment_misses_nothing(
    live: LiveEvents, access: Access, clock: Stopwatch
) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, events(0, 10), 0)
        seen = await read(pieces, 4)
        live.put_events(PROJECT, ALL, events(10, 30), 0)
        clock.now += 60

        assert numbers([*seen, *await read(pieces, 26)]) == list(range(30))


async def test_an_event_that_is_too_large_is_counted(live: LiveEvents, access: Access) -> None:
    async with open_stream(live, access) as pieces:
        live.put_events(PROJECT, ALL, [event(1), event(2, properties=b""), event(3)], 0)

        received = await read(pieces, 3)

    assert numbers(received) == [1, 3]
    assert received[2] == Message("skipped", "", {"events": 1, "reason": "too_large"})


# ── Ends ─────────────────────────────────────────────────────────────────────────────────


async def test_a_silent_stream_sends_heartbeats(clock: Stopwatch, access: Access) -> None:
    live = LiveEvents(persons_of, clock, heartbeat_s=0.02)
    async with open_stream(live, access) as pieces:
        for _ in range(2):
            waiting = await next_piece(pieces)
            clock.now += 0.02

            assert await waiting == HEARTBEAT


async def ended(pieces: AsyncGenerator[bytes]) -> bool:
    return await anext(pieces, None) is None


async def test_a_stream_ends_when_access_does(
    live: LiveEvents, access: Access, clock: Stopwatch
) -> None:
    async with open_stream(live, access) as pieces:
        access.error = PermissionDenied()
        live.put_events(PROJECT, ALL, events(0, 1), 0)
        clock.now += ACCESS_CHECK_S

        assert await ended(pieces)


async def test_a_revoked_key_ends_a_waiting_stream_at_once(
    live: LiveEvents, access: Access
) -> None:
    async with open_stream(live, access) as pieces:
        waiting = await next_piece(pieces)
        access.error = PermissionDenied()

        live.check_access()

        with pytest.raises(StopAsyncIteration):
            await waiting
        assert live.streams == 0


@pytest.mark.parametrize("error", [RecordsUnavailable("down"), Unavailable()])
async def test_a_stream_goes_on_while_it_is_unknown_whether_access_ends(
    live: LiveEvents, access: Access, error: Exception
) -> None:
    async with open_stream(live, access) as pieces:
        access.error = error
        live.check_access()
        live.put_events(PROJECT, ALL, events(0, 1), 0)

        assert numbers(await read(pieces, 1)) == [0]
        assert access.asked == 1


async def test_a_stream_ends_when_the_client_leaves(live: LiveEvents, access: Access) -> None:
    async with open_stream(live, access) as pieces:
        waiting = await next_piece(pieces)

        access.left.set()

        with pytest.raises(StopAsyncIteration):
            await waiting
        assert live.streams == 0


async def test_closing_ends_every_stream_and_lets_no_other_in(
    live: LiveEvents, access: Access
) -> None:
    async with open_stream(live, access) as first, open_stream(live, access) as second:
        waiting = await asyncio.gather(next_piece(first), next_piece(second))

        live.close()

        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StopAsyncIteration] * 2
        with pytest.raises(Unavailable):
            live.messages(subscription(access))


@pytest.mark.parametrize(
    ("limit", "whose"),
    [
        (STREAMS_OF_USER_MAX, {"user_id": lambda n: 1, "project_id": lambda n: n}),
        (STREAMS_OF_PROJECT_MAX, {"user_id": lambda n: n, "project_id": lambda n: 1}),
        (STREAMS_MAX, {"user_id": lambda n: n, "project_id": lambda n: n}),
    ],
    ids=["user", "project", "server"],
)
async def test_the_number_of_streams_is_limited(
    live: LiveEvents, access: Access, limit: int, whose: Any
) -> None:
    def numbered(number: int) -> Subscription:
        return subscription(access, **{name: make(number) for name, make in whose.items()})

    opened = [live.messages(numbered(number)) for number in range(limit)]
    for pieces in opened:
        await anext(pieces)

    with pytest.raises(TooManyStreams) as refused:
        live.messages(numbered(limit))
    await opened[0].aclose()
    again = live.messages(numbered(0))
    await anext(again)

    assert refused.value.headers() == (("retry-after", "10"),)
    assert str(limit) in refused.value.detail
    for pieces in [*opened, again]:
        await pieces.aclose()
    assert live.streams == 0
