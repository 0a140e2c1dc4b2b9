"""An event store belongs to one installation, and an installation has one event store."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from fanion.db.engine import Records, open_records
from fanion.errors import StartRefused
from fanion.events.ownership_store import ForeignEventStore, read_installation, rebind_event_store
from fanion.events.storage.inspection import adopt_event_store, inspect_event_store
from fanion.events.storage.store import EventStore, open_events
from tests.support.clickhouse.server import ClickHouse
from tests.support.postgres import Postgres

pytestmark = pytest.mark.postgresql

DAY = (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 3, 2, tzinfo=UTC))


@asynccontextmanager
async def opened(url: str, records: Records) -> AsyncIterator[EventStore]:
    store = EventStore(url)
    try:
        await store.open(records)
        yield store
    finally:
        await store.close()


@pytest.fixture
async def others(postgres: Postgres, postgres_template: str) -> AsyncIterator[Records]:
    """Yield the records of another installation."""
    name = await postgres.create_database(postgres_template)
    store = await open_records(postgres.url(name))
    async with store.write() as connection:
        await connection.exec_driver_sql("UPDATE installation SET id = gen_random_uuid()")
    yield store
    await store.close()
    await postgres.drop_database(name)


def tables(server: ClickHouse, url: str) -> Sequence[str]:
    client = server.client(url.rpartition("/")[2])
    rows = client.query("SHOW TABLES").result_rows
    client.close()
    return [row[0] for row in rows]


async def test_an_event_store_without_a_mark_is_adopted(
    records: Records, own_events_url: str
) -> None:
    await (await open_events(own_events_url)).close()  # as an earlier version leaves it
    installation = await read_installation(records)
    before = inspect_event_store(own_events_url, installation, DAY)

    for _ in range(2):
        async with opened(own_events_url, records) as store:
            await store.ping()

    bound = await read_installation(records)
    assert not before.is_marked
    assert inspect_event_store(own_events_url, bound, DAY).is_marked
    assert bound.id == installation.id
    assert installation.event_store is None and bound.event_store is not None


async def test_that_of_another_installation_is_refused_and_not_changed(
    records: Records, others: Records, own_events_url: str, clickhouse_server: ClickHouse
) -> None:
    async with opened(own_events_url, others):
        before = tables(clickhouse_server, own_events_url)
    clickhouse_server.client(own_events_url.rpartition("/")[2]).command("DROP TABLE groups")

    with pytest.raises(ForeignEventStore) as refused:
        async with opened(own_events_url, records):
            pass

    mine, theirs = await read_installation(records), await read_installation(others)
    where, _, port = own_events_url.removeprefix("clickhouse://").partition(":")
    port, _, database = port.partition("/")
    assert str(refused.value) == (
        f"FANION_EVENTS_URL and FANION_DATABASE_URL disagree: the event store at {where}:{port}, "
        f"database {database}, belongs to installation {theirs.id}, these records to {mine.id}. "
        "Correct one of them; if both are right, `fanion stores adopt` assigns it to these records."
    )
    assert mine.event_store is None
    assert set(before) - set(tables(clickhouse_server, own_events_url)) == {"groups"}


async def test_a_second_event_store_of_one_installation_is_refused(
    records: Records, own_events_url: str, clickhouse_server: ClickHouse
) -> None:
    other_url = f"{own_events_url}_other"
    clickhouse_server.client().command(f"CREATE DATABASE {other_url.rpartition('/')[2]}")
    async with opened(own_events_url, records):
        pass

    with pytest.raises(ForeignEventStore, match="holds no events of these records"):
        async with opened(other_url, records):
            pass

    assert tables(clickhouse_server, other_url) == []


async def test_it_can_be_adopted(records: Records, others: Records, own_events_url: str) -> None:
    async with opened(own_events_url, others):
        pass

    mark = adopt_event_store(own_events_url, await read_installation(records))
    await rebind_event_store(records, mark)

    async with opened(own_events_url, records) as store:
        await store.ping()
    with pytest.raises(ForeignEventStore):
        async with opened(own_events_url, others):
            pass


async def test_servers_that_start_at_once_agree(records: Records, own_events_url: str) -> None:
    stores = [EventStore(own_events_url) for _ in range(6)]

    await asyncio.gather(*(store.open(records) for store in stores))

    await asyncio.gather(*(store.close() for store in stores))
    async with opened(own_events_url, records) as store:
        await store.ping()


async def test_of_two_installations_that_start_at_once_one_has_it(
    records: Records, others: Records, own_events_url: str
) -> None:
    stores = [EventStore(own_events_url) for _ in range(6)]
    owners = [records, others] * 3

    results = await asyncio.gather(
        *(store.open(owner) for store, owner in zip(stores, owners, strict=True)),
        return_exceptions=True,
    )

    await asyncio.gather(*(store.close() for store in stores))
    accepted = {owners[n] for n, result in enumerate(results) if result is None}
    assert len(accepted) == 1
    assert {type(result) for result in results} == {type(None), ForeignEventStore}


async def test_a_database_that_is_not_there_is_no_matter_of_time(own_events_url: str) -> None:
    url = f"{own_events_url}_none"

    with pytest.raises(StartRefused) as refused:
        await open_events(url)

    assert str(refused.value).startswith("FANION_EVENTS_URL: the event store at 127.0.0.1:")
    assert str(refused.value).endswith("_none, cannot be used: there is no such database")


async def test_to_look_at_an_event_store_changes_nothing(
    own_events_url: str, clickhouse_server: ClickHouse
) -> None:
    inspected = inspect_event_store(own_events_url, None, DAY)

    assert not inspected.is_marked
    assert tables(clickhouse_server, own_events_url) == []
