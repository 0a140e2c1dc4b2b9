"""Batches of several servers in one project do not wait for each other where they count."""

import asyncio
from collections import Counter
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.db.engine import Records
from fanion.db.schema.tables import event_definitions
from fanion.events.definitions.seen_store import record_seen
from fanion.ingest.ledger.model import Example, Tally, minute_of
from fanion.ingest.ledger.store import Ledger, write_tally
from tests.support.management import NOW, Clock

pytestmark = pytest.mark.postgresql

LATER = NOW + timedelta(seconds=1)
PROJECT = 1
NAMES = [(PROJECT, "bought"), (PROJECT, "seen")]


async def store(connection: AsyncConnection, slot: int, now: datetime) -> None:
    """Count a batch in its transaction. A statement that has to wait fails."""
    await connection.execute(text("SET LOCAL lock_timeout = '1ms'"))
    example = Example("seen", None, None, now, "detail")
    stored = Counter({(PROJECT, minute_of(NOW), "stored"): 2})
    tally = Tally(stored, {(PROJECT, "no_name"): [example]})
    await connection.run_sync(record_seen, NAMES, now)
    await connection.run_sync(write_tally, tally, slot)


async def last_seen(records: Records) -> set[datetime]:
    rows = await records.fetch(select(event_definitions.c.last_seen_at))
    return {row.last_seen_at for row in rows}


async def test_a_batch_is_committed_while_another_one_of_the_project_is_not(
    records: Records,
) -> None:
    async with records.write() as connection:
        await store(connection, 1, NOW)

    async with records.write() as first:
        await store(first, 1, NOW)
        async with records.write() as second:
            await store(second, 33, LATER)
        during = await last_seen(records)
    async with records.write() as connection:
        await store(connection, 33, LATER)

    ledger = Ledger(records, Clock().now)
    [stored] = await ledger.counts(NOW, NOW)
    assert stored.items == 8
    assert (during, await last_seen(records)) == ({NOW}, {LATER})
    assert len((await ledger.examples(PROJECT))["no_name"]) == 3


async def test_counts_are_added_up_beside_a_batch_that_counts(records: Records) -> None:
    clock = Clock()
    ledger = Ledger(records, clock.now)
    for slot in (1, 33):
        async with records.write() as connection:
            await store(connection, slot, NOW)
    clock.move(minutes=1)

    async with records.write() as first:
        await store(first, 1, NOW)
        async with asyncio.timeout(10):
            await ledger.roll_up()
    await ledger.roll_up()

    [stored] = await ledger.counts(NOW, NOW)
    assert stored.items == 6
