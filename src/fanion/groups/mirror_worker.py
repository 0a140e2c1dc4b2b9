"""Completion of the mirror of groups in the event store.

It sends groups that were stored before there was a mirror, and groups that a program without a
mirror has written since. Ingestion mirrors what it changes. The rows of both stores are compared by
number and versions, and only those that the mirror lacks are sent, so that an interrupted run goes
on where it was.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any, Final, Never

import msgspec
import structlog
from sqlalchemy import Row, Text, func, select, type_coerce

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.tables import groups
from fanion.events.event import EventStoreUnavailable, GroupRow
from fanion.events.storage.store import EventStore
from fanion.groups.store import PORTION_KEYS
from fanion.runtime.background import run_loop

# Other programs may write between two rounds; a round that finds nothing takes milliseconds.
EVERY_S: Final = 3600.0
# The interval of checks until ingestion has begun here, or on another server.
LOOK_S: Final = 5.0
# Groups compared at a time, and bytes sent at a time.
KEYS_MAX: Final = 2_000
BYTES_MAX: Final = 32 * 2**20

_decode = msgspec.json.Decoder().decode
_group = groups.c

_SUMS = select(
    _group.project_id,
    _group.group_type_index,
    func.count().label("number"),
    func.sum(_group.version).label("versions"),
).group_by(_group.project_id, _group.group_type_index)

MIRRORED_SUMS = """
  SELECT project_id, group_type_index, count(), sum(version)
    FROM groups FINAL
GROUP BY project_id, group_type_index
"""

MIRRORED_VERSIONS = """
  SELECT group_key, max(version)
    FROM groups
   WHERE project_id = {project_id:UInt64}
     AND group_type_index = {index:UInt8}
     AND group_key IN {keys:Array(String)}
GROUP BY group_key
"""


@dataclass(slots=True)
class GroupMirror:
    """The background loop that completes the mirror.

    Attributes:
        is_leading: Whether this server is the one, of several that ingest, that does this.
    """

    records: Records
    events: EventStore
    is_leading: Callable[[], bool]
    _completed: float = -inf

    async def run(self) -> Never:
        """Complete the mirror at regular intervals, until cancelled."""
        failures = RecordsUnavailable, EventStoreUnavailable
        await run_loop(self._complete_and_log, LOOK_S, "groups_not_mirrored", failures)

    async def _complete_and_log(self) -> None:
        if not self.is_leading() or monotonic() < self._completed + EVERY_S:
            return
        if number := await self.complete():
            structlog.get_logger().info("groups_mirrored", groups=number)
        self._completed = monotonic()

    async def complete(self) -> int:
        """Send the groups that the mirror lacks, and return their number.

        It may be interrupted and repeated at any point.

        Raises:
            RecordsUnavailable: The groups cannot be read.
            EventStoreUnavailable: The mirror cannot be read or written.
        """
        rows = await self.records.fetch(_SUMS)
        stored = {(row.project_id, row.group_type_index): _sums_of_row(row) for row in rows}
        mirrored = await self._mirrored_sums()
        lacking = [key for key, sums in sorted(stored.items()) if mirrored.get(key) != sums]
        return sum([await self._complete_type(*key) for key in lacking])

    async def _complete_type(self, project_id: int, index: int) -> int:
        page = (
            select(_group.group_key, _group.version)
            .where(_group.project_id == project_id, _group.group_type_index == index)
            .order_by(_group.group_key)
            .limit(KEYS_MAX)
        )
        number, after = 0, page
        while rows := await self.records.fetch(after):
            known = await self._mirrored_versions(
                project_id, index, [row.group_key for row in rows]
            )
            lacking = [row.group_key for row in rows if known.get(row.group_key, -1) < row.version]
            await self._send_groups(project_id, index, lacking)
            number += len(lacking)
            after = page.where(_group.group_key > rows[-1].group_key)
        return number

    async def _send_groups(self, project_id: int, index: int, keys: Sequence[str]) -> None:
        waiting: list[GroupRow] = []
        size = 0
        for start in range(0, len(keys), PORTION_KEYS):
            group_rows = await self._read_groups(
                project_id, index, keys[start : start + PORTION_KEYS]
            )
            waiting += group_rows
            size += sum(len(row.properties) for row in group_rows)
            if size > BYTES_MAX:
                await self.events.mirror_groups(waiting)
                waiting, size = [], 0
        await self.events.mirror_groups(waiting)

    async def _read_groups(
        self, project_id: int, index: int, keys: Sequence[str]
    ) -> list[GroupRow]:
        rows = await self.records.fetch(
            select(
                _group.group_key,
                type_coerce(_group.properties, Text).label("text"),
                _group.created_at,
                _group.version,
            ).where(
                _group.project_id == project_id,
                _group.group_type_index == index,
                _group.group_key.in_(keys),
            )
        )
        return await asyncio.to_thread(lambda: list(_mirror_rows(project_id, index, rows)))

    async def _mirrored_sums(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        answer = await self.events.ask(MIRRORED_SUMS, {}, estimated=False)
        rows = zip(*answer.columns, strict=True)
        return {(row[0], row[1]): (row[2], row[3]) for row in rows}

    async def _mirrored_versions(
        self, project_id: int, index: int, keys: Sequence[str]
    ) -> dict[str, int]:
        parameters = {"project_id": project_id, "index": index, "keys": list(keys)}
        answer = await self.events.ask(MIRRORED_VERSIONS, parameters, estimated=False)
        return dict(zip(*answer.columns, strict=True)) if answer.columns else {}


def _sums_of_row(row: Row[Any]) -> tuple[int, int]:
    return row.number, int(row.versions)


def _mirror_rows(project_id: int, index: int, rows: Sequence[Row[Any]]) -> Iterator[GroupRow]:
    for row in rows:
        text = row.text.encode()
        yield GroupRow(
            project_id,
            index,
            row.group_key,
            text,
            row.created_at,
            row.version,
            values=_decode(text),
        )
