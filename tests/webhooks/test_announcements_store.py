"""Alerts for events of definitions with `post_to_chat`: counted by all servers, announced once."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import uuid4

import msgspec
import pytest
from sqlalchemy import delete, func, insert, select

from fanion.activity.model import Author
from fanion.db.engine import Records, open_records
from fanion.db.schema.tables import event_definitions
from fanion.db.schema.webhooks import (
    event_announcement_counts,
    event_announcements,
    webhook_deliveries,
)
from fanion.projects.model import Project
from fanion.webhooks.announcements_store import ANNOUNCE_EVERY, announce_due, count_captured
from fanion.webhooks.service import WebhookService
from fanion.webhooks.store import WebhookStore

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Records]:
    store = await open_records(url)
    yield store
    await store.close()


@pytest.fixture
async def others(records_url: str) -> AsyncIterator[Records]:
    """Provide the records store of a second server, on the same database."""
    async with opened(records_url) as store:
        yield store


async def create(records: Records, event: str = "event.captured") -> None:
    project = Project(1, uuid4(), uuid4(), "p", "phc", "UTC", NOW)
    author = Author(
        project_id=project.id, organization_id=project.organization_id, user_id=None, now=NOW
    )
    given = {"url": "https://a.example/", "events": [event], "active": True}
    await WebhookService(WebhookStore(records), allow_private=False).create_webhook(author, given)


async def define(records: Records, name: str, *, post_to_chat: bool = True) -> None:
    row = {"id": uuid4(), "project_id": 1, "name": name, "tags": [], "post_to_chat": post_to_chat}
    async with records.write() as connection:
        await connection.execute(insert(event_definitions).values(**row))


async def captured(records: Records, now: datetime, slot: int = 0, **numbers: int) -> None:
    """Count this many stored events of each name."""
    counts = {(1, name): number for name, number in numbers.items()}
    async with records.write() as connection:
        await connection.run_sync(count_captured, {1}, lambda: counts, now, slot)


async def announced(records: Records) -> list[bytes]:
    column = webhook_deliveries.c.body
    rows = await records.fetch(select(column).order_by(webhook_deliveries.c.id))
    return [bytes(row.body) for row in rows]


@pytest.mark.every_engine
async def test_events_are_announced_at_once_and_then_by_the_minute(records: Records) -> None:
    await create(records)
    await define(records, "paid")
    await define(records, "quiet", post_to_chat=False)

    await captured(records, NOW, paid=2, quiet=5)
    await announce_due(records, NOW)
    for second in (10, 20):
        await captured(records, NOW + timedelta(seconds=second), paid=3)
        await announce_due(records, NOW + timedelta(seconds=second))
    early = len(await announced(records))
    await announce_due(records, NOW + ANNOUNCE_EVERY)
    await announce_due(records, NOW + 2 * ANNOUNCE_EVERY)

    one, other = await announced(records)
    assert early == 1
    assert b'"count":2,"since":"2024-03-01T12:00:00Z","until":"2024-03-01T12:00:00Z"' in one
    assert b'"count":6,"since":"2024-03-01T12:00:10Z","until":"2024-03-01T12:00:20Z"' in other
    assert b"quiet" not in one + other
    assert await left(records) == (0, 0)


@pytest.mark.every_engine
async def test_several_servers_announce_once(records: Records, others: Records) -> None:
    await create(records)
    for name in "abcde":
        await define(records, name)
    await captured(records, NOW, **dict.fromkeys("abcde", 1))

    await asyncio.gather(*(announce_due(store, NOW) for store in (records, others) * 3))

    assert len(await announced(records)) == 5


@pytest.mark.every_engine
async def test_without_a_webhook_for_them_events_are_not_counted(records: Records) -> None:
    await create(records, event="feature_flag.updated")
    await define(records, "paid")

    def not_called() -> Mapping[tuple[int, str], int]:
        raise AssertionError("counting takes time")

    async with records.write() as connection:
        await connection.run_sync(count_captured, {1}, not_called, NOW, 0)

    assert not await announce_due(records, NOW)
    assert await announced(records) == []


async def left(records: Records) -> tuple[int, ...]:
    """Return the number of announcements and the number of counts."""
    tables = (event_announcements, event_announcement_counts)
    async with records.read() as connection:
        rows = [
            await connection.scalar(select(func.count()).select_from(table)) for table in tables
        ]
    return tuple(int(table or 0) for table in rows)


@pytest.mark.every_engine
async def test_what_several_servers_have_counted_is_one_message(records: Records) -> None:
    await create(records)
    await define(records, "paid")

    for slot, second in ((7, 3), (1, 5), (40, 1), (7, 9)):
        await captured(records, NOW + timedelta(seconds=second), slot, paid=slot)
    await announce_due(records, NOW + timedelta(seconds=10))

    [message] = await announced(records)
    assert b'"count":55,"since":"2024-03-01T12:00:01Z","until":"2024-03-01T12:00:09Z"' in message


@pytest.mark.postgresql
async def test_a_batch_does_not_wait_for_that_of_another_server(postgres_url: str) -> None:
    async with opened(postgres_url) as records, opened(postgres_url) as others:
        await create(records)
        await define(records, "paid")
        async with others.write() as connection:
            await connection.run_sync(count_captured, {1}, lambda: {(1, "paid"): 1}, NOW, 1)
            await captured(records, NOW, 2, paid=1)

        assert await left(records) == (0, 2)


@pytest.mark.every_engine
async def test_nothing_is_lost_or_doubled_that_is_stored_while_messages_are_written(
    records: Records, others: Records
) -> None:
    await create(records)
    for name in "ab":
        await define(records, name)
    clock = count()

    async def ingest(store: Records, slot: int) -> None:
        for _ in range(20):
            await captured(store, NOW + next(clock) * timedelta(seconds=1), slot, a=1, b=2)

    async def announce(store: Records) -> None:
        for _ in range(20):
            await announce_due(store, NOW + next(clock) * timedelta(seconds=30))

    await asyncio.gather(
        *(ingest(store, slot) for slot, store in enumerate((records, others, records))),
        *map(announce, (records, others)),
    )
    await announce_due(records, NOW + timedelta(days=1))

    messages = [msgspec.json.decode(message) for message in await announced(records)]
    assert sum(message["data"]["count"] for message in messages) == 3 * 20 * 3
    await announce_due(records, NOW + timedelta(days=2))
    assert await left(records) == (0, 0)


@pytest.mark.every_engine
async def test_counts_go_with_their_definition(records: Records) -> None:
    await create(records)
    await define(records, "paid")
    await captured(records, NOW, paid=1)

    async with records.write() as connection:
        await connection.execute(delete(event_definitions))

    assert not await announce_due(records, NOW)
    assert await left(records) == (0, 0)
