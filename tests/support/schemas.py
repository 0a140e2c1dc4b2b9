"""The schema of a store, in a form in which two stores can be compared.

They compare equal whether one migration or several created them.
"""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
from clickhouse_connect.driver.client import Client

Schema = dict[str, list[tuple[Any, ...]]]

_SQLITE_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL"
_SQLITE_REST = (
    "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL"
)
# Queries for everything in a schema except the numbers that PostgreSQL gives to objects.
_POSTGRESQL = {
    "columns": """
    SELECT c.relname::text, c.relkind::text, a.attname::text, a.attnum - (
             SELECT COUNT(*) FROM pg_attribute AS d
              WHERE d.attrelid = c.oid AND d.attisdropped AND d.attnum < a.attnum),
           format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(v.adbin, v.adrelid)
      FROM pg_class AS c
      JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 LEFT JOIN pg_attrdef AS v ON v.adrelid = c.oid AND v.adnum = a.attnum
     WHERE c.relnamespace = 'public'::regnamespace
    """,
    "constraints": """
    SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid), convalidated
      FROM pg_constraint
     WHERE connamespace = 'public'::regnamespace
    """,
    "indexes": "SELECT indexdef, tablename::text FROM pg_indexes WHERE schemaname = 'public'",
    "triggers": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "functions": """
    SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    """,
    "sequences": """
    SELECT sequencename::text, data_type::text, start_value, increment_by, max_value,
           pg_get_serial_sequence(owner.refobjid::regclass::text, a.attname)
      FROM pg_sequences
      JOIN pg_depend AS owner ON owner.objid = sequencename::regclass AND owner.deptype = 'a'
      JOIN pg_attribute AS a ON a.attrelid = owner.refobjid AND a.attnum = owner.refobjsubid
     WHERE schemaname = 'public'
    """,
    "partitions": """
    SELECT inhrelid::regclass::text, inhparent::regclass::text, pg_get_expr(relpartbound, oid)
      FROM pg_inherits
      JOIN pg_class ON oid = inhrelid
     WHERE relkind = 'r'
    """,
}
_EVENTS = """
  SELECT name, create_table_query
    FROM system.tables
   WHERE database = currentDatabase()
ORDER BY name
"""


async def records_schema(url: str) -> Schema:
    """Return the schema of a records store.

    Args:
        url: `sqlite:///…` or `postgresql://…`.
    """
    if url.startswith("sqlite:///"):
        return _sqlite_schema(Path(url.removeprefix("sqlite:///")))
    connection = await asyncpg.connect(url)
    try:
        return {
            name: _sorted([tuple(row) for row in await connection.fetch(question)])
            for name, question in _POSTGRESQL.items()
        }
    finally:
        await connection.close()


def _sqlite_schema(path: Path) -> Schema:
    with closing(sqlite3.connect(path)) as file:
        schema: Schema = {"rest": _sorted(file.execute(_SQLITE_REST).fetchall())}
        for name, sql in file.execute(_SQLITE_TABLES).fetchall():
            indexes = file.execute(f"PRAGMA index_list({name})").fetchall()
            schema[name] = [
                # SQLite keeps the text of an added column as written, so texts are not compared.
                *file.execute(f"PRAGMA table_xinfo({name})").fetchall(),
                *_sorted([row[2:] for row in file.execute(f"PRAGMA foreign_key_list({name})")]),
                *_sorted([(*row[2:], *_columns(file, row[1])) for row in indexes]),
                ("AUTOINCREMENT" in sql, *sorted(re.findall(r"CONSTRAINT (\w+)", sql))),
            ]
    return schema


def _columns(file: sqlite3.Connection, index: str) -> list[str]:
    return [row[2] for row in file.execute(f"PRAGMA index_info({index})").fetchall()]


def events_schema(client: Client) -> Schema:
    """Return the schema of the event store's database that the client uses."""
    return {"tables": [tuple(row) for row in client.query(_EVENTS).result_rows]}


def _sorted(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows sorted, with each run of white space as one space."""
    plain = [
        tuple(" ".join(value.split()) if isinstance(value, str) else value for value in row)
        for row in rows
    ]
    return sorted(plain, key=repr)
