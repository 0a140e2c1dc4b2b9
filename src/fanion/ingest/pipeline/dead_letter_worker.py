"""Dead letters that an operator wants tried again, ingested between the batches of a lane."""

from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime
from time import monotonic

import structlog
from prometheus_client import Counter

from fanion.db.engine import RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.dead_letters_store import DeadLetters, LetterGone, MarkedLetter
from fanion.ingest.pipeline.batch import PreparedBatch, without_duplicates
from fanion.ingest.pipeline.batch_writer import BatchWriter
from fanion.ingest.pipeline.deduplication_store import Deduplicator
from fanion.ingest.pipeline.position_store import NotOurs
from fanion.ingest.pipeline.reader import BatchReader

LOOK_EVERY_S = 1.0  # one read through an index


class DeadLetterRetries:
    """reader, writer, deduplicator: of the consumer between whose batches it is done
    failures:                     of stores
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
    ) -> None:
        self._letters = letters
        self._reader = reader
        self._writer = writer
        self._deduplicator = deduplicator
        self._events = events
        self._now = now
        self._failures = failures
        self._look_at = 0.0
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def look(self, position: int) -> None:
        """Ingest what is marked, if it is time to look. What a store prevents stays marked.

        position: of the lane, which stays
        raises:   NotOurs
        """
        if monotonic() < self._look_at:
            return
        try:
            async with aclosing(self._letters.marked()) as marked:
                async for letter in marked:
                    await self._retry(letter, position)
        except (RecordsUnavailable, EventStoreUnavailable, OSError) as error:
            self._failures.inc()
            self._log.warning("retries_wait", reason=str(error))
        finally:
            self._look_at = monotonic() + LOOK_EVERY_S

    async def _retry(self, letter: MarkedLetter, position: int) -> None:
        try:
            if await self._split(letter):
                return
            batch = await self._ingest(letter, position)
        except (NotOurs, RecordsUnavailable, EventStoreUnavailable, OSError):
            raise
        except LetterGone:
            return
        except Exception as error:
            await self._failed(letter, error)
        else:
            self._log.info("dead_letter_ingested", log_id=letter.entry.id, events=batch.events)

    async def _ingest(self, letter: MarkedLetter, position: int) -> PreparedBatch:
        """It may be old, and its client may have sent it again: of all ids the store is asked."""
        batch = await self._reader.prepare([letter.entry])
        named = batch.named.items()
        stored = {key: await self._events.existing(key, uuids) for key, uuids in named if uuids}
        fresh = without_duplicates(batch, stored)
        await self._writer.write_letter(letter, fresh, position)
        await self._deduplicator.remember(fresh)
        return batch

    async def _split(self, letter: MarkedLetter) -> bool:
        """One that would take too much memory becomes several, which the next look finds."""
        found = await self._reader.pieces_of_letter(letter.entry)
        if len(found) < 2:
            return False
        await self._letters.split(letter, found)
        return True

    async def _failed(self, letter: MarkedLetter, error: Exception) -> None:
        error = first_error(error)
        if isinstance(error, RecordsUnavailable | EventStoreUnavailable | OSError):
            raise error
        self._log.error("dead_letter_failed", exc_info=error, log_id=letter.entry.id)
        await self._letters.fail(letter, error_text(error), self._now())


def first_error(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def error_text(error: Exception) -> str:
    """As it is stored with a dead letter."""
    return f"{type(error).__name__}: {error}"
