"""Events that were sent twice count once, also when the server dies while storing them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from msgspec import json
from sqlalchemy import update

from fanion.accept_log.port import Envelope, LogEntry
from fanion.accept_log.postgres_partitions import PARTITIONS
from fanion.db.engine import Records
from fanion.db.schema.tables import log_positions
from fanion.events.event import Event
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.dead_letters_store import (
    DeadLetterFilter,
    DeadLetters,
    insert_dead_letter,
)
from fanion.ingest.ledger.store import Ledger, totals_of
from fanion.ingest.pipeline.batch import prepare_batch
from fanion.ingest.pipeline.consumer import Consumer
from fanion.ingest.pipeline.membership_store import MembershipStore
from fanion.ingest.pipeline.resolve import stored_event
from fanion.projects.model import IngestionSettings
from fanion.properties.size import PROPERTIES_BYTES_MAX
from tests.support.application import AppServer, Json, Tenant, open_app_server, open_tenant
from tests.support.awaited import until_soon
from tests.support.killing_event_store import KillingEventStore, ProcessKilled
from tests.support.management import NOW

pytestmark = pytest.mark.every_engine

# Where several servers may ingest, another one continues only after the first has been silent.
LATER = NOW + timedelta(minutes=1)
SETTLED_S = 60


def item(number: int) -> Json:
    """Return an event of ann with its number, which also becomes a property of the person."""
    uuid = str(UUID(int=number, version=4))
    return {"event": "a", "uuid": uuid, "distinct_id": "ann", "$set": {"last": number}}


def envelope(project_id: int, seconds: int, *items: Json) -> Envelope:
    accepted = NOW + timedelta(seconds=seconds)
    return Envelope(project_id, accepted, "", "", None, json.encode({"batch": items}))


@asynccontextmanager
async def dying_server(
    records_url: str, events: EventStore, folder: Path
) -> AsyncGenerator[AppServer]:
    """Run a server that dies as soon as it has stored events, and wait for its death at the end."""
    dying_store = cast(EventStore, KillingEventStore(events))
    with pytest.raises((ProcessKilled, BaseExceptionGroup)):
        async with open_app_server(records_url, dying_store, folder) as app_server:
            yield app_server
            await app_server.running_out()


@asynccontextmanager
async def next_server(
    records_url: str, events: EventStore, first: Tenant, folder: Path
) -> AsyncGenerator[Tenant]:
    """Run the next server, once it has done what the first one left."""
    async with open_app_server(records_url, events, folder, LATER) as app_server:
        api = app_server.client(first.key, f"/api/projects/{first.project_id}")
        async with api, app_server.client() as public:
            ids = (first.organization_id, first.user_id, first.project_id)
            tenant = Tenant(app_server, *ids, first.token, first.key, api, public)
            await tenant.capture({"event": "later", "distinct_id": "bob"})
            yield tenant


async def counts(tenant: Tenant) -> tuple[int, int, int]:
    """Return the numbers of stored items, duplicates and dead letters."""
    ledger = Ledger(tenant.server.records, tenant.server.clock.now)
    totals = totals_of(await ledger.counts(NOW, LATER, tenant.project_id))
    return totals.stored, totals.duplicates, totals.dead_lettered


async def test_a_retry_within_a_batch_that_is_taken_again_changes_nothing(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    async with (
        dying_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as first,
    ):
        sent = [envelope(project_id, place, item(n)) for place, n in enumerate((1, 2, 1))]
        await asyncio.gather(*map(app_server.log.append, sent))  # one group

    async with next_server(records_url, events, first, tmp_path) as tenant:
        person = await tenant.person("ann")
        stored = await tenant.events(distinct_id="ann")
        counted = await counts(tenant)

    assert person["properties"] == {"last": 2}
    assert len(stored) == 2
    assert counted == (3, 1, 0)


# It takes seconds: three servers start, one after another.
async def test_a_retry_that_was_in_hand_when_the_process_died_changes_nothing(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    async with (
        open_app_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as first,
    ):
        await first.capture(item(1), item(2))
    async with dying_server(records_url, events, tmp_path) as app_server:
        await app_server.log.append(
            envelope(project_id, 1, item(1), {"event": "a", "distinct_id": "bob"})
        )

    async with next_server(records_url, events, first, tmp_path) as tenant:
        person = await tenant.person("ann")
        stored = await tenant.events(distinct_id="ann")
        counted = await counts(tenant)

    assert person["properties"] == {"last": 2}
    assert len(stored) == 2
    assert counted == (4, 1, 0)


# It takes seconds: leases are lost and taken at their real pace.
@pytest.mark.postgresql
async def test_a_retry_of_what_another_server_has_stored_meanwhile_changes_nothing(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    """The server held the partitions before, lost them and got them back."""
    async with (
        open_app_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        [live, _] = app_server.running.ingestion.consumers
        await tenant.capture(item(1))
        await take_all_partitions(app_server.records, "another")
        await until_soon(held_by(live, 0), "the server still holds partitions")
        stored = prepared_events(envelope(project_id, 1, item(2)))
        await events.insert(events.encoder.batch(stored), "of another server")
        await release_all_partitions(app_server.records, "another")
        await until_soon(held_by(live, PARTITIONS), "the server gets no partitions back")

        await app_server.log.append(envelope(project_id, 2, item(2)))
        await app_server.ingested()

        person = await tenant.person("ann")
        counted = await counts(tenant)

    assert person["properties"] == {"last": 1}
    assert counted == (1, 1, 0)


async def take_all_partitions(records: Records, holder: str) -> None:
    store = MembershipStore(records, holder)
    await store.renew_membership()
    taken = update(log_positions).where(log_positions.c.partition > 0)
    async with records.write() as connection:
        await connection.execute(taken.values(holder=holder, epoch=log_positions.c.epoch + 1))


async def release_all_partitions(records: Records, holder: str) -> None:
    await MembershipStore(records, holder).leave_group()


def held_by(consumer: Consumer, number: int) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        return len(consumer.positions) == number

    return holds


def prepared_events(sent: Envelope) -> list[Event]:
    """Return the events of an envelope, with a person that is not stored."""
    batch = prepare_batch([LogEntry(99, sent)], lambda _: IngestionSettings())
    [arrived] = batch.arrived.values()
    return [stored_event(sent.project_id, event, UUID(int=1), {}) for event in arrived]


# It takes seconds: three servers start, one after another.
async def test_a_dead_letter_in_hand_when_the_process_died_is_there_once(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    async with (
        open_app_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as first,
    ):
        await first.capture(item(1), item(2))
        await store_dead_letter(
            app_server, project_id, item(1), item(3), {"event": "a", "distinct_id": "ann"}
        )
    async with dying_server(records_url, events, tmp_path) as app_server:
        await DeadLetters(app_server.records).mark_for_retry(DeadLetterFilter(project_id), LATER)

    async with next_server(records_url, events, first, tmp_path) as tenant:
        await settled(tenant)
        person = await tenant.person("ann")
        stored = await tenant.events(distinct_id="ann")
        counted = await counts(tenant)

    assert person["properties"] == {"last": 3}
    assert len(stored) == 4
    assert counted == (5, 1, 0)


async def store_dead_letter(app_server: AppServer, project_id: int, *items: Json) -> None:
    """Create a dead letter."""
    entry = LogEntry(17, envelope(project_id, 30, *items))
    async with app_server.records.write() as connection:
        await connection.run_sync(insert_dead_letter, entry, len(items), "ValueError", NOW)


async def settled(tenant: Tenant) -> None:
    async with asyncio.timeout(SETTLED_S):
        while True:
            if not (await tenant.get("/ingestion/dead_letters/"))["results"]:
                return
            await asyncio.sleep(0.05)


# It takes seconds: two servers start, one after another.
async def test_changes_that_are_not_made_are_the_same_when_a_batch_is_taken_again(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    half = "x" * (PROPERTIES_BYTES_MAX // 2)

    def setting(distinct_id: str, **values: Any) -> Json:
        return {"event": "a", "distinct_id": distinct_id, "$set": values}

    async with (
        dying_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as first,
    ):
        merge = {"event": "$identify", "properties": {"$anon_distinct_id": "visitor"}}
        sent = [
            envelope(project_id, 0, setting("ann", kept=half), setting("ann", more=half)),
            envelope(project_id, 1, setting("visitor", other=half, small=1)),
            envelope(project_id, 2, setting("ann", last=1) | merge | {"timestamp": "soon"}),
        ]
        await asyncio.gather(*map(app_server.log.append, sent))  # one group

    async with next_server(records_url, events, first, tmp_path) as tenant:
        person = await tenant.person("ann")
        counted = await counts(tenant)
        report = await tenant.get("/ingestion/")

    assert person["properties"] == {"kept": half, "small": 1, "last": 1}
    assert counted == (5, 0, 0)
    assert [(change["reason"], change["count"]) for change in report["changes_not_made"]] == [
        ("merge_left_out", 1),
        ("person_too_large", 1),
        ("time_unreadable", 1),
    ]
