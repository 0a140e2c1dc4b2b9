"""The accept log on each engine keeps what it acknowledged, in order, until it is trimmed."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanion.accept_log.port import AcceptLog, Backlog, Envelope, LogFull
from tests.support.accept_logs import (
    KAFKA,
    NOW,
    entry_ids,
    envelope,
    log_location,
    open_log,
    positions_everywhere,
    read_all,
)
from tests.support.postgres import ENGINES

# Kafka deletes records by their age, and a full disk ends the broker: these tests are not its.
only_trimmed = pytest.mark.parametrize("place", ENGINES, indirect=True)


@pytest.fixture(params=[*ENGINES, KAFKA])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return log_location(request.param, request, tmp_path / "deep")


@pytest.fixture
async def log(place: str) -> AsyncIterator[AcceptLog]:
    opened = await open_log(place)
    yield opened
    await opened.close()


async def test_an_envelope_comes_back_as_it_was(log: AcceptLog) -> None:
    sent_at = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    full = Envelope(2**40, NOW, "2001:db8::1", "Zoë/1 \u2028", sent_at, bytes(range(256)) * 300)
    bare = Envelope(1, NOW, "", "", None, b"", historical=True)

    await log.append(full)
    await log.append(bare)

    assert [entry.envelope for entry in await read_all(log)] == [full]
    assert [entry.envelope for entry in await read_all(log, historical=True)] == [bare]


async def test_entries_come_in_id_order_and_ids_only_grow(log: AcceptLog) -> None:
    appended = [await log.append(envelope(b"%d" % n)) for n in range(3)]
    appended += await asyncio.gather(*(log.append(envelope(b"%d" % n)) for n in range(3, 300)))

    entries = await read_all(log)

    assert appended == sorted(set(appended))
    assert entry_ids(entries) == appended
    assert [entry.envelope.body for entry in entries] == [b"%d" % n for n in range(300)]


async def test_a_run_is_bounded_by_number(log: AcceptLog) -> None:
    appended = await asyncio.gather(*(log.append(envelope()) for _ in range(10)))

    first = await log.read(positions_everywhere(log, 0), 4, 10**6)
    second = await log.read(positions_everywhere(log, first[-1].id), 100, 10**6)

    assert entry_ids(first) == appended[:4]
    assert entry_ids(second) == appended[4:]


@pytest.mark.parametrize(("bytes_max", "expected"), [(1, 1), (250, 2), (300, 3), (301, 3)])
async def test_a_run_is_bounded_by_bytes_but_never_empty(
    log: AcceptLog, bytes_max: int, expected: int
) -> None:
    await asyncio.gather(*(log.append(envelope(b"x" * 100)) for _ in range(9)))

    assert len(await log.read(positions_everywhere(log, 0), 100, bytes_max)) == expected


async def test_reading_past_the_end_finds_nothing(log: AcceptLog) -> None:
    last = await log.append(envelope())

    assert list(await log.read(positions_everywhere(log, last), 10, 100)) == []


@only_trimmed
async def test_trimmed_entries_are_gone_and_the_others_stay(log: AcceptLog) -> None:
    appended = await asyncio.gather(*(log.append(envelope()) for _ in range(10)))

    await log.trim(positions_everywhere(log, appended[6]))

    assert entry_ids(await read_all(log)) == appended[7:]
    assert (await log.backlog(positions_everywhere(log, 0))).envelopes == 3


@only_trimmed
async def test_trimming_goes_through_more_than_one_transaction(log: AcceptLog) -> None:
    appended = [await log.append(envelope()) for _ in range(150)]
    appended += await asyncio.gather(*(log.append(envelope()) for _ in range(5500)))

    await log.trim(positions_everywhere(log, appended[-2]))

    assert entry_ids(await read_all(log)) == appended[-1:]


@only_trimmed
async def test_an_id_never_comes_back(place: str) -> None:
    log = await open_log(place)
    last = [await log.append(envelope()) for _ in range(5)][-1]
    await log.trim(positions_everywhere(log, last))
    await log.close()

    log = await open_log(place)
    assert await read_all(log) == []
    again = await log.append(envelope())
    await log.close()

    assert again > last


@only_trimmed
async def test_lanes_are_read_and_trimmed_apart(log: AcceptLog) -> None:
    live = [await log.append(envelope(b"live")) for _ in range(3)]
    old = [await log.append(envelope(b"old", historical=True)) for _ in range(4)]

    await log.trim(positions_everywhere(log, live[-1] + 1000))

    assert await read_all(log) == []
    assert entry_ids(await read_all(log, historical=True)) == old
    assert not set(live) & set(old)
    assert (await log.backlog(positions_everywhere(log, 0), historical=True)).envelopes == 4


def is_empty(backlog: Backlog) -> bool:
    """Return whether nothing waits, in no partition of a log that tells what waits in each."""
    waits = [partition.envelopes for partition in backlog.partitions]
    return (backlog.envelopes, backlog.bytes, backlog.oldest, sum(waits)) == (0, 0, None, 0)


async def test_the_backlog_counts_what_is_not_ingested(log: AcceptLog) -> None:
    moments = [NOW + timedelta(seconds=n) for n in range(10)]
    appended = [
        *[await log.append(replace(envelope(), received_at=at)) for at in moments[:4]],
        *await asyncio.gather(
            *(log.append(replace(envelope(), received_at=at)) for at in moments[4:])
        ),
    ]

    whole = await log.backlog(positions_everywhere(log, 0))
    rest = await log.backlog(positions_everywhere(log, appended[1]))
    await log.trim(positions_everywhere(log, appended[1]))

    assert (whole.envelopes, whole.oldest) == (10, NOW)
    assert (rest.envelopes, rest.oldest) == (8, moments[2])
    assert 0 < rest.bytes < whole.bytes
    assert await log.backlog(positions_everywhere(log, appended[1])) == rest
    assert (await log.backlog(positions_everywhere(log, appended[7]))).envelopes == 2
    assert is_empty(await log.backlog(positions_everywhere(log, appended[-1])))


async def test_the_backlog_is_the_same_after_a_restart(place: str) -> None:
    log = await open_log(place)
    appended = await asyncio.gather(*(log.append(envelope(b"x" * n)) for n in range(200)))
    before = await log.backlog(positions_everywhere(log, 0))
    await log.close()

    log = await open_log(place)
    after = await log.backlog(positions_everywhere(log, 0))
    empty = await log.backlog(positions_everywhere(log, appended[-1]))
    await log.close()

    assert before == after
    assert is_empty(empty)


@only_trimmed
async def test_what_is_trimmed_after_a_restart_is_not_counted(place: str) -> None:
    log = await open_log(place)
    appended = await asyncio.gather(*(log.append(envelope(b"x" * n)) for n in range(200)))
    await log.close()

    log = await open_log(place)
    await log.trim(positions_everywhere(log, appended[-1]))
    empty = await log.backlog(positions_everywhere(log, 0))
    await log.close()

    assert is_empty(empty)


@only_trimmed
async def test_a_full_log_refuses_and_takes_again_after_trimming(place: str) -> None:
    log = await open_log(place, bytes_max=3000)
    accepted = []

    with pytest.raises(LogFull):
        for n in range(1000):
            accepted.append(await log.append(envelope(bytes([n % 256]) * 700)))
    refused = len(accepted)
    stored = len(await read_all(log))
    await log.trim(positions_everywhere(log, accepted[-1]))
    await log.append(envelope())

    await log.close()
    assert 1 <= refused < 100
    assert stored == refused


@only_trimmed
async def test_an_import_leaves_room_for_live_events(place: str) -> None:
    log = await open_log(place, bytes_max=5000)

    with pytest.raises(LogFull):
        for _ in range(1000):
            await log.append(envelope(b"x" * 200, historical=True))
    await log.append(envelope())

    await log.close()


async def test_a_cancelled_append_leaves_the_others_whole(log: AcceptLog) -> None:
    tasks = [asyncio.ensure_future(log.append(envelope(b"%d" % n))) for n in range(300)]
    for n, task in enumerate(tasks):
        if n % 3 == 0:
            task.cancel()
        if n % 50 == 0:
            await asyncio.sleep(0)

    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    stored = {entry.id: entry.envelope.body for entry in await read_all(log)}
    for n, outcome in enumerate(outcomes):
        if isinstance(outcome, int):
            assert stored[outcome] == b"%d" % n
    assert sum(isinstance(outcome, int) for outcome in outcomes) >= 200


async def test_closing_writes_what_waits_and_refuses_what_comes_later(place: str) -> None:
    log = await open_log(place)
    waiting = [asyncio.ensure_future(log.append(envelope())) for _ in range(2500)]
    await asyncio.sleep(0)

    await log.close()

    appended = await asyncio.gather(*waiting)
    with pytest.raises(OSError, match="closed"):
        await log.append(envelope())
    again = await open_log(place)
    assert entry_ids(await read_all(again)) == appended
    await again.close()


async def test_waiting_ends_when_something_is_appended(log: AcceptLog) -> None:
    first = await log.append(envelope())
    await log.appended(positions_everywhere(log, first - 1))
    waiting = asyncio.create_task(log.appended(positions_everywhere(log, first)))
    in_the_other_lane = asyncio.create_task(
        log.appended(positions_everywhere(log, first), historical=True)
    )

    await log.append(envelope())
    await waiting

    assert not in_the_other_lane.done()
    await log.append(envelope(historical=True))
    await in_the_other_lane


async def test_waiting_after_a_restart_sees_what_is_there(place: str) -> None:
    log = await open_log(place)
    last = await log.append(envelope())
    await log.close()

    log = await open_log(place)
    await log.appended(positions_everywhere(log, last - 1))
    await log.close()


async def test_reading_follows_a_log_that_is_appended_to(log: AcceptLog) -> None:
    async def append(number: int) -> list[int]:
        return [await log.append(envelope(b"%d" % number)) for _ in range(60)]

    async def follow() -> list[int]:
        seen: list[int] = []
        while len(seen) < 600:
            after = seen[-1] if seen else 0
            await log.appended(positions_everywhere(log, after))
            seen += entry_ids(await log.read(positions_everywhere(log, after), 37, 10**6))
            await log.trim(positions_everywhere(log, seen[-1] - 5))
        return seen

    *appended, seen = await asyncio.gather(*(append(n) for n in range(10)), follow())

    assert seen == sorted(entry_id for run in appended for entry_id in run)


async def test_one_envelope_that_cannot_be_stored_fails_alone(log: AcceptLog) -> None:
    broken = replace(envelope(), user_agent="\ud800")

    outcomes = await asyncio.gather(
        log.append(envelope(b"1")),
        log.append(broken),
        log.append(envelope(b"2")),
        return_exceptions=True,
    )

    assert [isinstance(outcome, int) for outcome in outcomes] == [True, False, True]
    assert [entry.envelope.body for entry in await read_all(log)] == [b"1", b"2"]
