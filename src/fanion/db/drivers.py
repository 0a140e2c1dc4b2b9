"""The database engines behind `Records`, and the translation of their errors.

They connect to SQLite and PostgreSQL, and tell errors of a failing store from those of a wrong
statement.
"""

import asyncio
import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

READERS_MAX = 4  # for SQLite; more threads than that only wait for the interpreter
# Connections of a server to PostgreSQL. Three servers with four processes each stay under its
# default limit of 100.
CONNECTIONS_MAX = 10
CONNECTION_WAIT_S = 5.0
# In SQLite the writers queue for one connection, and as long as the machine is busy the queue moves
# slowly. A user who saves something would rather wait than be refused.
WRITER_WAIT_S = 15.0
CONNECT_S = 5.0
BUSY_S = 5.0  # SQLite's wait while another process, such as the command line, writes
STATEMENT_S = 15.0
SILENCE_S = STATEMENT_S + 5.0  # for a server that does not even report the timeout

# Result codes that concern the file, the disk or a lock.
_SQLITE_CODES = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    }
)
# SQLSTATE classes for connection, resources, operator and system; then the codes for a
# serialization failure, a deadlock, a lock timeout and a read-only server.
_CONFLICTS = ("40001", "40P01")
_SQLSTATES = ("08", "53", "57", "58", "55000", "40001", "40P01", "55P03", "25006")
# The server refuses the login, the database or a right. Waiting does not help.
_REFUSALS = ("28", "3D", "42501")


class RecordsUnavailable(Exception):
    """A store that cannot be reached, is full, locked or too slow.

    Nothing was committed, unless the connection was lost during the commit.
    """


class RecordsRefused(RecordsUnavailable):
    """A server that answers, and refuses the login, the database or a right of the account."""


class TransactionConflict(RecordsUnavailable):
    """A transaction that was rolled back because two transactions waited for one another."""


def parse_url(url: str) -> URL:
    """Parse the URL of a records store.

    Raises:
        ValueError: The URL is neither for SQLite nor for PostgreSQL.
    """
    parsed = make_url(url)
    match parsed.drivername.partition("+")[0]:
        case "sqlite" if parsed.database:
            return parsed.set(drivername="sqlite+aiosqlite")
        case "postgresql" | "postgres":
            return _with_asyncpg_names(parsed.set(drivername="postgresql+asyncpg"))
    raise ValueError("the records URL must begin with sqlite:/// or postgresql://")


def _with_asyncpg_names(url: URL) -> URL:
    """Rename the option `sslmode` of URLs written for libpq to asyncpg's `ssl`."""
    if "sslmode" not in url.query:
        return url
    return url.difference_update_query(["sslmode"]).update_query_dict({"ssl": url.query["sslmode"]})


def make_parent_folder(url: URL) -> None:
    if url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)


def sqlite_engine(
    url: URL, begin: str, connections: int, wait_s: float, *pragmas: str, busy_s: float = BUSY_S
) -> AsyncEngine:
    """Create an engine for an SQLite file.

    Args:
        wait_s: How long a caller waits for a free connection.
        begin: The statement that opens a transaction. The driver's own way would not lock a
            reader's snapshot, and would take the write lock too late.
        busy_s: How long a statement waits while another process writes.
    """
    engine = create_async_engine(
        url,
        connect_args={"isolation_level": None, "timeout": busy_s},
        pool_size=connections,
        max_overflow=0,
        pool_timeout=wait_s,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "begin", partial(Connection.exec_driver_sql, statement=begin))
    event.listen(engine.sync_engine, "connect", _run_each(*pragmas))
    event.listen(engine.sync_engine, "handle_error", _keep_when_cancelled)
    translate_errors(engine.sync_engine)
    return engine


