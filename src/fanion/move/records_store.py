"""The records store as a move opens it, and what it copies beside rows."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fanion.db.drivers import make_parent_folder, parse_url, postgres_engine, sqlite_engine
from fanion.db.engine import pooled_connection
from fanion.db.schema.persons import mirror_versions
from fanion.db.schema.servers import installation
from fanion.db.schema.tables import log_positions
from fanion.ingest.pipeline.position_store import (
    LANES,
    LONG_AGO,
    PROGRESS_SUFFIX,
)
from fanion.move.rows_store import Advance, Sum, copy_missing, count_rows, make_equal
from fanion.move.tables import moved_tables

# Of the connections in `pg_stat_activity`; servers have other names.
NAME: Final = "fanion move"
# How long to wait for transactions of servers that are about to end.
LOCK_WAIT_S: Final = 20
# Servers reserve versions of persons in steps of this size.
_VERSIONS_MARGIN: Final = 1_000
_LOG_SEQUENCE: Final = "accept_log_id_seq"
# Before the name of a consumer: how far the log of the source was sent on.
SENT_ON: Final = "moved/"
_position = log_positions.c

# References are checked at the end of the transaction, since rows are replaced table by table.
_REFERENCES = """
SELECT conrelid::regclass::text AS table_name, quote_ident(conname) AS name
  FROM pg_constraint
 WHERE contype = 'f' AND conparentid = 0 AND connamespace = current_schema()::regnamespace
"""
_TABLES_WITH_SEQUENCES = """
SELECT table_name, pg_get_serial_sequence(quote_ident(table_name), column_name) AS sequence
  FROM information_schema.columns
 WHERE table_schema = current_schema()
   AND pg_get_serial_sequence(quote_ident(table_name), column_name) IS NOT NULL
