"""Everything that one batch writes to the records store, in one transaction."""

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
from fanion.events.definitions.model import KnownProperties
from fanion.events.definitions.property_store import load_properties, record_properties
from fanion.events.definitions.store import record_seen
from fanion.groups.store import load_groups, load_types, write_groups
from fanion.ingest.ledger.dead_letters_store import DeadLetters, MarkedLetter, put_aside, take_out
from fanion.ingest.ledger.model import Tally, joined
from fanion.ingest.ledger.store import write_tally
from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.ingest.pipeline.position_store import (
    HISTORICAL,
    Begun,
    Position,
    PositionHolder,
    hold,
    move,
    release,
    step,
    take,
)
from fanion.ingest.pipeline.prepare import Arrived
from fanion.ingest.pipeline.resolve import Known, Resolved, distinct_ids, identified_groups
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

# Of the properties of persons and groups that a batch reads. Small events can name large persons:
# 2,000 of half a MB in one request would be read, changed and written at once.
READ_BYTES_MAX = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Written:
    """One project's part, with its overrides: merged person → surviving person."""

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
    properties: KnownProperties
    read_bytes_max: int = READ_BYTES_MAX

    @property
    def is_shared(self) -> bool:
        """Whether other servers change persons too, unknown to the cache of this process."""
        return self.records.dialect == "postgresql"

    @property
    def letters(self) -> DeadLetters:
        return DeadLetters(self.records)

    async def take(self, now: datetime) -> Position:
        """Become the one that ingests, of all lanes: a merge in one changes whose the events of the
        other are. Learn where to go on with this one. raises: NotOurs"""
        async with self.records.write() as connection:
            return await connection.run_sync(take, self.consumer, self.holder, now)

    async def renew(self, now: datetime) -> None:
        """Go on to be the one that ingests, although nothing comes. raises: NotOurs"""
        async with self.records.write() as connection:
            await connection.run_sync(hold, self._at(0, now))

    async def release(self, now: datetime) -> None:
        """Let another server go on at once."""
        async with self.records.write() as connection:
            await connection.run_sync(release, self.consumer, self.holder, now)

    async def claim(self, position: int, upto: int, now: datetime) -> None:
        """After a crash the entries up to `upto` are taken as one batch again. raises: NotOurs"""
        async with self.records.write() as connection:
            await connection.run_sync(move, self._at(position, now), position, upto)

    async def known(
        self, arrived: Mapping[int, Sequence[Arrived]], now: datetime
    ) -> dict[int, Known]:
        """What is stored about everything that the events of each project name.

        raises: ByteBudgetExceeded, when a batch must be taken in parts
        """
        self.properties.refresh(now)
        names = {project_id: distinct_ids(events) for project_id, events in arrived.items()}
        async with self.records.read() as connection:
            if self.is_shared:
                await connection.run_sync(_let_go_of_changed, self.recent, names)
            allowance = ByteBudget(self.read_bytes_max)
            return await connection.run_sync(
                _known, arrived, names, self.recent, self.properties, allowance
            )

    async def overrides(self, resolved: Resolved) -> dict[UUID, UUID]:
        """This batch's, and earlier ones whose person it merges on."""
        changes = resolved.persons.overrides
        if not changes:
            return {}
        async with self.records.read() as connection:
            earlier = await connection.run_sync(overridden, resolved.project_id, list(changes))
        return {old: changes[new] for old, new in earlier.items()} | dict(changes)

    @asynccontextmanager
    async def writing(
        self,
        written: Sequence[Written],
        tally: Tally,
        position: int,
        done: int,
        now: datetime,
        begun: Begun | None = None,
    ) -> AsyncGenerator[Awaitable[None]]:
        """All of it and the position, or nothing, committed when the body has ended well: the
        statements, which the body is given, run while it stores the events.

        tally:          of all items of the batch, for the ledger
        position, done: the last ids of the batch before and of this one
        begun:          after a piece that is not the last of its envelope: the position stays
        raises:         NotOurs, PersonsChanged
        """
        async with self.records.write() as connection:
            holder = self._at(position, now)
            write = partial(
                _write, holder=holder, written=written, tally=tally, done=done, begun=begun
            )
            async with _concurrently(connection, self._checked(written, write)) as statements:
                yield statements
        self._keep(written)

    @asynccontextmanager
    async def settling(
        self,
        letter: MarkedLetter,
        written: Sequence[Written],
        tally: Tally,
        position: int,
        now: datetime,
    ) -> AsyncGenerator[None]:
        """The same for a dead letter, whose row goes; the position stays.

        raises: NotOurs, LetterGone, both before the body begins; PersonsChanged
        """
        async with self.records.write() as connection:
            await connection.run_sync(hold, self._at(position, now))
            tally = joined(tally, await connection.run_sync(take_out, letter))
            version = max(position, letter.entry.id)
            write = partial(_write_parts, written=written, tally=tally, version=version, now=now)
            async with _concurrently(connection, self._checked(written, write)):
                yield
        self._keep(written)

    async def bury(
        self,
        entry: LogEntry,
        items: int,
        position: int,
        error: str,
        now: datetime,
        begun: Begun | None = None,
    ) -> None:
        """Put an envelope, or a piece of one, that cannot be ingested aside, and step over it.

        begun:  as of `writing`
        raises: NotOurs
        """
        async with self.records.write() as connection:
            await connection.run_sync(_bury, self._at(position, now), entry, items, error, begun)

    def _checked(
        self, written: Sequence[Written], write: Callable[[Connection], None]
    ) -> Callable[[Connection], None]:
        """First, whether the persons that were used are still as they were read."""

        def checked(connection: Connection) -> None:
            require_current(connection, _only_used(written))
            write(connection)

        return checked if self.is_shared else write

    def _keep(self, written: Sequence[Written]) -> None:
        for part in written:
            self.recent.keep(part.resolved.project_id, part.resolved.owners)
            self.properties.add(part.resolved.project_id, part.resolved.properties)

    def _at(self, position: int, now: datetime) -> "PositionHolder":
        return PositionHolder(self.consumer, self.holder, position, now)