def _keep_when_cancelled(context: ExceptionContext) -> None:
    """Keep the connection of a cancelled task, which is intact.

    Its thread ends the statement, then rolls back. If the connection were thrown away, as by
    default, it could hold the write lock for as long as a traceback holds one of its cursors.
    """
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
    """Run a pragma; return False if it must be tried again.

    To change the journal of a new file, SQLite does not wait for another process that is about to
    do so.

    Raises:
        OperationalError: The pragma failed for another reason, or at the last attempt.
    """
    try:
        cursor.execute(f"PRAGMA {pragma}")
    except sqlite3.OperationalError as error:
        if is_last or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def sqlite_reading_engine(url: URL) -> Engine:
    """Create an engine for threads of this process, where each statement is its own transaction."""
    engine = create_engine(
        url.set(drivername="sqlite+pysqlite"),
        connect_args={"isolation_level": None, "timeout": BUSY_S, "check_same_thread": False},
        pool_size=READERS_MAX,
        max_overflow=0,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _run_each("query_only = ON"))
    translate_errors(engine)
    return engine


def postgres_engine(
    url: URL, connections: int = CONNECTIONS_MAX, *, name: str = "fanion", hasty: bool = True
) -> AsyncEngine:
    """Create an engine for a PostgreSQL database.

    Args:
        name: The connections' name in `pg_stat_activity`.
        hasty: Whether statements and idle transactions end after a while, as a server needs.
    """
    engine = create_async_engine(
        url,
        connect_args={
            "timeout": CONNECT_S,
            "command_timeout": SILENCE_S if hasty else None,
            "server_settings": {
                "application_name": name,
                "statement_timeout": f"{STATEMENT_S if hasty else 0:g}s",
                "idle_in_transaction_session_timeout": f"{SILENCE_S if hasty else 0:g}s",
                "timezone": "UTC",
                "jit": "off",  # compiling takes longer than our short statements
            },
        },
        pool_size=connections,
        max_overflow=0,
        pool_timeout=CONNECTION_WAIT_S,
        hide_parameters=True,
    )
    translate_errors(engine.sync_engine)
    return engine


def translate_errors(engine: Engine) -> None:
    """Make every failing call on the engine's connections raise RecordsUnavailable."""
    event.listen(engine, "handle_error", _translate_error)


def _translate_error(context: ExceptionContext) -> BaseException | None:
    error = context.original_exception
    if not isinstance(error, Exception):  # a cancelled task must learn that it is cancelled
        return None
    if context.is_disconnect or is_store_failure(error):
        return records_unavailable(error)
    return None


def records_unavailable(error: BaseException) -> RecordsUnavailable:
    """Return the exception that a store failure is reported as."""
    state = str(getattr(error, "sqlstate", None) or "")
    if state in _CONFLICTS:
        return TransactionConflict(error_reason(error))
    kind = RecordsRefused if state.startswith(_REFUSALS) else RecordsUnavailable
    return kind(error_reason(error))


def is_store_failure(error: BaseException) -> bool:
    """Return whether the store has failed, rather than the statement.

    Args:
        error: As raised by the driver, or wrapped by SQLAlchemy.
    """
    if isinstance(error, DBAPIError):
        if error.connection_invalidated:
            return True
        error = error.orig or error
    if isinstance(error, sqlite3.Error):
        # An error without a code comes from the driver itself: the connection is closed.
        code: int | None = getattr(error, "sqlite_errorcode", None)
        return (
            isinstance(error, sqlite3.OperationalError)
            if code is None
            else (code & 0xFF in _SQLITE_CODES)
        )
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_SQLSTATES + _REFUSALS)
    # A socket broke, or a server stayed silent (TimeoutError is an OSError). A connection torn down
    # in the middle of a statement raises one of the driver's own errors.
    return isinstance(error, OSError) or _is_error_of_asyncpg(error)


def _is_error_of_asyncpg(error: BaseException) -> bool:
    driver = sys.modules.get("asyncpg")  # it is loaded only where the records are in PostgreSQL
    return driver is not None and isinstance(error, driver.InternalClientError)


def error_reason(error: BaseException) -> str:
    """Return the error in one line, without the statement, whose values may be private."""
    if isinstance(error, DBAPIError):
        error = error.orig or error
    return f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")
