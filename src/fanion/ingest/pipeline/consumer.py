"""From the accept log to the stores: each envelope once and in order, across crashes and failures.

Dead letters that an operator marked are ingested between the batches.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from itertools import zip_longest
from time import monotonic
from uuid import UUID

import structlog
from prometheus_client import Counter

from fanion.accept_log.port import AcceptLog, LogEntry
from fanion.db.engine import RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.events.live.stream_service import LiveEvents
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.dead_letters_store import DeadLetters, LetterGone, MarkedLetter
from fanion.ingest.pipeline.batch import (
    PreparedBatch,
    count_items,
    named_before,
    pieces,
    with_ids,
    without_duplicates,
)
from fanion.ingest.pipeline.batch_writer import BatchWriter
from fanion.ingest.pipeline.deduplication_store import Deduplicator
from fanion.ingest.pipeline.live_feed_service import LiveFeed
from fanion.ingest.pipeline.position_store import (
    RENEW_EVERY,
    EnvelopeProgress,
    NotLeaseHolder,
)
from fanion.ingest.pipeline.prepare import GeoIp
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.ingest.pipeline.reader import BatchReader, Throttle
from fanion.ingest.pipeline.retry import StoreRetry
from fanion.ingest.pipeline.store import IngestStore
from fanion.observability.metrics import Metrics
from fanion.projects.cache import Projects
from fanion.runtime.change_bus import ChangeBus

STAND_BY_S = 1.0  # between attempts of a standby server to take over
DEAD_LETTERS_EVERY_S = 1.0  # one read through an index
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)  # before any event was accepted


class Consumer:
    """The consumer of one lane of the log.

    projects, geoip, preparer: as for BatchReader
    turn, bus:                as for BatchWriter
    live:                     is shown what is stored; None for imports
    """

    def __init__(
        self,
        log: AcceptLog,
        store: IngestStore,
        events: EventStore,
        now: Callable[[], datetime],
        metrics: Metrics,
        projects: Projects,
        bus: ChangeBus,
        turn: asyncio.Lock,
        *,
        historical: bool = False,
        geoip: GeoIp | None = None,
        preparer: Preparer | None = None,
        live: LiveEvents | None = None,
    ) -> None:
        self._accepted = log
        self._store = store
        self._is_shared = store.is_shared
        self._now = now
        self._metrics = metrics
        self.historical = historical
        failures = metrics.store_errors.labels("ingestion")
        self._retry = StoreRetry(failures)
        self._throttle = Throttle(metrics.hot.answered, monotonic())
        self.reader = BatchReader(
            log,
            projects,
            geoip,
            preparer,
            self._retry,
            self._throttle,
            events,
            historical=historical,
        )
        self._deduplicator = Deduplicator(events, self._retry, historical=historical)
        feed = None if live is None else LiveFeed(live, self.reader)
        self._writer = BatchWriter(
            store, events, self.reader, self._retry, turn, now, metrics, bus, feed
        )
        self._letters = DeadLetterRetries(
            store.letters, self.reader, self._writer, self._deduplicator, events, now, failures
        )
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
        self._stopping = asyncio.Event()
        self.position = 0
        self.is_ingesting = False  # while this server holds the lease
        self._progress: EnvelopeProgress | None = None
        self._renew_at = LONG_AGO

    async def run(self) -> None:
        """Ingest until `stop`; the current batch is completed."""
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            while not self._stopping.is_set():
                try:
                    await self._resume()
                    await self._follow(stopping)
                except NotLeaseHolder:
                    self.is_ingesting = False
                    await asyncio.wait({stopping}, timeout=STAND_BY_S)
        finally:
            stopping.cancel()
        await self._store.release(self._now())

    def stop(self) -> None:
        self._stopping.set()

    async def _follow(self, stopping: asyncio.Task[bool]) -> None:
        """Ingest batch after batch. raises: NotLeaseHolder"""
        self.reader.start(self.position)
        try:
            while True:
                coming = self.reader.next
                await asyncio.wait(
                    {coming, stopping},
                    timeout=DEAD_LETTERS_EVERY_S,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if stopping.done():
                    return
                if not self.historical:
                    await self._renew()
                    await self._letters.run_due(self.position)
                if not coming.done():
                    continue
                entries, prepared = self.reader.take()
                started = monotonic()
                await self._ingest(entries, prepared)
                self.reader.resume()
                await self._rest(stopping, started, entries[0].envelope.received_at)
        finally:
            self.reader.stop()

    async def _renew(self) -> None:
        """Renew the lease where other servers might take it over. raises: NotLeaseHolder"""
        if self._is_shared and (now := self._now()) >= self._renew_at:
            await self._retry.call(self._store.renew, now)
            self._renew_at = now + RENEW_EVERY

    async def _rest(self, stopping: asyncio.Task[bool], started: float, oldest: datetime) -> None:
        ended = monotonic()
        lag_s = (self._now() - oldest).total_seconds()
        answered = self._metrics.hot.answered
        rest_s = self._throttle.rest_s(answered, ended, ended - started, lag_s)
        if rest_s:
            await asyncio.wait({stopping}, timeout=rest_s)

    async def _resume(self) -> None:
        """Acquire the lease, and repeat the batch that was claimed but not completed when the
        previous process died. raises: NotLeaseHolder"""
        position = await self._retry.call(lambda: self._store.acquire(self._now()))
        self.is_ingesting = True
        await self._deduplicator.recall(self._now())
        self._store.recent.clear()
        self.position, self._progress = position.at, position.progress
        while self.position < position.claimed:
            entries = await self.reader.read(self.position)
            again = [entry for entry in entries if entry.id <= position.claimed]
            if not again:
                break
            await self._ingest(again, None)

    async def _ingest(self, entries: Sequence[LogEntry], prepared: PreparedBatch | None) -> None:
        """Returns when every entry is stored or has become a dead letter."""
        is_unchecked = len(entries) == 1 and prepared is None
        if await self._needs_pieces(entries[0], is_unchecked=is_unchecked):
            await self._ingest_in_pieces(entries[0])
            if rest := entries[1:]:
                await self._ingest(rest, None)
            return
        try:
            batch = await self._without_stored(entries, prepared)
            stored = await self._writer.write(batch, self.position, divisible=len(entries) > 1)
        except NotLeaseHolder:
            raise
        except Exception as error:
            if len(entries) == 1:
                await self._store_dead_letter(entries[0], error, None)
                await self._done(entries[0].id)
                return
            half = len(entries) // 2
            await self._ingest(entries[:half], None)
            await self._ingest(entries[half:], None)
            return
        if not stored:
            await self._ingest(entries, None)
            return
        await self._deduplicator.remember(batch)
        await self._done(batch.last)

    async def _done(self, last: int) -> None:
        self.position = last
        await self._trim()

    async def _needs_pieces(self, entry: LogEntry, *, is_unchecked: bool) -> bool:
        """An envelope that was started in pieces is continued so, whatever the limit is by now. One
        that was prepared whole is small enough."""
        if self._progress is not None and self._progress.entry_id == entry.id:
            return True
        return is_unchecked and await self.reader.is_too_large(entry)

    async def _ingest_in_pieces(self, entry: LogEntry) -> None:
        """Each piece in a transaction of its own, which records the progress in the envelope."""
        progress = self._progress
        start = progress.items if progress is not None and progress.entry_id == entry.id else 0
        earlier = await asyncio.to_thread(named_before, entry, start)
        coming = await asyncio.to_thread(pieces, entry, start, self.reader.budget)
        for piece, following in zip_longest(coming, coming[1:]):
            after = None if following is None else EnvelopeProgress(entry.id, following.start)
            try:
                batch = await self._new_in_piece(piece, earlier)
                await self._writer.write(batch, self.position, after)
                await self._deduplicator.remember(batch)
            except NotLeaseHolder:
                raise
            except Exception as error:
                await self._store_dead_letter(
                    await asyncio.to_thread(with_ids, piece), error, after
                )
            self._progress = after
        await self._done(entry.id)

    async def _new_in_piece(self, piece: LogEntry, earlier: set[UUID]) -> PreparedBatch:
        """earlier: ids of items in previous pieces; those of this one are added. The event store
        cannot tell which piece of an envelope an event came with."""
        batch = await self.reader.prepare([piece])
        again = {
            key: dict.fromkeys(earlier.intersection(n), LONG_AGO) for key, n in batch.named.items()
        }
        for uuids in batch.named.values():
            earlier.update(uuids)
        batch = await asyncio.to_thread(without_duplicates, batch, again)
        return await self._deduplicator.without_stored(batch)

    async def _without_stored(
        self, entries: Sequence[LogEntry], prepared: PreparedBatch | None
    ) -> PreparedBatch:
        if prepared is not None:
            batch = await self._deduplicator.without_stored(prepared)
            if batch.preparer_result is prepared.preparer_result:
                return batch
        return await self._deduplicator.without_stored(await self.reader.prepare(entries))

    async def _trim(self) -> None:
        try:
            await self._accepted.trim(self.position, historical=self.historical)
        except OSError as error:
            self._log.warning("accept_log_not_trimmed", reason=str(error))

    async def _store_dead_letter(
        self, entry: LogEntry, error: Exception, progress: EnvelopeProgress | None
    ) -> None:
        error = first_error(error)
        self._log.error(
            "envelope_failed", exc_info=error, log_id=entry.id, project=entry.envelope.project_id
        )
        text, items = error_text(error), await asyncio.to_thread(count_items, entry.envelope.body)
        await self._retry.call(
            lambda: self._store.store_dead_letter(
                entry, items, self.position, text, self._now(), progress
            )
        )
        self._metrics.dead_letters.inc()


# ── Dead letters marked to be retried ────────────────────────────────────────────────────


class DeadLetterRetries:
    """Ingests marked dead letters between the batches of a consumer.

    reader, writer, deduplicator: the consumer's
    failures:                     counts failures of stores
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

    async def run_due(self, position: int) -> None:
        """Ingest the marked dead letters, once per DEAD_LETTERS_EVERY_S. They stay marked when a
        store fails.

        position: of the lane; does not move
        raises:   NotLeaseHolder
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
            self._look_at = monotonic() + DEAD_LETTERS_EVERY_S

    async def _retry(self, letter: MarkedLetter, position: int) -> None:
        try:
            if await self._split(letter):
                return
            batch = await self._ingest(letter, position)
        except (NotLeaseHolder, RecordsUnavailable, EventStoreUnavailable, OSError):
            raise
        except LetterGone:
            return
        except Exception as error:
            await self._failed(letter, error)
        else:
            self._log.info("dead_letter_ingested", log_id=letter.entry.id, events=batch.events)

    async def _ingest(self, letter: MarkedLetter, position: int) -> PreparedBatch:
        """Look all ids up: the letter may be old, and its client may have sent it again."""
        batch = await self._reader.prepare([letter.entry])
        named = batch.named.items()
        stored = {key: await self._events.existing(key, uuids) for key, uuids in named if uuids}
        fresh = without_duplicates(batch, stored)
        await self._writer.write_letter(letter, fresh, position)
        await self._deduplicator.remember(fresh)
        return batch

    async def _split(self, letter: MarkedLetter) -> bool:
        """Divide a letter that would take too much memory; its pieces are ingested next time."""
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
    """The first leaf of nested exception groups."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def error_text(error: Exception) -> str:
    """The text stored with a dead letter."""
    return f"{type(error).__name__}: {error}"
