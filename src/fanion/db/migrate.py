"""Bring a records store to the schema of this version, or ask whether it is there."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from fanion.db.connect import (
    connected,
    make_parent_folder,
    parse_url,
    postgres_engine,
    sqlite_engine,
)

FOLDER = Path(__file__).parent / "migrations"
# Any number no other program locks in the same database.
_LOCK = text("SELECT pg_advisory_xact_lock(7238414921)")


async def migrate(url: str) -> None:
    """Apply what is missing, in one transaction; servers that start together wait in line.

    raises: RecordsUnavailable; ValueError as open_records does
    """
    engine = _engine(parse_url(url))
    try:
        async with connected(engine) as connection, connection.begin():
            if engine.dialect.name == "postgresql":
                await connection.execute(text("SET LOCAL statement_timeout = 0"))
                await connection.execute(_LOCK)
            await connection.run_sync(_upgrade)
    finally:
        await engine.dispose()


async def schema_is_current(url: str) -> bool:
    """Whether every migration of this version, and none of a later one, has been applied."""
    engine = _engine(parse_url(url))
    try:
        async with connected(engine) as connection:
            applied = await connection.run_sync(_applied)
    finally:
        await engine.dispose()
    return applied == set(ScriptDirectory(str(FOLDER)).get_heads())


def config_of(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _engine(url: URL) -> AsyncEngine:
    if url.get_backend_name() == "postgresql":
        return postgres_engine(url)
    make_parent_folder(url)
    return sqlite_engine(url, "BEGIN IMMEDIATE", 1, "journal_mode = WAL", "synchronous = FULL")


def _upgrade(connection: Connection) -> None:
    command.upgrade(config_of(connection), "head")


def _applied(connection: Connection) -> set[str]:
    return set(MigrationContext.configure(connection).get_current_heads())
