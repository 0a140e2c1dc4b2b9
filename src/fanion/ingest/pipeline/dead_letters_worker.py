"""The ingestion of dead letters that an operator marked."""

from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime
from functools import partial
from time import monotonic

import structlog
from prometheus_client import Counter

from fanion.db.engine import RecordsUnavailable
from fanion.db.unwritten import UnwrittenPolls
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.dead_letters_store import DeadLetters, LetterGone, MarkedLetter
from fanion.ingest.pipeline.batch import PreparedBatch, without_duplicates
from fanion.ingest.pipeline.batch_writer import BatchWriter
from fanion.ingest.pipeline.deduplication_store import Deduplicator
from fanion.ingest.pipeline.position_store import NotLeaseHolder, Span
from fanion.ingest.pipeline.reader import BatchReader
from fanion.runtime.failure_log import FailureLog

EVERY_S = 1.0  # one read through an index
# Reads in a row that are left out while an SQLite store does not change, so that no letter is
# marked; the next one notices a store that fails.
LEFT_OUT_MAX = 59


class DeadLetterRetries:
    """The retries of marked dead letters between the batches of a consumer.

    The reader, writer and deduplicator are the consumer's.

    Args:
        failures: Counts failures of stores.
        clock: A steady clock, in seconds.
    """

    def __init__(
        self,
        letters: DeadLetters,
        reader: BatchReader,
        writer: BatchWriter,
        deduplicator: Deduplicator,
        events: EventStore,
        now: Callable[[], datetime],
        failures: Counter,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clock = clock
        self._letters = letters
        self._reader = reader
        self._writer = writer
        self._deduplicator = deduplicator
        self._events = events
        self._now = now
        self._failures = failures
        self._look_at = 0.0
        self._unwritten = UnwrittenPolls(letters.records.write_mark, LEFT_OUT_MAX)
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
        self._waits = FailureLog("retries_wait")

    async def run_due(self, span: Span) -> None:
        """Ingest the marked dead letters, once per EVERY_S. They stay marked if a store fails.

        Args:
            span: A partition that this server holds, without entries.

        Raises:
            NotLeaseHolder: Another server has taken the partition.
        """
        if self._clock() < self._look_at:
            return
        try:
            await self._unwritten.poll(partial(self._ingest_marked, span))
            self._waits.succeeded()
        except (RecordsUnavailable, EventStoreUnavailable, OSError) as error:
            self._failures.inc()
            self._waits.failed(str(error))
        finally:
            self._look_at = self._clock() + EVERY_S

    async def _ingest_marked(self, span: Span) -> None:
        async with aclosing(self._letters.marked_letters()) as marked:
            async for letter in marked:
                await self._retry(letter, span)

    async def _retry(self, letter: MarkedLetter, span: Span) -> None:
        try:
            if await self._split(letter):
                return
            batch = await self._ingest(letter, span)
        except (NotLeaseHolder, RecordsUnavailable, EventStoreUnavailable, OSError):
            raise
        except LetterGone:
            return
        except Exception as error:
            await self._failed(letter, error)
        else:
            self._log.info("dead_letter_ingested", log_id=letter.entry.id, events=batch.events)

    async def _ingest(self, letter: MarkedLetter, span: Span) -> PreparedBatch:
        """Ingest a letter, looking up all its ids.

        The letter may be old, and its client may have sent it again.
        """
        batch = await self._reader.prepare([letter.entry])
        named = batch.named.items()
        stored = {key: await self._events.existing(key, uuids) for key, uuids in named if uuids}
        fresh = without_duplicates(batch, stored)
        await self._writer.write_letter(letter, fresh, span)
        await self._deduplicator.remember(fresh)
        return batch

    async def _split(self, letter: MarkedLetter) -> bool:
        """Divide a letter that would take too much memory. Its pieces are ingested next time."""
        pieces = await self._reader.pieces_of_letter(letter.entry)
        if len(pieces) < 2:
            return False
        await self._letters.split_letter(letter, pieces)
        return True

    async def _failed(self, letter: MarkedLetter, error: Exception) -> None:
        error = first_error(error)
        if isinstance(error, RecordsUnavailable | EventStoreUnavailable | OSError):
            raise error
        self._log.error("dead_letter_failed", exc_info=error, log_id=letter.entry.id)
        await self._letters.record_failure(letter, error_text(error), self._now())


def first_error(error: Exception) -> Exception:
    """Return the first leaf of nested exception groups."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def error_text(error: Exception) -> str:
    """Return the text stored with a dead letter."""
    return f"{type(error).__name__}: {error}"
