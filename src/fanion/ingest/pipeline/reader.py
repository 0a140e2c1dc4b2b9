"""Reads the next batches of one lane, and prepares them while the previous one is being stored.

Throttles ingestion while the request rate is high, so that requests keep the interpreter.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from fanion.accept_log.port import AcceptLog, LogEntry, Positions
from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.batch import (
    LOCATED_OBJECT_BYTES,
    Budget,
    PreparedBatch,
    count_items,
    pieces,
    prepare_batch,
    with_ids,
    within,
)
from fanion.ingest.pipeline.prepare import GeoIp
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.ingest.pipeline.retry import StoreRetry
from fanion.projects.cache import Projects
from fanion.projects.model import DEFAULT_INGESTION, IngestionSettings

# Requests per second of all kinds, above which ingestion is throttled.
BUSY_REQUESTS_PER_S = 1_000
# Multiple of the duration of a batch for which ingestion then pauses. With 32 clients that send
# batches of 100 continuously, 440,000 events a second are accepted with pauses, 175,000 without.
REST_FACTOR = 6.0
# No throttling once the oldest event has waited this long.
LAG_MAX_S = 10.0
# A batch is not interrupted, so that batches are short, about a second, while many requests arrive;
# larger ones create fewer parts, which saves a seventh of the total cost of an event.
BATCH_BYTES_MAX = 16 * 1024 * 1024
BUSY_BATCH_BYTES_MAX = 4 * 1024 * 1024
# For requests with single events: larger batches would only cost memory.
BATCH_ENVELOPES_MAX = 5_000
# Every insert creates a part that the event store must merge; ten a second are harmless.
LINGER_S = 0.1
# Under load inserts are larger and fewer: each one syncs several files to the disk, for which
# responses to capture requests wait too.
BUSY_ENVELOPES = 200
BUSY_LINGER_S = 0.5
# While one is stored, the next is ready and the preparer process works on the one after it.
BATCHES_AHEAD = 2

Taken = tuple[Sequence[LogEntry], PreparedBatch | None]


@dataclass(slots=True)
class Throttle:
    """answered: requests so far; at: seconds of a steady clock
    batch_bytes_max: of the bodies of the next batch
    """

    answered: int
    at: float
    is_busy: bool = False
    batch_bytes_max: int = BATCH_BYTES_MAX

    def rest_s(self, answered: int, at: float, batch_s: float, lag_s: float) -> float:
        """Pause after a batch that took `batch_s` and whose oldest event is `lag_s` old."""
        rate = (answered - self.answered) / max(at - self.at, 1e-3)
        self.answered, self.at = answered, at
        self.is_busy = rate >= BUSY_REQUESTS_PER_S
        self.batch_bytes_max = BUSY_BATCH_BYTES_MAX if self.is_busy else BATCH_BYTES_MAX
        if not self.is_busy or lag_s > LAG_MAX_S:
            return 0.0
        return min(REST_FACTOR * batch_s, LAG_MAX_S - lag_s)


class BatchReader:
    """preparer: prepares full batches; without one all are prepared in this process
    linger_s: how long after a batch the next small one begins
    budget:   of a batch
    types:    of groups (type → index) by project, as far as they are known
    """

    def __init__(
        self,
        log: AcceptLog,
        projects: Projects,
        geoip: GeoIp | None,
        preparer: Preparer | None,
        retry: StoreRetry,
        throttle: Throttle,
        events: EventStore,
        clock: Callable[[], float] = monotonic,
        *,
        historical: bool,
    ) -> None:
        self._clock = clock
        self._accepted = log
        self._projects = projects
        self._geoip = geoip
        self._preparer = preparer
        self._retry = retry
        self._throttle = throttle
        self._events = events
        self._historical = historical
        self._batches: deque[asyncio.Task[Taken]] = deque()
        self._upto: Positions = {}  # the last entries of these batches
        self._idle = asyncio.Event()
        # Set while the event store works, which does not need the interpreter: only then the next
        # batch is prepared.
        self._may_prepare = asyncio.Event()
        self._stored_at = 0.0
        self.linger_s = LINGER_S
        self.budget = Budget() if geoip is None else Budget(object_bytes=LOCATED_OBJECT_BYTES)
        self.types: Mapping[int, Mapping[str, int]] = {}

    def start(self, positions: Positions) -> None:
        """Start behind these positions of the log; nothing is being stored."""
        self._may_prepare.set()
        self._idle.set()
        self._upto = positions
        self._begin()

    def stop(self) -> None:
        for task in self._batches:
            task.cancel()
        self._batches.clear()

    @property
    def next(self) -> "asyncio.Task[Taken]":
        """Done when the next batch is ready; it is not prepared if that failed."""
        return self._batches[0]

    def take(self) -> Taken:
        """The next batch, which is ready, to be stored now."""
        self._idle.clear()
        self._may_prepare.clear()
        entries, prepared = self._batches.popleft().result()
        if self._batches:
            self._read_ahead()
        else:
            self._begin()
        return entries, prepared

    def prepare_next(self) -> None:
        """Prepare the next batch while the event store works on the current one."""
        self._may_prepare.set()

    def resume(self) -> None:
        """The current batch is stored."""
        self._stored_at = self._clock()
        self._may_prepare.set()
        self._idle.set()

    async def read(self, after: Positions, upto: Positions | None = None) -> Sequence[LogEntry]:
        """As much as one batch may hold."""
        entries = await self._retry.call(
            self._accepted.read,
            after,
            BATCH_ENVELOPES_MAX,
            self._throttle.batch_bytes_max,
            historical=self._historical,
            upto=upto,
        )
        if not entries or self.budget.surely_takes(entries):
            return entries
        return await asyncio.to_thread(within, entries, self.budget)

    async def is_too_large(self, entry: LogEntry) -> bool:
        """Whether it must be ingested in pieces."""
        return await _exceed([entry], self.budget)

    async def pieces_of_letter(self, entry: LogEntry) -> list[tuple[LogEntry, int]]:
        """Pieces whose items have ids, with their number of items; empty if it is small enough."""
        if not await self.is_too_large(entry):
            return []
        return await asyncio.to_thread(_letter_pieces, entry, self.budget)

    async def prepare(self, entries: Sequence[LogEntry]) -> PreparedBatch:
        """Prepare in this process. raises: the error of an envelope that cannot be prepared"""
        rules = await self._rules(entries)
        return await asyncio.to_thread(prepare_batch, entries, rules.__getitem__, self._geoip)

    def _begin(self) -> None:
        """Read what follows the batches that have been read."""
        task = asyncio.create_task(self._next_batch(self._upto))
        task.add_done_callback(lambda _: self._read_ahead())
        self._batches.append(task)

    def _read_ahead(self) -> None:
        """Read ahead one more batch if the preparer process has prepared the last one."""
        if not self._batches or len(self._batches) >= BATCHES_AHEAD:
            return
        last = self._batches[-1]
        if not last.done() or last.cancelled() or last.exception() is not None:
            return
        _, prepared = last.result()
        if prepared is not None and prepared.preparer_result is not None:
            self._begin()

    async def _next_batch(self, after: Positions) -> Taken:
        """A full batch is prepared while the previous one is stored."""
        while True:
            entries = await self.read(after)
            if entries and not await self._is_full(entries):
                entries = await self._linger(after, entries)
            if entries:
                self._upto = behind(after, entries)
                return entries, await self._try_prepare(entries)
            await self._retry.call(self._accepted.appended, after, historical=self._historical)

    async def _linger(self, after: Positions, entries: Sequence[LogEntry]) -> Sequence[LogEntry]:
        """A small batch waits for the previous one, and grows meanwhile."""
        linger_s = self.linger_s if len(entries) < BUSY_ENVELOPES else BUSY_LINGER_S
        if self._idle.is_set() and self._clock() >= self._stored_at + linger_s:
            return entries
        await self._idle.wait()
        await asyncio.sleep(max(0.0, self._stored_at + linger_s - self._clock()))
        return await self.read(after)

    async def _try_prepare(self, entries: Sequence[LogEntry]) -> PreparedBatch | None:
        """None for a batch with an envelope that cannot be prepared, which the consumer then finds,
        and for an envelope that must be ingested in pieces."""
        if len(entries) == 1 and await self.is_too_large(entries[0]):
            return None
        try:
            if prepared := await self._ask_preparer(entries):
                return prepared
            await self._may_prepare.wait()
            return await self.prepare(entries)
        except Exception:
            return None

    async def _ask_preparer(self, entries: Sequence[LogEntry]) -> PreparedBatch | None:
        """By the preparer process, for full batches. Not while many requests arrive: it would use
        a processor that they need, which cost a sixth of single captures."""
        if self._preparer is None or self._throttle.is_busy:
            return None
        if not self._events.encoder.has_drafts or not await self._is_full(entries):
            return None
        return await self._preparer.prepare(entries, await self._rules(entries), self.types)

    async def _rules(self, entries: Sequence[LogEntry]) -> Mapping[int, IngestionSettings]:
        projects = {entry.envelope.project_id for entry in entries}
        found = await self._retry.call(self._projects.by_ids, projects)
        rules = {project_id: project.ingestion for project_id, project in found.items()}
        return dict.fromkeys(projects, DEFAULT_INGESTION) | rules  # a deleted project has none

    async def _is_full(self, entries: Sequence[LogEntry]) -> bool:
        if len(entries) >= BATCH_ENVELOPES_MAX:
            return True
        size = sum(len(entry.envelope.body) for entry in entries)
        if size >= self._throttle.batch_bytes_max // 2:
            return True
        return await _exceed(entries, self.budget.half())


def behind(positions: Positions, entries: Sequence[LogEntry]) -> dict[int, int]:
    """The positions behind these entries, which are in the order of their ids."""
    return {**positions, **{entry.partition: entry.id for entry in entries}}


async def _exceed(entries: Sequence[LogEntry], budget: Budget) -> bool:
    return not budget.surely_takes(entries) and await asyncio.to_thread(budget.exceeds, entries)


def _letter_pieces(entry: LogEntry, budget: Budget) -> list[tuple[LogEntry, int]]:
    # Ids add half to the cost of the smallest items. Half the budget avoids a second division,
    # which would change the order of the pieces.
    found = map(with_ids, pieces(entry, 0, budget.half()))
    return [(piece, count_items(piece.envelope.body)) for piece in found]
