"""The runs of one lane that come next: read from the log, and prepared before their turn."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from time import monotonic

from fanion.accept_log.port import AcceptLog, Entry
from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.batch import PreparedRun, count_items, prepare_run
from fanion.ingest.pipeline.batch_limits import (
    LOCATED_OBJECT_BYTES,
    Budget,
    pieces,
    with_ids,
    within,
)
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.ingest.pipeline.retry import Patience
from fanion.ingest.pipeline.throttle import Courtesy
from fanion.ingest.pipeline.types import GeoIp, ProjectRules

# Of single events, which come with many requests: more at once would only cost memory.
RUN_ENVELOPES_MAX = 5_000
# Every insert is a part that the event store has to merge; ten a second are no burden.
LINGER_S = 0.1
# Under load an insert waits longer and takes more: each one makes the disk sync several files,
# and the answer to a capture request waits for that same disk.
BUSY_ENVELOPES = 200
BUSY_LINGER_S = 0.5
# While one is stored, the next is there, and the one after it is made by the other process.
RUNS_AHEAD = 2

LoadRules = Callable[[Collection[int]], Awaitable[Mapping[int, ProjectRules]]]
Taken = tuple[Sequence[Entry], PreparedRun | None]


class Intake:
    """load_rules: the rules of each of some projects, when they are not in memory from their store
    preparer:   of full runs; without one all are prepared here
    linger_s:   how long after a run the next small one begins
    budget:     of a run
    types:      of groups (type → index) by project, as far as they are known
    """

    def __init__(
        self,
        log: AcceptLog,
        load_rules: LoadRules,
        geoip: GeoIp | None,
        preparer: Preparer | None,
        patience: Patience,
        courtesy: Courtesy,
        events: EventStore,
        *,
        historical: bool,
    ) -> None:
        self._accepted = log
        self._load_rules = load_rules
        self._geoip = geoip
        self._preparer = preparer
        self._patience = patience
        self._courtesy = courtesy
        self._events = events
        self._historical = historical
        self._coming: deque[asyncio.Task[Taken]] = deque()
        self._idle = asyncio.Event()
        # The next run is prepared from when the event store works, which needs no interpreter:
        # what this run still does before would have to share it.
        self._undisturbed = asyncio.Event()
        self._stored_at = 0.0
        self.linger_s = LINGER_S
        self.budget = Budget() if geoip is None else Budget(object_bytes=LOCATED_OBJECT_BYTES)
        self.types: Mapping[int, Mapping[str, int]] = {}

    def begin(self, position: int) -> None:
        """Behind that place of the log; nothing is being stored."""
        self.nothing_in_hand()
        self._begin(position)

    def end(self) -> None:
        for task in self._coming:
            task.cancel()
        self._coming.clear()

    @property
    def next(self) -> "asyncio.Task[Taken]":
        """Done when the next run is there, prepared or not to be prepared."""
        return self._coming[0]

    def take(self) -> Taken:
        """The next run, which is there, to be stored now."""
        self._idle.clear()
        self._undisturbed.clear()
        entries, prepared = self._coming.popleft().result()
        if self._coming:
            self._go_on()
        else:
            self._begin(entries[-1].id)
        return entries, prepared

    def leave_interpreter(self) -> None:
        """Now that the event store works for the run in hand."""
        self._undisturbed.set()

    def nothing_in_hand(self) -> None:
        self._undisturbed.set()
        self._idle.set()

    def stored(self) -> None:
        self._stored_at = monotonic()

    async def read(self, after: int) -> Sequence[Entry]:
        return await self._patience.until_done(lambda: self._read(after))

    async def is_too_large(self, entry: Entry) -> bool:
        """Whether it is to be ingested in pieces."""
        return await _exceed([entry], self.budget)

    async def pieces_of_letter(self, entry: Entry) -> list[tuple[Entry, int]]:
        """With ids of their own, and how many items each has; none of one that is small enough."""
        if not await self.is_too_large(entry):
            return []
        return await asyncio.to_thread(_letters, entry, self.budget)

    async def prepared(self, entries: Sequence[Entry]) -> PreparedRun:
        """With all that is in its events. raises: what an envelope that cannot be prepared does"""
        rules = await self._rules(entries)
        return await asyncio.to_thread(prepare_run, entries, rules.__getitem__, self._geoip)

    def _begin(self, after: int) -> None:
        task = asyncio.create_task(self._taken(after))
        task.add_done_callback(lambda _: self._go_on())
        self._coming.append(task)

    def _go_on(self) -> None:
        """With the run after the last one, if that one took nothing of this process."""
        if not self._coming or len(self._coming) >= RUNS_AHEAD:
            return
        last = self._coming[-1]
        if not last.done() or last.cancelled() or last.exception() is not None:
            return
        entries, prepared = last.result()
        if prepared is not None and prepared.ahead is not None:
            self._begin(entries[-1].id)

    async def _taken(self, after: int) -> Taken:
        """A full run is prepared while the one before is stored; a small one waits for it, and
        grows meanwhile."""
        while True:
            entries = await self.read(after)
            if not await self._is_full(entries):
                await self._idle.wait()
                linger_s = self.linger_s if len(entries) < BUSY_ENVELOPES else BUSY_LINGER_S
                await asyncio.sleep(max(0.0, self._stored_at + linger_s - monotonic()))
                entries = await self.read(after)
            if entries:
                return entries, await self._prepare(entries)
            await self._patience.until_done(
                lambda: self._accepted.appended(after, historical=self._historical)
            )

    async def _read(self, after: int) -> Sequence[Entry]:
        entries = await self._accepted.read(
            after, RUN_ENVELOPES_MAX, self._courtesy.run_bytes_max, historical=self._historical
        )
        if self.budget.surely_takes(entries):
            return entries
        return await asyncio.to_thread(within, entries, self.budget)

    async def _prepare(self, entries: Sequence[Entry]) -> PreparedRun | None:
        """None for a run with an envelope that cannot be prepared; who stores it finds which. None
        too for an envelope that is to be ingested in pieces."""
        if len(entries) == 1 and await self.is_too_large(entries[0]):
            return None
        try:
            if prepared := await self._prepared_ahead(entries):
                return prepared
            await self._undisturbed.wait()
            return await self.prepared(entries)
        except Exception:
            return None

    async def _prepared_ahead(self, entries: Sequence[Entry]) -> PreparedRun | None:
        """By the other process, when that pays and it is there. Beside many requests it would take
        a processor from those: single captures were a sixth fewer."""
        if self._preparer is None or self._courtesy.is_crowded:
            return None
        if not self._events.encoder.is_prepared_ahead or not await self._is_full(entries):
            return None
        return await self._preparer.prepare(entries, await self._rules(entries), self.types)

    async def _rules(self, entries: Sequence[Entry]) -> Mapping[int, ProjectRules]:
        projects = {entry.envelope.project_id for entry in entries}
        return await self._patience.until_done(lambda: self._load_rules(projects))

    async def _is_full(self, entries: Sequence[Entry]) -> bool:
        if len(entries) >= RUN_ENVELOPES_MAX:
            return True
        size = sum(len(entry.envelope.body) for entry in entries)
        if size >= self._courtesy.run_bytes_max // 2:
            return True
        return await _exceed(entries, self.budget.half())


async def _exceed(entries: Sequence[Entry], budget: Budget) -> bool:
    return not budget.surely_takes(entries) and await asyncio.to_thread(budget.exceeds, entries)


def _letters(entry: Entry, budget: Budget) -> list[tuple[Entry, int]]:
    # Ids make the smallest items half as costly again; none is to be cut a second time, which would
    # bring the pieces out of their order.
    found = map(with_ids, pieces(entry, 0, budget.half()))
    return [(piece, count_items(piece.envelope.body)) for piece in found]
