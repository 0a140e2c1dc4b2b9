"""A records store in memory for the statements of PostgreSQL, each transaction at one instant.

It is SQLite with a rendering of the functions that only PostgreSQL has.
"""

import json
import re
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine, Executable, Row, TextClause, create_engine, event, text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.pool import StaticPool

from fanion.db.engine import Parameters, Records, RecordsUnavailable
from fanion.db.schema import (
    accounts,
    activity,
    cohorts,
    events,
    experiments,
    exports,
    flags,
    insights,
    organizations,
    persons,
    servers,
    tables,
    webhooks,
)
from fanion.ingest.pipeline.position_store import LANES, consumer_of
from tests.simulation.network import Link, Network

T = TypeVar("T")
# All of the modules, so that every table is known.
SCHEMA = (
    *(accounts, activity, cohorts, events, experiments, exports, flags, insights),
    *(organizations, persons, servers, tables, webhooks),
)

_VIEW = "CREATE VIEW person_keys AS SELECT id AS person_id, project_id, uuid FROM persons"
# Each transaction is at one instant: no session is ever in the middle of one.
_SESSIONS = """
CREATE TABLE pg_stat_activity (
  pid, datid, usesysid, application_name, state, wait_event_type, state_change
)
"""
_RENDERINGS = (
    (r"INTERVAL '(\d+) s'", r"\1"),
    (r"BOOL_OR\(", "MAX("),
    (
        r"LEFT JOIN LATERAL \(SELECT version FROM persons WHERE id = used.id LIMIT 1\)"
        r" AS person ON TRUE",
        "LEFT JOIN persons AS person ON person.id = used.id",
    ),
    (r"FOR UPDATE SKIP LOCKED", ""),
    (r"SELECT\s+FROM", "SELECT 1 FROM"),
    (r"= ANY\(CAST\(:(\w+) AS [^)]*\)\)", r"IN (SELECT value FROM json_each(:\1))"),
    (r"= ANY\(:(\w+)\)", r"IN (SELECT value FROM json_each(:\1))"),
)
_BOUND_ALONE = re.compile(r"\(SELECT (CAST\(:\w+ AS [^)]*\))\)")
_UNNEST = re.compile(r"UNNEST\(((?:CAST\(:\w+ AS [^)]*\),?\s*)+)\)\s+AS (\w+) \(([^)]*)\)")


class Database:
    """The database of all processes, emptied for each simulation."""

    def __init__(self, network: Network, partitions: int) -> None:
        self._network = network
        self._engine, self._file = _engine()
        _template().backup(self._file)
        self._file.execute("PRAGMA foreign_keys = ON")
        self._drawn = 0
        functions: tuple[tuple[str, int, Callable[..., Any]], ...] = (
            ("CLOCK_TIMESTAMP", 0, network.loop.time),
            ("nextval", 1, self._next),
            ("setval", 2, self._set),
            ("GREATEST", -1, max),
            ("pg_advisory_xact_lock", -1, lambda *_: 0),
            ("pg_backend_pid", 0, lambda: 0),
            ("pg_terminate_backend", 1, lambda _: True),
        )
        for name, arguments, function in functions:
            self._file.create_function(name, arguments, function)
        rows = [(consumer_of(lane, n), n) for lane in LANES for n in range(1, partitions + 1)]
        self._file.executemany(
            "INSERT INTO log_positions (consumer, partition, position, claimed, holder, held_until)"
            " VALUES (?, ?, 0, 0, '', '1970-01-01 00:00:00.000000')",
            rows,
        )
        self._is_open = False

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        assert not self._is_open, "a process waits for something else within a transaction"
        self._is_open = True
        try:
            with self._engine.begin() as connection:
                yield connection
        finally:
            self._is_open = False

    def held(self) -> dict[str, tuple[Any, ...]]:
        rows = self.rows("SELECT consumer, position, claimed, holder, epoch FROM log_positions")
        return {row[0]: row[1:] for row in rows}

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return rows for the checker."""
        return self._file.execute(statement, values).fetchall()

    def _next(self, _: str) -> int:
        self._drawn += 1
        return self._drawn

    def _set(self, _: str, number: int) -> int:
        self._drawn = number
        return number


class SimulatedRecords(Records):
    """A process's connections to the database."""

    def __init__(self, database: Database, network: Network) -> None:
        self.dialect = "postgresql"
        self.link = Link(network, RecordsUnavailable)
        self._database = database

    def write_mark(self) -> tuple[int, int] | None:
        return None

    @asynccontextmanager
    async def read(self) -> AsyncGenerator[AsyncConnection]:
        await self.link.request()
        with self._database.transaction() as connection:
            yield cast(AsyncConnection, _AtOnce(connection))
        await self.link.answer()

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[AsyncConnection]:
        await self.link.request()
        before = self._database.held()
        with self._database.transaction() as connection:
            yield cast(AsyncConnection, _AtOnce(connection))
        for name, row in self._database.held().items():
            if row != before.get(name):
                self.link.network.note(f"{name}: {_shown(before.get(name))} → {_shown(row)}")
        await self.link.answer()

    async def fetch(
        self, statement: Executable, parameters: Parameters | None = None
    ) -> Sequence[Row[Any]]:
        async with self.read() as connection:
            return (await connection.execute(statement, parameters)).all()


