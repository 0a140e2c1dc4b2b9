"""From the accept log to the stores: each envelope once, in order, whatever fails in between."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from time import monotonic, perf_counter

import structlog

from fanion.events.blocks import BLOCKS_VERSION, Batch, Block, event_blocks
from fanion.events.store import EventStore
from fanion.ingest.courtesy import Courtesy
from fanion.ingest.dead_letters_store import MarkedLetter
from fanion.ingest.insertion_consumer import insertion
from fanion.ingest.ledger import Tally
from fanion.ingest.mirror import mirrored
from fanion.ingest.patience import Patience
from fanion.ingest.prepared import Drop, GeoIp, ProjectRules
from fanion.ingest.repetitions_store import Repetitions
from fanion.ingest.resolve import Known, Resolution
from fanion.ingest.retry_consumer import LOOK_EVERY_S, Retries, error_text, first_error
from fanion.ingest.run import PreparedRun, count_items, prepare_run, without_duplicates
from fanion.ingest.store import IngestStore, NotOurs, Written
from fanion.log.port import AcceptLog, Entry
from fanion.metrics import Metrics

# Of single events, which come with many requests: more at once would only cost memory.
RUN_ENVELOPES_MAX = 5_000
# Every insert is a part that the event store has to merge; ten a second are no burden.
LINGER_S = 0.1
# Under load an insert waits longer and takes more: each one makes the disk sync several files,
# and the answer to a capture request waits for that same disk.
BUSY_ENVELOPES = 200
BUSY_LINGER_S = 0.5
# How often a server that does not ingest looks whether it should.
STAND_BY_S = 1.0

LoadRules = Callable[[Collection[int]], Awaitable[Mapping[int, ProjectRules]]]


class Consumer:
    """The consumer of one lane of the log.

    load_rules: the rules of each of some projects, when they are not in memory from their store
    linger_s:   how long after a run the next small one begins
    turn:       shared by the consumers of all lanes: two runs must not change one person at once
    types_seen: called with a project id when the project has new group types
    """

    def __init__(
        self,
        log: AcceptLog,
        store: IngestStore,
        events: EventStore,
        now: Callable[[], datetime],
        metrics: Metrics,
        load_rules: LoadRules,
        types_seen: Callable[[int], None],
        turn: asyncio.Lock,
        *,
        historical: bool = False,
        geoip: GeoIp | None = None,
    ) -> None:
        self._accepted = log
        self._store = store
        self._events = events
        self._now = now
        self._metrics = metrics
        self._load_rules = load_rules
        self._types_seen = types_seen
        self._turn = turn
        self.historical = historical
        self._geoip = geoip
        failures = metrics.store_errors.labels("ingestion")
        self._patience = Patience(failures)
        self._repetitions = Repetitions(events, self._patience, historical=historical)
        self._retries = Retries(store.letters, self._prepared, self._store_letter, now, failures)
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
        self._stopping = asyncio.Event()
        self._idle = asyncio.Event()
        # The next run is prepared from when the event store works, which needs no interpreter:
        # what this run still does before would have to share it.
        self._undisturbed = asyncio.Event()
        self._stored_at = 0.0
        self.linger_s = LINGER_S
        self._courtesy = Courtesy(metrics.hot.answered, monotonic())
        self.position = 0

    async def run(self) -> None:
        """Until `stop`; the run in hand is finished then."""
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            while not self._stopping.is_set():
                try:
                    await self._resume()
                    await self._follow(stopping)
                except NotOurs:
                    await asyncio.wait({stopping}, timeout=STAND_BY_S)
        finally:
            stopping.cancel()
        await self._store.release(self._now())

    def stop(self) -> None:
        self._stopping.set()

    async def _follow(self, stopping: asyncio.Task[bool]) -> None:
        """Run after run, the next one prepared while one is stored. raises: NotOurs"""
        ahead = asyncio.create_task(self._take(self.position))
        try:
            while True:
                await asyncio.wait(
                    {ahead, stopping}, timeout=LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED
                )
                if stopping.done():
                    return
                if not self.historical:
                    await self._retries.look()
                if not ahead.done():
                    continue
                entries, prepared = ahead.result()
                self._idle.clear()
                self._undisturbed.clear()
                ahead = asyncio.create_task(self._take(entries[-1].id))
                started = monotonic()
                await self._ingest(entries, prepared)
                self._undisturbed.set()
                self._idle.set()
                await self._rest(stopping, started, entries[0].envelope.received_at)
        finally:
            ahead.cancel()

    async def _rest(self, stopping: asyncio.Task[bool], started: float, oldest: datetime) -> None:
        ended = monotonic()
        lag_s = (self._now() - oldest).total_seconds()
        answered = self._metrics.hot.answered
        rest_s = self._courtesy.rest_s(answered, ended, ended - started, lag_s)
        if rest_s:
            await asyncio.wait({stopping}, timeout=rest_s)

    async def _resume(self) -> None:
        """Become the one that ingests; take the run again that was in hand when the process
        before this one died. raises: NotOurs"""
        position = await self._patience.until_done(lambda: self._store.take(self._now()))
        await self._repetitions.recall(self._now())
        self._store.recent.forget()
        self.position = position.at
        while self.position < position.claimed:
            entries = await self._patience.until_done(lambda: self._read(self.position))
            again = [entry for entry in entries if entry.id <= position.claimed]
            if not again:
                break
            await self._ingest(again, None)
        self._undisturbed.set()
        self._idle.set()

    async def _take(self, after: int) -> tuple[Sequence[Entry], PreparedRun | None]:
        """The next run, prepared. A full one is prepared while the one before is stored; a small
        one waits for it, and grows meanwhile."""
        while True:
            await self._undisturbed.wait()
            entries = await self._patience.until_done(lambda: self._read(after))
            if not _is_full(entries, self._courtesy.run_bytes_max):
                await self._idle.wait()
                linger_s = self.linger_s if len(entries) < BUSY_ENVELOPES else BUSY_LINGER_S
                await asyncio.sleep(max(0.0, self._stored_at + linger_s - monotonic()))
                entries = await self._patience.until_done(lambda: self._read(after))
            if entries:
                return entries, await self._prepare(entries)
            await self._patience.until_done(
                lambda: self._accepted.appended(after, historical=self.historical)
            )

    async def _read(self, after: int) -> Sequence[Entry]:
        return await self._accepted.read(
            after, RUN_ENVELOPES_MAX, self._courtesy.run_bytes_max, historical=self.historical
        )

    async def _prepare(self, entries: Sequence[Entry]) -> PreparedRun | None:
        """None for a run with an envelope that cannot be prepared; `_ingest` finds which."""
        try:
            return await self._prepared(entries)
        except Exception:
            return None

    async def _prepared(self, entries: Sequence[Entry]) -> PreparedRun:
        projects = {entry.envelope.project_id for entry in entries}
        rules = await self._patience.until_done(lambda: self._load_rules(projects))
        return await asyncio.to_thread(prepare_run, entries, rules.__getitem__, self._geoip)

    async def _ingest(self, entries: Sequence[Entry], prepared: PreparedRun | None) -> None:
        """Returns when every entry is stored, or put aside as one that cannot be."""
        try:
            if prepared is None:
                prepared = await self._prepared(entries)
            run = await self._repetitions.left_out(prepared)
            await self._patience.until_done(lambda: self._in_turn(lambda: self._store_run(run)))
        except NotOurs:
            raise
        except Exception as error:
            if len(entries) == 1:
                await self._bury(entries[0], error)
                return
            half = len(entries) // 2
            await self._ingest(entries[:half], None)
            await self._ingest(entries[half:], None)
            return
        self.position = prepared.last
        self._stored_at = monotonic()
        await self._repetitions.remember(run)
        await self._trim()

    async def _in_turn(self, store: Callable[[], Awaitable[None]]) -> None:
        async with self._turn:
            try:
                await store()
            except BaseException:
                # What the run did to the persons in memory was not written.
                self._store.recent.forget()
                raise

    async def _store_run(self, run: PreparedRun) -> None:
        started = perf_counter()
        await self._store.claim(self.position, run.last, self._now())
        resolutions = await self._resolutions(run)
        token = _token(self._store.consumer, run, resolutions)
        async with insertion(self._events, token) as inserting:
            blocks = _blocks(resolutions)
            while block := await asyncio.to_thread(next, blocks, None):
                await inserting.put(Batch((block,)))
                self._undisturbed.set()
            written = await self._written(resolutions)
            await inserting.put(await asyncio.to_thread(_mirrored, written, run.last))
            tally, now = await asyncio.to_thread(_tally, run, resolutions), self._now()
            async with self._store.writing(
                written, tally, self.position, run.last, now
            ) as statements:
                await statements
                await inserting.stored()
        self._tell(written)
        self._count(run, perf_counter() - started)

    async def _store_letter(self, letter: MarkedLetter, run: PreparedRun) -> None:
        """A dead letter is stored as a run of its own, from which this lane's position stays. It
        may be old, and its client may have sent it again: no memory knows, the store is asked."""
        named = run.named.items()
        stored = {key: await self._events.existing(key, uuids) for key, uuids in named if uuids}
        fresh = without_duplicates(run, stored)
        await self._in_turn(lambda: self._settle(letter, fresh))
        await self._repetitions.remember(fresh)

    async def _settle(self, letter: MarkedLetter, run: PreparedRun) -> None:
        started = perf_counter()
        resolutions = await self._resolutions(run)
        token = _token(self._store.consumer, run, resolutions)
        blocks = await asyncio.to_thread(tuple, _blocks(resolutions))
        written = await self._written(resolutions)
        version = max(self.position, run.last)
        mirrored = await asyncio.to_thread(_mirrored, written, version)
        tally, now = _tally(run, resolutions), self._now()
        async with (
            self._store.settling(letter, written, tally, self.position, now),
            insertion(self._events, token) as inserting,
        ):
            await inserting.put(Batch(blocks))
            await inserting.put(mirrored)
            await inserting.stored()
        self._tell(written)
        self._count(run, perf_counter() - started)

    async def _resolutions(self, run: PreparedRun) -> list[Resolution]:
        known = await self._store.known(run.arrived, self._now())
        return await asyncio.to_thread(_resolutions, run, known)

    async def _written(self, resolutions: Sequence[Resolution]) -> list[Written]:
        resolved = await asyncio.to_thread(lambda: [one.outcome() for one in resolutions])
        return [Written(one, await self._store.overrides(one)) for one in resolved]

    def _tell(self, written: Sequence[Written]) -> None:
        for part in written:
            self._metrics.dropped.labels(Drop.ERASED.value).inc(part.resolved.erased)
            if part.resolved.new_types:
                self._types_seen(part.resolved.project_id)

    async def _trim(self) -> None:
        try:
            await self._accepted.trim(self.position, historical=self.historical)
        except OSError as error:
            self._log.warning("accept_log_not_trimmed", reason=str(error))

    async def _bury(self, entry: Entry, error: Exception) -> None:
        error = first_error(error)
        self._log.error(
            "envelope_failed", exc_info=error, log_id=entry.id, project=entry.envelope.project_id
        )
        text, items = error_text(error), await asyncio.to_thread(count_items, entry.envelope.body)
        await self._patience.until_done(
            lambda: self._store.bury(entry, items, self.position, text, self._now())
        )
        self._metrics.dead_letters.inc()
        self.position = entry.id
        await self._trim()

    def _count(self, run: PreparedRun, seconds: float) -> None:
        self._metrics.ingested.inc(run.events)
        for reason, items in run.dropped.items():
            self._metrics.dropped.labels(reason.value).inc(items)
        self._metrics.batch_seconds.observe(seconds)
        self._log.info(
            "ingested",
            first=run.first,
            last=run.last,
            events=run.events,
            dropped=sum(run.dropped.values()),
            ms=round(seconds * 1000, 1),
        )


def _token(consumer: str, run: PreparedRun, resolutions: Sequence[Resolution]) -> str:
    """The same for the same run. Its places in the log alone would not do: a log that was
    begun anew counts from 1 again, and its first events would pass for repetitions. Nor must
    fewer events, because a person was deleted meanwhile, pass for a repetition of all."""
    events = sum(len(one.arrived) for one in resolutions)
    first = next((one for one in resolutions if one.arrived), None)
    place = f"{first.project_id}-{first.arrived[0].prepared.uuid}" if first is not None else ""
    return f"{consumer}-{run.first}-{run.last}-{place}-{events}-{BLOCKS_VERSION}"


def _resolutions(run: PreparedRun, known: Mapping[int, Known]) -> list[Resolution]:
    return [
        Resolution(project_id, arrived, known[project_id])
        for project_id, arrived in run.arrived.items()
    ]


def _blocks(resolutions: Sequence[Resolution]) -> Iterator[Block]:
    events = sum(len(one.arrived) for one in resolutions)
    return event_blocks(chain.from_iterable(one.events() for one in resolutions), events)


def _mirrored(written: Sequence[Written], version: int) -> Batch:
    return mirrored(((part.resolved, part.overrides) for part in written), version)


def _is_full(entries: Sequence[Entry], bytes_max: int) -> bool:
    if len(entries) >= RUN_ENVELOPES_MAX:
        return True
    return sum(len(entry.envelope.body) for entry in entries) >= bytes_max // 2


def _tally(run: PreparedRun, resolutions: Sequence[Resolution]) -> Tally:
    return run.ledger(
        {one.project_id: [event.received_at for event in one.arrived] for one in resolutions}
    )
