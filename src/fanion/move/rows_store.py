"""The rows of one table, copied from one records store to another and compared there.

The stores may sort texts differently, so rows are read in the order of the store that they come
from, and looked up by key in the other one.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import msgspec
from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    Row,
    Table,
    bindparam,
    delete,
    func,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fanion.db.bulk import insert_rows

# The first page of a table is small, since a single row may have megabytes.
ROWS_FIRST: Final = 16
ROWS_MAX: Final = 2_000
PAGE_BYTES: Final = 2 * 1024**2
_DIGEST_BYTES: Final = 8
_MODULUS: Final = 1 << (8 * _DIGEST_BYTES)

_encode = msgspec.msgpack.Encoder().encode
Advance = Callable[[int], None]
Rows = Sequence[Row[Any]]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """The content of a table: the number of its rows, and a checksum that knows no order."""

    rows: int
    checksum: int

    def __str__(self) -> str:
        return f"{self.rows} rows with the checksum {self.checksum:016x}"


class RowsDiffer(Exception):
    """A table that is not the same in both stores after it was copied."""

    def __init__(self, table: str, source: Sum, target: Sum) -> None:
        super().__init__(f"{table} has {source} in the source, and {target} in the target")


def checksum_of(rows: Rows) -> int:
    total = 0
    for row in rows:
        digest = blake2b(_encode(tuple(row)), digest_size=_DIGEST_BYTES).digest()
        total += int.from_bytes(digest, "big")
    return total % _MODULUS


async def sum_of(connection: AsyncConnection, table: Table) -> Sum:
    """Return what a table holds, by reading all of it."""
    rows, total = 0, 0
    async for page in pages(connection, table):
        rows += len(page)
        total += checksum_of(page)
    return Sum(rows, total % _MODULUS)


async def pages(connection: AsyncConnection, table: Table) -> AsyncGenerator[Rows]:
    """Yield all rows of a table, some at a time, in the order of its primary key."""
    key, after, limit = list(table.primary_key), None, ROWS_FIRST
    while True:
        statement = select(table).order_by(*key).limit(limit)
        if after is not None:
            values = [literal(value, column.type) for value, column in zip(after, key, strict=True)]
            statement = statement.where(tuple_(*key) > tuple_(*values))
        page = (await connection.execute(statement)).all()
        if page:
            yield page
        if len(page) < limit:
            return
        after = _key_of(table)(page[-1])
        limit = _next_limit(page, limit)


def _next_limit(page: Rows, limit: int) -> int:
    size = sum(len(value) for row in page for value in row if isinstance(value, str | bytes))
    fits = PAGE_BYTES * len(page) // max(size, 1)
    return max(1, min(fits, limit * 4, ROWS_MAX))


async def copy_missing(
    source: AsyncConnection, target: AsyncEngine, table: Table, advance: Advance
) -> None:
    """Insert the rows that the target lacks.

    Rows that changed since they were copied are left as they are, and so are pages with a row that
    conflicts with one of these: `make_equal` comes later.
    """
    async for page in pages(source, table):
        try:
            async with target.begin() as connection:
                present = await _present(connection, table, page)
                key_of = _key_of(table)
                missing = [row for row in page if key_of(row) not in present]
                await connection.run_sync(_insert, table, missing)
        except IntegrityError:
            pass
        advance(len(page))


async def make_equal(
    source: AsyncConnection, target: AsyncConnection, table: Table, advance: Advance
) -> Sum:
    """Make a table of the target hold exactly the rows of the source.

    Args:
        target: In a transaction that checks references at its end.

    Returns:
        What both hold.

    Raises:
        RowsDiffer: They still differ.
    """
    wanted = await sum_of(source, table)
    if await sum_of(target, table) != wanted:
        await _delete_surplus(source, target, table)
        try:
            async with target.begin_nested():
                await _write_differing(source, target, table)
        except IntegrityError:  # two rows have exchanged a unique value
            await target.execute(delete(table))
            await _write_differing(source, target, table)
        found = await sum_of(target, table)
        if found != wanted:
            raise RowsDiffer(table.name, wanted, found)
    advance(wanted.rows)
    return wanted


async def _delete_surplus(source: AsyncConnection, target: AsyncConnection, whole: Table) -> None:
    """Delete the rows of the target whose keys the source does not have."""
    columns = [Column(column.name, column.type, primary_key=True) for column in whole.primary_key]
    table = Table(whole.name, MetaData(), *columns)
    key_of = _key_of(table)
    async for page in pages(target, table):
        present = await _present(source, table, page)
        surplus = [key for row in page if (key := key_of(row)) not in present]
        if surplus:
            await target.execute(delete(table).where(_among(table, surplus)))


async def _write_differing(source: AsyncConnection, target: AsyncConnection, table: Table) -> None:
    key_of = _key_of(table)
    async for page in pages(source, table):
        present = await _present(target, table, page)
        missing = [row for row in page if key_of(row) not in present]
        await target.run_sync(_insert, table, missing)
        for row in page:
            if (there := present.get(key_of(row), row)) != row:
                await target.run_sync(_update, table, row, there)


async def _present(connection: AsyncConnection, table: Table, page: Rows) -> dict[Key, Row[Any]]:
    """Return those rows of another store that have the keys of a page."""
    key_of = _key_of(table)
    statement = select(table).where(_among(table, [key_of(row) for row in page]))
    return {key_of(row): row for row in await connection.execute(statement)}


def _among(table: Table, keys: Sequence[Key]) -> Any:
    columns = list(table.primary_key)
    if len(columns) == 1:
        return columns[0].in_([key[0] for key in keys])
    return tuple_(*columns).in_(keys)


def _key_of(table: Table) -> Callable[[Row[Any]], Key]:
    places = [list(table.columns).index(column) for column in table.primary_key]
    return lambda row: tuple(row[place] for place in places)


def _insert(connection: Connection, table: Table, rows: Rows) -> None:
    if rows:
        insert_rows(connection, table, tuple(table.columns.keys()), rows)


def _update(connection: Connection, table: Table, row: Row[Any], there: Row[Any]) -> None:
    """Set the columns of a row that differ."""
    changes = {
        column.name: value
        for column, value, other in zip(table.columns, row, there, strict=True)
        if value != other
    }
    own = [
        column == bindparam(f"key_{column.name}", type_=column.type) for column in table.primary_key
    ]
    keys = {f"key_{column.name}": row._mapping[column] for column in table.primary_key}
    connection.execute(update(table).where(*own).values(changes), keys)


async def count_rows(connection: AsyncConnection, table: Table) -> int:
    counted = await connection.scalar(select(func.count()).select_from(table))
    return int(counted or 0)
