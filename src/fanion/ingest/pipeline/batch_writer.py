"""Stores a prepared batch: its events, then in one records transaction all that depends on them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import chain, islice
from time import perf_counter
from uuid import UUID

import structlog

from fanion.events.event import Override
from fanion.events.storage.encoder import Batch, Block, EventEncoder
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.dead_letters_store import MarkedLetter
from fanion.ingest.ledger.model import Tally
from fanion.ingest.pipeline.batch import PreparedBatch
from fanion.ingest.pipeline.live_feed_service import LiveFeed
from fanion.ingest.pipeline.position_store import EnvelopeProgress, NotLeaseHolder, Span
from fanion.ingest.pipeline.prepare import Drop
from fanion.ingest.pipeline.reader import BatchReader
from fanion.ingest.pipeline.resolve import (
    ProjectState,
    Resolution,
    attempted_persons,
    distinct_ids,
    gone_row,
    group_rows,
    person_rows,
)
from fanion.ingest.pipeline.retry import StoreRetry
from fanion.ingest.pipeline.store import BatchChanges, IngestStore
from fanion.observability.metrics import Metrics
from fanion.persons.merge import person_uuid
from fanion.persons.state_store import PersonsChanged
from fanion.runtime.change_bus import ChangeBus, Topic

# How often other servers may change persons of a batch while it is stored. Then it is halved: each
# half has fewer persons and takes less time.
CONFLICTS_MAX = 3


class Contended(Exception):
    """Other servers kept changing persons of a batch while it was being stored."""


class Insertion:
    """Inserts batches of rows one after another, while later ones are being encoded.

    token: the same for the same batch, so that the engine recognises a repeated insert
    """

    def __init__(self, events: EventStore, token: str) -> None:
        self._events = events
        self._token = token
        self._tasks: list[asyncio.Task[None]] = []

    async def put(self, batch: Batch) -> None:
        """Queue an insert; waits while more than one is pending. raises: as `stored`"""
        number, before = len(self._tasks), self._tasks[-1] if self._tasks else None
        if number > 1:
            await self._tasks[-2]
        self._tasks.append(asyncio.create_task(self._store(batch, number, before)))

    async def stored(self) -> None:
        """Wait until everything is on disk. raises: EventRejected, EventStoreUnavailable"""
        for task in self._tasks:
            await task

    async def cancel(self) -> None:
        """Inserts that have started still run to their end in their thread."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _store(self, batch: Batch, number: int, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        await self._events.insert(batch, f"{self._token}-{number}")


@asynccontextmanager
async def insertion(events: EventStore, token: str) -> AsyncGenerator[Insertion]:
    """The body awaits `stored`; when it fails, no further insert is started."""
    inserting = Insertion(events, token)
    try:
        yield inserting
    except BaseException:
        await inserting.cancel()
        raise


