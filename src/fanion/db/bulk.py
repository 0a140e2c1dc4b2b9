"""Many rows by few statements: SQLAlchemy takes 40 µs to bind one row, SQLite 4 to insert it."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Table

# SQLite takes 32,766 values a statement. More rows at once are no faster.
_ROWS_MAX = 500

Values = Sequence[Any]


def insert_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[Values],
    returning: tuple[str, ...] = (),
) -> list[tuple[Any, ...]]:
    """Each statement is a single call of the driver, which leaves the interpreter to others.

    rows:    at least one, each with a value for every column
    returns: the columns `returning` of the new rows, in any order; such as the driver gives them
             and `as_bound` tells
    """
    dialect = connection.dialect
    bound = list(zip(*_bound_columns(dialect, table, columns, rows), strict=True))
    found: list[tuple[Any, ...]] = []
    for start in range(0, len(bound), _ROWS_MAX):
        some = bound[start : start + _ROWS_MAX]
        statement = _statement(dialect.name, table, columns, len(some), returning)
        result = connection.exec_driver_sql(statement, tuple(one for row in some for one in row))
        if returning:
            found += [tuple(row) for row in result]
    return found


def as_bound(connection: Connection, table: Table, column: str, values: Values) -> Values:
    """The values as the driver takes and gives them."""
    process = _processor(connection.dialect, table, column)
    return values if process is None else [process(value) for value in values]


def _bound_columns(
    dialect: Dialect, table: Table, columns: tuple[str, ...], rows: Sequence[Values]
) -> Iterator[Values]:
    for name, values in zip(columns, zip(*rows, strict=True), strict=True):
        process = _processor(dialect, table, name)
        yield values if process is None else [process(value) for value in values]


@cache
def _processor(dialect: Dialect, table: Table, column: str) -> Callable[[Any], Any] | None:
    return table.c[column].type.dialect_impl(dialect).bind_processor(dialect)


@lru_cache(maxsize=64)
def _statement(
    dialect: str, table: Table, columns: tuple[str, ...], rows: int, returning: tuple[str, ...]
) -> str:
    values = ", ".join(_marks(dialect, rows, len(columns)))
    ending = f" RETURNING {', '.join(returning)}" if returning else ""
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES {values}{ending}"


def _marks(dialect: str, rows: int, columns: int) -> Iterator[str]:
    """A bracket for each row."""
    for row in range(rows):
        numbers = range(row * columns + 1, (row + 1) * columns + 1)
        yield f"({', '.join('?' if dialect == 'sqlite' else f'${number}' for number in numbers)})"
