"""The reading of one lane's next batches, prepared while the previous one is being stored.

Ingestion is throttled while the request rate is high, so that requests keep the interpreter.
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
    divide_entry,
    entries_within,
    prepare_batch,
    with_ids,
)
from fanion.ingest.pipeline.prepare import GeoIp
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.ingest.pipeline.retry import StoreRetry
from fanion.ingest.pipeline.transaction_limit import TransactionLimit
from fanion.projects.cache import Projects
from fanion.projects.model import DEFAULT_INGESTION, IngestionSettings

# Requests per second of all kinds above which ingestion is throttled.
BUSY_REQUESTS_PER_S = 1_000
# The pause of throttled ingestion as a multiple of a batch's duration. With 32 clients that send
# batches of 100 continuously, 440,000 events a second are accepted with pauses, 175,000 without.
REST_FACTOR = 6.0
# Ingestion is not throttled once the oldest event has waited this long.
LAG_MAX_S = 10.0
# A batch is not interrupted, so batches are short, about a second, while many requests arrive.
# Larger ones create fewer parts, which saves a seventh of the total cost of an event.
BATCH_BYTES_MAX = 16 * 1024 * 1024
BUSY_BATCH_BYTES_MAX = 4 * 1024 * 1024
# The limit for requests with single events, for which larger batches would only cost memory.
BATCH_ENVELOPES_MAX = 5_000
# Every insert creates a part that the event store must merge. Ten a second are harmless.
LINGER_S = 0.1
# Under load inserts are larger and fewer: each one syncs several files to the disk, and responses
# to capture requests wait for that too.
BUSY_ENVELOPES = 200
BUSY_LINGER_S = 0.5
# Servers that share an event store each wait for longer, so that together they make no more inserts
# than one, up to this.
SHARED_LINGER_S_MAX = 2.0
# While one batch is stored, the next is ready and the preparer process works on the one after it.
BATCHES_AHEAD = 2

Taken = tuple[Sequence[LogEntry], PreparedBatch | None]


@dataclass(slots=True)
class Throttle:
    """The throttling of ingestion by the rate of requests.

    Attributes:
        answered: The number of requests so far.
        at: When that was, in seconds of a steady clock.
        batch_bytes_max: The limit for the bodies of the next batch.
    """

    answered: int
    at: float
    is_busy: bool = False
    batch_bytes_max: int = BATCH_BYTES_MAX

    def rest_s(self, answered: int, at: float, batch_s: float, lag_s: float) -> float:
        """Return the pause after a batch.

        Args:
            answered: The number of requests so far.
            at: When that was, in seconds of a steady clock.
            batch_s: How long the batch took.
            lag_s: How old its oldest event is.
        """
        rate = (answered - self.answered) / max(at - self.at, 1e-3)
        self.answered, self.at = answered, at
        self.is_busy = rate >= BUSY_REQUESTS_PER_S
        self.batch_bytes_max = BUSY_BATCH_BYTES_MAX if self.is_busy else BATCH_BYTES_MAX
        if not self.is_busy or lag_s > LAG_MAX_S:
            return 0.0
        return min(REST_FACTOR * batch_s, LAG_MAX_S - lag_s)


def linger_seconds(entries: int, servers: float, linger_s: float = LINGER_S) -> float:
    """Return how long after an insert the next one begins.

    Args:
        entries: How many there are for it.
        servers: How many ingest, as far as their shares tell.
        linger_s: What a lone server waits.
    """
    shared_s = min(linger_s * servers, SHARED_LINGER_S_MAX)
    return shared_s if entries < BUSY_ENVELOPES else max(shared_s, BUSY_LINGER_S)


class BatchReader:
    """The reader of one lane's batches.

    Args:
        preparer: Prepares full batches. Without one, all are prepared in this process.

    Attributes:
        linger_s: How long after a batch the next small one begins, on a lone server.
        servers: How many servers ingest.
        budget: The limit on the memory of a batch.
        types: Group type → index by project, as far as they are known.
    """

    def __init__(
        self,
        log: AcceptLog,
        projects: Projects,
        geoip: GeoIp | None,
        preparer: Preparer | None,
        retry: StoreRetry,
        throttle: Throttle,
        limit: TransactionLimit,
        events: EventStore,
        clock: Callable[[], float] = monotonic,
        *,
        historical: bool,
    ) -> None:
        self._clock = clock
        self._limit = limit
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
        # Set while the event store works, which does not need the interpreter. Only then the next
        # batch is prepared.
        self._may_prepare = asyncio.Event()
        self._stored_at = 0.0
        self.linger_s = LINGER_S
        self.servers = 1.0
        self.budget = Budget() if geoip is None else Budget(object_bytes=LOCATED_OBJECT_BYTES)
        self.types: Mapping[int, Mapping[str, int]] = {}

    @property
    def transaction_budget(self) -> Budget:
        """Return the limit on what one transaction stores."""
        return self._limit.within(self.budget)

    def start(self, positions: Positions) -> None:
        """Start behind these positions of the log, when nothing is being stored."""
        self._may_prepare.set()
        self._idle.set()
        self._upto = positions
        self._begin()

    def stop(self) -> None:
        for task in self._batches:
            task.cancel()
        self._batches.clear()

    @property
    def next_batch(self) -> "asyncio.Task[Taken]":
        """Return the task of the next batch. It is done when the batch is ready.

        The batch is not prepared if preparing it failed.
        """
        return self._batches[0]

    def take_batch(self) -> Taken:
        """Return the next batch, which must be ready, to be stored now."""
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
        """Continue after the current batch has been stored."""
        self._stored_at = self._clock()
        self._may_prepare.set()
        self._idle.set()

    async def read_entries(
        self, after: Positions, upto: Positions | None = None
    ) -> Sequence[LogEntry]:
        """Read as much as one batch may hold."""
        entries = await self._retry.call(
            self._accepted.read,
            after,
            BATCH_ENVELOPES_MAX,
            self._throttle.batch_bytes_max,
            historical=self._historical,
            upto=upto,
        )
        budget = self.transaction_budget
        if not entries or budget.surely_takes(entries):
            return entries
        return await asyncio.to_thread(entries_within, entries, budget)

    async def is_too_large(self, entry: LogEntry) -> bool:
        """Return whether an entry must be ingested in pieces."""
        return await _exceed([entry], self.transaction_budget)

    async def pieces_of_letter(self, entry: LogEntry) -> list[tuple[LogEntry, int]]:
        """Return the pieces of a dead letter, with their number of items.

        The items of the pieces have ids.

        Returns:
            An empty list if the letter is small enough.
        """
        if not await self.is_too_large(entry):
            return []
        return await asyncio.to_thread(_letter_pieces, entry, self.transaction_budget)

    async def prepare(self, entries: Sequence[LogEntry]) -> PreparedBatch:
        """Prepare entries in this process.

        Raises:
            Exception: The error of an envelope that cannot be prepared.
        """
        rules = await self._rules(entries)
        return await asyncio.to_thread(prepare_batch, entries, rules.__getitem__, self._geoip)

    def _begin(self) -> None:
        """Start reading the entries that follow the batches read so far."""
        task = asyncio.create_task(self._read_batch(self._upto))
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

    async def _read_batch(self, after: Positions) -> Taken:
        """Wait for the next batch. A full one is prepared while the previous one is stored."""
        while True:
            entries = await self.read_entries(after)
            if entries and not await self._is_full(entries):
                entries = await self._linger(after, entries)
            if entries:
                self._upto = positions_behind(after, entries)
                return entries, await self._try_prepare(entries)
            await self._retry.call(self._accepted.appended, after, historical=self._historical)

    async def _linger(self, after: Positions, entries: Sequence[LogEntry]) -> Sequence[LogEntry]:
        """Let a small batch grow while the previous one is being stored."""
        linger_s = linger_seconds(len(entries), self.servers, self.linger_s)
        if self._idle.is_set() and self._clock() >= self._stored_at + linger_s:
            return entries
        await self._idle.wait()
        await asyncio.sleep(max(0.0, self._stored_at + linger_s - self._clock()))
        return await self.read_entries(after)

    async def _try_prepare(self, entries: Sequence[LogEntry]) -> PreparedBatch | None:
        """Prepare a batch, or return None if the consumer must deal with it.

        It then finds the envelope that cannot be prepared, or ingests a large envelope in pieces.
        """
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
        """Let the preparer process prepare a full batch.

        It is not used while many requests arrive: it would take a processor that they need, which
        cost a
        sixth of the rate of single captures.
        """
        if self._preparer is None or self._throttle.is_busy:
            return None
        if not self._events.encoder.has_drafts or not await self._is_full(entries):
            return None
        return await self._preparer.prepare(entries, await self._rules(entries), self.types)

    async def _rules(self, entries: Sequence[LogEntry]) -> Mapping[int, IngestionSettings]:
        projects = {entry.envelope.project_id for entry in entries}
        projects_by_id = await self._retry.call(self._projects.by_ids, projects)
        rules = {project_id: project.ingestion for project_id, project in projects_by_id.items()}
        return dict.fromkeys(projects, DEFAULT_INGESTION) | rules  # a deleted project has no rules

    async def _is_full(self, entries: Sequence[LogEntry]) -> bool:
        if len(entries) >= BATCH_ENVELOPES_MAX:
            return True
        size = sum(len(entry.envelope.body) for entry in entries)
        if size >= self._throttle.batch_bytes_max // 2:
            return True
        return await _exceed(entries, self.transaction_budget.half())


def positions_behind(positions: Positions, entries: Sequence[LogEntry]) -> dict[int, int]:
    """Return the positions behind these entries, which are in the order of their ids."""
    return {**positions, **{entry.partition: entry.id for entry in entries}}


async def _exceed(entries: Sequence[LogEntry], budget: Budget) -> bool:
    return not budget.surely_takes(entries) and await asyncio.to_thread(budget.exceeds, entries)


def _letter_pieces(entry: LogEntry, budget: Budget) -> list[tuple[LogEntry, int]]:
    # Ids add half to the cost of the smallest items. Half the budget avoids a second division,
    # which would change the order of the pieces.
    divided = map(with_ids, divide_entry(entry, 0, budget.half()))
    return [(piece, count_items(piece.envelope.body)) for piece in divided]
