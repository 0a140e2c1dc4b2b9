"""The way from the accept log to the stores, across crashes and failures.

Each envelope is ingested once and in order. Dead letters that an operator marked are ingested
between the batches.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from time import monotonic
from typing import Any

import structlog

from fanion.accept_log.port import SINGLE, AcceptLog, LogEntry, Positions
from fanion.db.engine import RecordsUnavailable
from fanion.events.live.stream_service import LiveEvents
from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.assignment import Assignment
from fanion.ingest.pipeline.batch import PreparedBatch, count_items
from fanion.ingest.pipeline.batch_writer import BatchWriter
from fanion.ingest.pipeline.dead_letters_worker import (
    DeadLetterRetries,
    error_text,
    first_error,
)
from fanion.ingest.pipeline.deduplication_store import Deduplicator
from fanion.ingest.pipeline.lane_membership_worker import LaneMembership
from fanion.ingest.pipeline.large_envelope_writer import LargeEnvelopeWriter
from fanion.ingest.pipeline.live_feed_service import LiveFeed
from fanion.ingest.pipeline.position_store import (
    EnvelopeProgress,
    NotLeaseHolder,
    Position,
    Span,
)
from fanion.ingest.pipeline.prepare import GeoIp
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.ingest.pipeline.reader import BatchReader, Throttle, positions_behind
from fanion.ingest.pipeline.retry import StoreRetry
from fanion.ingest.pipeline.store import IngestStore
from fanion.ingest.pipeline.transaction_limit import transaction_limit
from fanion.observability.metrics import Metrics
from fanion.observability.tracing import NO_TRACING, Tracing
from fanion.projects.cache import Projects
from fanion.runtime.background import seconds_in_step
from fanion.runtime.change_bus import ChangeBus
from fanion.runtime.failure_log import FailureLog

STAND_BY_S = 1.0  # between a standby server's attempts to take over
LOOK_EVERY_S = 1.0  # how often dead letters are looked for
FORGET_S = 0.1  # time to wait for the next batch, whose claim deletes the notes of mirrored changes


class Reassigned(Exception):
    """The signal, between two batches, that this process must ingest other partitions."""


class Consumer:
    """The consumer of one lane of the log, in all partitions that this process holds.

    Args:
        turn: The lock of BatchWriter.
        membership: Shared by both lanes.
        live: Shown the stored events; None for imports.
        clock: A steady clock, in seconds.

    Attributes:
        positions: The last completed entry by partition; empty while another server ingests.
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
        membership: LaneMembership,
        *,
        historical: bool = False,
        geoip: GeoIp | None = None,
        preparer: Preparer | None = None,
        live: LiveEvents | None = None,
        clock: Callable[[], float] = monotonic,
        tracing: Tracing = NO_TRACING,
    ) -> None:
        self._accepted = log
        self._tracing = tracing
        self._clock = clock
        self._store = store
        self._is_shared = store.is_shared
        self._first_partition = 1 if store.is_shared else SINGLE
        self._now = now
        self._metrics = metrics
        self.historical = historical
        failures = metrics.store_errors.labels("ingestion")
        self._retry = StoreRetry(failures)
        self._throttle = Throttle(metrics.hot.answered, clock())
        limit = transaction_limit(is_shared=store.is_shared)
        self.reader = BatchReader(
            log,
            projects,
            geoip,
            preparer,
            self._retry,
            self._throttle,
            limit,
            events,
            clock,
            historical=historical,
        )
        self._deduplicator = Deduplicator(events, self._retry, historical=historical)
        feed = None if live is None else LiveFeed(live, self.reader, lambda: self.ingests_all, now)
        self._writer = BatchWriter(
            store,
            events,
            self.reader,
            self._retry,
            turn,
            now,
            metrics,
            bus,
            membership.require_current,
            limit,
            feed,
        )
        self._letters = DeadLetterRetries(
            store.letters,
            self.reader,
            self._writer,
            self._deduplicator,
            events,
            now,
            failures,
            clock,
        )
        self._large = LargeEnvelopeWriter(
            self.reader, self._writer, self._deduplicator, self._store_dead_letter
        )
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
        self._untrimmed = FailureLog("accept_log_not_trimmed")
        self._stopping = asyncio.Event()
        self._membership = membership
        self._assignment = Assignment()
        self.positions: Positions = {}
        self._recalled: frozenset[int] = frozenset()  # partitions whose stored ids are loaded

    @property
    def is_leading(self) -> bool:
        """Return whether this server holds the first partition.

        Exactly one ingesting server does. It runs the jobs that must run once.
        """
        return self._first_partition in self.positions

    @property
    def ingests_all(self) -> bool:
        if not self._is_shared:
            return bool(self.positions)
        return 0 < self._membership.partitions == len(self.positions)

    async def run(self) -> None:
        """Ingest until `stop`. The current batch is completed."""
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            async with self._membership.joined(self._store.consumer):
                while not self._stopping.is_set():
                    try:
                        await self._resume()
                        await self._follow(stopping)
                    except Reassigned:
                        continue
                    except NotLeaseHolder:
                        # Another server may now store events that this one knows only after it has
                        # recalled them.
                        self.positions, self._recalled = {}, frozenset()
                        await self._wait({stopping}, STAND_BY_S)
        finally:
            stopping.cancel()
        if self._writer.mirrored:
            with suppress(RecordsUnavailable):  # what is noted is sent to the mirror once more
                await self._store.forget_mirrored(self._writer.mirrored)

    def stop(self) -> None:
        self._stopping.set()

    def allow(self) -> None:
        """Let `run` ingest again after `stop`."""
        self._stopping.clear()

    async def _follow(self, stopping: asyncio.Task[bool]) -> None:
        """Ingest batch after batch.

        Raises:
            NotLeaseHolder: Another server has taken over.
            Reassigned: This process must ingest other partitions.
        """
        # Each server has an equal share of the partitions.
        self.reader.servers = max(1.0, self._membership.partitions / len(self.positions))
        self.reader.start(self.positions)
        try:
            while True:
                coming = self.reader.next_batch
                await self._wait(
                    {coming, stopping}, FORGET_S if self._writer.mirrored else LOOK_EVERY_S
                )
                if stopping.done():
                    return
                if self._membership.assignment.version != self._assignment.version:
                    raise Reassigned
                if self.is_leading and not self.historical:
                    first = self._first_partition
                    await self._letters.run_due(self._span({first: self.positions[first]}))
                if not coming.done():
                    await self._writer.forget_mirrored()
                    continue
                entries, prepared = self.reader.take_batch()
                started = self._clock()
                lane, count = self._store.consumer, len(entries)
                with (
                    self._membership.working(lane),
                    self._tracing.span(
                        "ingest batch", {"fanion.lane": lane, "fanion.requests": count}
                    ),
                ):
                    await self._ingest(entries, prepared)
                self.reader.resume()
                await self._rest(stopping, started, entries[0].envelope.received_at)
        finally:
            self.reader.stop()

    async def _wait(self, events: set[asyncio.Task[Any]], seconds: float) -> None:
        """Wait for one of the events, or for another assignment."""
        changed = asyncio.create_task(self._membership.changed_from(self._assignment.version))
        try:
            await asyncio.wait(
                {*events, changed},
                timeout=seconds_in_step(seconds),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            changed.cancel()

    async def _rest(self, stopping: asyncio.Task[bool], started: float, oldest: datetime) -> None:
        ended = self._clock()
        lag_s = (self._now() - oldest).total_seconds()
        answered = self._metrics.hot.answered
        rest_s = self._throttle.rest_s(answered, ended, ended - started, lag_s)
        if rest_s:
            await asyncio.wait({stopping}, timeout=rest_s)

    async def _resume(self) -> None:
        """Take up the assigned partitions, and repeat the batch that the previous holder claimed.

        A batch is repeated if it was not completed when its holder died.

        Raises:
            NotLeaseHolder: Other servers hold the partitions.
        """
        held = await self._held()
        await self._recall(held)
        self._store.recent.clear()
        self._large.resume(held)
        self.positions = {part: position.at for part, position in held.items()}
        await self._trim(self.positions)  # the previous holder may have died before trimming
        claimed = {
            part: position.claimed
            for part, position in held.items()
            if position.claimed > position.at
        }
        while waiting := {part: at for part, at in claimed.items() if self.positions[part] < at}:
            after = {part: self.positions[part] for part in waiting}
            again = await self.reader.read_entries(after, waiting)
            if not again:
                break
            with self._membership.working(self._store.consumer):
                await self._ingest(again, None)
        self._membership.follow(self._store.consumer, self._assignment)

    async def _held(self) -> Mapping[int, Position]:
        """Return the position of each partition assigned to this process.

        Raises:
            NotLeaseHolder: None is assigned, or another server has taken one of them.
        """
        self._assignment = assignment = self._membership.assignment
        if not self._is_shared:
            return {SINGLE: await self._retry.call(self._store.single_position)}
        if assignment.epochs:
            return await self._retry.call(self._store.held_positions, assignment.epochs)
        self._membership.follow(self._store.consumer, assignment)
        raise NotLeaseHolder("this process holds no partitions")

    async def _recall(self, held: Mapping[int, Position]) -> None:
        """Load the ids that other servers have stored in partitions that were not held before."""
        if not self._recalled.issuperset(held):
            await self._deduplicator.recall(self._now())
        self._recalled = frozenset(held)

    async def _ingest(
        self,
        entries: Sequence[LogEntry],
        prepared: PreparedBatch | None,
    ) -> None:
        """Ingest entries until each one is stored or has become a dead letter."""
        if first := self._large.first_started(entries):
            await self._ingest(entries[:first], None)
            await self._ingest(entries[first:], None)
            return
        is_unchecked = len(entries) == 1 and prepared is None
        if await self._large.needs_pieces(entries[0], is_unchecked=is_unchecked):
            span = self._span(positions_behind({}, entries[:1]))
            await self._large.write(entries[0], span)
            await self._done(entries[:1])
            if rest := entries[1:]:
                await self._ingest(rest, None)
            return
        try:
            batch = await self._without_stored(entries, prepared)
            span = self._span(positions_behind({}, entries))
            stored = await self._writer.write(batch, span, divisible=len(entries) > 1)
            await self._writer.adapt_limit(entries)
        except NotLeaseHolder:
            raise
        except Exception as error:
            if len(entries) == 1:
                await self._store_dead_letter(entries[0], error, None)
                await self._done(entries)
                return
            half = len(entries) // 2
            await self._ingest(entries[:half], None)
            await self._ingest(entries[half:], None)
            return
        if not stored:
            await self._ingest(entries, None)
            return
        await self._deduplicator.remember(batch)
        await self._done(entries)

    def _span(self, upto: Positions) -> Span:
        """Return the span from the present positions to these.

        Args:
            upto: Partitions that this process holds.
        """
        after = {partition: self.positions[partition] for partition in upto}
        return Span(after, upto, self._assignment.epochs)

    async def _done(self, entries: Sequence[LogEntry]) -> None:
        self.positions = positions_behind(self.positions, entries)
        await self._trim(positions_behind({}, entries))

    async def _without_stored(
        self, entries: Sequence[LogEntry], prepared: PreparedBatch | None
    ) -> PreparedBatch:
        if prepared is not None:
            batch = await self._deduplicator.without_stored(prepared)
            if batch.preparer_result is prepared.preparer_result:
                return batch
        return await self._deduplicator.without_stored(await self.reader.prepare(entries))

    async def _trim(self, upto: Positions) -> None:
        try:
            await self._accepted.trim(upto, historical=self.historical)
        except OSError as error:
            self._untrimmed.failed(str(error))
        else:
            self._untrimmed.succeeded()

    async def _store_dead_letter(
        self, entry: LogEntry, error: Exception, progress: EnvelopeProgress | None
    ) -> None:
        error = first_error(error)
        self._log.error(
            "envelope_failed", exc_info=error, log_id=entry.id, project=entry.envelope.project_id
        )
        text, items = error_text(error), await asyncio.to_thread(count_items, entry.envelope.body)
        span = self._span({entry.partition: entry.id})
        await self._retry.call(
            lambda: self._store.store_dead_letter(entry, items, span, text, self._now(), progress)
        )
        self._metrics.dead_letters.inc()
