"""The contract of the event store, on every engine."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from clickhouse_connect.driver.client import Client
from msgspec.structs import replace

from fanion.events.event import (
    Erasure,
    Event,
    EventQuery,
    EventRejected,
    EventStoreUnavailable,
    GroupRow,
    Override,
    PersonRow,
)
from fanion.events.storage.client import READ_SECONDS_MAX
from fanion.events.storage.cluster_encoder import ShardEncoder
from fanion.events.storage.cluster_shards import slots_of
from fanion.events.storage.encoder import EventEncoder, TextEncoder
from fanion.events.storage.event_tables import event_tables
from fanion.events.storage.native_encoder import NativeEncoder
from fanion.events.storage.store import EventStore, encoder_for, open_events
from fanion.properties.filters import Property
from tests.support.events_engine import CHDB

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def event(project_id: int, minutes: float = 0, **changes: object) -> Event:
    made = Event(
        project_id=project_id,
        uuid=uuid4(),
        event="signed up",
        distinct_id="ada",
        person_id=UUID(int=1),
        timestamp=NOON + timedelta(minutes=minutes),
        received_at=NOON,
        properties=b'{"plan":"pro"}',
    )
    return replace(made, **changes)


GONE = UUID(int=2**64)
# Partitions by month or by year.
PARTITIONS = """
SELECT DISTINCT partition
  FROM system.parts
 WHERE active
   AND (database, table) = ({database:String}, {name:String})
"""


@pytest.fixture
def events(every_events: EventStore) -> EventStore:
    return every_events


@pytest.fixture(params=[NativeEncoder(), TextEncoder()], ids=["native", "text"])
def encoder(request: pytest.FixtureRequest) -> EventEncoder:
    parameter: EventEncoder = request.param
    return parameter


@pytest.fixture
def each_format(
    every_events: EventStore, encoder: EventEncoder, monkeypatch: pytest.MonkeyPatch
) -> EventStore:
    """Return the store, which gets its rows in each format, for tests of what is stored."""
    if every_events._cluster is not None:
        encoder = ShardEncoder(encoder, slots_of(every_events._cluster.shards.values()))
    monkeypatch.setattr(every_events, "_encoder", encoder)
    return every_events


@pytest.fixture
async def cleared_store(each_format: EventStore) -> AsyncIterator[EventStore]:
    """Yield the store, and drop the partitions that the test has added.

    With a part for each month, all tests that share the store would wait longer for their reads,
    and ten seconds for each deletion. In the others there may be events of those tests.
    """
    before = await each_format._inserts.run(partitions)
    yield each_format
    await each_format._inserts.run(partial(drop_partitions, kept=before))


def partitions(client: Client) -> set[tuple[str, str]]:
    """Return the partitions of the tables of events, each with the name by which to alter it."""
    return {
        (table.altered, partition)
        for table in event_tables(client)
        for (partition,) in client.query(
            PARTITIONS, {"database": table.database, "name": table.name}
        ).result_rows
    }


def drop_partitions(client: Client, kept: set[tuple[str, str]]) -> None:
    for table, partition in partitions(client) - kept:
        client.command(f"ALTER TABLE {table} DROP PARTITION {partition}")


async def insert(store: EventStore, sent: Sequence[Event]) -> None:
    await store.insert(store.encoder.batch(sent), str(uuid4()))


async def copied(store: EventStore, project_id: int) -> int:
    """Return the number of the project's events in the copy by distinct id."""
    statement = "SELECT count() FROM events_by_distinct_id WHERE project_id = {project:UInt64}"
    [(count,)] = await store._reads.fetch(statement, {"project": project_id})
    return int(count)


async def page(store: EventStore, project_id: int, **query: object) -> Sequence[Event]:
    return await store.list(project_id, EventQuery(**query))  # type: ignore[arg-type]  # as above


