"""Dead letters that an operator wants tried again, ingested between the runs of a lane."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import datetime
from time import monotonic

import structlog
from prometheus_client import Counter

from fanion.accept_log.port import Entry
from fanion.db.engine import RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.ingest.ledger.dead_letters_store import DeadLetters, LetterGone, MarkedLetter
from fanion.ingest.pipeline.batch import PreparedRun
from fanion.ingest.pipeline.store import NotOurs

LOOK_EVERY_S = 1.0  # one read through an index

Prepare = Callable[[Sequence[Entry]], Awaitable[PreparedRun]]
# With ids of their own, and how many items each has.
PiecesOf = Callable[[Entry], Awaitable[Sequence[tuple[Entry, int]]]]
StoreLetter = Callable[[MarkedLetter, PreparedRun], Awaitable[None]]


class Retries:
    """pieces_of:      those of an envelope that is too large to be ingested as one
    prepare, store: of the consumer between whose runs it is done
    failures:       of stores
    """

    def __init__(
        self,
        letters: DeadLetters,
        pieces_of: PiecesOf,
        prepare: Prepare,
        store: StoreLetter,
        now: Callable[[], datetime],
        failures: Counter,
    ) -> None:
        self._letters = letters
        self._pieces_of = pieces_of
        self._prepare = prepare
        self._store = store
        self._now = now
        self._failures = failures
        self._look_at = 0.0
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def look(self) -> None:
        """Ingest what is marked, if it is time to look. What a store prevents stays marked.

        raises: NotOurs
        """
        if monotonic() < self._look_at:
            return
        try:
            async with aclosing(self._letters.marked()) as marked:
                async for letter in marked:
                    await self._retry(letter)
        except (RecordsUnavailable, EventStoreUnavailable, OSError) as error:
            self._failures.inc()
            self._log.warning("retries_wait", reason=str(error))
        finally:
            self._look_at = monotonic() + LOOK_EVERY_S

    async def _retry(self, letter: MarkedLetter) -> None:
        try:
            if await self._split(letter):
                return
            run = await self._prepare([letter.entry])
            await self._store(letter, run)
        except (NotOurs, RecordsUnavailable, EventStoreUnavailable, OSError):
            raise
        except LetterGone:
            return
        except Exception as error:
            await self._failed(letter, error)
        else:
            self._log.info("dead_letter_ingested", log_id=letter.entry.id, events=run.events)

    async def _split(self, letter: MarkedLetter) -> bool:
        """One that would take too much memory becomes several, which the next look finds."""
        found = await self._pieces_of(letter.entry)
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
    """As it is kept with a dead letter."""
    return f"{type(error).__name__}: {error}"
