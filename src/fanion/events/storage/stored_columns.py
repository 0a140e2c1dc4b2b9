"""The dedicated columns of properties, as the system tables of the engine list them.

Source: docs/decisions/0027-property-columns.md.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from clickhouse_connect.driver.client import Client

from fanion.events.storage.event_tables import (
    EventTable,
    event_tables,
    resume_mutations,
    system_table,
)
from fanion.properties.bindings import column_of

# What has this form and is no column of this version is removed.
_COLUMN: Final = re.compile(r"property_[0-9]+_[0-9a-f]{24}")
_COLUMNS: Final = """
  SELECT name, any(comment)
    FROM {columns}
   WHERE (database, table) IN {tables:Array(Tuple(String, String))}
     AND startsWith(name, 'property_')
GROUP BY name
  HAVING count() = {number:UInt64} * (SELECT count() FROM {hosts})
ORDER BY name
"""
_PARTS: Final = """
  SELECT partition_id, any(rows), groupArrayIf(column, is_own),
         groupArrayIf(column_data_compressed_bytes, startsWith(column, 'property_') AS is_own)
    FROM {parts_columns}
   WHERE database = {database:String}
     AND table = {table:String}
     AND active
     AND rows > 0
GROUP BY partition_id, name
ORDER BY partition_id DESC
"""
_FILLS: Final = """database = {database:String}
     AND table = {table:String}
     AND NOT is_done
     AND position(command, 'MATERIALIZE COLUMN property_') > 0"""
_PENDING: Final = f"""
  SELECT latest_fail_reason != ''
    FROM {{mutations}}
   WHERE {_FILLS}
"""
# Not by the ids of mutations: each shard counts its own, so that one may be a deletion elsewhere.
_KILL: Final = f"""
    KILL MUTATION {{on_hosts}}
   WHERE {_FILLS}
"""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of a property.

    Attributes:
        key: The property.
        size_bytes: Its size in the parts that have a file for each column, compressed.
        is_filled: Whether all parts have it.
    """

    key: str
    name: str
    size_bytes: int
    is_filled: bool


@dataclass(frozen=True, slots=True)
class StoredColumns:
    """The columns of properties as they are stored.

    Attributes:
        tables: The tables that have the columns, those with the rows first.
        outdated: The names of columns that this version does not use.
        events: The number of rows.
        unfilled: The partitions with a part that lacks columns, and these columns.
    """

    tables: Sequence[EventTable]
    columns: Sequence[StoredColumn]
    outdated: Sequence[str]
    events: int
    unfilled: Sequence[tuple[str, Sequence[str]]]

    @property
    def rows(self) -> EventTable:
        """Return the table that holds the rows of events."""
        return self.tables[0]


def columns_text(columns: Sequence[StoredColumn]) -> str:
    """Return which properties have a column, for people."""
    sizes = [
        f"{column.key} ({column.size_bytes / 1e6:.1f} MB)"
        if column.is_filled
        else f"{column.key} (is being filled)"
        for column in columns
    ]
    return ", ".join(sizes) or "none yet; properties that questions use often get one"


def read_stored(client: Client) -> StoredColumns:
    """Return the columns of properties as they are stored now."""
    rows = event_tables(client)[0]
    tables = [rows] if not rows.cluster else [rows, _before(client, rows)]
    names = client.query(
        _COLUMNS.replace("{columns}", system_table("columns", [rows])).replace(
            "{hosts}", system_table("one", [rows])
        ),
        {
            "tables": [(table.database, table.name) for table in tables],
            "number": len(tables),
        },
    ).result_rows
    own = {name: key for name, key in names if name == column_of(key)}
    parts = client.query(
        _PARTS.replace("{parts_columns}", system_table("parts_columns", [rows])),
        {"database": rows.database, "table": rows.name},
    ).result_rows
    unfilled: dict[str, set[str]] = {}
    sizes = dict.fromkeys(own, 0)
    for partition, _, columns, column_bytes in parts:
        if missing := own.keys() - set(columns):
            unfilled.setdefault(partition, set()).update(missing)
        for name, number in zip(columns, column_bytes, strict=True):
            if name in sizes:
                sizes[name] += number
    lacking = set().union(*unfilled.values())
    return StoredColumns(
        tables,
        [StoredColumn(key, name, sizes[name], name not in lacking) for name, key in own.items()],
        [name for name, _ in names if name not in own and _COLUMN.fullmatch(name)],
        sum(number for _, number, *_ in parts),
        [(partition, sorted(missing)) for partition, missing in unfilled.items()],
    )


def _before(client: Client, rows: EventTable) -> EventTable:
    """Return the Distributed table `events`."""
    database = client.database or "default"
    return EventTable(database, "events", rows.cluster, rows.is_remote)


def pending_fills(client: Client) -> Sequence[bool]:
    """Return of each pending mutation that fills columns whether it has failed."""
    rows = event_tables(client)[0]
    result = client.query(
        _PENDING.replace("{mutations}", system_table("mutations", [rows])),
        {"database": rows.database, "table": rows.name},
    )
    if result.result_rows:
        resume_mutations(client, [rows.name])
    return [bool(has_failed) for (has_failed,) in result.result_rows]


def kill_fills(client: Client, rows: EventTable) -> None:
    """End all mutations that fill columns, on every host."""
    bound = {"database": rows.database, "table": rows.name}
    client.command(_KILL.replace("{on_hosts}", rows.on_hosts), bound)
