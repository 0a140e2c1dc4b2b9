"""Bring a records store to the schema of this version, or ask whether it is there."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from sqlalchemy import URL, Connection, inspect, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from fanion.db.drivers import (
    connected,
    make_parent_folder,
    parse_url,
    postgres_engine,
    sqlite_engine,
)
from fanion.db.schema.tables import schema_compatibility
from fanion.errors import SchemaTooNew

FOLDER = Path(__file__).parent / "migrations"
# Revisions are numbered, and so are the names of their files.
NEWEST = max(file.name.partition("_")[0] for file in (FOLDER / "versions").glob("[0-9]*_*.py"))
# Any number no other program locks in the same database.
_LOCK = text("SELECT pg_advisory_xact_lock(7238414921)")
_VERSIONS = text("SELECT version_num FROM alembic_version")


Told = Callable[[int, int], None]


async def migrate(url: str, told: Told | None = None) -> None:
    """Apply what is missing, in one transaction; servers that start together wait in line. A newer
    schema that is marked as compatible with this program stays as it is.

    told:   is told after each migration how many have been applied, of how many that were missing
    raises: RecordsUnavailable, SchemaTooNew; ValueError as open_records does
    """
    engine = _engine(parse_url(url))
    try:
        async with connected(engine) as connection, connection.begin():
            if await connection.run_sync(_is_current):
                return
            if engine.dialect.name == "postgresql":
                await connection.execute(text("SET LOCAL statement_timeout = 0"))
                await connection.execute(_LOCK)
                if await connection.run_sync(_is_current):  # another one has done it meanwhile
                    return
            await connection.run_sync(partial(_upgrade, told=told))
    finally:
        await engine.dispose()


async def schema_is_current(url: str) -> bool:
    """Whether every migration of this version has been applied, and none of a later one unless that
    is marked as compatible with it."""
    engine = _engine(parse_url(url))
    try:
        async with connected(engine) as connection:
            return await connection.run_sync(_is_current)
    except SchemaTooNew:
        return False
    finally:
        await engine.dispose()


def _is_current(connection: Connection) -> bool:
    """False for one that is to be brought up to date. raises: SchemaTooNew"""
    applied = _applied(connection)
    if applied == {NEWEST}:
        return True
    newer = max(applied, default="")
    if newer <= NEWEST:
        return False
    oldest = _oldest_program(connection, newer)
    if oldest is None or oldest > NEWEST:
        raise SchemaTooNew("records", newer, oldest, NEWEST)
    return True


def _oldest_program(connection: Connection, revision: str) -> str | None:
    """None when this revision has no mark."""
    if not inspect(connection).has_table(schema_compatibility.name):
        return None
    marks = schema_compatibility.c
    oldest: str | None = connection.scalar(
        select(marks.oldest_program).where(marks.revision == revision)
    )
    return oldest


def _engine(url: URL) -> AsyncEngine:
    if url.get_backend_name() == "postgresql":
        return postgres_engine(url)
    make_parent_folder(url)
    return sqlite_engine(url, "BEGIN IMMEDIATE", 1, "journal_mode = WAL", "synchronous = FULL")


def _applied(connection: Connection) -> set[str]:
    if not inspect(connection).has_table("alembic_version"):
        return set()
    return set(connection.execute(_VERSIONS).scalars())


def _upgrade(connection: Connection, told: Told | None) -> None:
    # Alembic takes a tenth of the start to load, and most starts find nothing to apply.
    from fanion.db.upgrade import upgrade

    upgrade(connection, told)
