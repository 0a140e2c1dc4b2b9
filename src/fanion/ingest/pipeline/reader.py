"""The next batches of one lane: read from the log, and prepared while others are stored."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from fanion.accept_log.port import AcceptLog, LogEntry
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

# Requests a second of all kinds. With fewer there is room for both.
BUSY_REQUESTS_PER_S = 1_000
# After a batch ingestion rests so many times as long as the batch took. Of 32 clients that send
# batches of 100 without a pause, 440,000 events a second are accepted with rests, 175,000 without.
REST = 6.0
# Events are to be seen before long: with the oldest one waiting this long nothing is left.
LAG_MAX_S = 10.0
# A batch is not interrupted. While many requests come, batches are short, of a second or so; larger
# ones make fewer parts, which spares a seventh of all that an event costs.
BATCH_BYTES_MAX = 16 * 1024 * 1024
BUSY_BATCH_BYTES_MAX = 4 * 1024 * 1024
# Of single events, which come with many requests: more at once would only cost memory.
BATCH_ENVELOPES_MAX = 5_000
# Every insert is a part that the event store has to merge; ten a second are no burden.
LINGER_S = 0.1
# Under load an insert waits longer and takes more: each one makes the disk sync several files,
# and the answer to a capture request waits for that same disk.
BUSY_ENVELOPES = 200
BUSY_LINGER_S = 0.5
# While one is stored, the next is there, and the one after it is made by the other process.
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
        """How long to rest after a batch of `batch_s`, the oldest event being `lag_s` old."""
        rate = (answered - self.answered) / max(at - self.at, 1e-3)
        self.answered, self.at = answered, at
        self.is_busy = rate >= BUSY_REQUESTS_PER_S
        self.batch_bytes_max = BUSY_BATCH_BYTES_MAX if self.is_busy else BATCH_BYTES_MAX
        if not self.is_busy or lag_s > LAG_MAX_S:
            return 0.0
        return min(REST * batch_s, LAG_MAX_S - lag_s)


class BatchReader:
    """preparer: of full batches; without one all are prepared here
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
        *,
        historical: bool,
    ) -> None:
        self._accepted = log
        self._projects = projects
        self._geoip = geoip
        self._preparer = preparer
        self._retry = retry
        self._throttle = throttle
        self._events = events
        self._historical = historical
        self._coming: deque[asyncio.Task[Taken]] = deque()
        self._idle = asyncio.Event()
        # The next batch is prepared from when the event store works, which needs no interpreter:
        # what this batch still does before would have to share it.
        self._undisturbed = asyncio.Event()
        self._stored_at = 0.0
        self.linger_s = LINGER_S
        self.budget = Budget() if geoip is None else Budget(object_bytes=LOCATED_OBJECT_BYTES)
        self.types: Mapping[int, Mapping[str, int]] = {}

    def start(self, position: int) -> None:
        """Behind that place of the log; nothing is being stored."""
        self._undisturbed.set()
        self._idle.set()
        self._begin(position)

    def stop(self) -> None:
        for task in self._coming:
            task.cancel()
        self._coming.clear()

    @property
    def next(self) -> "asyncio.Task[Taken]":
        """Done when the next batch is there, prepared or not to be prepared."""
        return self._coming[0]

    def take(self) -> Taken:
        """The next batch, which is there, to be stored now."""
        self._idle.clear()
        self._undisturbed.clear()
        entries, prepared = self._coming.popleft().result()
        if self._coming:
            self._go_on()
        else:
            self._begin(entries[-1].id)
        return entries, prepared

    def prepare_next(self) -> None:
        """While the event store works for the batch in hand."""
        self._undisturbed.set()

    def resume(self) -> None:
        """The batch in hand is stored."""
        self._stored_at = monotonic()
        self._undisturbed.set()
        self._idle.set()

    async def read(self, after: int) -> Sequence[LogEntry]:
        return await self._retry.call(self._read, after)

    async def is_too_large(self, entry: LogEntry) -> bool:
        """Whether it is to be ingested in pieces."""
        return await _exceed([entry], self.budget)

    async def pieces_of_letter(self, entry: LogEntry) -> list[tuple[LogEntry, int]]:
        """With ids of their own, and how many items each has; none of one that is small enough."""
        if not await self.is_too_large(entry):
            return []
        return await asyncio.to_thread(_letters, entry, self.budget)

    async def prepare(self, entries: Sequence[LogEntry]) -> PreparedBatch:
        """With all that is in its events. raises: what an envelope that cannot be prepared does"""
        rules = await self._rules(entries)
        return await asyncio.to_thread(prepare_batch, entries, rules.__getitem__, self._geoip)

    def _begin(self, after: int) -> None:
        task = asyncio.create_task(self._taken(after))
        task.add_done_callback(lambda _: self._go_on())
        self._coming.append(task)

    def _go_on(self) -> None:
        """With the batch after the last one, if that one took nothing of this process."""
        if not self._coming or len(self._coming) >= BATCHES_AHEAD:
            return
        last = self._coming[-1]
        if not last.done() or last.cancelled() or last.exception() is not None:
            return
        entries, prepared = last.result()
        if prepared is not None and prepared.preparer_result is not None:
            self._begin(entries[-1].id)

    async def _taken(self, after: int) -> Taken:
        """A full batch is prepared while the one before is stored."""
        while True:
            entries = await self.read(after)
            if entries and not await self._is_full(entries):
                entries = await self._grown(after, entries)
            if entries:
                return entries, await self._try_prepare(entries)
            await self._retry.call(self._accepted.appended, after, historical=self._historical)

    async def _grown(self, after: int, entries: Sequence[LogEntry]) -> Sequence[LogEntry]:
        """A small batch waits for the one before, and grows meanwhile."""
        linger_s = self.linger_s if len(entries) < BUSY_ENVELOPES else BUSY_LINGER_S
        if self._idle.is_set() and monotonic() >= self._stored_at + linger_s:
            return entries
        await self._idle.wait()
        await asyncio.sleep(max(0.0, self._stored_at + linger_s - monotonic()))
        return await self.read(after)

    async def _read(self, after: int) -> Sequence[LogEntry]:
        entries = await self._accepted.read(
            after, BATCH_ENVELOPES_MAX, self._throttle.batch_bytes_max, historical=self._historical
        )
        if not entries or self.budget.surely_takes(entries):
            return entries
        return await asyncio.to_thread(within, entries, self.budget)

    async def _try_prepare(self, entries: Sequence[LogEntry]) -> PreparedBatch | None:
        """None for a batch with an envelope that cannot be prepared; the consumer finds which one
        it is. None too for an envelope that is to be ingested in pieces."""
        if len(entries) == 1 and await self.is_too_large(entries[0]):
            return None
        try:
            if prepared := await self._ask_preparer(entries):
                return prepared
            await self._undisturbed.wait()
            return await self.prepare(entries)
        except Exception:
            return None

    async def _ask_preparer(self, entries: Sequence[LogEntry]) -> PreparedBatch | None:
        """By the other process, when that pays and it is there. While many requests come it would
        take a processor from those: single captures were a sixth fewer."""
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


async def _exceed(entries: Sequence[LogEntry], budget: Budget) -> bool:
    return not budget.surely_takes(entries) and await asyncio.to_thread(budget.exceeds, entries)


def _letters(entry: LogEntry, budget: Budget) -> list[tuple[LogEntry, int]]:
    # Ids make the smallest items half as costly again; none is to be cut a second time, which would
    # bring the pieces out of their order.
    found = map(with_ids, pieces(entry, 0, budget.half()))
    return [(piece, count_items(piece.envelope.body)) for piece in found]
