"""The storing of a prepared batch: its events, then one records transaction for the rest."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from time import perf_counter

import structlog

from fanion.accept_log.port import LogEntry
from fanion.events.event import EventRejected, EventStoreUnavailable
from fanion.events.storage.encoder import Batch
from fanion.events.storage.store import EventStore
from fanion.ingest.event import Drop
from fanion.ingest.ledger.dead_letters_store import MarkedLetter
from fanion.ingest.ledger.model import Tally, without_projects
from fanion.ingest.pipeline.batch import PreparedBatch
from fanion.ingest.pipeline.changes_store import BatchChanges
from fanion.ingest.pipeline.events_writer import event_blocks, insert_token, insertion, mirror_batch
from fanion.ingest.pipeline.live_feed_service import LiveFeed
from fanion.ingest.pipeline.position_store import EnvelopeProgress, Span
from fanion.ingest.pipeline.reader import BatchReader
from fanion.ingest.pipeline.resolve import ProjectState, Resolution
from fanion.ingest.pipeline.retry import StoreRetry
from fanion.ingest.pipeline.store import IngestStore
from fanion.ingest.pipeline.transaction_limit import TransactionLimit
from fanion.observability.metrics import Metrics
from fanion.persons.state.conflicts_store import PersonsChanged
from fanion.runtime.change_bus import ChangeBus, Topic
from fanion.runtime.failure_log import FailureLog

# How often other servers may change persons of a batch while it is stored. After that the batch is
# halved: each half has fewer persons and takes less time.
CONFLICTS_MAX = 3


class Contended(Exception):
    """The error when other servers kept changing persons of a batch while it was being stored."""


class BatchWriter:
    """A writer for the batches of one lane.

    Args:
        lock: Shared by all lanes of this process, whose batches would otherwise often conflict.
        bus: Notified of projects with new group types.
        require_current: Raises NotLeaseHolder if another process may have taken the batch, which
            has the entries of a span.
        limit: Adapted to how long transactions take.
        feed: The feed of the streams of live events; None for a lane that is not shown there.

    Attributes:
        mirrored: Versions of changes that the mirror has, and whose notes are to be deleted.
    """

    def __init__(
        self,
        store: IngestStore,
        events: EventStore,
        reader: BatchReader,
        retry: StoreRetry,
        lock: asyncio.Lock,
        now: Callable[[], datetime],
        metrics: Metrics,
        bus: ChangeBus,
        require_current: Callable[[Span], None],
        limit: TransactionLimit,
        feed: LiveFeed | None = None,
    ) -> None:
        self._require_current = require_current
        self._store = store
        self._events = events
        self._reader = reader
        self._retry = retry
        self._lock = lock
        self._now = now
        self._metrics = metrics
        self._bus = bus
        self._feed = feed
        self._limit = limit
        self._transaction_s = 0.0
        self.mirrored: list[int] = []
        # After a backup was restored, the event store may be the newer one.
        self._is_above_mirror = False
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
        self._unmirrored = FailureLog("changes_not_mirrored")

    async def write(
        self,
        batch: PreparedBatch,
        span: Span,
        progress: EnvelopeProgress | None = None,
        *,
        divisible: bool = False,
    ) -> bool:
        """Write a batch, retrying while a store fails.

        Args:
            span: As in `IngestStore.write_batch`.
            progress: As in `IngestStore.write_batch`.

        Returns:
            False if the batch must be prepared again, because the preparer's work does not match
                the
            stores.

        Raises:
            NotLeaseHolder: Another server may have taken the batch.
            Contended: The batch is divisible and should be halved.
        """
        conflicts = 0

        async def attempt() -> bool:
            nonlocal conflicts
            try:
                async with self._exclusive():
                    return await self._write(batch, span, progress, conflicts)
            except PersonsChanged:
                conflicts += 1
                if divisible and conflicts >= CONFLICTS_MAX:
                    raise Contended from None
                raise

        return await self._retry.call(attempt)

    async def adapt_limit(self, entries: Sequence[LogEntry]) -> None:
        """Adapt the limit for transactions to the last one, which has stored these entries."""
        if self._limit.may_change(self._transaction_s, entries):
            await asyncio.to_thread(self._limit.adapt, self._transaction_s, entries)

    async def write_letter(self, letter: MarkedLetter, batch: PreparedBatch, span: Span) -> None:
        """Write a dead letter as its own batch, without retrying. No position moves.

        Args:
            span: As in `IngestStore.write_letter`.

        Raises:
            NotLeaseHolder: Another server may have taken the partition.
            LetterGone: The letter was discarded or ingested meanwhile.
            PersonsChanged: Other servers kept changing its persons.
            RecordsUnavailable: The records store failed.
            EventStoreUnavailable: The event store failed.
        """
        for conflicts in range(CONFLICTS_MAX):
            try:
                async with self._exclusive():
                    await self._write_letter(letter, batch, span, conflicts)
                return
            except PersonsChanged:
                if conflicts == CONFLICTS_MAX - 1:
                    raise  # the letter is retried with the next dead letters

    @asynccontextmanager
    async def _exclusive(self) -> AsyncGenerator[None]:
        async with self._lock:
            try:
                yield
            except BaseException:
                # The batch has changed persons in memory, but these changes were not written.
                self._store.recent.clear()
                raise

    async def _write(
        self, batch: PreparedBatch, span: Span, progress: EnvelopeProgress | None, conflicts: int
    ) -> bool:
        """Attempt to write a batch once.

        Args:
            conflicts: How often other servers changed persons meanwhile. Events may belong to other
                persons now, so their blocks must not be deduplicated against the stored ones.
        """
        started, now = perf_counter(), self._now()
        await self._store.claim_span(span, self.mirrored)
        self.mirrored.clear()
        resolutions = await self._resolutions(batch, now)
        if not all(resolution.is_valid for resolution in resolutions):
            return False
        await self._create_types(resolutions)
        encoder = self._events.encoder
        token = insert_token(self._store.token_source(span), encoder, batch, resolutions, conflicts)
        require_current = partial(self._require_current, span)
        async with insertion(self._events, token, require_current) as inserting:
            blocks = event_blocks(encoder, batch, resolutions)
            while block := await asyncio.to_thread(next, blocks, None):
                await inserting.put(Batch((block,)))
                self._reader.prepare_next()
            written = await self._written(resolutions)
            mirrored = await asyncio.to_thread(mirror_batch, encoder, written)
            tally = await asyncio.to_thread(_tally, batch, resolutions)
            await inserting.stored()
        self._transaction_s = await self._store.write_batch(
            written, tally, span, self._now(), progress
        )
        await self._mirror(written, mirrored)
        self._reader.types = {resolution.project_id: resolution.types for resolution in resolutions}
        self._announce(written)
        self._count(batch, perf_counter() - started)
        await self._show(batch, written, resolutions)
        return True

    async def _write_letter(
        self, letter: MarkedLetter, batch: PreparedBatch, span: Span, conflicts: int
    ) -> None:
        started = perf_counter()
        resolutions = await self._resolutions(batch, self._now())
        await self._create_types(resolutions)
        encoder = self._events.encoder
        token = insert_token(self._store.token_source(span), encoder, batch, resolutions, conflicts)
        blocks = await asyncio.to_thread(tuple, event_blocks(encoder, batch, resolutions))
        written = await self._written(resolutions)
        mirrored = await asyncio.to_thread(mirror_batch, encoder, written)
        require_current = partial(self._require_current, span)
        async with insertion(self._events, token, require_current) as inserting:
            await inserting.put(Batch(blocks))
            await inserting.stored()
        tally = _tally(batch, resolutions)
        await self._store.write_letter(letter, written, tally, span, self._now())
        await self._mirror(written, mirrored)
        self._announce(written)
        self._count(batch, perf_counter() - started)
        await self._show(batch, written, resolutions)

    async def _resolutions(self, batch: PreparedBatch, now: datetime) -> list[Resolution]:
        if not self._is_above_mirror:
            await self._store.versions.draw(await self._events.newest_version())
            self._is_above_mirror = True
        states = await self._store.load_states(batch, now)
        return await asyncio.to_thread(_resolutions, batch, states)

    async def _create_types(self, resolutions: Sequence[Resolution]) -> None:
        if types := {
            resolution.project_id: resolution.new_types
            for resolution in resolutions
            if resolution.new_types
        }:
            await self._store.create_types(types)
            for project_id in types:
                self._bus.publish(Topic.GROUP_TYPES, project_id)

    async def _written(self, resolutions: Sequence[Resolution]) -> list[BatchChanges]:
        resolved = await asyncio.to_thread(
            lambda: [resolution.outcome() for resolution in resolutions]
        )
        return [await self._store.versioned_changes(outcome) for outcome in resolved]

    async def _mirror(self, written: Sequence[BatchChanges], mirrored: Batch) -> None:
        """Mirror committed changes in the event store. On failure this is left to MirrorWorker."""
        if not (mirrored.persons or mirrored.overrides or mirrored.groups):
            return
        try:
            await self._events.insert(mirrored, "")
        except (EventStoreUnavailable, EventRejected) as error:
            self._unmirrored.failed(str(error))
            return
        self._unmirrored.succeeded()
        self.mirrored += [part.version for part in written]

    async def forget_mirrored(self) -> None:
        """Delete the notes of mirrored changes, when no batch follows that would do so."""
        if self.mirrored:
            await self._retry.call(self._store.forget_mirrored, self.mirrored)
            self.mirrored.clear()

    def _announce(self, written: Sequence[BatchChanges]) -> None:
        for part in written:
            self._metrics.dropped.labels(Drop.ERASED.value).inc(part.resolved.erased)

    async def _show(
        self,
        batch: PreparedBatch,
        written: Sequence[BatchChanges],
        resolutions: Sequence[Resolution],
    ) -> None:
        if self._feed is not None and self._feed.live.is_watched:
            pairs = zip(written, resolutions, strict=True)
            await self._feed.show_events(
                batch, [(part.resolved, resolution.types) for part, resolution in pairs]
            )

    def _count(self, batch: PreparedBatch, seconds: float) -> None:
        events = batch.events
        self._metrics.hot.ingested.count += events
        for reason, items in batch.dropped.items():
            self._metrics.dropped.labels(reason.value).inc(items)
        self._metrics.batch_seconds.observe(seconds)
        self._log.info(
            "ingested",
            first=batch.first,
            last=batch.last,
            events=events,
            dropped=sum(batch.dropped.values()),
            ms=round(seconds * 1000, 1),
        )


def _resolutions(batch: PreparedBatch, states: Mapping[int, ProjectState]) -> list[Resolution]:
    samples = {} if batch.preparer_result is None else batch.preparer_result.projects
    return [
        Resolution(project_id, arrived, states[project_id], samples.get(project_id))
        for project_id, arrived in batch.arrived.items()
    ]


def _tally(batch: PreparedBatch, resolutions: Sequence[Resolution]) -> Tally:
    tally = batch.ledger(
        {
            resolution.project_id: [event.received_at for event in resolution.arrived]
            for resolution in resolutions
        }
    )
    deleted = {resolution.project_id for resolution in resolutions if resolution.is_deleted}
    return without_projects(tally, deleted) if deleted else tally
