"""The records store of a consumer: what a batch reads, and the transactions in which it writes."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import perf_counter
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from fanion.accept_log.port import LogEntry
from fanion.db.engine import Records
from fanion.events.definitions.properties import PropertyCache
from fanion.events.definitions.property_store import load_properties
from fanion.events.mirror_outbox_store import forget_mirrored
from fanion.groups.store import load_groups, load_types
from fanion.ingest.ledger.dead_letters_store import (
    DeadLetters,
    MarkedLetter,
)
from fanion.ingest.ledger.model import Tally
from fanion.ingest.pipeline import changes_store
from fanion.ingest.pipeline.batch import PreparedBatch
from fanion.ingest.pipeline.changes_store import BatchChanges
from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.ingest.pipeline.position_store import (
    LANES,
    EnvelopeProgress,
    Position,
    PositionHolder,
    Span,
    advance_positions,
    read_held,
    read_single,
)
from fanion.ingest.pipeline.resolve import (
    ProjectState,
    Resolved,
    distinct_ids,
    give_version,
    identified_groups,
)
from fanion.persons.erasure_store import load_erasures, load_floors
from fanion.persons.merge import PersonState, person_uuid
from fanion.persons.splits.store import load_split_ids
from fanion.persons.state.conflicts_store import PersonsChanged, changed_persons
from fanion.persons.state.store import load_states, overridden
from fanion.persons.state.versions_store import Versions
from fanion.projects.deletion.store import deleted_projects
from fanion.properties.size import ByteBudget

# The limit for properties of persons and groups that a batch reads. Small events can name large
# persons: one request could name 2,000 of half a MB each.
READ_BYTES_MAX = 256 * 2**20


@dataclass(frozen=True, slots=True)
class IngestStore:
    """The records store as the consumer of one lane uses it.

    All consumers share `recent`, `properties` and `versions`.

    Attributes:
        consumer: The name under which the position is stored.
        read_bytes_max: The limit for the properties that one batch reads.
    """

    records: Records
    consumer: str
    recent: PersonCache
    properties: PropertyCache
    versions: Versions
    read_bytes_max: int = READ_BYTES_MAX

    @property
    def is_shared(self) -> bool:
        """Return whether other servers may change persons, so that the cache may be outdated."""
        return self.records.dialect == "postgresql"

    def token_source(self, span: Span) -> str:
        """Return what the deduplication token of a batch begins with.

        Of partitions in Kafka it names all positions: after a worker's end several others may
        repeat parts of its batch, which first and last entry do not tell apart. It also names the
        epochs: what is replayed may be gone from the event store, which remembers its token.
        """
        is_kafka = self.consumer not in LANES
        return f"{self.consumer}-{span.digest}" if is_kafka else self.consumer

    @property
    def letters(self) -> DeadLetters:
        return DeadLetters(self.records)

    async def single_position(self) -> Position:
        """Return the position in the only partition, in SQLite."""
        async with self.records.write() as connection:
            return await connection.run_sync(read_single, self.consumer)

    async def held_positions(self, epochs: Mapping[int, int]) -> dict[int, Position]:
        """Return the positions in partitions that this process holds.

        Raises:
            NotLeaseHolder: Another server has taken a partition.
        """
        async with self.records.read() as connection:
            return await connection.run_sync(read_held, self.consumer, epochs)

    async def claim_span(self, span: Span, mirrored: Collection[int] = ()) -> None:
        """Claim the entries of a span, so that they form the same batch again after a crash.

        The claim is flushed to the disk, and with it everything that was appended before.

        Args:
            mirrored: Versions of changes that were sent to the event store.

        Raises:
            NotLeaseHolder: Another server has taken a partition.
        """
        async with self.records.write() as connection:
            await connection.run_sync(advance_positions, self.consumer, span, span.after, span.upto)
            await connection.run_sync(forget_mirrored, mirrored)

    async def forget_mirrored(self, versions: Collection[int]) -> None:
        """Delete the notes of changes, by version, that were sent to the event store."""
        async with self.records.write() as connection:
            await connection.run_sync(forget_mirrored, versions)

    async def load_states(self, batch: PreparedBatch, now: datetime) -> dict[int, ProjectState]:
        """Load what is stored about the persons, groups and properties that the events name.

        Raises:
            ByteBudgetExceeded: The batch must be divided.
        """
        self.properties.refresh(now)
        names = await asyncio.to_thread(_distinct_ids, batch)
        async with self.records.read() as connection:
            if self.is_shared:
                await connection.run_sync(_evict_changed, self.recent, names)
            allowance = ByteBudget(self.read_bytes_max)
            return await connection.run_sync(
                _load_states, batch, names, self.recent, self.properties, allowance
            )

    async def create_types(self, types: Mapping[int, Mapping[str, int]]) -> None:
        """Create group types before events are stored that carry their indices.

        Whatever becomes of the batch, no other type gets one of these indices.

        Args:
            types: Group type → index, by project.

        Raises:
            PersonsChanged: Another writer was first.
        """
        await self._write(partial(changes_store.create_types, types=types))

    async def versioned_changes(self, resolved: Resolved) -> BatchChanges:
        """Return the changes with their version, drawn after everything they depend on was read.

        The overrides are those of this batch, and earlier ones whose surviving person it merges.
        """
        changes = resolved.persons.overrides
        earlier: Mapping[UUID, tuple[UUID, int]] = {}
        if merged := [merge.person.uuid for merge in resolved.persons.merged]:
            async with self.records.read() as connection:
                earlier = await connection.run_sync(overridden, resolved.project_id, merged)
        overrides = {old: changes[new] for old, (new, _) in earlier.items()}
        overrides |= changes
        replaced = max((version for _, version in earlier.values()), default=0)
        newest = max(resolved.newest_version, replaced)
        if not (overrides or resolved.has_versions):
            return BatchChanges(resolved, overrides, newest)
        version = await self.versions.draw(newest)
        give_version(resolved, version)
        return BatchChanges(resolved, overrides, version)

    async def write_batch(
        self,
        written: Sequence[BatchChanges],
        tally: Tally,
        span: Span,
        now: datetime,
        progress: EnvelopeProgress | None = None,
    ) -> float:
        """Write a batch and its positions in one transaction, after its events are stored.

        Args:
            tally: The tally of all items of the batch, for the ledger.
            span: The entries of the batch.
            progress: Given after a piece that is not the last of its envelope; the position stays.

        Returns:
            How many seconds the transaction took, without the wait for other writers.

        Raises:
            NotLeaseHolder: Another server has taken a partition.
            PersonsChanged: Another server has changed persons or groups of the batch.
        """
        write = partial(
            changes_store.write_batch,
            holder=self._at(span, now),
            written=written,
            tally=tally,
            progress=progress,
        )
        took_s = await self._write(
            partial(changes_store.write_checked, written=written, write=write)
        )
        self._remember(written)
        return took_s

    async def write_letter(
        self,
        letter: MarkedLetter,
        written: Sequence[BatchChanges],
        tally: Tally,
        span: Span,
        now: datetime,
    ) -> None:
        """Write the changes of a dead letter and delete its row. No position moves.

        Args:
            span: Without entries.

        Raises:
            NotLeaseHolder: Another server has taken the partition.
            LetterGone: The letter was discarded or ingested meanwhile.
            PersonsChanged: Another server has changed persons or groups of the letter.
        """
        write = partial(
            changes_store.write_letter,
            letter=letter,
            written=written,
            tally=tally,
            holder=self._at(span, now),
        )
        await self._write(partial(changes_store.write_checked, written=written, write=write))
        self._remember(written)

    async def _write(self, write: Callable[[Connection], None]) -> float:
        """Run a transaction, and return how many seconds it took since it began.

        Raises:
            PersonsChanged: Also if another writer was first to create a row.
        """
        try:
            async with self.records.write() as connection:
                started = perf_counter()
                await connection.run_sync(write)
            return perf_counter() - started
        except IntegrityError as error:
            if "unique" not in str(error.orig).lower():
                raise
            raise PersonsChanged("another writer was first to create the same") from error

    async def store_dead_letter(
        self,
        entry: LogEntry,
        items: int,
        span: Span,
        error: str,
        now: datetime,
        progress: EnvelopeProgress | None = None,
    ) -> None:
        """Store an envelope, or a piece of one, as a dead letter, and advance past it.

        Args:
            progress: As in `write_batch`.

        Raises:
            NotLeaseHolder: Another server has taken the partition.
        """
        async with self.records.write() as connection:
            await connection.run_sync(
                changes_store.store_dead_letter, self._at(span, now), entry, items, error, progress
            )

    def _remember(self, written: Sequence[BatchChanges]) -> None:
        for part in written:
            self.recent.put_persons(part.resolved.project_id, part.resolved.owners)
            self.properties.add_properties(part.resolved.project_id, part.resolved.properties)

    def _at(self, span: Span, now: datetime) -> "PositionHolder":
        return PositionHolder(self.consumer, span, now)


def _distinct_ids(batch: PreparedBatch) -> dict[int, list[str]]:
    return {project_id: distinct_ids(events) for project_id, events in batch.arrived.items()}


def _evict_changed(
    connection: Connection, recent: PersonCache, names: Mapping[int, Sequence[str]]
) -> None:
    """Evict the cached persons of these distinct ids that another server has changed."""
    remembered = {
        project_id: recent.find_persons(project_id, ids)[0] for project_id, ids in names.items()
    }
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


def _load_states(
    connection: Connection,
    batch: PreparedBatch,
    names: Mapping[int, Sequence[str]],
    recent: PersonCache,
    properties: PropertyCache,
    allowance: ByteBudget,
) -> dict[int, ProjectState]:
    floors = load_floors(connection, list(batch.arrived))
    recent.clear_if_deleted(floors)
    erasures = load_erasures(connection, list(floors)) if floors else {}
    deleted = deleted_projects(connection, list(floors)) if floors else ()
    states: dict[int, ProjectState] = {}
    for project_id, events in batch.arrived.items():
        persons, unread = recent.find_persons(project_id, names[project_id])
        read = load_states(connection, project_id, unread, allowance)
        persons |= recent.canonical(read)
        types = load_types(connection, project_id)
        states[project_id] = ProjectState(
            persons,
            types,
            load_groups(connection, project_id, identified_groups(events, types), allowance),
            load_properties(connection, project_id, batch.names(project_id), properties),
            floors.get(project_id, 0),
            erasures.get(project_id, ()),
            project_id in deleted,
            _split_ids(connection, project_id, names[project_id], persons, floors),
        )
    return states


def _split_ids(
    connection: Connection,
    project_id: int,
    names: Sequence[str],
    persons: Mapping[str, PersonState],
    floors: Mapping[int, int],
) -> dict[UUID, UUID]:
    """Return the persons to make for distinct ids that were split off, where these have none.

    A split raises the project's floor.
    """
    if project_id not in floors:
        return {}
    unknown = [person_uuid(project_id, name) for name in names if name not in persons]
    return load_split_ids(connection, project_id, unknown)