async def test_what_was_stored_comes_back_whole(each_format: EventStore, project_id: int) -> None:
    sent = event(project_id, event="größe", distinct_id="a'b\\\"\n☃", person_id=uuid4())

    await insert(each_format, [sent])

    assert await page(each_format, project_id) == [sent]
    assert await each_format.get(project_id, sent.uuid) == sent


NESTED_40 = b"[null," * 40 + b"1" + b"]" * 40

AWKWARD_PROPERTIES = {
    "null": b'{"a":null}',
    "numbers as written": b'{"a":1.0,"b":1,"c":1e2,"d":-0.0}',
    "spaces and order": b' {"b" : 1,\n "a":2 } ',
    "integer beyond 64 bits": b'{"a":123456789012345678901234567890,"b":-99999999999999999999}',
    "float beyond doubles": b'{"a":1e400}',
    "dotted key beside its path": b'{"a":{"b":1},"a.b":2}',
    "one key twice": b'{"a":1,"a":2}',
    "scalar and object at one path": b'{"a":{"b":1},"a":2}',
    "empty keys": b'{"":1,"a":{"":2}}',
    "mixed array": b'{"a":[1,"x",{"b":2},null,[1.5]]}',
    "NUL": b'{"a\\u0000b":"x\\u0000y"}',
    "lone surrogate": b'{"a":"\\ud800","\\ud800":1}',
    "quotes in keys": b'{"a`b":1,"a\\"b":2,"a\\\\b":3,"a%2Eb":4,"SKIP":5,"a.:`Int64`":6,"a^b":7}',
    "looks like dates": b'{"a":"2024-01-01","b":"9999-99-99 99:99:99"}',
    "objects 900 deep": b'{"a":' * 900 + b"1" + b"}" * 900,
    "objects 5000 deep": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "arrays 900 deep": b'{"a":' + b"[" * 900 + b"]" * 900 + b"}",
    "nulls in arrays 40 deep": b'{"a":' + NESTED_40 + b"}",
    "arrays of objects 100 deep": b'{"a":' + b'[{"b":' * 100 + b"1" + b"}]" * 100 + b"}",
    "a large value": b'{"a":"' + b"x" * 3_000_000 + b'"}',
    "many keys": b"{" + b",".join(b'"k%d":%d' % (n, n) for n in range(5000)) + b"}",
    "a long key": b'{"' + b"k" * 50_000 + b'":1}',
}


@pytest.mark.parametrize("name", AWKWARD_PROPERTIES)
async def test_properties_come_back_byte_for_byte(
    chdb_events: EventStore, encoder: EventEncoder, project_id: int, name: str
) -> None:
    """Each text is stored alone in one engine; the next test stores all on every engine."""
    sent = event(project_id, properties=AWKWARD_PROPERTIES[name])
    neighbour = event(project_id, minutes=1)

    await chdb_events.insert(encoder.batch([sent, neighbour]), str(uuid4()))

    assert await page(chdb_events, project_id) == [neighbour, sent]


async def test_one_batch_holds_all_awkward_properties(
    each_format: EventStore, project_id: int
) -> None:
    sent = [
        event(project_id, minutes=-n, properties=properties)
        for n, properties in enumerate(AWKWARD_PROPERTIES.values())
    ]

    await insert(each_format, sent)

    assert await page(each_format, project_id) == sent


async def test_a_batch_sent_again_is_stored_once(each_format: EventStore, project_id: int) -> None:
    sent = [event(project_id, minutes=-n) for n in range(3)]

    await each_format.insert(each_format.encoder.batch(sent), str(project_id))
    await each_format.insert(each_format.encoder.batch(sent), str(project_id))

    assert await page(each_format, project_id) == sent
    assert await page(each_format, project_id, distinct_id="ada") == sent
    assert await each_format.counts.of_project(project_id) == 3
    assert await copied(each_format, project_id) == 3


