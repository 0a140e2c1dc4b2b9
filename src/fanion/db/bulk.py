"""Statements that write many rows at once.

A person took 45 µs as a row of SQLAlchemy, of which SQLite needs 4. Each statement is a single
call of the driver, which leaves the interpreter to others meanwhile.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:  # it is loaded only where the records are in PostgreSQL
    from sqlalchemy.dialects import postgresql

# SQLite takes 32,766 values per statement. More rows at once are no faster, more ids much slower.
_ROWS_MAX = 512
IDS_MAX = 2_000

Values = Sequence[Any]
T = TypeVar("T")


def insert_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[Values],
    returning: tuple[str, ...] = (),
) -> list[tuple[Any, ...]]:
    """Insert rows.

    Args:
        rows: Each with a value for every column.

    Returns:
        The columns `returning` of the new rows, in any order, with the driver's types (see
        `as_bound`).
    """
    ending = f" RETURNING {', '.join(returning)}" if returning else ""
    returned: list[tuple[Any, ...]] = []
    for count, values in _row_portions(connection.dialect, table, columns, rows):
        statement = _insert_statement(connection.dialect, table, columns, count) + ending
        result = connection.exec_driver_sql(statement, values)
        if returning:
            returned += [tuple(row) for row in result]
    return returned


def put_rows(
    connection: Connection,
    table: Table,
    keys: tuple[str, ...],
    columns: tuple[str, ...],
    rows: Sequence[Values],
) -> None:
    """Insert rows, or set the columns of rows that exist already.

    Args:
        rows: Each with a value for every key and column; no two share their keys.
    """
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns)
    ending = f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"
    for count, values in _row_portions(connection.dialect, table, keys + columns, rows):
        statement = _insert_statement(connection.dialect, table, keys + columns, count) + ending
        connection.exec_driver_sql(statement, values)


def update_rows(
    connection: Connection, table: Table, columns: tuple[str, ...], rows: Sequence[Values]
) -> None:
    """Update the row that has this value in the first column; no two rows may share it."""
    dialect = connection.dialect
    if dialect.name == "postgresql":
        statement = _update_of_lists(dialect, table, columns)
        for start in range(0, len(rows), _ROWS_MAX):
            chunk = rows[start : start + _ROWS_MAX]
            lists = _by_column(dialect, table, columns, chunk)
            connection.exec_driver_sql(statement, (*lists, len(chunk)))
        return
    for count, values in _row_portions(dialect, table, columns, rows):
        connection.exec_driver_sql(_update_statement(table, columns, count), values)


def as_bound(connection: Connection, table: Table, column: str, values: Values) -> Values:
    """Return the values in the form in which the driver takes and gives them."""
    process = _bind_processor(connection.dialect, table, column)
    return values if process is None else [process(value) for value in values]


def _row_portions(
    dialect: Dialect, table: Table, columns: tuple[str, ...], rows: Sequence[Values]
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield portions of the rows: how many there are, and all their values.

    The numbers of rows are powers of two, because PostgreSQL keeps every statement prepared.
    """
    start = 0
    while waiting := len(rows) - start:
        count = min(_ROWS_MAX, 1 << (waiting.bit_length() - 1))
        chunk = rows[start : start + count]
        start += count
        by_column = _by_column(dialect, table, columns, chunk)
        yield count, tuple(chain.from_iterable(zip(*by_column, strict=True)))


def _by_column(
    dialect: Dialect, table: Table, columns: tuple[str, ...], rows: Sequence[Values]
) -> list[Values]:
    """Return the values of each column in the form that the driver takes."""
    by_column: list[Values] = []
    for name, values in zip(columns, zip(*rows, strict=True), strict=True):
        process = _bind_processor(dialect, table, name)
        by_column.append(values if process is None else [process(value) for value in values])
    return by_column


@cache
def _bind_processor(dialect: Dialect, table: Table, column: str) -> Callable[[Any], Any] | None:
    return table.c[column].type.dialect_impl(dialect).bind_processor(dialect)


@lru_cache(maxsize=64)
def _insert_statement(dialect: Dialect, table: Table, columns: tuple[str, ...], rows: int) -> str:
    marks = ["{}"] * len(columns)  # the engine knows the type of each column
    into = f"{table.name} ({', '.join(columns)})"
    return f"INSERT INTO {into} VALUES {_value_brackets(dialect, marks, rows)}"


@lru_cache(maxsize=64)
def _update_statement(table: Table, columns: tuple[str, ...], rows: int) -> str:
    """Return SQLite's statement."""
    brackets = ", ".join([f"({', '.join('?' * len(columns))})"] * rows)
    return _update_from(table, columns, f"(VALUES {brackets}) AS new")


@cache
def _update_of_lists(dialect: Dialect, table: Table, columns: tuple[str, ...]) -> str:
    """Return PostgreSQL's statement, which takes a list for each column and is planned once.

    The limit makes PostgreSQL expect few rows and find each by the index; it might otherwise read
    all of a partitioned table.
    """
    lists = ", ".join(
        f"(SELECT CAST(${number} AS {table.c[name].type.compile(dialect)}[]))"
        for number, name in enumerate(columns, 1)
    )
    names = ", ".join(f"column{number}" for number in range(1, len(columns) + 1))
    given = f"SELECT * FROM UNNEST({lists}) AS given ({names}) LIMIT ${len(columns) + 1}"
    return _update_from(table, columns, f"({given}) AS new")


def _update_from(table: Table, columns: tuple[str, ...], new: str) -> str:
    key, *others = (f"{name} = new.column{number}" for number, name in enumerate(columns, 1))
    return f"UPDATE {table.name} SET {', '.join(others)} FROM {new} WHERE {table.name}.{key}"


def _value_brackets(dialect: Dialect, marks: Sequence[str], rows: int) -> str:
    """Return one bracket of values for each row.

    Args:
        marks: One for each column, with {} where the value is named.
    """
    bracket = f"({', '.join(marks)})"
    if dialect.name == "sqlite":
        return ", ".join([bracket.format(*["?"] * len(marks))] * rows)
    numbers = (f"${number}" for number in range(1, rows * len(marks) + 1))
    return ", ".join(bracket.format(*islice(numbers, len(marks))) for _ in range(rows))


def upsert(dialect: Dialect, table: Table) -> "postgresql.Insert | sqlite.Insert":
    if dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


def in_chunks(items: Sequence[T]) -> Iterable[Sequence[T]]:
    """Split items into sequences of at most IDS_MAX."""
    return (items[start : start + IDS_MAX] for start in range(0, len(items), IDS_MAX))
