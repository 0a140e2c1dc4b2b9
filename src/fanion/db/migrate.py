"""Bring a records store to the schema of this version, or ask whether it is there."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from sqlalchemy import URL, Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from fanion.db.connect import (
    connected,
    make_parent_folder,
    parse_url,
    postgres_engine,
    sqlite_engine,
)

FOLDER = Path(__file__).parent / "migrations"
# Revisions are numbered, and so are the names of their files.
NEWEST = max(file.name.partition("_")[0] for file in (FOLDER / "versions").glob("[0-9]*_*.py"))
# Any number no other program locks in the same database.
_LOCK = text("SELECT pg_advisory_xact_lock(7238414921)")
_VERSIONS = text("SELECT version_num FROM alembic_version")


Told = Callable[[int, int], None]


async def migrate(url: str, told: Told | None = None) -> None:
    """Apply what is missing, in one transaction; servers that start together wait in line.

    told:   is told after each migration how many have been applied, of how many that were missing
    raises: RecordsUnavailable; ValueError as open_records does
    """
    engine = _engine(parse_url(url))
    try:
        async with connected(engine) as connection, connection.begin():
            if await connection.run_sync(_applied) == {NEWEST}:
                return
            if engine.dialect.name == "postgresql":
                await connection.execute(text("SET LOCAL statement_timeout = 0"))
                await connection.execute(_LOCK)
            await connection.run_sync(partial(_upgrade, told=told))
    finally:
        await engine.dispose()


async def schema_is_current(url: str) -> bool:
    """Whether every migration of this version, and none of a later one, has been applied."""
    engine = _engine(parse_url(url))
    try:
        async with connected(engine) as connection:
            return await connection.run_sync(_applied) == {NEWEST}
    finally:
        await engine.dispose()


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
