"""Inserts into a shard one of whose replicas fails: every event is stored, and once."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import get_args
from uuid import UUID, uuid4

import pytest
from clickhouse_connect import get_client
from clickhouse_connect.driver.client import Client

from fanion.events.event import Event, EventStoreUnavailable, Override
from fanion.events.storage.cluster_inserts import AVOIDED_S, ClusterInserts
from fanion.events.storage.cluster_shards import Shard
from fanion.events.storage.store import EventStore, open_events
from tests.support.clickhouse.replica import ADDRESS, Fault, Replica, failing_replica
from tests.support.clickhouse.server import REPLICATED, ClickHouse

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PROJECT = 1
# Some hundred kilobytes, so that a connection can end in the middle.
EVENTS = 2_000
STORED = """
  SELECT (SELECT (count(), uniqExact(uuid)) FROM events_local),
         (SELECT (count(), uniqExact(uuid)) FROM events_by_distinct_id_local)
"""


class Clock:
    """A clock that is set by hand."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def replica(clickhouse_server: ClickHouse) -> Iterator[Replica]:
    with failing_replica(clickhouse_server.port) as second:
        yield second


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(own_events_url: str, replica: Replica, clock: Clock) -> AsyncIterator[EventStore]:
    """Yield a store whose inserts ask the failing replica first."""
    opened = await open_events(f"{own_events_url}?cluster={REPLICATED}")
    inserts = inserts_of(opened)
    inserts.first, inserts.monotonic = inserts.hosts.index(ADDRESS), clock
    yield opened
    replica.release()
    await opened.close()


def inserts_of(store: EventStore) -> ClusterInserts:
    assert store._cluster is not None
    return store._cluster


def events(number: int = EVENTS) -> list[Event]:
    person = uuid4()
    return [
        Event(PROJECT, uuid4(), "e", f"d{n % 7}", person, NOON, NOON, b'{"n":%d}' % n)
        for n in range(number)
    ]


async def insert(store: EventStore, sent: list[Event], token: str) -> None:
    await store.insert(store.encoder.batch(sent), token)


async def stored(store: EventStore) -> tuple[int, int]:
    """Return the number of rows, and of events; both tables have to have the same."""
    [(rows, copies)] = await store._ingested(STORED, {})
    assert rows == copies
    return tuple(rows)


@pytest.mark.parametrize("fault", [fault for fault in get_args(Fault) if fault != "late"])
async def test_every_event_is_stored_once(
    store: EventStore, replica: Replica, fault: Fault
) -> None:
    replica.fault = fault

    await insert(store, events(), "first")
    await insert(store, events(), "second")

    assert replica.inserts > 0
    assert await stored(store) == (2 * EVENTS, 2 * EVENTS)


async def test_a_replica_may_take_its_time(store: EventStore, replica: Replica) -> None:
    replica.fault = "late"

    inserting = asyncio.ensure_future(insert(store, events(), "late"))
    await asyncio.to_thread(replica.stored.wait)
    before = inserting.done()
    replica.release()
    await inserting

    assert not before
    assert await stored(store) == (EVENTS, EVENTS)


async def test_a_replica_that_answers_too_late_has_stored_what_the_other_recognises(
    store: EventStore, replica: Replica, own_events_url: str
) -> None:
    def connect(host: str) -> Client:
        return get_client(
            host=host,
            port=replica.port,
            database=own_events_url.rpartition("/")[2],
            autogenerate_session_id=False,
            send_receive_timeout=1 if host == ADDRESS else 60,
        )

    inserts_of(store).connect = connect
    replica.fault = "late"

    await insert(store, events(), "late")

    assert replica.stored.is_set()
    assert await stored(store) == (EVENTS, EVENTS)


async def test_a_replica_that_has_failed_is_left_alone_for_a_while(
    store: EventStore, replica: Replica, clock: Clock
) -> None:
    replica.fault = "refused"
    await insert(store, events(1), "1")
    replica.fault = "none"
    failed = replica.inserts

    await insert(store, events(1), "2")
    avoided = replica.inserts
    clock.now_s += AVOIDED_S + 1
    await insert(store, events(1), "3")

    assert (failed, avoided, replica.inserts) == (1, 1, 2)
    assert await stored(store) == (3, 3)


async def test_without_a_replica_the_batch_waits_and_is_stored_once_later(
    store: EventStore, replica: Replica
) -> None:
    inserts_of(store).shards = {1: Shard(1, 1, (ADDRESS,))}
    replica.fault = "error after storing"
    sent = events()

    with pytest.raises(EventStoreUnavailable, match="UNKNOWN_STATUS_OF_INSERT"):
        await insert(store, sent, "again")
    replica.fault = "none"
    await insert(store, sent, "again")

    assert await stored(store) == (EVENTS, EVENTS)


async def test_the_other_tables_go_to_whichever_server_answers(
    store: EventStore, replica: Replica
) -> None:
    inserts = inserts_of(store)
    inserts.shards = {1: Shard(1, 1, ("127.0.0.3", ADDRESS))}
    inserts.first = 0

    await store.override_persons([Override(PROJECT, UUID(int=1), UUID(int=2), 1)])

    [(count,)] = await store._ingested("SELECT count() FROM person_overrides", {})
    assert count == 1
