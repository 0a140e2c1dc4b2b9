"""The event store on a cluster: one process makes the tables, all others wait for them."""

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from uuid import UUID, uuid4

import pytest
from clickhouse_connect.driver.client import Client

from fanion.db.engine import Records
from fanion.errors import StartRefused
from fanion.events.cluster_worker import ClusterTablesWorker
from fanion.events.event import Erasure, Event, EventStoreUnavailable
from fanion.events.ownership_store import ForeignEventStore, Installation
from fanion.events.storage.client import Engine, engine_at
from fanion.events.storage.cluster import make_cluster_tables
from fanion.events.storage.cluster_inserts import LOOK_S
from fanion.events.storage.migrate import missing_tables
from fanion.events.storage.store import EventStore, open_events
from tests.support.clickhouse.server import CLUSTER, DISTRIBUTED, ClickHouse
from tests.support.events_engine import next_project

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def cluster_url(own_events_url: str) -> str:
    return f"{own_events_url}?cluster={CLUSTER}"


@pytest.fixture
async def unopened(cluster_url: str) -> AsyncIterator[EventStore]:
    store = EventStore(cluster_url)
    yield store
    await store.close()


def client_of(server: ClickHouse, url: str) -> Client:
    return server.client(url.partition("?")[0].rpartition("/")[2])


async def make_tables(records: Records, engine: Engine) -> None:
    await ClusterTablesWorker(records, engine).make()


def event(project_id: int, person: UUID, at: datetime) -> Event:
    properties = json.dumps({"n": 1}).encode()
    return Event(project_id, uuid4(), "e", str(person), person, at, at, properties)


async def test_a_shard_that_is_added_gets_events_once_it_has_its_tables(
    records: Records, unopened: EventStore, clickhouse_server: ClickHouse, cluster_url: str
) -> None:
    await make_tables(records, unopened.engine)
    await unopened.open(records)
    inserts, passed_s = unopened._cluster, 0.0
    assert inserts is not None
    inserts.shards = {1: inserts.shards[1]}  # as it was before the second one
    inserts.monotonic = lambda: monotonic() + passed_s
    events = [event(1, uuid4(), NOON) for _ in range(50)]

    async def shards_a_minute_later() -> set[int]:
        nonlocal passed_s
        passed_s += LOOK_S
        await unopened.insert(unopened.encoder.batch(events), f"at {passed_s}")
        return {block.shard for block in unopened.encoder.batch(events).events}

    client_of(clickhouse_server, cluster_url).command("DROP TABLE person_overrides")
    without_tables = await shards_a_minute_later()
    await make_tables(records, unopened.engine)
    with_tables = await shards_a_minute_later()

    assert without_tables == {1}
    assert with_tables == {1, 2}


async def test_a_server_waits_until_the_tables_are_made(
    records: Records, unopened: EventStore
) -> None:
    with pytest.raises(EventStoreUnavailable, match="no tables of this version yet"):
        await unopened.open(records)
    assert not unopened.opened.is_set()

    await make_tables(records, unopened.engine)
    await unopened.open(records)

    await unopened.ping()


async def test_a_table_that_a_host_lacks_is_made_again(
    records: Records, unopened: EventStore, clickhouse_server: ClickHouse, cluster_url: str
) -> None:
    await make_tables(records, unopened.engine)
    client = client_of(clickhouse_server, cluster_url)
    schema = engine_at(cluster_url).cluster
    assert schema is not None
    made = client.query("SHOW TABLES").result_rows
    client.command("DROP TABLE groups SYNC")
    client.command("DROP TABLE events SYNC")
    lacking = missing_tables(client, schema)

    await make_tables(records, unopened.engine)

    hosts = 2
    assert lacking == 2 * hosts
    assert missing_tables(client, schema) == 0
    assert client.query("SHOW TABLES").result_rows == made
    client.close()


async def test_the_cluster_of_another_installation_is_refused(
    unopened: EventStore, cluster_url: str
) -> None:
    engine = engine_at(cluster_url)
    make_cluster_tables(engine, Installation(UUID(int=1), None))

    with pytest.raises(ForeignEventStore):
        make_cluster_tables(engine, Installation(UUID(int=2), None))


async def test_an_unknown_cluster_is_named_with_those_that_are_known(
    records: Records, own_events_url: str
) -> None:
    store = EventStore(f"{own_events_url}?cluster=mian")

    with pytest.raises(StartRefused, match=f"no cluster 'mian'; the server knows: .*{CLUSTER}"):
        await make_tables(records, store.engine)
    with pytest.raises(StartRefused, match="no cluster 'mian'"):
        await open_events(f"{own_events_url}?cluster=mian")


def mutations(client: Client, table: str, since: Sequence[str]) -> list[str]:
    rows = client.query(
        "SELECT mutation_id, command FROM system.mutations WHERE database = currentDatabase()"
        " AND table = {table:String} AND NOT has({since:Array(String)}, mutation_id)"
        " ORDER BY mutation_id",
        {"table": table, "since": since},
    ).result_rows
    return [command for _, command in rows]


def known_mutations(client: Client, table: str) -> list[str]:
    rows = client.query(
        "SELECT mutation_id FROM system.mutations WHERE database = currentDatabase()"
        " AND table = {table:String}",
        {"table": table},
    ).result_rows
    return [identity for (identity,) in rows]


async def test_events_are_deleted_only_in_the_months_that_have_some(
    distributed_events: EventStore, clickhouse_server: ClickHouse
) -> None:
    client, project_id = clickhouse_server.client(DISTRIBUTED), next_project()
    gone, other = uuid4(), uuid4()
    months = [NOON, NOON - timedelta(days=100)]
    events = [event(project_id, gone, at) for at in months]
    events.append(event(project_id, other, NOON - timedelta(days=200)))
    await distributed_events.insert(distributed_events.encoder.batch(events), uuid4().hex)
    tables = ("events_local", "events_by_distinct_id_local")
    known = {table: known_mutations(client, table) for table in tables}

    await distributed_events.erase(
        Erasure(
            id=1,
            project_id=project_id,
            persons=(gone,),
            distinct_ids=frozenset({str(gone)}),
            version=1,
            with_events=True,
            requested_at=NOON + timedelta(days=1),
        )
    )

    for table in tables:
        commands = mutations(client, table, known[table])
        named = [command.partition("WHERE")[0] for command in commands]
        assert len(named) == 2
        assert "'202511'" in named[0] and "'202603'" in named[1]
    assert await distributed_events.counts.of_project(project_id) == 1
    client.close()


async def test_a_person_without_events_changes_no_part(
    distributed_events: EventStore, clickhouse_server: ClickHouse
) -> None:
    client, project_id = clickhouse_server.client(DISTRIBUTED), next_project()
    known = known_mutations(client, "events_local")

    await distributed_events.erase(
        Erasure(
            id=2,
            project_id=project_id,
            persons=(uuid4(),),
            distinct_ids=frozenset({"nobody"}),
            version=1,
            with_events=True,
            requested_at=NOON,
        )
    )

    assert mutations(client, "events_local", known) == []
    client.close()
