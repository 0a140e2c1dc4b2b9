"""Background worker that completes the deletion of persons in all stores.

A person and its distinct ids are deleted from the records at once. Ingestion leaves out events
that were accepted before the deletion and still wait in the accept log. Then this worker deletes
from the event store, the dead letters and the examples of the ledger.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Never

import msgspec
import structlog
from msgspec import convert, to_builtins
from sqlalchemy import Connection, Row, delete, select, update

from fanion.accept_log.port import AcceptLog
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.events import ingestion_examples
from fanion.db.schema.tables import dead_letters
from fanion.db.unwritten import UnwrittenPolls
from fanion.events.event import Erasure, EventStoreUnavailable
from fanion.events.mirror_outbox_store import is_unmirrored
from fanion.events.storage.store import EventStore
from fanion.ingest.erasure_journal_store import ErasureJournal
from fanion.ingest.event import Drop
from fanion.ingest.items import read_items
from fanion.ingest.ledger.model import Example, moved_from_dead_letters
from fanion.ingest.ledger.store import write_tally
from fanion.ingest.pipeline.position_store import lane_backlogs
from fanion.ingest.pipeline.prepare import distinct_id_of
from fanion.persons.erasure_store import (
    current_overrides,
    finish_erasure,
    forget_erasures,
    unfinished_erasures,
)
from fanion.persons.splits.store import is_splitting
from fanion.runtime.background import Backoff, run_loop
from fanion.runtime.failure_log import FailureLog

SHOWN_WHOLE = 100  # characters; the 400 bytes of an example hold at least this many
LETTERS_MAX = 20  # letters in memory at a time; each may be as large as a request

LOOK_FIRST_S, LOOK_MAX_S = 0.02, 0.5
LOOK_EVERY_S = 10.0
# Looks in a row that are left out while all are finished and nobody writes an SQLite store.
LEFT_OUT_MAX = 5
# A request that was in progress at the moment of the deletion is appended to the log at most this
# much later; ingestion applies the deletion for as long.
HEEDED = timedelta(minutes=1)

_FAILURES = (EventStoreUnavailable, RecordsUnavailable, OSError)

_encode = msgspec.json.Encoder().encode

_letter = dead_letters.c
_example = ingestion_examples.c


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """A dead letter's body after deletion.

    Attributes:
        body: What remains; None if nothing does.
        items: The number of remaining items.
    """

    body: bytes | None
    items: int


class ErasureWorker:
    """The worker that finishes erasures, on request or in the background."""

    def __init__(
        self,
        records: Records,
        events: EventStore,
        log: AcceptLog,
        now: Callable[[], datetime],
        answer_s: float,
        journal: ErasureJournal,
    ) -> None:
        """Create a worker that is not running yet.

        Args:
            now: The time of day.
            answer_s: How long a request waits for the end; after that it is answered with 202.
        """
        self._records = records
        self._events = events
        self._accepted = log
        self._now = now
        self._answer_s = answer_s
        self._journal = journal
        self._turn = asyncio.Lock()
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
        self._waits = FailureLog("erasure_waits")
        self._unwritten = UnwrittenPolls(records.write_mark, LEFT_OUT_MAX)
        self._is_work_left = True

    async def finished(self, erasure: Erasure) -> bool:
        """Return whether the erasure was finished within `answer_s`. If not, `run` finishes it."""
        give_up, backoff = monotonic() + self._answer_s, Backoff(LOOK_FIRST_S, LOOK_MAX_S)
        try:
            await asyncio.to_thread(self._journal.note_persons, [erasure])
            while not await self._may_begin(erasure):
                wait_s = backoff.next_s()
                if monotonic() + wait_s >= give_up:
                    return False
                await asyncio.sleep(wait_s)
            async with asyncio.timeout_at(self._loop_time(give_up)), self._turn:
                await self._finish(erasure)
        except TimeoutError:
            return False
        except _FAILURES as error:
            self._waits.failed(str(error))
            return False
        return True

    async def run(self) -> Never:
        """Finish erasures that any process has left unfinished, until cancelled."""
        await run_loop(self.poll, LOOK_EVERY_S, "erasure_waits", _FAILURES, failures=self._waits)

    async def poll(self) -> None:
        """Do what `finish_all` does, unless all are finished and an SQLite store is unwritten."""
        await self._unwritten.poll(self.finish_all, has_work=self._is_work_left)

    async def finish_all(self) -> None:
        """Finish every erasure that can be finished now, and forget those no longer needed.

        Raises:
            EventStoreUnavailable: The event store failed.
            RecordsUnavailable: The records store failed.
            OSError: The accept log failed.
        """
        async with self._records.read() as connection:
            erasures = await connection.run_sync(unfinished_erasures)
        self._is_work_left = bool(erasures)
        if erasures:
            await asyncio.to_thread(self._journal.note_persons, erasures)
        for erasure in erasures:
            if await self._may_begin(erasure):
                async with self._turn:
                    await self._finish(erasure)
        async with self._records.write() as connection:
            await connection.run_sync(forget_erasures, self._now() - HEEDED)
        await asyncio.to_thread(self._journal.forget_old, self._now())

    async def _finish(self, erasure: Erasure) -> None:
        """Delete the person from all stores. Repeating this is safe."""
        await self._events.erase(erasure)
        async with self._records.read() as connection:
            overrides = await connection.run_sync(
                current_overrides, erasure.project_id, erasure.persons
            )
        await self._events.override_persons(overrides)
        if erasure.with_events:
            await scrub_stored_items(self._records, erasure)
        async with self._records.write() as connection:
            await connection.run_sync(finish_erasure, erasure.id, self._now())
        self._log.info("person_erased", project=erasure.project_id, erasure=erasure.id)

    async def _may_begin(self, erasure: Erasure) -> bool:
        """Return whether nothing from before the deletion can still reach the event store.

        Everything accepted before it must be ingested, every change committed before it must have
        been sent, and events of distinct ids that were split off must have followed: they would be
        deleted with the former person.
        """
        lanes = await lane_backlogs(self._records, self._accepted)
        if any(lane.oldest is not None and lane.oldest <= erasure.requested_at for lane in lanes):
            return False
        async with self._records.read() as connection:
            if await connection.run_sync(is_splitting, erasure.project_id):
                return False
            return not await connection.run_sync(is_unmirrored, erasure.project_id, erasure.version)

    def _loop_time(self, moment: float) -> float:
        return asyncio.get_running_loop().time() + moment - monotonic()


# ── Dead letters and examples ────────────────────────────────────────────────────────────


async def scrub_stored_items(records: Records, erasure: Erasure) -> None:
    """Delete the person's items from dead letters and examples. Repeating this is safe.

    Raises:
        RecordsUnavailable: The records store failed.
    """
    after = 0
    while letters := await _read_letters(records, erasure, after):
        changed = await asyncio.to_thread(_scrub_letters, letters, erasure)
        async with records.write() as connection:
            for letter, remaining in changed:
                await connection.run_sync(_replace_letter, letter, remaining)
        after = letters[-1].id
    async with records.write() as connection:
        await connection.run_sync(_scrub_examples, erasure)


async def _read_letters(records: Records, erasure: Erasure, after: int) -> Sequence[Row[Any]]:
    return await records.fetch(
        select(_letter.id, _letter.project_id, _letter.received_at, _letter.body)
        .where(
            _letter.project_id == erasure.project_id,
            _letter.received_at <= erasure.requested_at,
            _letter.id > after,
        )
        .order_by(_letter.id)
        .limit(LETTERS_MAX)
    )


def _scrub_letters(
    letters: Sequence[Row[Any]], erasure: Erasure
) -> list[tuple[Row[Any], Scrubbed]]:
    return [
        (letter, remaining)
        for letter in letters
        if (remaining := scrub_body(bytes(letter.body), erasure.distinct_ids)) is not None
    ]


def _replace_letter(connection: Connection, letter: Row[Any], remaining: Scrubbed) -> None:
    """Replace or delete a dead letter. The ledger then counts its deleted items as erased."""
    of_letter = _letter.id == letter.id
    counted = connection.scalar(select(_letter["items"]).where(of_letter).with_for_update())
    if counted is None:
        return  # it was ingested or discarded meanwhile
    if remaining.body is None:
        connection.execute(delete(dead_letters).where(of_letter))
    else:
        values = {_letter.body: remaining.body, _letter["items"]: remaining.items}
        connection.execute(update(dead_letters).where(of_letter).values(values))
    erased = max(0, counted - remaining.items)
    write_tally(
        connection,
        moved_from_dead_letters(letter.project_id, letter.received_at, erased, Drop.ERASED),
    )


def _scrub_examples(connection: Connection, erasure: Erasure) -> None:
    of_project = _example.project_id == erasure.project_id
    rows = connection.execute(
        select(_example.outcome, _example.examples).where(of_project).with_for_update()
    ).all()
    for row in rows:
        examples = convert(row.examples, list[Example])
        remaining = without_examples(examples, erasure.distinct_ids, erasure.requested_at)
        if len(remaining) < len(examples):
            connection.execute(
                update(ingestion_examples)
                .where(of_project, _example.outcome == row.outcome)
                .values(examples=to_builtins(remaining))
            )


def scrub_body(body: bytes, distinct_ids: Collection[str]) -> Scrubbed | None:
    """Return an accepted body without the items of these distinct ids, or None if it has none.

    A body that cannot be read is deleted as a whole if it contains one of the ids.
    """
    try:
        items = read_items(body)
        remaining = [item for item in items if distinct_id_of(item) not in distinct_ids]
    except Exception:
        # What made this dead letter fail may fail here too.
        return Scrubbed(None, 0) if contains_id(body, distinct_ids) else None
    if len(remaining) == len(items):
        return None
    return Scrubbed(_encode(remaining) if remaining else None, len(remaining))


def without_examples(
    examples: Sequence[Example], distinct_ids: Collection[str], upto: datetime
) -> list[Example]:
    """Return the examples without those of these distinct ids.

    Args:
        upto: Examples received later than this are kept.
    """
    return [
        example
        for example in examples
        if example.received_at > upto or not _begins_id(example.distinct_id, distinct_ids)
    ]


def _begins_id(beginning: str | None, distinct_ids: Collection[str]) -> bool:
    """Return whether an example's distinct id is one of these, or the beginning of a long one."""
    if not beginning or len(beginning) < SHOWN_WHOLE:
        return beginning in distinct_ids
    return any(name.startswith(beginning) for name in distinct_ids)


def contains_id(body: bytes, distinct_ids: Collection[str]) -> bool:
    return any(_encode(name)[1:-1] in body for name in distinct_ids)