class BatchWriter:
    """Writes the batches of one lane.

    lock: shared by all lanes of this process, whose batches would otherwise conflict often
    bus:  notified of projects with new group types
    feed: of the streams of live events; None for a lane that is not shown there
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
        feed: LiveFeed | None = None,
    ) -> None:
        self._store = store
        self._events = events
        self._reader = reader
        self._retry = retry
        self._lock = lock
        self._now = now
        self._metrics = metrics
        self._bus = bus
        self._feed = feed
        self._attempted: dict[int, dict[UUID, str | None]] = {}
        self._attempted_upto = 0
        self._is_above_mirror = False  # of a backup, the event store may be the newer one
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def write(
        self,
        batch: PreparedBatch,
        span: Span,
        progress: EnvelopeProgress | None = None,
        *,
        divisible: bool = False,
        is_repeated: bool = False,
    ) -> bool:
        """Retried while a store fails. False when the batch must be prepared again, because the
        preparer's work does not match the stores.

        is_repeated: another process, or this one before it ended, has begun the batch, and may have
                     left in the event store what it would have created
        span, progress: as of `IngestStore.writing`
        raises: NotLeaseHolder; Contended when the batch should be halved
        """
        conflicts = 0
        if is_repeated:
            self._suppose_attempted(batch)

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

        try:
            return await self._retry.call(attempt)
        except NotLeaseHolder:
            await self._retry.call(self._repair)
            raise

    def _suppose_attempted(self, batch: PreparedBatch) -> None:
        for project_id, events in batch.arrived.items():
            names = distinct_ids(events)
            created = {person_uuid(project_id, name): name for name in names}
            self._attempted.setdefault(project_id, {}).update(created)
        self._attempted_upto = max(self._attempted_upto, batch.last)

    async def _repair(self) -> None:
        """Another server has taken the batch, or ingests what it held: what attempts of this one
        have left in the event store is replaced by what the records have."""
        if not self._attempted:
            return
        async with self._exclusive():
            now = self._now()
            known = await self._store.load(dict.fromkeys(self._attempted, ()), now, self._attempted)
            resolutions = [Resolution(one, (), known[one]) for one in self._attempted]
            written = await self._written(resolutions, self._attempted_upto)
            async with insertion(self._events, f"repair-{now.isoformat()}") as inserting:
                await inserting.put(_mirrored(self._events.encoder, written))
                await inserting.stored()
            await self._store.repair(written, self._now())
            self._attempted.clear()
            self._attempted_upto = 0
        self._log.info("attempt_repaired", persons=sum(len(p.repairs.gone) for p in written))

    async def write_letter(self, letter: MarkedLetter, batch: PreparedBatch, span: Span) -> None:
        """Write a dead letter as a batch of its own; no position moves. Not retried.

        span:   as of `IngestStore.settling`
        raises: NotLeaseHolder, LetterGone, PersonsChanged, failures of stores
        """
        for conflicts in range(CONFLICTS_MAX):
            try:
                async with self._exclusive():
                    await self._write_letter(letter, batch, span, conflicts)
                return
            except PersonsChanged:
                if conflicts == CONFLICTS_MAX - 1:
                    raise  # retried with the next dead letters

    @asynccontextmanager
    async def _exclusive(self) -> AsyncGenerator[None]:
        async with self._lock:
            try:
                yield
            except BaseException:
                # The batch has changed persons in memory, and these changes were not written.
                self._store.recent.clear()
                raise

    async def _write(
        self, batch: PreparedBatch, span: Span, progress: EnvelopeProgress | None, conflicts: int
    ) -> bool:
        """conflicts: how often other servers changed persons meanwhile. Events may belong to other
        persons now, so that their blocks must not be deduplicated against the stored ones."""
        started, now = perf_counter(), self._now()
        await self._store.claim(span, now)
        resolutions = await self._resolutions(batch, now)
        if not all(one.is_valid for one in resolutions):
            return False
        encoder = self._events.encoder
        token = _token(self._store.consumer, encoder, batch, resolutions, conflicts)
        async with insertion(self._events, token) as inserting:
            blocks = _blocks(encoder, batch, resolutions)
            while block := await asyncio.to_thread(next, blocks, None):
                await inserting.put(Batch((block,)))
                self._reader.prepare_next()
            written = await self._written(resolutions, batch.last)
            await inserting.put(await asyncio.to_thread(_mirrored, encoder, written))
            tally = await asyncio.to_thread(_tally, batch, resolutions)
            await inserting.stored()
        await self._store.write(written, tally, span, self._now(), progress)
        self._forget_attempts(batch.last)
        self._reader.types = {one.project_id: one.types for one in resolutions}
        self._announce(written)
        self._count(batch, perf_counter() - started)
        await self._show(batch, written, resolutions)
        return True

    async def _write_letter(
        self, letter: MarkedLetter, batch: PreparedBatch, span: Span, conflicts: int
    ) -> None:
        started = perf_counter()
        resolutions = await self._resolutions(batch, self._now())
        encoder = self._events.encoder
        token = _token(self._store.consumer, encoder, batch, resolutions, conflicts)
        blocks = await asyncio.to_thread(tuple, _blocks(encoder, batch, resolutions))
        written = await self._written(resolutions, batch.last)
        mirrored = await asyncio.to_thread(_mirrored, encoder, written)
        async with insertion(self._events, token) as inserting:
            await inserting.put(Batch(blocks))
            await inserting.put(mirrored)
            await inserting.stored()
        tally = _tally(batch, resolutions)
        await self._store.settle(letter, written, tally, span, self._now())
        self._forget_attempts(batch.last)
        self._announce(written)
        self._count(batch, perf_counter() - started)
        await self._show(batch, written, resolutions)

    async def _resolutions(self, batch: PreparedBatch, now: datetime) -> list[Resolution]:
        if not self._is_above_mirror:
            await self._store.versions.draw(await self._events.newest_version())
            self._is_above_mirror = True
        known = await self._store.load(batch.arrived, now, self._attempted)
        return await asyncio.to_thread(_resolutions, batch, known)

    async def _written(self, resolutions: Sequence[Resolution], last: int) -> list[BatchChanges]:
        """Until the batch is committed, its persons count as attempted."""
        resolved = await asyncio.to_thread(lambda: [one.outcome() for one in resolutions])
        written = []
        for one, resolution in zip(resolved, resolutions, strict=True):
            attempted = self._attempted.get(one.project_id)
            written.append(await self._store.changes(one, resolution.newest_version, attempted))
        for part in written:
            # With persons merged earlier, whose overrides follow.
            followed: dict[UUID, str | None] = dict.fromkeys(part.overrides)
            known = self._attempted.setdefault(part.resolved.project_id, {})
            known.update(followed | attempted_persons(part.resolved))
        self._attempted_upto = max(self._attempted_upto, last)
        return written

    def _forget_attempts(self, last: int) -> None:
        """Not before all halves of a batch that was attempted whole are stored."""
        if last >= self._attempted_upto:
            self._attempted.clear()
            self._attempted_upto = 0

    def _announce(self, written: Sequence[BatchChanges]) -> None:
        for part in written:
            self._metrics.dropped.labels(Drop.ERASED.value).inc(part.resolved.erased)
            if part.resolved.new_types:
                self._bus.publish(Topic.GROUP_TYPES, part.resolved.project_id)

    async def _show(
        self,
        batch: PreparedBatch,
        written: Sequence[BatchChanges],
        resolutions: Sequence[Resolution],
    ) -> None:
        if self._feed is not None and self._feed.live.is_watched:
            pairs = zip(written, resolutions, strict=True)
            await self._feed.show(batch, [(part.resolved, one.types) for part, one in pairs])

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


def _token(
    consumer: str,
    encoder: EventEncoder,
    batch: PreparedBatch,
    resolutions: Sequence[Resolution],
    conflicts: int,
) -> str:
    """The deduplication token, the same for the same batch.

    Log positions alone are not enough: a new log counts from 1 again, and its first events would be
    taken for repetitions. Other parts tell apart a batch with fewer events, because a person was
    deleted meanwhile, and one encoded by the preparer or after a conflict, which has other blocks.
    """
    events = sum(len(one.arrived) for one in resolutions)
    first = next((one for one in resolutions if one.arrived), None)
    place = f"{first.project_id}-{first.arrived[0].prepared.uuid}" if first is not None else ""
    made = encoder.version if batch.preparer_result is None else f"{encoder.version}a"
    last = f"{batch.last}+{batch.start}" if batch.start else f"{batch.last}"
    anew = f"-{conflicts}" if conflicts else ""
    return f"{consumer}-{batch.first}-{last}-{place}-{events}-{made}{anew}"


def _resolutions(batch: PreparedBatch, known: Mapping[int, ProjectState]) -> list[Resolution]:
    samples = {} if batch.preparer_result is None else batch.preparer_result.projects
    return [
        Resolution(project_id, arrived, known[project_id], samples.get(project_id))
        for project_id, arrived in batch.arrived.items()
    ]


def _blocks(
    encoder: EventEncoder, batch: PreparedBatch, resolutions: Sequence[Resolution]
) -> Iterator[Block]:
    if batch.preparer_result is None:
        count = sum(len(one.arrived) for one in resolutions)
        events = chain.from_iterable(one.events() for one in resolutions)
        yield from encoder.event_blocks(events, count)
        return
    of_project = {one.project_id: iter(one.persons()) for one in resolutions}
    persons = [
        person
        for project_id, number in batch.preparer_result.requests
        for person in islice(of_project[project_id], number)
    ]
    for draft in batch.preparer_result.drafts:
        yield draft.block(persons)


def _mirrored(encoder: EventEncoder, written: Sequence[BatchChanges]) -> Batch:
    """Persons, merges and groups as the event store mirrors them, for cohorts and insights."""
    persons = [row for part in written for row in person_rows(part.resolved)]
    persons += [
        gone_row(part.resolved.project_id, uuid, part.version)
        for part in written
        for uuid in part.repairs.gone
    ]
    overrides = [
        Override(part.resolved.project_id, old, new, part.version)
        for part in written
        for old, new in {**part.repairs.overrides, **part.overrides}.items()
    ]
    groups = [row for part in written for row in group_rows(part.resolved)]
    return Batch(
        (),
        encoder.person_blocks(persons),
        encoder.override_blocks(overrides),
        encoder.group_blocks(groups),
    )


def _tally(batch: PreparedBatch, resolutions: Sequence[Resolution]) -> Tally:
    return batch.ledger(
        {one.project_id: [event.received_at for event in one.arrived] for one in resolutions}
    )