def _shown(row: tuple[Any, ...] | None) -> str:
    if row is None:
        return "nothing"
    position, claimed, holder, epoch = row
    return f"at {position}, claimed {claimed}, of {holder or 'none'} in epoch {epoch}"


class _AtOnce:
    """A connection that does not wait, so that a transaction is done at one instant."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def run_sync(self, work: Callable[..., T], *args: Any) -> T:
        return work(self._connection, *args)

    async def execute(self, *args: Any) -> Any:
        return self._connection.execute(*args)


def _render(
    _: Connection, statement: Any, many: Any, parameters: Any, __: Any
) -> tuple[Any, Any, Any]:
    if not isinstance(statement, TextClause):
        return statement, many, parameters
    return _rendered(statement), many, _with_lists(parameters)


@cache
def _rendered(statement: TextClause) -> TextClause:
    rendered = _UNNEST.sub(_zipped, _BOUND_ALONE.sub(r"\1", statement.text))
    for pattern, instead in _RENDERINGS:
        rendered = re.sub(pattern, instead, rendered)
    return statement if rendered == statement.text else text(rendered)


def _zipped(unnest: re.Match[str]) -> str:
    """Return lists of equal length as a table."""
    lists = re.findall(r":(\w+) AS", unnest[1])
    columns = [name.strip() for name in unnest[3].split(",")]
    parts = [f"json_each(:{list_name}) AS l{number}" for number, list_name in enumerate(lists)]
    named = ", ".join(f"l{number}.value AS {name}" for number, name in enumerate(columns))
    same = " AND ".join(f"l{number}.key = l0.key" for number in range(1, len(lists))) or "1"
    return f"(SELECT {named} FROM {', '.join(parts)} WHERE {same}) AS {unnest[2]}"


def _with_lists(parameters: Any) -> Any:
    return {
        name: json.dumps(value) if isinstance(value, list) else value
        for name, value in parameters.items()
    }


@cache
def _engine() -> tuple[Engine, sqlite3.Connection]:
    """Return an engine for all databases, so that its compiled statements are reused."""
    file = sqlite3.connect(":memory:", isolation_level=None)
    engine = create_engine("sqlite://", creator=lambda: file, poolclass=StaticPool)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    event.listen(engine, "before_execute", _render, retval=True)
    return engine, file


@cache
def _template() -> sqlite3.Connection:
    file = sqlite3.connect(":memory:", isolation_level=None)
    engine = create_engine("sqlite://", creator=lambda: file, poolclass=StaticPool)
    tables.metadata.create_all(engine)
    file.execute(_VIEW)
    file.execute(_SESSIONS)
    return file
