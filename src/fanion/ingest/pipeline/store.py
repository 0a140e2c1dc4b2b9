"""What a batch reads from the records store, and the one transaction in which it writes."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.accept_log.port import LogEntry
from fanion.db.engine import Records
from fanion.events.definitions.model import PropertyCache
from fanion.events.definitions.property_store import load_properties, record_properties
from fanion.events.definitions.store import record_seen
from fanion.groups.store import load_groups, load_types, write_groups
from fanion.ingest.ledger.dead_letters_store import (
    DeadLetters,
    MarkedLetter,
    delete_retried,
    insert_dead_letter,
)
from fanion.ingest.ledger.model import Tally, joined
from fanion.ingest.ledger.store import write_tally
from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.ingest.pipeline.position_store import (
    HISTORICAL,
    EnvelopeProgress,
    Position,
    PositionHolder,
    acquire,
    advance,
    complete,
    release,
    renew,
)
from fanion.ingest.pipeline.prepare import ReceivedEvent
from fanion.ingest.pipeline.resolve import ProjectState, Resolved, distinct_ids, identified_groups
from fanion.persons.erasure_store import load_erasures, load_floors
from fanion.persons.pending_identities_store import adopt_waiting
from fanion.persons.state_store import (
    changed_persons,
    load_states,
    overridden,
    require_current,
    write_changes,
)
from fanion.projects.store import move_flag_version
from fanion.properties.size import ByteBudget
from fanion.webhooks.outbox_store import count_captured

# Properties of persons and groups that a batch reads. Small events can name large persons: one
# request could name 2,000 of half a MB each.
READ_BYTES_MAX = 256 * 2**20


@dataclass(frozen=True, slots=True)
class BatchChanges:
    """What a batch changes in one project. overrides: merged person → surviving person"""

    resolved: Resolved
    overrides: Mapping[UUID, UUID]


@dataclass(frozen=True, slots=True)
class IngestStore:
    """consumer: the name under which the position is stored
    holder:   names this process among those that share the store
    recent, properties: shared by all consumers
    read_bytes_max: of properties, for one batch
    """

    records: Records
    consumer: str
    holder: str
    recent: PersonCache
    properties: PropertyCache
    read_bytes_max: int = READ_BYTES_MAX

    @property
    def is_shared(self) -> bool:
        """Whether other servers may change persons, so that the cache may be outdated."""
        return self.records.dialect == "postgresql"

    @property
    def letters(self) -> DeadLetters:
        return DeadLetters(self.records)

    async def acquire(self, now: datetime) -> Position:
        """Acquire the lease of all lanes, because a merge in one changes the persons of events in
        the other, and read the position of this one. raises: NotLeaseHolder"""
        async with self.records.write() as connection:
            return await connection.run_sync(acquire, self.consumer, self.holder, now)

    async def renew(self, now: datetime) -> None:
        """Renew the lease while idle. raises: NotLeaseHolder"""
        async with self.records.write() as connection:
            await connection.run_sync(renew, self._at(0, now))

    async def release(self, now: datetime) -> None:
        """Release the lease, so that another server can continue at once."""
        async with self.records.write() as connection:
            await connection.run_sync(release, self.consumer, self.holder, now)

    async def claim(self, position: int, upto: int, now: datetime) -> None:
        """After a crash, entries up to `upto` form the same batch again. raises: NotLeaseHolder"""
        async with self.records.write() as connection:
            await connection.run_sync(advance, self._at(position, now), position, upto)

    async def load(
        self, arrived: Mapping[int, Sequence[ReceivedEvent]], now: datetime
    ) -> dict[int, ProjectState]:
        """Load what is stored about everything that the events of each project name.

        raises: ByteBudgetExceeded, when the batch must be divided
        """
        self.properties.refresh(now)
        names = {project_id: distinct_ids(events) for project_id, events in arrived.items()}
        async with self.records.read() as connection:
            if self.is_shared:
                await connection.run_sync(_evict_changed, self.recent, names)
            allowance = ByteBudget(self.read_bytes_max)
            return await connection.run_sync(
                _load, arrived, names, self.recent, self.properties, allowance
            )

    async def overrides(self, resolved: Resolved) -> dict[UUID, UUID]:
        """Those of this batch, and earlier ones whose surviving person it merges."""
        changes = resolved.persons.overrides
        if not changes:
            return {}
        async with self.records.read() as connection:
            earlier = await connection.run_sync(overridden, resolved.project_id, list(changes))
        return {old: changes[new] for old, new in earlier.items()} | dict(changes)

    @asynccontextmanager
    async def writing(
        self,
        written: Sequence[BatchChanges],
        tally: Tally,
        position: int,
        done: int,
        now: datetime,
        progress: EnvelopeProgress | None = None,
    ) -> AsyncGenerator[Awaitable[None]]:
        """The transaction that writes a batch and its position, committed when the body succeeds.
        Its statements, which the body is given to await, run while the body stores the events.

        tally:          of all items of the batch, for the ledger
        position, done: the last ids of the previous batch and of this one
        progress:       after a piece that is not the last of its envelope; the position stays
        raises:         NotLeaseHolder, PersonsChanged
        """
        async with self.records.write() as connection:
            holder = self._at(position, now)
            write = partial(
                _write, holder=holder, written=written, tally=tally, done=done, progress=progress
            )
            async with _concurrently(connection, self._checked(written, write)) as statements:
                yield statements
        self._remember(written)

    @asynccontextmanager
    async def settling(
        self,
        letter: MarkedLetter,
        written: Sequence[BatchChanges],
        tally: Tally,
        position: int,
        now: datetime,
    ) -> AsyncGenerator[None]:
        """The same for a dead letter, whose row is deleted; the position does not move.

        raises: NotLeaseHolder, LetterGone, both before the body runs; PersonsChanged
        """
        async with self.records.write() as connection:
            await connection.run_sync(renew, self._at(position, now))
            tally = joined(tally, await connection.run_sync(delete_retried, letter))
            version = max(position, letter.entry.id)
            write = partial(_write_parts, written=written, tally=tally, version=version, now=now)
            async with _concurrently(connection, self._checked(written, write)):
                yield
        self._remember(written)

    async def store_dead_letter(
        self,
        entry: LogEntry,
        items: int,
        position: int,
        error: str,
        now: datetime,
        progress: EnvelopeProgress | None = None,
    ) -> None:
        """Store an envelope, or a piece of one, as a dead letter, and advance past it.

        progress:  as of `writing`
        raises: NotLeaseHolder
        """
        async with self.records.write() as connection:
            await connection.run_sync(
                _store_dead_letter, self._at(position, now), entry, items, error, progress
            )

    def _checked(
        self, written: Sequence[BatchChanges], write: Callable[[Connection], None]
    ) -> Callable[[Connection], None]:
        """Check first whether the persons that were used are unchanged."""

        def checked(connection: Connection) -> None:
            require_current(connection, _only_used(written))
            write(connection)

        return checked if self.is_shared else write

    def _remember(self, written: Sequence[BatchChanges]) -> None:
        for part in written:
            self.recent.put(part.resolved.project_id, part.resolved.owners)
            self.properties.add(part.resolved.project_id, part.resolved.properties)

    def _at(self, position: int, now: datetime) -> "PositionHolder":
        return PositionHolder(self.consumer, self.holder, position, now)


def _evict_changed(
    connection: Connection, recent: PersonCache, names: Mapping[int, Sequence[str]]
) -> None:
    """Evict the cached persons of these distinct ids that another server has changed."""
    remembered = {project_id: recent.find(project_id, ids)[0] for project_id, ids in names.items()}
    used = {
        (person.id, person.version)
        for persons in remembered.values()
        for person in persons.values()
        if person.id is not None
    }
    changed = changed_persons(connection, used)
    if changed:
        for project_id, persons in remembered.items():
            recent.evict(project_id, persons, changed)


def _only_used(written: Sequence[BatchChanges]) -> dict[int, int]:
    """Id → version of the stored persons that have events in a batch but are not changed by it; the
    changed ones are checked when they are locked."""
    found: dict[int, int] = {}
    for part in written:
        changed = part.resolved.persons.expected
        for person in part.resolved.owners.values():
            if person.id is not None and person.id not in changed:
                found[person.id] = person.version
    return found


def _load(
    connection: Connection,
    arrived: Mapping[int, Sequence[ReceivedEvent]],
    names: Mapping[int, Sequence[str]],
    recent: PersonCache,
    properties: PropertyCache,
    allowance: ByteBudget,
) -> dict[int, ProjectState]:
    floors = load_floors(connection, list(arrived))
    recent.clear_if_deleted(floors)
    erasures = load_erasures(connection, list(floors)) if floors else {}
    found: dict[int, ProjectState] = {}
    for project_id, events in arrived.items():
        persons, unread = recent.find(project_id, names[project_id])
        read = load_states(connection, project_id, unread, allowance)
        types = load_types(connection, project_id)
        found[project_id] = ProjectState(
            persons | recent.canonical(read),
            types,
            load_groups(connection, project_id, identified_groups(events, types), allowance),
            load_properties(connection, project_id, _names(events), properties),
            floors.get(project_id, 0),
            erasures.get(project_id, ()),
        )
    return found


def _names(events: Sequence[ReceivedEvent]) -> set[str]:
    return {event.prepared.name for event in events}


@asynccontextmanager
async def _concurrently(
    connection: AsyncConnection, work: Callable[[Connection], None]
) -> AsyncGenerator[Awaitable[None]]:
    """Run `work` while the body runs, and await it."""
    statements = asyncio.ensure_future(connection.run_sync(work))
    try:
        yield statements
    finally:
        await statements


def _write(
    connection: Connection,
    holder: PositionHolder,
    written: Sequence[BatchChanges],
    tally: Tally,
    done: int,
    progress: EnvelopeProgress | None,
) -> None:
    complete(connection, holder, done, progress)
    _write_parts(connection, written, tally, done, holder.now)
    if holder.consumer != HISTORICAL:  # imports cause no alerts
        projects = {part.resolved.project_id for part in written}
        count_captured(connection, projects, partial(_counts, written), holder.now)


def _write_parts(
    connection: Connection,
    written: Sequence[BatchChanges],
    tally: Tally,
    version: int,
    now: datetime,
) -> None:
    for part in written:
        resolved = part.resolved
        project_id = resolved.project_id
        write_changes(connection, project_id, resolved.persons, part.overrides, version)
        write_groups(connection, project_id, resolved.new_types, resolved.groups)
        if resolved.new_types:
            move_flag_version(connection, project_id)
        record_properties(connection, project_id, resolved.properties, now)
    # After all persons are locked, so that flag evaluation and ingestion cannot deadlock.
    for part in written:
        if attached := part.resolved.persons.attached:
            adopt_waiting(connection, part.resolved.project_id, list(attached))
    names = {(part.resolved.project_id, name) for part in written for name in part.resolved.names}
    record_seen(connection, names, now)
    write_tally(connection, joined(tally, *(part.resolved.skipped for part in written)))


def _counts(written: Sequence[BatchChanges]) -> Mapping[tuple[int, str], int]:
    """Number of stored events by project and name."""
    parts = (part.resolved for part in written)
    return Counter((part.project_id, one.prepared.name) for part in parts for one in part.arrived)


def _store_dead_letter(
    connection: Connection,
    holder: PositionHolder,
    entry: LogEntry,
    items: int,
    error: str,
    progress: EnvelopeProgress | None,
) -> None:
    complete(connection, holder, entry.id, progress)
    insert_dead_letter(connection, entry, items, error, holder.now)
