"""From the accept log to the stores: each envelope once, in order, whatever fails in between."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from time import monotonic, perf_counter
from typing import TypeVar

import msgspec
import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.events.event import EventStoreUnavailable, Override, PersonRow
from fanion.events.store import EventStore
from fanion.ingest.prepared import GeoIp
from fanion.ingest.resolve import Known, Resolved, resolve
from fanion.ingest.run import PreparedRun, RulesOf, prepare_run
from fanion.ingest.store import IngestStore, Written
from fanion.log.port import AcceptLog, Entry
from fanion.metrics import Metrics
from fanion.persons.merge import PersonState

# 5,000 events are prepared in 60 ms and inserted in 120 ms; more only costs memory.
RUN_ENVELOPES_MAX = 5_000
RUN_BYTES_MAX = 4 * 1024 * 1024
# Every insert is a part that the event store has to merge; ten a second are no burden.
LINGER_S = 0.1
RETRY_FIRST_S = 0.2
RETRY_MAX_S = 10.0

_STORE_FAILURES = (EventStoreUnavailable, RecordsUnavailable, OSError)

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


class Consumer:
    """The consumer of one lane of the log.

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
        rules_of: RulesOf,
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
        self._rules_of = rules_of
        self._types_seen = types_seen
        self._turn = turn
        self.historical = historical
        self._geoip = geoip
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
        self._stopping = asyncio.Event()
        self._idle = asyncio.Event()
        self._stored_at = 0.0
        self.position = 0

    async def run(self) -> None:
        """Until `stop`; the run in hand is finished then."""
        await self._resume()
        ahead = asyncio.create_task(self._take(self.position))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            while not self._stopping.is_set():
                await asyncio.wait({ahead, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not ahead.done():
                    break
                entries, prepared = ahead.result()
                self._idle.clear()
                ahead = asyncio.create_task(self._take(entries[-1].id))
                await self._ingest(entries, prepared)
                self._idle.set()
        finally:
            ahead.cancel()
            stopping.cancel()

    def stop(self) -> None:
        self._stopping.set()

    async def _resume(self) -> None:
        """Take the run again that was in hand when the process died."""
        position = await self._patiently(self._store.position)
        self.position = position.at
        while self.position < position.claimed:
            entries = await self._patiently(lambda: self._read(self.position))
            again = [entry for entry in entries if entry.id <= position.claimed]
            if not again:
                break
            await self._ingest(again, None)
        self._idle.set()

    async def _take(self, after: int) -> tuple[Sequence[Entry], PreparedRun | None]:
        """The next run, prepared. A full one is prepared while the one before is stored; a small
        one waits for it, and grows meanwhile."""
        while True:
            entries = await self._patiently(lambda: self._read(after))
            if not _is_full(entries):
                await self._idle.wait()
                await asyncio.sleep(max(0.0, self._stored_at + LINGER_S - monotonic()))
                entries = await self._patiently(lambda: self._read(after))
            if entries:
                return entries, await self._prepare(entries)
            await self._accepted.appended(after, historical=self.historical)

    async def _read(self, after: int) -> Sequence[Entry]:
        return await self._accepted.read(
            after, RUN_ENVELOPES_MAX, RUN_BYTES_MAX, historical=self.historical
        )

    async def _prepare(self, entries: Sequence[Entry]) -> PreparedRun | None:
        """None for a run with an envelope that cannot be prepared; `_ingest` finds which."""
        try:
            return await asyncio.to_thread(prepare_run, entries, self._rules_of, self._geoip)
        except Exception:
            return None

    async def _ingest(self, entries: Sequence[Entry], prepared: PreparedRun | None) -> None:
        """Returns when every entry is stored, or put aside as one that cannot be."""
        try:
            if prepared is None:
                prepared = await asyncio.to_thread(
                    prepare_run, entries, self._rules_of, self._geoip
                )
            run = prepared
            await self._patiently(lambda: self._store_in_turn(run))
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
        await self._trim()

    async def _store_in_turn(self, run: PreparedRun) -> None:
        async with self._turn:
            await self._store_run(run)

    async def _store_run(self, run: PreparedRun) -> None:
        started = perf_counter()
        await self._store.claim(self.position, run.last)
        known = await self._store.known(run.arrived)
        resolved = await asyncio.to_thread(_resolve_all, run, known)
        written = [Written(one, await self._store.overrides(one)) for one in resolved]
        await self._insert(written, run)
        await self._store.write(written, run.last, self._now())
        for one in resolved:
            if one.new_types:
                self._types_seen(one.project_id)
        self._count(run, perf_counter() - started)

    async def _insert(self, written: Sequence[Written], run: PreparedRun) -> None:
        """Repeatable: events go by their token and uuid, mirrored rows by their version."""
        events = [event for part in written for event in part.resolved.events]
        persons = [row for part in written for row in _mirrored(part.resolved)]
        overrides = [row for part in written for row in _overrides(part, run.last)]
        async with asyncio.TaskGroup() as tasks:
            if events:
                token = f"{self._store.consumer}-{run.first}-{run.last}"
                tasks.create_task(self._events.insert(events, token))
            if persons:
                tasks.create_task(self._events.mirror_persons(persons))
            if overrides:
                tasks.create_task(self._events.override_persons(overrides))

    async def _trim(self) -> None:
        try:
            await self._accepted.trim(self.position, historical=self.historical)
        except OSError as error:
            self._log.warning("accept_log_not_trimmed", reason=str(error))

    async def _bury(self, entry: Entry, error: Exception) -> None:
        if isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        self._log.error(
            "envelope_failed", exc_info=error, log_id=entry.id, project=entry.envelope.project_id
        )
        text = f"{type(error).__name__}: {error}"
        await self._patiently(lambda: self._store.bury(entry, text, self._now()))
        self._metrics.dead_letters.inc()
        self.position = entry.id
        await self._trim()

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Again and again while a store is out of reach; what was accepted can wait."""
        wait_s = RETRY_FIRST_S
        while True:
            try:
                return await work()
            except* _STORE_FAILURES as group:
                failure = group.exceptions[0]
            self._metrics.store_errors.labels("ingestion").inc()
            self._log.warning("ingestion_waits", reason=str(failure), retry_s=wait_s)
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, RETRY_MAX_S)

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


def _is_full(entries: Sequence[Entry]) -> bool:
    if len(entries) >= RUN_ENVELOPES_MAX:
        return True
    return sum(len(entry.envelope.body) for entry in entries) >= RUN_BYTES_MAX // 2


def _resolve_all(run: PreparedRun, known: dict[int, Known]) -> list[Resolved]:
    return [
        resolve(project_id, arrived, known[project_id])
        for project_id, arrived in run.arrived.items()
    ]


def _mirrored(resolved: Resolved) -> list[PersonRow]:
    changes = resolved.persons
    gone = [merged.person for merged in changes.merged]
    rows = [(person, False) for person in (*changes.created, *changes.updated)]
    rows += [(person, True) for person in gone]
    return [_person_row(resolved.project_id, person, deleted) for person, deleted in rows]


def _person_row(project_id: int, person: PersonState, is_deleted: bool) -> PersonRow:
    return PersonRow(
        project_id,
        person.uuid,
        _encode(person.properties),
        person.created_at,
        person.version,
        is_deleted,
    )


def _overrides(part: Written, version: int) -> list[Override]:
    project_id = part.resolved.project_id
    return [Override(project_id, old, new, version) for old, new in part.overrides.items()]