async def test_a_copy_is_never_visible(events: EventStore, project_id: int) -> None:
    original = event(project_id)
    older = event(project_id, minutes=-1)

    await insert(events, [original, original, older])
    await insert(events, [original])
    await insert(events, [replace(original, event="renamed", distinct_id="bob")])

    assert len(await page(events, project_id)) == 2
    assert [e.uuid for e in await page(events, project_id, limit=2)][1] == older.uuid
    assert await events.counts.of_project(project_id) == 2
    assert await events.get(project_id, original.uuid) is not None


async def test_copies_never_shorten_a_page_of_one_distinct_id(
    events: EventStore, project_id: int
) -> None:
    sent = [event(project_id, minutes=-n, person_id=UUID(int=7)) for n in range(4)]
    moved = replace(sent[0], timestamp=sent[0].timestamp - timedelta(days=1))

    await insert(events, [*sent, sent[0], sent[1]])
    await insert(events, [moved])

    for whose in ({"distinct_id": "ada"}, {"person_id": UUID(int=7)}):
        assert await page(events, project_id, **whose) == sent
        assert await page(events, project_id, limit=2, **whose) == sent[:2]
        oldest = await page(events, project_id, ascending=True, **whose)
        assert [e.uuid for e in oldest] == [sent[n].uuid for n in (0, 3, 2, 1)]


async def test_the_same_uuid_lives_in_each_project(events: EventStore, project_id: int) -> None:
    mine = event(project_id)
    theirs = replace(mine, project_id=project_id + (1 << 40))

    await insert(events, [mine, theirs])

    assert await page(events, mine.project_id) == [mine]
    assert await events.get(theirs.project_id, theirs.uuid) == theirs
    assert await events.counts.of_project(mine.project_id) == 1


async def test_a_project_without_events_is_empty(events: EventStore, project_id: int) -> None:
    assert await page(events, project_id) == []
    assert await page(events, project_id, distinct_id="ada") == []
    assert await page(events, project_id, person_id=UUID(int=1)) == []
    assert await events.get(project_id, uuid4()) is None
    assert await events.counts.of_project(project_id) == 0


async def test_filters_narrow_the_list(events: EventStore, project_id: int) -> None:
    ada = event(project_id, event="")
    bob = event(project_id, minutes=-1, distinct_id="bob", person_id=UUID(int=2))
    late = event(project_id, minutes=-2, event="paid")
    await insert(events, [ada, bob, late])

    assert await page(events, project_id, event="paid") == [late]
    assert await page(events, project_id, event="") == [ada]
    assert await page(events, project_id, distinct_id="bob") == [bob]
    assert await page(events, project_id, distinct_id="Bob") == []
    assert await page(events, project_id, person_id=UUID(int=1)) == [ada, late]
    assert await page(events, project_id, person_id=UUID(int=1), event="paid") == [late]


async def test_after_and_before_leave_out_their_own_instant(
    events: EventStore, project_id: int
) -> None:
    first, second, third = (event(project_id, minutes=n / 60_000_000) for n in (0, 1, 2))
    await insert(events, [first, second, third])

    between = {"after": first.timestamp, "before": third.timestamp}

    assert [e.timestamp.microsecond for e in (first, second, third)] == [123456, 123457, 123458]
    assert await page(events, project_id, **between) == [second]
    assert await page(events, project_id, before=first.timestamp) == []
    assert await page(events, project_id, after=second.timestamp) == [third]


async def test_pages_are_cut_at_the_limit_in_both_orders(
    events: EventStore, project_id: int
) -> None:
    sent = [event(project_id, minutes=-60 * 24 * n) for n in range(100)]
    await insert(events, sent)

    assert await page(events, project_id, limit=3) == sent[:3]
    assert await page(events, project_id, limit=30) == sent[:30]
    assert await page(events, project_id, limit=1000) == sent
    assert await page(events, project_id, limit=0) == []
    assert await page(events, project_id, limit=3, ascending=True) == sent[:-4:-1]
    assert await page(events, project_id, limit=30, ascending=True) == sent[:-31:-1]
    assert await page(events, project_id, limit=2, before=sent[50].timestamp) == sent[51:53]