"""

Positions = Mapping[str, int]


class NotSettled(Exception):
    """An ingesting server that has not ended its batch yet, or died in the middle of one."""


def open_engine(url: str, *, writes: bool) -> AsyncEngine:
    """Return an engine whose statements may take long.

    Args:
        writes: Whether each transaction may write; in SQLite no other one may then.

    Raises:
        ValueError: The URL is neither for SQLite nor for PostgreSQL.
    """
    parsed = parse_url(url)
    if parsed.get_backend_name() == "postgresql":
        return postgres_engine(parsed, name=NAME, hasty=False)
    make_parent_folder(parsed)
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
    pragmas = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON")
    return sqlite_engine(parsed, begin, 1, LOCK_WAIT_S, *pragmas, busy_s=LOCK_WAIT_S)


@asynccontextmanager
async def snapshot_of(engine: AsyncEngine) -> AsyncGenerator[AsyncConnection]:
    """Open a transaction that sees one moment, while others go on writing."""
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
    async with pooled_connection(engine) as connection, connection.begin():
        yield connection


@asynccontextmanager
async def fence(engine: AsyncEngine) -> AsyncGenerator[AsyncConnection]:
    """Open a transaction during which no other one changes what is moved.

    Raises:
        RecordsUnavailable: Another transaction lasts too long.
    """
    async with pooled_connection(engine) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            names = ", ".join(sorted(table.name for table in (*moved_tables(), log_positions)))
            await connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_WAIT_S}s'"))
            await connection.execute(text(f"LOCK TABLE {names} IN SHARE MODE"))
        yield connection


async def settled_positions(connection: AsyncConnection) -> Positions:
    """Return how far each consumer of the log has come.

    Raises:
        NotSettled: A batch was begun and is not complete.
    """
    rows = (
        await connection.execute(
            select(_position.consumer, _position.position, _position.claimed).where(
                _position.consumer.not_like(f"{SENT_ON}%")
            )
        )
    ).all()
    positions = {
        row.consumer: row.position for row in rows if not row.consumer.endswith(PROGRESS_SUFFIX)
    }
    for row in rows:
        consumer = row.consumer.removesuffix(PROGRESS_SUFFIX)
        is_begun = (
            row.claimed > row.position
            if consumer == row.consumer
            else row.position > positions[consumer]
        )
        if is_begun:
            raise NotSettled(f"the batch of {consumer} is not complete")
    return positions


async def copy_records(source: AsyncConnection, target: AsyncEngine, advance: Advance) -> None:
    """Copy what the target lacks, while servers go on writing to the source."""
    for table in moved_tables():
        await copy_missing(source, target, table, advance)


async def count_moved(connection: AsyncConnection) -> int:
    return sum([await count_rows(connection, table) for table in moved_tables()])


async def first_filled(connection: AsyncConnection) -> str:
    """Return the name of a table that has rows, or an empty text."""
    for table in moved_tables():
        if (await connection.execute(select(table).limit(1))).first() is not None:
            return table.name
    return ""


async def make_records_equal(
    source: AsyncConnection, target: AsyncConnection, advance: Advance
) -> dict[str, Sum]:
    """Make the target hold exactly what the source does.

    Returns:
        What each table holds.

    Raises:
        RowsDiffer: A table of the target differs.
        IntegrityError: A row refers to one that does not exist.
    """
    references = await _defer_references(target)
    held = {
        table.name: await make_equal(source, target, table, advance) for table in moved_tables()
    }
    if references:
        await target.execute(text("SET CONSTRAINTS ALL IMMEDIATE"))
    for table, name in references:
        await target.execute(text(f"ALTER TABLE {table} ALTER CONSTRAINT {name} NOT DEFERRABLE"))
    await _continue_numbers(await _last_numbers(source), target)
    return held


async def _defer_references(target: AsyncConnection) -> Sequence[tuple[str, str]]:
    """Let references be checked at the end, and return those that were altered."""
    if target.dialect.name == "sqlite":
        await target.execute(text("PRAGMA defer_foreign_keys = ON"))
        return ()
    rows = (await target.execute(text(_REFERENCES))).all()
    references = [(row.table_name, row.name) for row in rows]
    for table, name in references:
        await target.execute(text(f"ALTER TABLE {table} ALTER CONSTRAINT {name} DEFERRABLE"))
    await target.execute(text("SET CONSTRAINTS ALL DEFERRED"))
    return references


async def _last_numbers(connection: AsyncConnection) -> dict[str, int]:
    """Return the last number that each table has given to a row, also to a deleted one."""
    if connection.dialect.name == "sqlite":
        rows = await connection.execute(text("SELECT name, seq FROM sqlite_sequence"))
        numbers = {row.name: row.seq for row in rows}
        version = await connection.scalar(select(func.max(mirror_versions.c.version)))
        numbers[mirror_versions.name] = int(version or 0)
        positions = await connection.scalar(select(func.max(_position.claimed)))
        numbers["accept_log"] = int(positions or 0)
        return numbers
    sequences = (await connection.execute(text(_TABLES_WITH_SEQUENCES))).all()
    return {
        row.table_name: await connection.scalar(text(f"SELECT last_value FROM {row.sequence}")) or 0
        for row in sequences
    }


async def _continue_numbers(numbers: Mapping[str, int], target: AsyncConnection) -> None:
    """Let the target number rows behind those of the source."""
    moved = {table.name for table in moved_tables()}
    version = numbers.get(mirror_versions.name, 0) + _VERSIONS_MARGIN
    wanted = {name: number for name, number in numbers.items() if name in moved and number}
    if target.dialect.name == "sqlite":
        for name, number in wanted.items():
            given = {"name": name, "number": number}
            await target.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), given)
            await target.execute(text("INSERT INTO sqlite_sequence VALUES (:name, :number)"), given)
        await target.execute(update(mirror_versions).values(version=version))
        return
    found = await target.execute(text(_TABLES_WITH_SEQUENCES))
    sequences = {row.table_name: row.sequence for row in found}
    wanted |= {mirror_versions.name: version, "accept_log": numbers.get("accept_log", 0) + 1}
    for name, number in wanted.items():
        if name in sequences:
            given = {"sequence": sequences[name], "number": number}
            await target.execute(text("SELECT setval(CAST(:sequence AS regclass), :number)"), given)


async def bind_records(
    target: AsyncConnection, owner: UUID, event_store: UUID | None, positions: Positions
) -> None:
    """Make the target the records of the source's installation.

    Args:
        event_store: The event store with its events.
        positions: Of the source; later entries of its log are sent on.
    """
    await target.execute(update(installation).values(id=owner, event_store=event_store))
    await target.execute(delete(log_positions).where(_position.consumer.like(f"{SENT_ON}%")))
    rows = [
        _position_row(f"{SENT_ON}{consumer}", position) for consumer, position in positions.items()
    ]
    if target.dialect.name == "sqlite":
        last = max(positions.values(), default=0)
        await target.execute(delete(log_positions))
        rows += [_position_row(lane, last) for lane in LANES]
    await target.execute(insert(log_positions), rows)


def _position_row(consumer: str, position: int) -> dict[str, object]:
    return {
        "consumer": consumer,
        "position": position,
        "claimed": position,
        "holder": "",
        "held_until": LONG_AGO,
        "partition": 0,
        "epoch": 0,
    }


async def sent_on_positions(connection: AsyncConnection) -> Positions:
    """Return how far the source's log was sent on when the records were moved."""
    rows = await connection.execute(
        select(_position.consumer, _position.position).where(_position.consumer.like(f"{SENT_ON}%"))
    )
    return {row.consumer.removeprefix(SENT_ON): row.position for row in rows}
