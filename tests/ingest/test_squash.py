"""An override is deleted only when no batch begun before it is in progress."""

import asyncio
from uuid import UUID, uuid4

from sqlalchemy import insert, update

from fanion.accept_log.port import Envelope, LogEntry
from fanion.db.engine import Records
from fanion.db.schema.tables import log_positions
from fanion.events.event import Event, EventQuery, Override
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.dead_letters_store import (
    DeadLetterFilter,
    DeadLetters,
    insert_dead_letter,
)
from fanion.ingest.squash_worker import SquashWorker
from tests.support.management import NOW

# More than in other tests, so that their projects are left alone.
MERGED = [UUID(int=number) for number in range(1, 61)]
SURVIVOR = UUID(int=100)


def squash(records: Records, events: EventStore) -> "asyncio.Task[None]":
    return asyncio.create_task(SquashWorker(records, events, lambda: NOW, len(MERGED)).squash())


async def begin(records: Records, consumer: str, position: int, claimed: int) -> None:
    row = {"consumer": consumer, "position": position, "claimed": claimed}
    async with records.write() as connection:
        await connection.execute(insert(log_positions).values(**row, holder="", held_until=NOW))


async def commit(records: Records, consumer: str, position: int) -> None:
    moved = update(log_positions).where(log_positions.c.consumer == consumer)
    async with records.write() as connection:
        await connection.execute(moved.values(position=position))


async def merge(events: EventStore, project_id: int) -> None:
    await events.override_persons([Override(project_id, merged, SURVIVOR, 1) for merged in MERGED])


async def store(events: EventStore, project_id: int, person: UUID) -> None:
    sent = Event(project_id, uuid4(), "seen", "ada", person, NOW, NOW, b"{}")
    await events.insert(events.encoder.batch([sent]), str(uuid4()))


async def owners(events: EventStore, project_id: int) -> list[UUID]:
    stored = await events.list(project_id, EventQuery(limit=10))
    return [event.person_id for event in stored]


# It takes seconds: the engine rewrites what the squash changes.
async def test_a_squash_waits_for_a_batch_that_began_before(
    records: Records, events: EventStore, project_id: int
) -> None:
    await merge(events, project_id)
    await begin(records, "live/3", 5, 9)

    squashing = squash(records, events)
    done, _ = await asyncio.wait({squashing}, timeout=0.5)
    # The batch loaded its persons before the merge.
    await store(events, project_id, MERGED[0])
    await commit(records, "live/3", 9)
    await squashing

    assert done == set()
    assert await owners(events, project_id) == [SURVIVOR]


async def test_a_consumer_without_a_batch_is_not_waited_for(
    records: Records, events: EventStore, project_id: int
) -> None:
    await store(events, project_id, MERGED[0])
    await merge(events, project_id)
    await begin(records, "live/3", 9, 9)
    await begin(records, "live/3:progress", 10, 4)

    await squash(records, events)

    assert await owners(events, project_id) == [SURVIVOR]


async def store_dead_letter(records: Records, project_id: int) -> DeadLetters:
    entry = LogEntry(7, Envelope(project_id, NOW, "", "", None, b"{}"))
    async with records.write() as connection:
        await connection.run_sync(insert_dead_letter, entry, 1, "ValueError", NOW)
    return DeadLetters(records)


async def test_a_squash_waits_for_a_dead_letter_that_is_being_retried(
    records: Records, events: EventStore, project_id: int
) -> None:
    await merge(events, project_id)
    letters = await store_dead_letter(records, project_id)
    await letters.mark_for_retry(DeadLetterFilter(project_id), NOW)

    squashing = squash(records, events)
    done, _ = await asyncio.wait({squashing}, timeout=0.5)
    # The retry loaded its persons before the merge.
    await store(events, project_id, MERGED[0])
    await letters.discard_letters(DeadLetterFilter(project_id))
    await squashing

    assert done == set()
    assert await owners(events, project_id) == [SURVIVOR]


async def test_a_dead_letter_that_nobody_retries_is_not_waited_for(
    records: Records, events: EventStore, project_id: int
) -> None:
    await store(events, project_id, MERGED[0])
    await merge(events, project_id)
    await store_dead_letter(records, project_id)

    await squash(records, events)

    assert await owners(events, project_id) == [SURVIVOR]
