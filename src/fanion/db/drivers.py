"""The engines behind `Records`: how connections to SQLite and PostgreSQL are made."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, Executable, Row, create_engine, event, make_url
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from fanion.db.errors import RecordsUnavailable, is_store_failure, reason, translate_errors

READERS_MAX = 4  # SQLite; more threads than that only queue for the interpreter
CONNECTIONS_MAX = (
    10  # PostgreSQL, a server; with four processes three stay under its default of 100
)
CONNECTION_WAIT_S = 5.0
CONNECT_S = 5.0
BUSY_S = 5.0  # SQLite: another process, such as the command line, is writing
STATEMENT_S = 15.0
SILENCE_S = STATEMENT_S + 5.0  # a server that does not even say that the time is over

Parameters = Mapping[str, Any]


class Fetch(Protocol):
    """Runs one SELECT and returns all its rows."""

    async def __call__(
        self, statement: Executable, parameters: Parameters | None
    ) -> Sequence[Row[Any]]: ...

    async def close(self) -> None: ...


def parse_url(url: str) -> URL:
    """raises: ValueError when it is neither of SQLite nor of PostgreSQL"""
    parsed = make_url(url)
    match parsed.drivername.partition("+")[0]:
        case "sqlite" if parsed.database:
            return parsed.set(drivername="sqlite+aiosqlite")
        case "postgresql" | "postgres":
            return _with_asyncpg_names(parsed.set(drivername="postgresql+asyncpg"))
    raise ValueError("the records URL must begin with sqlite:/// or postgresql://")


def _with_asyncpg_names(url: URL) -> URL:
    """Operators copy URLs written for libpq, whose `sslmode` is called `ssl` here."""
    if "sslmode" not in url.query:
        return url
    return url.difference_update_query(["sslmode"]).update_query_dict({"ssl": url.query["sslmode"]})


@asynccontextmanager
async def connected(engine: AsyncEngine) -> AsyncGenerator[AsyncConnection]:
    """raises: RecordsUnavailable; a refused connection is no driver error but an OSError"""
    connection = engine.connect()
    try:
        await connection.start()
    except PoolTimeout:
        raise RecordsUnavailable(
            f"no connection became free within {CONNECTION_WAIT_S:g} s"
        ) from None
    except Exception as error:
        if is_store_failure(error):
            raise RecordsUnavailable(reason(error)) from error
        raise
    try:
        yield connection
    finally:
        # Even when the task is cancelled: the connection must come back to the pool.
        await asyncio.shield(connection.close())


def sqlite_engine(url: URL, begin: str, connections: int, *pragmas: str) -> AsyncEngine:
    """begin: the statement that opens a transaction; the driver's own way would not lock a
    reader's snapshot, and would take the write lock too late"""
    engine = create_async_engine(
        url,
        connect_args={"isolation_level": None, "timeout": BUSY_S},
        pool_size=connections,
        max_overflow=0,
        pool_timeout=CONNECTION_WAIT_S,
        hide_parameters=True,
    )

    def open_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine.sync_engine, "begin", open_transaction)
    event.listen(engine.sync_engine, "connect", _run_each(*pragmas))
    event.listen(engine.sync_engine, "handle_error", _keep_when_cancelled)
    translate_errors(engine.sync_engine)
    return engine


def _keep_when_cancelled(context: ExceptionContext) -> None:
    """A connection whose task was cancelled is whole: its thread ends the statement, then rolls
    back. Thrown away instead, as by default, it can hold the write lock for as long as a
    traceback holds one of its cursors."""
    if isinstance(context.original_exception, asyncio.CancelledError):
        context.is_disconnect = False


def _run_each(*pragmas: str) -> Callable[[DBAPIConnection, ConnectionPoolEntry], None]:
    def run(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        give_up = monotonic() + BUSY_S
        for pragma in pragmas:
            while not _has_run(cursor, pragma, monotonic() > give_up):
                pass
        cursor.close()

    return run


def _has_run(cursor: Any, pragma: str, is_last: bool) -> bool:
    """False when it is to be tried again: to change the journal of a new file, SQLite does not wait
    for another that is about to do so. raises: OperationalError"""
    try:
        cursor.execute(f"PRAGMA {pragma}")
    except sqlite3.OperationalError as error:
        if is_last or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


class SqliteFetch:
    """One SELECT in a thread of its own. aiosqlite crosses threads for each step of a read:
    1.5 ms for one row against 0.37 ms here; 32 rows 0.93 ms against 0.39 ms."""

    def __init__(self, url: URL) -> None:
        self._engine = create_engine(
            url.set(drivername="sqlite+pysqlite"),
            connect_args={
                "isolation_level": None,
                "timeout": BUSY_S,
                "check_same_thread": False,
            },
            pool_size=READERS_MAX,
            max_overflow=0,
            hide_parameters=True,
        )
        event.listen(self._engine, "connect", _run_each("query_only = ON"))
        translate_errors(self._engine)
        self._threads = ThreadPoolExecutor(READERS_MAX, thread_name_prefix="records-read")

    async def __call__(
        self, statement: Executable, parameters: Parameters | None
    ) -> Sequence[Row[Any]]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, _all_rows, self._engine, statement, parameters
        )

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        self._engine.dispose()


def _all_rows(
    engine: Engine, statement: Executable, parameters: Parameters | None
) -> Sequence[Row[Any]]:
    with engine.connect() as connection:
        return connection.execute(statement, parameters).all()


class PostgresFetch:
    """One SELECT on the shared pool, without the round trips of BEGIN and ROLLBACK."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")

    async def __call__(
        self, statement: Executable, parameters: Parameters | None
    ) -> Sequence[Row[Any]]:
        async with connected(self._engine) as connection:
            return (await connection.execute(statement, parameters)).all()

    async def close(self) -> None:
        """The pool belongs to the engine."""


def postgres_engine(url: URL, connections: int = CONNECTIONS_MAX) -> AsyncEngine:
    engine = create_async_engine(
        url,
        connect_args={
            "timeout": CONNECT_S,
            "command_timeout": SILENCE_S,
            "server_settings": {
                "application_name": "fanion",
                "statement_timeout": f"{STATEMENT_S:g}s",
                "idle_in_transaction_session_timeout": f"{SILENCE_S:g}s",
                "timezone": "UTC",
                "jit": "off",  # compiling costs more than our short statements take
            },
        },
        pool_size=connections,
        max_overflow=0,
        pool_timeout=CONNECTION_WAIT_S,
        hide_parameters=True,
    )
    translate_errors(engine.sync_engine)
    return engine


def make_parent_folder(url: URL) -> None:
    if url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
