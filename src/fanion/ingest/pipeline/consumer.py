"""From the accept log to the stores: each envelope once, in order, whatever fails in between."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice, zip_longest
from time import monotonic, perf_counter
from typing import TypeVar
from uuid import UUID

import structlog

from fanion.accept_log.port import AcceptLog, Entry
from fanion.events.storage.encoder import Batch, Block, EventEncoder
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.dead_letters_store import MarkedLetter
from fanion.ingest.ledger.model import Tally
from fanion.ingest.pipeline.batch import PreparedRun, count_items, without_duplicates
from fanion.ingest.pipeline.batch_limits import named_before, pieces, with_ids
from fanion.ingest.pipeline.dead_letter_retry import LOOK_EVERY_S, Retries, error_text, first_error
from fanion.ingest.pipeline.deduplication import Repetitions
from fanion.ingest.pipeline.event_writer import insertion
from fanion.ingest.pipeline.person_mirror import mirrored
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.ingest.pipeline.reader import Intake, LoadRules
from fanion.ingest.pipeline.resolve import Known, Resolution
from fanion.ingest.pipeline.retry import Patience
from fanion.ingest.pipeline.store import RENEW_EVERY, Begun, IngestStore, NotOurs, Written
from fanion.ingest.pipeline.throttle import Courtesy
from fanion.ingest.pipeline.types import Drop, GeoIp
from fanion.observability.metrics import Metrics
from fanion.persons.store import PersonsChanged
from fanion.runtime.change_bus import ChangeBus, Topic

# How often a server that does not ingest looks whether it should.
STAND_BY_S = 1.0
# So often persons of a run may be changed by other servers while it is stored; then it is taken in
# halves, each of which has fewer persons and ends sooner.
CONFLICTS_MAX = 3
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)  # when nothing was accepted

_T = TypeVar("_T")


class Contended(Exception):
    """Other servers change persons of a run again and again while it is stored."""


class Consumer:
    """The consumer of one lane of the log.

    load_rules, geoip, preparer: as for Intake
    turn:       shared by the consumers of all lanes: two runs must not change one person at once
    """

    def __init__(
        self,
        log: AcceptLog,
        store: IngestStore,
        events: EventStore,
        now: Callable[[], datetime],
        metrics: Metrics,
        load_rules: LoadRules,
        bus: ChangeBus,
        turn: asyncio.Lock,
        *,
        historical: bool = False,
        geoip: GeoIp | None = None,
        preparer: Preparer | None = None,
    ) -> None:
        self._accepted = log
        self._store = store
        self._events = events
        self._now = now
        self._metrics = metrics
        self._bus = bus
        self._turn = turn
        self.historical = historical
        failures = metrics.store_errors.labels("ingestion")
        self._patience = Patience(failures)
        self._courtesy = Courtesy(metrics.hot.answered, monotonic())
        self.intake = Intake(
            log,
            load_rules,
            geoip,
            preparer,
            self._patience,
            self._courtesy,
            events,
            historical=historical,
        )
        self._repetitions = Repetitions(events, self._patience, historical=historical)
        self._retries = Retries(
            store.letters,
            self.intake.pieces_of_letter,
            self.intake.prepared,
            self._store_letter,
            now,
            failures,
        )
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
        self._stopping = asyncio.Event()
        self.position = 0
        self._begun: Begun | None = None
        self._renew_at = LONG_AGO

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
        """Run after run. raises: NotOurs"""
        self.intake.begin(self.position)
        try:
            while True:
                coming = self.intake.next
                await asyncio.wait(
                    {coming, stopping}, timeout=LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED
                )
                if stopping.done():
                    return
                if not self.historical:
                    await self._renew()
                    await self._retries.look()
                if not coming.done():
                    continue
                entries, prepared = self.intake.take()
                started = monotonic()
                await self._ingest(entries, prepared)
                self.intake.nothing_in_hand()
                await self._rest(stopping, started, entries[0].envelope.received_at)
        finally:
            self.intake.end()

    async def _renew(self) -> None:
        """Where another server would take over from one that is silent. raises: NotOurs"""
        now = self._now()
        if self._store.is_shared and now >= self._renew_at:
            await self._patience.until_done(lambda: self._store.renew(now))
            self._renew_at = now + RENEW_EVERY

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
        self.position, self._begun = position.at, position.begun
        while self.position < position.claimed:
            entries = await self.intake.read(self.position)
            again = [entry for entry in entries if entry.id <= position.claimed]
            if not again:
                break
            await self._ingest(again, None)

    async def _ingest(self, entries: Sequence[Entry], prepared: PreparedRun | None) -> None:
        """Returns when every entry is stored, or put aside as one that cannot be."""
        if await self._is_for_pieces(entries[0], alone=len(entries) == 1):
            await self._ingest_in_pieces(entries[0])
            if rest := entries[1:]:
                await self._ingest(rest, None)
            return
        try:
            run = await self._without_repetitions(entries, prepared)
            store = self._attempts(partial(self._store_run, run, None), divisible=len(entries) > 1)
            stored = await self._patience.until_done(store)
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
        if not stored:
            await self._ingest(entries, None)
            return
        await self._repetitions.remember(run)
        await self._done(run.last)

    async def _done(self, last: int) -> None:
        self.position = last
        self.intake.stored()
        await self._trim()

    async def _is_for_pieces(self, entry: Entry, *, alone: bool) -> bool:
        """One that was begun so goes on so, whatever counts as too large by now."""
        if self._begun is not None and self._begun.entry_id == entry.id:
            return True
        return alone and await self.intake.is_too_large(entry)

    async def _ingest_in_pieces(self, entry: Entry) -> None:
        """Each in a transaction of its own, which notes how far the envelope has come."""
        begun = self._begun
        start = begun.items if begun is not None and begun.entry_id == entry.id else 0
        earlier = await asyncio.to_thread(named_before, entry, start)
        coming = await asyncio.to_thread(pieces, entry, start, self.intake.budget)
        for piece, following in zip_longest(coming, coming[1:]):
            after = None if following is None else Begun(entry.id, following.start)
            try:
                run = await self._new_in_piece(piece, earlier)
                store = self._attempts(partial(self._store_run, run, after))
                await self._patience.until_done(store)
                await self._repetitions.remember(run)
            except NotOurs:
                raise
            except Exception as error:
                await self._put_aside(await asyncio.to_thread(with_ids, piece), error, after)
            self._begun = after
        await self._done(entry.id)

    async def _new_in_piece(self, piece: Entry, earlier: set[UUID]) -> PreparedRun:
        """earlier: ids that items of former pieces were given; those of this one are added. What
        the event store has of the envelope does not tell whether this piece brought it."""
        run = await self.intake.prepared([piece])
        again = {
            key: dict.fromkeys(earlier.intersection(n), LONG_AGO) for key, n in run.named.items()
        }
        for uuids in run.named.values():
            earlier.update(uuids)
        run = await asyncio.to_thread(without_duplicates, run, again)
        return await self._repetitions.left_out(run)

    async def _without_repetitions(
        self, entries: Sequence[Entry], prepared: PreparedRun | None
    ) -> PreparedRun:
        if prepared is not None:
            run = await self._repetitions.left_out(prepared)
            if run.ahead is prepared.ahead:
                return run
        return await self._repetitions.left_out(await self.intake.prepared(entries))

    def _attempts(
        self, store: Callable[[int], Awaitable[_T]], *, divisible: bool = False
    ) -> Callable[[], Awaitable[_T]]:
        """To be called until it is done. raises: Contended when halves of it may be easier to store

        store: is given how often persons were changed under it: its events may be of other persons
               now, so that its blocks must not pass for those that are stored
        """
        conflicts = 0

        async def attempt() -> _T:
            nonlocal conflicts
            try:
                return await self._in_turn(partial(store, conflicts))
            except PersonsChanged:
                conflicts += 1
                if divisible and conflicts >= CONFLICTS_MAX:
                    raise Contended from None
                raise

        return attempt

    async def _in_turn(self, store: Callable[[], Awaitable[_T]]) -> _T:
        async with self._turn:
            try:
                return await store()
            except BaseException:
                # What the run did to the persons in memory was not written.
                self._store.recent.forget()
                raise

    async def _store_run(self, run: PreparedRun, begun: Begun | None, conflicts: int) -> bool:
        """False when it has to be prepared again, now that the stores were read.

        begun:     as of `IngestStore.writing`
        conflicts: as of `_attempts`
        """
        started = perf_counter()
        await self._store.claim(self.position, run.last, self._now())
        resolutions = await self._resolutions(run)
        if not all(one.is_as_brought for one in resolutions):
            return False
        encoder = self._events.encoder
        token = _token(self._store.consumer, encoder, run, resolutions, conflicts)
        async with insertion(self._events, token) as inserting:
            blocks = _blocks(encoder, run, resolutions)
            while block := await asyncio.to_thread(next, blocks, None):
                await inserting.put(Batch((block,)))
                self.intake.leave_interpreter()
            written = await self._written(resolutions)
            await inserting.put(await asyncio.to_thread(_mirrored, encoder, written, run.last))
            tally, now = await asyncio.to_thread(_tally, run, resolutions), self._now()
            async with self._store.writing(
                written, tally, self.position, run.last, now, begun
            ) as statements:
                await statements
                await inserting.stored()
        self.intake.types = {one.project_id: one.types for one in resolutions}
        self._tell(written)
        self._count(run, perf_counter() - started)
        return True

    async def _store_letter(self, letter: MarkedLetter, run: PreparedRun) -> None:
        """A dead letter is stored as a run of its own, from which this lane's position stays. It
        may be old, and its client may have sent it again: no memory knows, the store is asked."""
        named = run.named.items()
        stored = {key: await self._events.existing(key, uuids) for key, uuids in named if uuids}
        fresh = without_duplicates(run, stored)
        settle = self._attempts(partial(self._settle, letter, fresh))
        for _ in range(CONFLICTS_MAX - 1):
            with suppress(PersonsChanged):
                await settle()
                break
        else:  # if it is in vain again, the letter waits for the next look
            await settle()
        await self._repetitions.remember(fresh)

    async def _settle(self, letter: MarkedLetter, run: PreparedRun, conflicts: int) -> None:
        started = perf_counter()
        resolutions = await self._resolutions(run)
        encoder = self._events.encoder
        token = _token(self._store.consumer, encoder, run, resolutions, conflicts)
        blocks = await asyncio.to_thread(tuple, _blocks(encoder, run, resolutions))
        written = await self._written(resolutions)
        version = max(self.position, run.last)
        mirrored = await asyncio.to_thread(_mirrored, encoder, written, version)
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
                self._bus.publish(Topic.GROUP_TYPES, part.resolved.project_id)

    async def _trim(self) -> None:
        try:
            await self._accepted.trim(self.position, historical=self.historical)
        except OSError as error:
            self._log.warning("accept_log_not_trimmed", reason=str(error))

    async def _bury(self, entry: Entry, error: Exception) -> None:
        await self._put_aside(entry, error, None)
        self.position = entry.id
        await self._trim()

    async def _put_aside(self, entry: Entry, error: Exception, begun: Begun | None) -> None:
        error = first_error(error)
        self._log.error(
            "envelope_failed", exc_info=error, log_id=entry.id, project=entry.envelope.project_id
        )
        text, items = error_text(error), await asyncio.to_thread(count_items, entry.envelope.body)
        await self._patience.until_done(
            lambda: self._store.bury(entry, items, self.position, text, self._now(), begun)
        )
        self._metrics.dead_letters.inc()

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


def _token(
    consumer: str,
    encoder: EventEncoder,
    run: PreparedRun,
    resolutions: Sequence[Resolution],
    conflicts: int,
) -> str:
    """The same for the same run. Its places in the log alone would not do: a log that was
    begun anew counts from 1 again, and its first events would pass for repetitions. Nor must
    fewer events, because a person was deleted meanwhile, pass for a repetition of all. What was
    made ahead comes to other blocks; so does what is resolved anew after a conflict."""
    events = sum(len(one.arrived) for one in resolutions)
    first = next((one for one in resolutions if one.arrived), None)
    place = f"{first.project_id}-{first.arrived[0].prepared.uuid}" if first is not None else ""
    made = encoder.version if run.ahead is None else f"{encoder.version}a"
    last = f"{run.last}+{run.start}" if run.start else f"{run.last}"
    anew = f"-{conflicts}" if conflicts else ""
    return f"{consumer}-{run.first}-{last}-{place}-{events}-{made}{anew}"


def _resolutions(run: PreparedRun, known: Mapping[int, Known]) -> list[Resolution]:
    brought = {} if run.ahead is None else run.ahead.brought
    return [
        Resolution(project_id, arrived, known[project_id], brought.get(project_id))
        for project_id, arrived in run.arrived.items()
    ]


def _blocks(
    encoder: EventEncoder, run: PreparedRun, resolutions: Sequence[Resolution]
) -> Iterator[Block]:
    if run.ahead is None:
        events = sum(len(one.arrived) for one in resolutions)
        yield from encoder.event_blocks(
            chain.from_iterable(one.events() for one in resolutions), events
        )
        return
    of_project = {one.project_id: iter(one.persons()) for one in resolutions}
    persons = [
        person
        for project_id, events in run.ahead.requests
        for person in islice(of_project[project_id], events)
    ]
    for draft in run.ahead.drafts:
        yield draft.block(persons)


def _mirrored(encoder: EventEncoder, written: Sequence[Written], version: int) -> Batch:
    return mirrored(encoder, ((part.resolved, part.overrides) for part in written), version)


def _tally(run: PreparedRun, resolutions: Sequence[Resolution]) -> Tally:
    return run.ledger(
        {one.project_id: [event.received_at for event in one.arrived] for one in resolutions}
    )
