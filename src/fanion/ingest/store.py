"""Everything that one run writes to the records store, in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, insert, select

from fanion.db.engine import Records
from fanion.db.tables import dead_letters, log_positions
from fanion.db.upsert import upsert
from fanion.events.definitions_store import record_seen
from fanion.groups.store import load_groups, load_types, write_groups
from fanion.ingest.resolve import Arrived, Known, Resolved, identified_groups
from fanion.log.port import Entry
from fanion.persons.merge import named_ids
from fanion.persons.store import load_states, overridden, write_changes
from fanion.projects.flag_version_store import move_flag_version


@dataclass(frozen=True, slots=True)
class Position:
    """at: the last id that is done; claimed: the last id of the run in hand, or the same"""

    at: int
    claimed: int


@dataclass(frozen=True, slots=True)
class Written:
    """One project's part, with its overrides: merged person → surviving person."""

    resolved: Resolved
    overrides: Mapping[UUID, UUID]


@dataclass(frozen=True, slots=True)
class IngestStore:
    """consumer: the name under which the position is kept"""

    records: Records
    consumer: str

    async def position(self) -> Position:
        row = log_positions.c
        statement = select(row.position, row.claimed).where(row.consumer == self.consumer)
        rows = await self.records.fetch(statement)
        return Position(rows[0].position, rows[0].claimed) if rows else Position(0, 0)

    async def claim(self, position: int, upto: int) -> None:
        """After a crash the entries up to `upto` are taken as one run again."""
        async with self.records.write() as connection:
            await connection.run_sync(_move, self.consumer, position, upto)

    async def known(self, arrived: Mapping[int, Sequence[Arrived]]) -> dict[int, Known]:
        """What is stored about everything that the events of each project name."""
        async with self.records.read() as connection:
            return await connection.run_sync(_known, arrived)

    async def overrides(self, resolved: Resolved) -> dict[UUID, UUID]:
        """This run's, and earlier ones whose person it merges on."""
        changes = {one.old_person: one.new_person for one in resolved.persons.overrides}
        if not changes:
            return {}
        async with self.records.read() as connection:
            earlier = await connection.run_sync(overridden, resolved.project_id, list(changes))
        return {old: changes[new] for old, new in earlier.items()} | changes

    async def write(self, written: Sequence[Written], done: int, now: datetime) -> None:
        """All of it and the position, or nothing. done: the last id of the run"""
        async with self.records.write() as connection:
            await connection.run_sync(_write, self.consumer, written, done, now)

    async def bury(self, entry: Entry, error: str, now: datetime) -> None:
        """Put an envelope that cannot be ingested aside, and step over it."""
        async with self.records.write() as connection:
            await connection.run_sync(_bury, self.consumer, entry, error, now)


def _move(connection: Connection, consumer: str, position: int, claimed: int) -> None:
    statement = upsert(connection.dialect, log_positions).values(
        consumer=consumer, position=position, claimed=claimed
    )
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["consumer"], set_={"position": position, "claimed": claimed}
        )
    )


def _known(connection: Connection, arrived: Mapping[int, Sequence[Arrived]]) -> dict[int, Known]:
    found: dict[int, Known] = {}
    for project_id, events in arrived.items():
        commands = (event.prepared.person_command() for event in events)
        types = load_types(connection, project_id)
        found[project_id] = Known(
            load_states(connection, project_id, named_ids(commands)),
            types,
            load_groups(connection, project_id, identified_groups(events, types)),
        )
    return found


def _write(
    connection: Connection, consumer: str, written: Sequence[Written], done: int, now: datetime
) -> None:
    for part in written:
        resolved = part.resolved
        project_id = resolved.project_id
        write_changes(connection, project_id, resolved.persons, part.overrides, done)
        write_groups(connection, project_id, resolved.new_types, resolved.groups)
        if resolved.new_types:
            move_flag_version(connection, project_id)
    names = {(part.resolved.project_id, name) for part in written for name in part.resolved.names}
    record_seen(connection, names, now)
    _move(connection, consumer, done, done)


def _bury(connection: Connection, consumer: str, entry: Entry, error: str, now: datetime) -> None:
    envelope = entry.envelope
    connection.execute(
        insert(dead_letters).values(
            project_id=envelope.project_id,
            log_id=entry.id,
            received_at=envelope.received_at,
            failed_at=now,
            client_ip=envelope.client_ip,
            user_agent=envelope.user_agent,
            sent_at=envelope.sent_at,
            body=envelope.body,
            error=error,
        )
    )
    _move(connection, consumer, entry.id, entry.id)
