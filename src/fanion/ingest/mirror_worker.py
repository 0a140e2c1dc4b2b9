"""Background worker that sends committed changes which never reached the event store's mirror.

Their processes ended before sending them, or the event store was out of reach.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Never
from uuid import UUID

import msgspec
import structlog
from sqlalchemy import Connection

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.unwritten import UnwrittenPolls
from fanion.events.event import (
    EventRejected,
    EventStoreUnavailable,
    GroupRow,
    Override,
    PersonRow,
)
from fanion.events.mirror_outbox_store import (
    Unmirrored,
    forget_mirrored,
    read_unmirrored,
    unmirrored_versions,
)
from fanion.events.storage.store import EventStore
from fanion.groups.model import group_row
from fanion.groups.store import load_groups
from fanion.persons.state.store import PORTION_IDS, load_by_uuid, load_overrides
from fanion.properties.size import ByteBudget
from fanion.runtime.background import run_loop

# A note that is still there after this long was left by its process.
EVERY_S: Final = 5.0
# Looks in a row that are left out while nothing is pending and nobody writes an SQLite store.
LEFT_OUT_MAX: Final = 11
# The limit for the properties read at a time.
BYTES_MAX: Final = 256 * 2**20

_encode = msgspec.json.Encoder().encode
Group = tuple[int, str]


@dataclass(slots=True)
class MirrorWorker:
    """The worker that mirrors the changes left unsent by any process."""

    records: Records
    events: EventStore
    _pending: frozenset[int] = field(default=frozenset())
    _unwritten: UnwrittenPolls = field(init=False)

    def __post_init__(self) -> None:
        self._unwritten = UnwrittenPolls(self.records.write_mark, LEFT_OUT_MAX)

    async def run(self) -> Never:
        """Mirror pending changes regularly, until cancelled."""
        failures = EventStoreUnavailable, RecordsUnavailable
        await run_loop(self.poll, EVERY_S, "changes_not_mirrored", failures)

    async def poll(self) -> None:
        """Do what `look` does, unless nothing is pending and an SQLite store is unwritten."""
        await self._unwritten.poll(self.look, has_work=bool(self._pending))

    async def look(self) -> None:
        """Mirror changes that were already pending at the previous check.

        Raises:
            EventStoreUnavailable: The event store failed.
            RecordsUnavailable: The records store failed.
        """
        async with self.records.read() as connection:
            versions = await connection.run_sync(unmirrored_versions)
        due = [version for version in versions if version in self._pending]
        self._pending = frozenset(versions)
        for version in due:
            await self._send(version)
        if due:
            structlog.get_logger().info("changes_mirrored", changes=len(due))

    async def _send(self, version: int) -> None:
        """Send the records in their present state, which may be newer than the note."""
        async with self.records.read() as connection:
            note = await connection.run_sync(read_unmirrored, version)
        if note is None:
            return
        try:
            for start in range(0, len(note.persons), PORTION_IDS):
                await self._send_persons(note, note.persons[start : start + PORTION_IDS])
            for start in range(0, len(note.groups), PORTION_IDS):
                await self._send_groups(note, note.groups[start : start + PORTION_IDS])
        except EventRejected:
            # It would be refused each time. The next change of the person or group is sent again.
            structlog.get_logger().exception("change_not_mirrored", project=note.project_id)
        async with self.records.write() as connection:
            await connection.run_sync(forget_mirrored, [version])

    async def _send_persons(self, note: Unmirrored, uuids: Sequence[UUID]) -> None:
        async with self.records.read() as connection:
            persons, overrides = await connection.run_sync(_read_persons, note, uuids)
        encoder = self.events.encoder
        await self.events.insert(
            await asyncio.to_thread(encoder.batch, (), persons, overrides), token=""
        )

    async def _send_groups(self, note: Unmirrored, places: Sequence[Group]) -> None:
        async with self.records.read() as connection:
            groups = await connection.run_sync(_read_groups, note, places)
        await self.events.mirror_groups(groups)


def _read_persons(
    connection: Connection, note: Unmirrored, uuids: Sequence[UUID]
) -> tuple[list[PersonRow], list[Override]]:
    stored = load_by_uuid(connection, note.project_id, uuids, ByteBudget(BYTES_MAX))
    rows = [
        PersonRow(
            note.project_id,
            person.uuid,
            _encode(person.properties),
            person.created_at,
            person.version,
            values=person.properties,
        )
        for person in stored
    ]
    gone = {*uuids}.difference(person.uuid for person in stored)
    rows += [PersonRow.gone(note.project_id, uuid, note.version) for uuid in gone]
    return rows, load_overrides(connection, note.project_id, uuids)


def _read_groups(connection: Connection, note: Unmirrored, keys: Sequence[Group]) -> list[GroupRow]:
    groups = load_groups(connection, note.project_id, keys, ByteBudget(BYTES_MAX))
    return [group_row(note.project_id, *key, group) for key, group in groups.items()]