def _let_go_of_changed(
    connection: Connection, recent: PersonCache, names: Mapping[int, Sequence[str]]
) -> None:
    """What is remembered under these distinct ids, and has been changed by another server."""
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
            recent.let_go(project_id, persons, changed)


def _only_used(written: Sequence[Written]) -> dict[int, int]:
    """Number → version of the stored persons whose events are in a batch that does not change them;
    the others are looked at when they are locked."""
    found: dict[int, int] = {}
    for part in written:
        changed = part.resolved.persons.expected
        for person in part.resolved.owners.values():
            if person.id is not None and person.id not in changed:
                found[person.id] = person.version
    return found


def _known(
    connection: Connection,
    arrived: Mapping[int, Sequence[Arrived]],
    names: Mapping[int, Sequence[str]],
    recent: PersonCache,
    properties: KnownProperties,
    allowance: ByteBudget,
) -> dict[int, Known]:
    floors = load_floors(connection, list(arrived))
    recent.heed_deletions(floors)
    erasures = load_erasures(connection, list(floors)) if floors else {}
    found: dict[int, Known] = {}
    for project_id, events in arrived.items():
        persons, unread = recent.find(project_id, names[project_id])
        read = load_states(connection, project_id, unread, allowance)
        types = load_types(connection, project_id)
        found[project_id] = Known(
            persons | recent.same(read),
            types,
            load_groups(connection, project_id, identified_groups(events, types), allowance),
            load_properties(connection, project_id, _names(events), properties),
            floors.get(project_id, 0),
            erasures.get(project_id, ()),
        )
    return found


def _names(events: Sequence[Arrived]) -> set[str]:
    return {event.prepared.name for event in events}


@asynccontextmanager
async def _concurrently(
    connection: AsyncConnection, work: Callable[[Connection], None]
) -> AsyncGenerator[Awaitable[None]]:
    """Run statements while the body runs."""
    statements = asyncio.ensure_future(connection.run_sync(work))
    try:
        yield statements
    finally:
        await statements


def _write(
    connection: Connection,
    holder: PositionHolder,
    written: Sequence[Written],
    tally: Tally,
    done: int,
    begun: Begun | None,
) -> None:
    step(connection, holder, done, begun)
    _write_parts(connection, written, tally, done, holder.now)
    if holder.consumer != HISTORICAL:  # there are no alerts for what an import brings
        projects = {part.resolved.project_id for part in written}
        count_captured(connection, projects, partial(_counts, written), holder.now)


def _write_parts(
    connection: Connection,
    written: Sequence[Written],
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
    # Once all persons are locked, so that evaluation and ingestion do not wait for each other.
    for part in written:
        if attached := part.resolved.persons.attached:
            adopt_waiting(connection, part.resolved.project_id, list(attached))
    names = {(part.resolved.project_id, name) for part in written for name in part.resolved.names}
    record_seen(connection, names, now)
    write_tally(connection, joined(tally, *(part.resolved.not_made for part in written)))


def _counts(written: Sequence[Written]) -> Mapping[tuple[int, str], int]:
    """How many events are stored, by project and name."""
    parts = (part.resolved for part in written)
    return Counter((part.project_id, one.prepared.name) for part in parts for one in part.arrived)


def _bury(
    connection: Connection,
    holder: PositionHolder,
    entry: LogEntry,
    items: int,
    error: str,
    begun: Begun | None,
) -> None:
    step(connection, holder, entry.id, begun)
    put_aside(connection, entry, items, error, holder.now)
