"""Which errors of a driver mean that the store failed, and not that the statement is wrong."""

import sqlite3

from asyncpg import InternalClientError
from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError


class RecordsUnavailable(Exception):
    """The store cannot be reached, is full, locked or too slow; nothing was committed, unless
    the connection was lost while committing."""


class TransactionConflict(RecordsUnavailable):
    """Two transactions waited for one another, and this one was rolled back."""


# Result codes that speak of the file, the disk or a lock.
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
# SQLSTATE classes: connection, resources, operator, system; a login or a database that the
# server refuses; then serialization, deadlock, lock wait, and a server that is read-only.
_CONFLICTS = ("40001", "40P01")
_SQLSTATES = ("08", "53", "57", "58", "28", "3D", "55000", "40001", "40P01", "55P03", "25006")


def translate_errors(engine: Engine) -> None:
    """Have every failing call of the engine's connections raise RecordsUnavailable."""
    event.listen(engine, "handle_error", _translate)


def _translate(context: ExceptionContext) -> BaseException | None:
    error = context.original_exception
    if not isinstance(error, Exception):  # a task that is cancelled must learn that it is
        return None
    if context.is_disconnect or is_store_failure(error):
        kind = (
            TransactionConflict
            if getattr(error, "sqlstate", None) in _CONFLICTS
            else RecordsUnavailable
        )
        return kind(reason(error))
    return None


def is_store_failure(error: BaseException) -> bool:
    """error: as the driver raised it, or wrapped by SQLAlchemy"""
    if isinstance(error, DBAPIError):
        if error.connection_invalidated:
            return True
        error = error.orig or error
    if isinstance(error, sqlite3.Error):
        # Without a code the driver itself complains: the connection is closed.
        code: int | None = getattr(error, "sqlite_errorcode", None)
        return (
            isinstance(error, sqlite3.OperationalError)
            if code is None
            else (code & 0xFF in _SQLITE_CODES)
        )
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_SQLSTATES)
    # A socket that broke, or a server that stayed silent (TimeoutError is an OSError); a
    # connection torn down in the middle of a statement is an error of the driver's own.
    return isinstance(error, OSError | InternalClientError)


def reason(error: BaseException) -> str:
    """One line without the statement, whose values may be private."""
    if isinstance(error, DBAPIError):
        error = error.orig or error
    return f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")