CROWD = 1_200  # two pages of the largest limit
SMALL_CROWD = 240  # for limits at which each page takes a request
QUESTIONS: dict[str, dict[str, object]] = {
    "all": {},
    "an event": {"event": "rare"},
    "a distinct id": {"distinct_id": "bob"},
    "a distinct id and an event": {"distinct_id": "bob", "event": "rare"},
    "a person": {"person_id": UUID(int=2)},
    "properties": {"properties": (Property("plan", "team"),)},
    "a distinct id and properties": {
        "distinct_id": "ada",
        "properties": (Property("plan", "team"),),
    },
}

# Where few events match, pages may be short without taking many requests.
LIMITS: dict[str, tuple[int, ...]] = {
    "an event": (7, 100, 1000),
    "a distinct id and an event": (1, 7, 100, 1000),
}


@pytest.fixture
def crowd_size(request: pytest.FixtureRequest) -> int:
    return CROWD if request.node.callspec.params["every_events"] == CHDB else SMALL_CROWD


def crowd(project_id: int, size: int) -> list[Event]:
    """Return events of three instants on two days; one in twenty is rare, of either distinct id."""
    return [
        event(
            project_id,
            minutes=-(n % 3) * 60 * 10,
            event="rare" if n % 60 < 3 else "signed up",
            distinct_id=("ada", "bob")[n % 2],
            person_id=UUID(int=1 + n % 2),
            properties=b'{"plan":"%s"}' % (b"team" if n % 20 < 3 else b"pro"),
        )
        for n in range(size)
    ]


async def follow(
    store: EventStore, project_id: int, limit: int, query: dict[str, object]
) -> list[UUID]:
    """Return the ids of all pages, each requested with the last row of the previous one."""
    ids: list[UUID] = []
    bound = "after" if query.get("ascending") else "before"
    place: dict[str, object] = {}
    for _ in range(CROWD + 1):
        rows = await page(store, project_id, limit=limit, **(query | place))
        ids += [row.uuid for row in rows]
        if len(rows) < limit:
            break
        place = {bound: rows[-1].timestamp, "cursor": rows[-1].uuid}
    return ids


# It takes seconds: every page is a question.
@pytest.mark.parametrize("ascending", [False, True])
async def test_pages_divide_the_events_of_one_instant(
    events: EventStore, project_id: int, ascending: bool, crowd_size: int
) -> None:
    sent = crowd(project_id, crowd_size)
    for part in (sent[::2], sent[1::2], sent[:50]):  # the last ones are copies
        await insert(events, part)

    for name, filters in QUESTIONS.items():
        query = {**filters, "ascending": ascending}
        whole = [row.uuid for row in await page(events, project_id, limit=CROWD, **query)]
        assert len(whole) == len(set(whole)) >= crowd_size // 60
        for limit in LIMITS.get(name, (100, 1000)):
            assert await follow(events, project_id, limit, query) == whole, (name, limit)


async def test_events_of_a_merged_person_count_for_the_survivor(
    events: EventStore, project_id: int
) -> None:
    old, new = uuid4(), uuid4()
    before = event(project_id, person_id=old)
    after = event(project_id, minutes=1, person_id=new)
    await insert(events, [before, after])

    await events.override_persons([Override(project_id, old, new, version=1)])

    survivors = [after, replace(before, person_id=new)]
    assert await page(events, project_id) == survivors
    assert await page(events, project_id, person_id=new) == survivors
    assert await page(events, project_id, person_id=old) == []
    assert await events.get(project_id, before.uuid) == survivors[1]


