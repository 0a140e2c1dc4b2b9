"""The persons and the groups of an export, page by page, from the records store."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import Select

from fanion.db.engine import Records
from fanion.db.schema.tables import persons
from fanion.events.storage.export_query import ExportFormat
from fanion.events.storage.store import EventStore
from fanion.exports.model import PAGE_BYTES_MAX, Page, write_cursor
from fanion.exports.rows import TEXTS, Table
from fanion.groups.store import groups_behind
from fanion.persons.list_store import keys_of, read_keys, read_page

# Rows of one statement.
_ROWS_MAX: Final = 10_000
_TIME: Final = "DateTime64(6, 'UTC')"
PERSONS: Final = Table(
    {
        "uuid": "String",
        "distinct_ids": "Array(String)",
        "is_identified": "Bool",
        "created_at": _TIME,
        "properties": "String",
    }
)
GROUPS: Final = Table(
    {
        "group_type_index": "UInt8",
        "group_key": "String",
        "created_at": _TIME,
        "group_properties": "String",
    }
)
_person = persons.c
Row = Mapping[str, Any]


class RowsQuery(Struct, frozen=True):
    """The persons or groups of an export, by the time of their creation.

    Attributes:
        start: Inclusive.
        end: Exclusive.
        group_type_index: None for all types.
    """

    format: ExportFormat
    start: datetime | None = None
    end: datetime | None = None
    group_type_index: int | None = None


class PersonPlace(NamedTuple):
    created_at: datetime
    id: int


class GroupPlace(NamedTuple):
    type_index: int
    key: str


class _RowPages:
    """The rows of one export of a table."""

    table: Table

    def __init__(
        self, records: Records, events: EventStore, project_id: int, query: RowsQuery
    ) -> None:
        self._records = records
        self._events = events
        self._project_id = project_id
        self._query = query

    @property
    def head(self) -> bytes:
        return self.table.head(self._query.format)

    async def next_page(self, rows_max: int) -> Page:
        """Return the next page.

        Raises:
            RecordsUnavailable: The records store failed.
            EventStoreUnavailable: The event store, which writes Parquet, failed.
        """
        rows, place = await self._read(min(rows_max, _ROWS_MAX))
        text = await asyncio.to_thread(TEXTS[self._query.format], self.table, rows)
        if self._query.format == "parquet":
            text = await self._events.rows_as_parquet(self._project_id, self.table.schema, text)
        return Page(len(rows), text, place and write_cursor(place))

    async def _read(self, limit: int) -> tuple[Sequence[Row], Any]:
        """Return rows, and the place of the last one; None if there are no more."""
        raise NotImplementedError


class PersonPages(_RowPages):
    """The persons of an export, the oldest first."""

    table = PERSONS
    after: PersonPlace | None = None

    async def _read(self, limit: int) -> tuple[Sequence[Row], Any]:
        keys = await read_keys(self._records, self._keys().limit(limit))
        page = await read_page(self._records, self._project_id, keys, bytes_max=PAGE_BYTES_MAX)
        rows = [
            {
                "uuid": str(person.uuid),
                "distinct_ids": person.distinct_ids,
                "is_identified": person.is_identified,
                "created_at": _time_text(person.created_at),
                "properties": person.properties,
            }
            for person in page.persons
        ]
        if page.seen == len(keys) < limit:
            self.after = None
        else:
            last = keys[page.seen - 1]
            self.after = PersonPlace(last.created_at, last.id)
        return rows, self.after

    def _keys(self) -> Select[Any]:
        query, after = self._query, self.after
        keys = keys_of(self._project_id).order_by(_person.created_at, _person.id)
        if query.start is not None:
            keys = keys.where(_person.created_at >= query.start)
        if query.end is not None:
            keys = keys.where(_person.created_at < query.end)
        if after is None:
            return keys
        at_once = (_person.created_at == after.created_at) & (_person.id > after.id)
        return keys.where(
            _person.created_at >= after.created_at,
            (_person.created_at > after.created_at) | at_once,
        )


class GroupPages(_RowPages):
    """The groups of an export, by type and key."""

    table = GROUPS
    after: GroupPlace | None = None

    async def _read(self, limit: int) -> tuple[Sequence[Row], Any]:
        query = self._query
        found, is_cut = await groups_behind(
            self._records,
            self._project_id,
            self.after,
            (query.start, query.end),
            query.group_type_index,
            limit,
            PAGE_BYTES_MAX,
        )
        rows = [
            {
                "group_type_index": group.index,
                "group_key": group.key,
                "created_at": _time_text(group.created_at),
                "group_properties": group.properties,
            }
            for group in found
        ]
        self.after = GroupPlace(found[-1].index, found[-1].key) if is_cut else None
        return rows, self.after


def _time_text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
