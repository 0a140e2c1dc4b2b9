"""Workers share the partitions of the accept log, and a lost lease is a fence."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import asyncpg
import pytest
from sqlalchemy import select, text
from structlog.testing import capture_logs

from fanion.db.engine import Records
from fanion.db.schema.tables import log_positions
from fanion.events.definitions.properties import PropertyCache
from fanion.ingest.ledger.model import Tally
from fanion.ingest.pipeline.lane_membership_worker import STUCK_S
from fanion.ingest.pipeline.membership_store import MembershipStore
from fanion.ingest.pipeline.membership_worker import Membership
from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.ingest.pipeline.position_store import HISTORICAL, LIVE, NotLeaseHolder, Span
from fanion.ingest.pipeline.store import IngestStore
from fanion.persons.state.versions_store import Versions
from tests.support.awaited import until_soon
from tests.support.management import NOW

pytestmark = pytest.mark.postgresql

PARTITIONS = 64
QUIET = 3  # rounds: one to join, one to release, one to take
_SILENT = text("""
UPDATE log_workers SET renewed_at = CLOCK_TIMESTAMP() - INTERVAL '7 s' WHERE id = :worker
""")


@dataclass
class Worker:
    """A process whose consumers follow each assignment at once, and whose loop a test turns."""

    records: Records
    name: str
    membership: Membership = field(init=False)
    at_s: float = 0.0  # by its clock

    def __post_init__(self) -> None:
        store = MembershipStore(self.records, self.name)
        self.membership = Membership(store, lambda: self.at_s)
        self.join()

    def join(self) -> None:
        for lane in (LIVE, HISTORICAL):
            self.membership.follow(lane, self.membership.assignment)

    @property
    def epochs(self) -> Mapping[int, int]:
        return self.membership.assignment.epochs

    async def turn(self) -> None:
        await self.membership.look()
        self.join()

    def lane(self, lane: str = LIVE) -> IngestStore:
        return IngestStore(
            self.records, lane, PersonCache(), PropertyCache(), Versions(self.records)
        )

    async def claim(self, upto: Mapping[int, int], lane: str = LIVE) -> None:
        after = dict.fromkeys(upto, 0)
        await self.lane(lane).claim_span(Span(after, upto, self.epochs))


async def settle(*workers: Worker) -> list[int]:
    """Return how many partitions each worker has, once nothing changes any more."""
    quiet = 0
    while quiet < QUIET:
        before = [dict(worker.epochs) for worker in workers]
        for worker in workers:
            await worker.turn()
        quiet = quiet + 1 if before == [dict(worker.epochs) for worker in workers] else 0
    held = [partition for worker in workers for partition in worker.epochs]
    assert len(held) == len(set(held))
    return [len(worker.epochs) for worker in workers]


async def fall_silent(worker: Worker) -> None:
    """Make a worker look as if it was killed or paused longer ago than a worker may be silent."""
    async with worker.records.write() as connection:
        await connection.execute(_SILENT, {"worker": worker.name})


async def positions(records: Records) -> dict[str, tuple[int, int]]:
    rows = await records.fetch(select(log_positions))
    return {row.consumer: (row.position, row.claimed) for row in rows if row.claimed}


async def test_workers_that_join_and_leave_share_the_partitions(records: Records) -> None:
    a, b, c = (Worker(records, name) for name in "abc")

    alone = await settle(a)
    two = await settle(a, b)
    three = await settle(a, b, c)
    await b.membership._store.leave_group()
    rest = await settle(a, c)

    assert alone == [PARTITIONS]
    assert two == [32, 32]
    assert sorted(three) == [20, 22, 22]
    assert rest == [32, 32]


async def test_a_worker_that_died_is_followed_by_the_others(records: Records) -> None:
    a, b, c = (Worker(records, name) for name in "abc")
    await settle(a, b, c)

    await fall_silent(b)

    assert await settle(a, c) == [32, 32]


async def test_what_a_server_takes_gives_up_and_loses_is_logged(records: Records) -> None:
    a, b = Worker(records, "a"), Worker(records, "b")
    with capture_logs() as alone:
        await settle(a)
    with capture_logs() as shared:
        await settle(a, b)
    await fall_silent(a)
    await settle(b)
    with capture_logs() as lost:
        await a.turn()

    taken = {"event": "log_partitions_taken", "log_level": "info"}
    assert alone == [{**taken, "partitions": "1-64", "count": 64, "held": 64}]
    assert shared == [
        {
            "event": "log_partitions_given_up",
            "log_level": "info",
            "partitions": "33-64",
            "count": 32,
            "held": 32,
        },
        {**taken, "partitions": "33-64", "count": 32, "held": 32},
    ]
    assert lost[0] == {
        "event": "log_partitions_lost",
        "log_level": "warning",
        "partitions": "1-32",
        "count": 32,
        "held": 0,
    }


async def test_partitions_that_a_paused_server_has_locked_in_a_statement_are_freed(
    records: Records, postgres_url: str
) -> None:
    a, b = Worker(records, "a"), Worker(records, "b")
    await settle(a, b)
    paused = await asyncpg.connect(postgres_url, server_settings={"application_name": "fanion"})
    await paused.execute("BEGIN")
    await paused.execute("UPDATE log_positions SET claimed = claimed WHERE holder = 'a'")
    await paused.prepare("SELECT 1")  # what would follow is its execution
    await fall_silent(a)
    locked = await settle(b)

    await MembershipStore(records, "b").end_silent_transactions(silence_s=0)

    async def are_freed() -> bool:  # once PostgreSQL has ended the transaction, a moment later
        return await settle(b) == [64]

    await until_soon(are_freed, "b has not taken the partitions")
    paused.terminate()
    assert locked == [32]


async def test_a_worker_whose_batch_is_stuck_is_followed_by_the_others(records: Records) -> None:
    a, b = Worker(records, "a"), Worker(records, "b")
    await settle(a, b)

    with a.membership.working(LIVE):
        a.at_s += STUCK_S + 1
        await fall_silent(a)  # it no longer renews its membership
        await a.turn()
        await b.turn()
        of_b = len(b.epochs)
    rest = await settle(a, b)

    assert of_b == PARTITIONS
    assert rest == [32, 32]


async def test_what_was_claimed_stays_so_when_the_batch_is_halved(records: Records) -> None:
    a = Worker(records, "a")
    await settle(a)
    await a.claim({1: 5, 2: 4})

    await a.claim({1: 2})
    half = Span({1: 0}, {1: 2}, a.epochs)
    await a.lane().write_batch([], Tally(), half, NOW)

    assert await positions(records) == {"live/1": (2, 5), "live/2": (0, 4)}


async def test_partitions_are_given_up_only_when_both_lanes_have_let_go(records: Records) -> None:
    a, b = Worker(records, "a"), Worker(records, "b")
    await settle(a)
    await b.turn()

    for _ in range(3):
        await a.membership.look()
        a.membership.follow(LIVE, a.membership.assignment)
        await b.turn()
    before = len(b.epochs)
    a.join()

    assert before == 0
    assert await settle(a, b) == [32, 32]


async def test_each_new_holder_has_a_larger_epoch(records: Records) -> None:
    a, b = Worker(records, "a"), Worker(records, "b")
    await settle(a)
    first = dict(a.epochs)
    await fall_silent(a)
    await settle(b)
    second = dict(b.epochs)
    await fall_silent(b)
    await settle(a)

    assert all(first[partition] < second[partition] < a.epochs[partition] for partition in first)


@pytest.mark.parametrize("lane", [LIVE, HISTORICAL])
async def test_a_worker_that_was_paused_writes_nothing(records: Records, lane: str) -> None:
    a, b = Worker(records, "a"), Worker(records, "b")
    await settle(a)
    await fall_silent(a)
    await settle(b)

    with pytest.raises(NotLeaseHolder):
        await a.claim({1: 5, 2: 6}, lane)
    with pytest.raises(NotLeaseHolder):
        await a.lane(lane).held_positions(a.epochs)

    assert await positions(records) == {}


async def test_a_worker_that_lost_one_partition_of_a_batch_writes_nothing(
    records: Records,
) -> None:
    a = Worker(records, "a")
    await settle(a)
    async with records.write() as connection:
        await connection.execute(
            text("UPDATE log_positions SET epoch = epoch + 1 WHERE consumer = 'live/2'")
        )

    with pytest.raises(NotLeaseHolder):
        await a.claim({1: 5, 2: 6})

    assert await positions(records) == {}


async def test_nobody_moves_a_position_twice(records: Records) -> None:
    a = Worker(records, "a")
    await settle(a)
    await a.claim({1: 5})
    async with records.write() as connection:
        await connection.execute(
            text("UPDATE log_positions SET position = 5 WHERE consumer = 'live/1'")
        )

    with pytest.raises(NotLeaseHolder):
        await a.claim({1: 7})


async def test_a_batch_of_a_dead_worker_is_taken_whole_and_before_anything_else(
    records: Records,
) -> None:
    a, b, c = (Worker(records, name) for name in "abc")
    await settle(a, b)
    await settle(a, b, c)
    batch = dict.fromkeys(list(a.epochs)[:20], 9)
    await a.claim(batch)

    await fall_silent(a)
    await b.turn()
    of_batch = batch.keys() & b.epochs.keys()
    held = await b.lane().held_positions(b.epochs)

    assert of_batch == batch.keys()
    assert {
        consumer for consumer, position in held.items() if position.claimed > position.at
    } == of_batch
    assert sum(await settle(b, c)) == PARTITIONS


async def test_a_worker_that_leaves_in_a_batch_leaves_it_recognisable(records: Records) -> None:
    a, b = Worker(records, "a"), Worker(records, "b")
    await settle(a)
    await a.claim({3: 9, 4: 9})
    await a.membership._store.leave_group()

    await b.turn()

    assert set(b.epochs) == {3, 4}
    assert await settle(b) == [PARTITIONS]