async def test_the_latest_override_wins_whatever_the_order(
    events: EventStore, project_id: int
) -> None:
    old, middle, last = uuid4(), uuid4(), uuid4()
    await insert(events, [event(project_id, person_id=old)])

    await events.override_persons([Override(project_id, old, last, version=2)])
    await events.override_persons([Override(project_id, old, middle, version=1)])

    assert [e.person_id for e in await page(events, project_id)] == [last]
    assert await page(events, project_id, person_id=middle) == []
    assert len(await page(events, project_id, person_id=last)) == 1


async def test_events_of_a_distinct_id_are_the_same_wherever_they_are_read(
    events: EventStore, project_id: int
) -> None:
    """Events come from a copy or, with conditions on properties, from the table itself."""
    pro = Property("plan", "pro")
    old, new = uuid4(), uuid4()
    sent = [
        event(
            project_id,
            minutes=-n * 1_000,
            event=("signed up", "größe")[n % 2],
            distinct_id=("ada", "a'b\\\n☃", "Ada")[n % 3],
            person_id=(old, new)[n % 2],
            received_at=NOON + timedelta(seconds=n),
        )
        for n in range(60)
    ]
    await insert(events, sent)
    await events.override_persons([Override(project_id, old, new, version=1)])

    for query in (
        {},
        {"event": "größe"},
        {"after": sent[40].timestamp, "before": sent[3].timestamp},
        {"person_id": new},
        {"person_id": old},
        {"ascending": True, "limit": 7},
        {"limit": 1},
        {"distinct_id": "nobody"},
    ):
        filters = {"distinct_id": "ada", **query}
        whole = await page(events, project_id, **filters)
        assert whole == await page(events, project_id, properties=(pro,), **filters), query
        assert all(stored.distinct_id == "ada" for stored in whole)


# More than other tests leave in the store, whose events would otherwise all be rewritten.
MANY = 50


async def nothing_begun() -> None:
    """Return at once: no batch is in progress."""


async def test_what_a_failed_batch_merged_is_not_squashed(
    events: EventStore, project_id: int
) -> None:
    """The batch is repeated and writes a newer row while the squash waits for it."""
    *others, survivor = (UUID(int=number) for number in range(11, 12 + MANY))
    await insert(events, [event(project_id, person_id=person) for person in (*others, survivor)])
    await events.override_persons([Override(project_id, merged, survivor, 2) for merged in others])
    kept = others[0]

    async def batch_is_repeated() -> None:
        await events.override_persons([Override(project_id, kept, kept, 3)])

    await events.squash(MANY, batch_is_repeated)

    stored = await page(events, project_id)
    assert {row.person_id for row in stored} == {kept, survivor}


async def test_squashed_events_count_for_the_survivor_without_an_override(
    events: EventStore, project_id: int
) -> None:
    *others, survivor = (UUID(int=number) for number in range(11, 12 + MANY))
    sent = [event(project_id, person_id=person) for person in (*others, survivor)]
    await insert(events, sent)
    await events.override_persons([Override(project_id, merged, survivor, 2) for merged in others])

    squashed = await events.squash(MANY, nothing_begun)

    assert squashed >= MANY
    stored = await page(events, project_id, person_id=survivor)
    assert {row.uuid for row in stored} == {row.uuid for row in sent}
    assert {row.person_id for row in await page(events, project_id)} == {survivor}
    of_ada = await page(events, project_id, distinct_id="ada")
    assert {row.person_id for row in of_ada} == {survivor}


