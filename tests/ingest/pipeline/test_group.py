"""Workers ingest the partitions that Kafka assigns, and an epoch that is over is a fence."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pytest
from sqlalchemy import select

from fanion.accept_log.kafka.records import positions_prefix
from fanion.db.engine import Records
from fanion.db.schema.tables import log_positions
from fanion.events.definitions.properties import PropertyCache
from fanion.ingest.pipeline.group_store import GroupStore, WrongTopics, note_topics
from fanion.ingest.pipeline.group_worker import CONFIRMED_S, SETTLED_S, GroupMembership
from fanion.ingest.pipeline.lane_membership_worker import STUCK_S
from fanion.ingest.pipeline.membership_store import MembershipStore
from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.ingest.pipeline.position_store import HISTORICAL, LIVE, NotLeaseHolder, Span
from fanion.ingest.pipeline.store import IngestStore
from fanion.persons.state.versions_store import Versions

pytestmark = pytest.mark.postgresql

PREFIX = positions_prefix("fanion")
LANES = tuple(PREFIX + lane for lane in (LIVE, HISTORICAL))
PARTITIONS = 4
IDS = ("first", "second")


@dataclass
class FakeGroup:
    """A consumer group that tells its member what a test says."""

    assigned: frozenset[int] = frozenset()
    revoked: frozenset[int] = frozenset()
    is_silent: bool = False
    has_left: bool = False

    def give_up(self) -> None:
        self.assigned -= self.revoked
        self.revoked = frozenset()

    async def leave(self) -> None:
        self.has_left = True


@dataclass
class Worker:
    """A process whose lanes follow each assignment at once, and whose loop a test turns."""

    records: Records
    name: str
    group: FakeGroup = field(default_factory=FakeGroup)
    at_s: float = 0.0  # by its clock
    membership: GroupMembership = field(init=False)

    def __post_init__(self) -> None:
        self.membership = GroupMembership(
            GroupStore(self.records, PREFIX, self.name),
            MembershipStore(self.records, self.name),
            self._join,
            self._count,
            lambda: self.at_s,
        )
        self.membership._group = self.group
        self.follow()

    def _join(self, _: Callable[[], None]) -> FakeGroup:
        return self.group

    async def _count(self) -> int:
        return PARTITIONS

    def follow(self) -> None:
        for lane in LANES:
            self.membership.follow(lane, self.membership.assignment)

    @property
    def epochs(self) -> Mapping[int, int]:
        return self.membership.assignment.epochs

    async def turn(self, seconds: float = 0.0) -> None:
        self.at_s += seconds
        await self.membership.look()
        self.follow()

    async def assign(self, partitions: Iterable[int]) -> None:
        self.group.assigned = frozenset(partitions)
        await self.turn()

    def span(self, upto: Mapping[int, int]) -> Span:
        return Span(dict.fromkeys(upto, 0), upto, self.epochs)

    async def claim(self, span: Span, lane: str = LIVE) -> None:
        store = IngestStore(
            self.records, PREFIX + lane, PersonCache(), PropertyCache(), Versions(self.records)
        )
        await store.claim_span(span)


@pytest.fixture
async def noted(records: Records) -> AsyncIterator[Records]:
    await note_topics(records, PREFIX, IDS, PARTITIONS, are_own=True)
    yield records


async def test_a_worker_ingests_what_kafka_assigns(noted: Records) -> None:
    a, b = Worker(noted, "a"), Worker(noted, "b")

    await a.assign({1, 2, 3})
    await b.assign({4})

    assert a.epochs == {1: 1, 2: 1, 3: 1}
    assert b.epochs == {4: 1}
    assert a.membership.partitions == PARTITIONS
    await a.claim(a.span({1: 100, 2: 200}))
    await a.claim(a.span({3: 100}), HISTORICAL)


async def test_what_is_revoked_is_given_up_once_the_lanes_have_followed(noted: Records) -> None:
    a, b = Worker(noted, "a"), Worker(noted, "b")
    await a.assign({1, 2})
    a.group.revoked = frozenset({2})

    await a.membership.look()
    offered, waited_for = dict(a.epochs), a.group.revoked
    a.follow()
    await a.turn()
    await b.assign({2})

    assert (offered, waited_for) == ({1: 1}, frozenset({2}))
    assert a.group.revoked == frozenset()
    assert b.epochs == {2: 2}


async def test_a_worker_that_has_lost_a_partition_moves_no_position(noted: Records) -> None:
    a, b = Worker(noted, "a"), Worker(noted, "b")
    await a.assign({1, 2})
    late = a.span({1: 100, 2: 100})

    await b.assign({2})

    with pytest.raises(NotLeaseHolder):
        await a.claim(late)
    rows = await noted.fetch(select(log_positions).where(log_positions.c.claimed > 0))
    assert list(rows) == []


async def test_who_takes_what_was_not_released_waits_until_its_holder_inserts_nothing(
    noted: Records,
) -> None:
    a, b = Worker(noted, "a"), Worker(noted, "b")
    await a.assign({1})
    span = a.span({1: 100})
    await a.turn(1.0)
    a.membership.require_current(span)

    await b.assign({1})
    before = dict(b.epochs)
    a.at_s += CONFIRMED_S + 0.1
    with pytest.raises(NotLeaseHolder, match="confirmed"):
        a.membership.require_current(span)
    await b.turn(SETTLED_S)

    assert CONFIRMED_S < SETTLED_S
    assert before == {}
    assert b.epochs == {1: 2}


async def test_a_paused_worker_inserts_nothing_after_it_has_looked_again(noted: Records) -> None:
    a, b = Worker(noted, "a"), Worker(noted, "b")
    await a.assign({1, 2})
    await a.turn(1.0)
    kept, lost = a.span({1: 100}), a.span({1: 100, 2: 100})

    await b.assign({2})
    a.group.assigned = frozenset({1})
    await a.turn(30.0)

    a.membership.require_current(kept)
    with pytest.raises(NotLeaseHolder, match="another server"):
        a.membership.require_current(lost)
    assert a.epochs == {1: 1}


async def test_a_partition_that_was_taken_away_and_is_still_assigned_is_taken_again(
    noted: Records,
) -> None:
    a, b = Worker(noted, "a"), Worker(noted, "b")
    await a.assign({1})
    await b.assign({1})
    b.group.assigned = frozenset()
    await b.turn()

    await a.turn(2.0)

    assert b.epochs == {}
    assert a.epochs == {1: 3}


async def test_rows_that_a_paused_worker_has_locked_are_taken_later(noted: Records) -> None:
    a = Worker(noted, "a")
    locked = select(log_positions).where(log_positions.c.consumer == f"{PREFIX}live/2")
    async with noted.write() as connection:
        await connection.execute(locked.with_for_update())
        await a.assign({1, 2})
        first = dict(a.epochs)

    await a.turn()

    assert first == {1: 1}
    assert a.epochs == {1: 1, 2: 1}


async def test_a_worker_whose_batch_is_stuck_lets_others_take_over(noted: Records) -> None:
    a = Worker(noted, "a")
    await a.assign({1})

    with a.membership.working(LANES[0]):
        await a.turn(STUCK_S + 1)
        silent = a.group.is_silent
    await a.turn()

    assert silent
    assert not a.group.is_silent


async def test_a_worker_that_ends_releases_what_it_holds(noted: Records) -> None:
    a, b = Worker(noted, "a"), Worker(noted, "b")
    a.group.assigned = frozenset({1})
    async with a.membership.joined(LANES[0]), a.membership.joined(LANES[1]):
        while not a.epochs:
            await asyncio.wait_for(a.membership.changed_from(a.membership.assignment.version), 30)
            a.follow()

    await b.assign({1})

    assert a.group.has_left
    assert b.epochs == {1: 2}


async def test_positions_are_added_when_topics_get_partitions(noted: Records) -> None:
    await note_topics(noted, PREFIX, IDS, PARTITIONS + 2, are_own=False)

    rows = await noted.fetch(
        select(log_positions.c.partition).where(log_positions.c.consumer.like(f"{PREFIX}%/%"))
    )
    numbers = sorted(-row.partition for row in rows if row.partition)
    assert numbers == sorted([*range(1, 7), *range(1, 7)])


@pytest.mark.parametrize(
    ("ids", "partitions", "message"),
    [
        (("first", "other"), PARTITIONS, "deleted and created again"),
        (IDS, PARTITIONS - 1, "have 3 partitions, and had 4"),
    ],
)
async def test_other_topics_are_refused(
    noted: Records, ids: tuple[str, str], partitions: int, message: str
) -> None:
    with pytest.raises(WrongTopics, match=message):
        await note_topics(noted, PREFIX, ids, partitions, are_own=True)