async def test_events_of_ids_that_were_split_off_get_their_persons(
    events: EventStore, project_id: int
) -> None:
    former, new, own = (UUID(int=number) for number in range(21, 24))
    months = [event(project_id, minutes=-n * 60 * 24 * 31, person_id=former) for n in range(3)]
    others = [event(project_id, distinct_id="bob", person_id=person) for person in (former, own)]
    await insert(events, [*months, *others])

    assert await events.send_moves(project_id, {"ada": new, "cid": own})
    await events.mutated()

    assert not await events.send_moves(project_id, {"ada": new, "cid": own})
    stored = {row.uuid: row.person_id for row in await page(events, project_id)}
    assert stored == {
        **{sent.uuid: new for sent in months},
        **{sent.uuid: sent.person_id for sent in others},
    }
    copies = await page(events, project_id, distinct_id="ada")
    assert {row.person_id for row in copies} == {new}
    counted = await events.counts.of_distinct_ids(project_id, ["ada", "bob", "cid"])
    assert {name: number for name, (number, _) in counted.items()} == {"ada": 3, "bob": 2}
    assert counted["ada"][1] == months[-1].timestamp


# It takes seconds: longer than the second that a statement has here.
async def test_a_deletion_may_take_longer_than_a_statement_may(
    events: EventStore, project_id: int
) -> None:
    months = [event(project_id, minutes=-n * 60 * 24 * 31, person_id=GONE) for n in range(120)]
    await insert(events, months)  # a part for each month
    erasure = Erasure(
        id=1,
        project_id=project_id,
        persons=(GONE,),
        distinct_ids=frozenset(),
        version=1,
        with_events=True,
        requested_at=NOON + timedelta(days=1),
    )

    clients = events._jobs._clients
    for client in clients:
        client.set_client_setting("max_execution_time", 1)
    try:
        await events.erase(erasure)
    finally:
        for client in clients:
            client.set_client_setting("max_execution_time", READ_SECONDS_MAX)

    assert await events.counts.of_project(project_id) == 0
    assert await copied(events, project_id) == 0


async def test_few_overrides_are_left_alone(events: EventStore, project_id: int) -> None:
    *others, survivor = (UUID(int=number) for number in range(11, 11 + MANY))
    await insert(events, [event(project_id, person_id=others[0])])
    await events.override_persons([Override(project_id, merged, survivor, 2) for merged in others])

    await events.squash(MANY, nothing_begun)

    (stored,) = await page(events, project_id, person_id=survivor)
    assert stored.person_id == survivor


async def test_stored_ids_are_reported_with_the_time_of_their_acceptance(
    events: EventStore, project_id: int
) -> None:
    sent = event(project_id)
    await insert(events, [sent])

    ids, known = [sent.uuid, uuid4()], {sent.uuid: sent.received_at}
    day = sent.timestamp.date()
    assert await events.existing(project_id, ids) == known
    assert await events.existing(project_id + 1, [sent.uuid]) == {}
    assert await events.existing_on(project_id, ids, [day]) == known
    assert await events.existing_on(project_id, ids, [day - timedelta(days=1)]) == {}


async def test_recent_ids_are_the_newest_by_acceptance(events: EventStore, project_id: int) -> None:
    old = event(project_id, received_at=NOON - timedelta(hours=3))
    new = event(project_id, received_at=NOON)
    queued = event(project_id, received_at=NOON, minutes=-60 * 24 * 90)
    await insert(events, [old, new, queued])

    recent = await events.recent_ids(NOON - timedelta(hours=1), 1_000_000)

    assert {new.uuid, queued.uuid} <= set(recent)
    assert old.uuid not in recent


async def test_an_override_stays_in_its_project(events: EventStore, project_id: int) -> None:
    sent = event(project_id)
    await insert(events, [sent])

    other = project_id + (1 << 40)
    await events.override_persons([Override(other, sent.person_id, uuid4(), version=1)])

    assert await page(events, project_id) == [sent]


async def test_persons_are_mirrored_again_without_complaint(
    events: EventStore, project_id: int
) -> None:
    person = PersonRow(project_id, uuid4(), AWKWARD_PROPERTIES["arrays 900 deep"], NOON, 1)

    await events.mirror_persons([person, replace(person, version=2, is_deleted=True)])
    await events.mirror_persons([person])
    await events.mirror_persons([])


async def test_a_deleted_group_is_gone_and_an_older_row_does_not_bring_it_back(
    events: EventStore, project_id: int
) -> None:
    group = GroupRow(project_id, 4, "acme", AWKWARD_PROPERTIES["arrays 900 deep"], NOON, 1)
    parameters = {"project_id": project_id}
    statement = "SELECT group_key FROM groups FINAL WHERE project_id = {project_id:UInt64}"

    await events.mirror_groups([group, replace(group, group_key="other")])
    await events.mirror_groups([replace(group, version=2, is_deleted=True)])
    await events.mirror_groups([group])
    await events.mirror_groups([])

    assert (await events.ask(statement, parameters)).columns == [["other"]]


async def test_a_batch_may_span_centuries(cleared_store: EventStore, project_id: int) -> None:
    sent = [event(project_id, minutes=-60 * 24 * 28 * n) for n in range(1200)]

    await insert(cleared_store, sent)

    assert await cleared_store.counts.of_project(project_id) == 1200
    assert await page(cleared_store, project_id, limit=1200) == sent


async def test_times_that_cannot_be_held_move_to_the_nearest_end(
    each_format: EventStore, project_id: int
) -> None:
    early = event(project_id, timestamp=datetime(1, 1, 1, tzinfo=UTC))
    late = event(project_id, timestamp=datetime(9999, 12, 31, tzinfo=UTC))

    await insert(each_format, [early, late])

    assert [e.timestamp.year for e in await page(each_format, project_id)] == [2299, 1900]


async def test_a_batch_longer_than_one_insert_is_stored_whole(
    each_format: EventStore, project_id: int
) -> None:
    sent = [event(project_id, minutes=-n) for n in range(10_001)]

    await each_format.insert(each_format.encoder.batch(sent), str(project_id))
    await each_format.insert(each_format.encoder.batch(sent), str(project_id))

    assert await each_format.counts.of_project(project_id) == 10_001


async def test_an_empty_batch_is_fine(each_format: EventStore, project_id: int) -> None:
    await insert(each_format, [])

    assert await each_format.counts.of_project(project_id) == 0


async def test_a_row_that_cannot_be_written_is_rejected_not_unavailable(
    each_format: EventStore,
) -> None:
    with pytest.raises(EventRejected):
        await insert(each_format, [event(-1)])


def test_rows_are_sent_as_text_to_an_engine_of_another_version() -> None:
    assert isinstance(encoder_for("26.9.2.1"), NativeEncoder)
    for version in ("26.90.1.1", "25.8.1.1", "27.1", ""):
        assert isinstance(encoder_for(version), TextEncoder)


def test_there_is_no_encoder_before_the_store_is_open(tmp_path: Path) -> None:
    store = EventStore(f"chdb://{tmp_path}/unopened")

    with pytest.raises(EventStoreUnavailable, match="not open"):
        store.encoder  # noqa: B018


async def test_a_living_store_answers_a_ping(events: EventStore) -> None:
    await events.ping()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://localhost/x",
        "chdb://relative/folder",
        "clickhouse:///no-host",
        "clickhouse://127.0.0.1:1/nobody-listens",
    ],
)
async def test_a_store_that_cannot_be_opened_says_so_in_one_line(url: str) -> None:
    with pytest.raises(EventStoreUnavailable) as raised:
        await open_events(url)

    assert len(str(raised.value).splitlines()) == 1


async def test_a_second_folder_in_one_process_is_refused(
    chdb_events: EventStore, tmp_path: Path
) -> None:
    with pytest.raises(EventStoreUnavailable, match="cannot be opened"):
        await open_events(f"chdb://{tmp_path}/other")


def test_questions_do_not_give_way_where_priorities_may_not_be_raised() -> None:
    """Run without the right, which root has to give up first."""
    without = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]
    program = "from fanion.events.storage.client import may_give_way; print(may_give_way())"
    command = [*(without if os.geteuid() == 0 else ()), sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "False\n"
