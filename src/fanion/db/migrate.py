"""The migration of a records store to the schema of this version, with Alembic.

Alembic is imported inside functions: it takes a tenth of the start to load, and most starts find
nothing to apply.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import URL, Connection, delete, insert, inspect, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from fanion.db.drivers import (
    BUSY_S,
    CONNECTION_WAIT_S,
    make_parent_folder,
    parse_url,
    postgres_engine,
    sqlite_engine,
)
from fanion.db.engine import pooled_connection
from fanion.db.schema.tables import schema_compatibility
from fanion.errors import SchemaRefused, SchemaTooNew, SchemaTooOld

if TYPE_CHECKING:
    from alembic.config import Config

FOLDER = Path(__file__).parent / "migrations"
# Revisions are numbered, and so are their files.
REVISIONS = sorted(file.stem for file in (FOLDER / "versions").glob("[0-9]*_*.py"))
OLDEST, NEWEST = (name.partition("_")[0] for name in (REVISIONS[0], REVISIONS[-1]))
# How long to wait for another process that is migrating an SQLite file.
MIGRATION_WAIT_S = 300.0
# A number that no other program locks in the same database.
_LOCK = text("SELECT pg_advisory_xact_lock(7238414921)")
_VERSIONS = text("SELECT version_num FROM alembic_version")


OnProgress = Callable[[int, int], None]


async def migrate(url: str, on_progress: OnProgress | None = None) -> str:
    """Apply pending migrations in one transaction; servers that start together take turns.

    A newer schema that is marked as compatible with this program stays as it is.

    Args:
        on_progress: Called with the numbers of applied and of pending migrations, first with 0.

    Returns:
        The revision of the schema: NEWEST or a later one.

    Raises:
        RecordsUnavailable: The store does not answer.
        SchemaRefused: The schema is newer, and not marked as compatible, or older than OLDEST.
        ValueError: The URL is neither for SQLite nor for PostgreSQL.
    """
    engine = _engine(parse_url(url), MIGRATION_WAIT_S)
    try:
        async with pooled_connection(engine) as connection, connection.begin():
            revision = await connection.run_sync(_applied)
            if await connection.run_sync(_is_current, revision):
                return revision
            if engine.dialect.name == "postgresql":
                await connection.execute(text("SET LOCAL statement_timeout = 0"))
                await connection.execute(_LOCK)
                revision = await connection.run_sync(_applied)
                if await connection.run_sync(_is_current, revision):  # by another server
                    return revision
            await connection.run_sync(partial(_upgrade, on_progress=on_progress))
            return NEWEST
    finally:
        await engine.dispose()


class Schema(NamedTuple):
    """The schema of a records store.

    Attributes:
        revision: "" if there is none.
        pending: The names of migrations that have not been applied, in order. A newer schema that
            is marked as compatible with this program has none.
    """

    revision: str
    pending: Sequence[str]


async def read_schema(url: str) -> Schema:
    """Return the schema.

    Raises:
        RecordsUnavailable: The store does not answer.
        SchemaTooNew: The schema is newer, and not marked as compatible.
        ValueError: The URL is neither for SQLite nor for PostgreSQL.
    """
    engine = _engine(parse_url(url))
    try:
        async with pooled_connection(engine) as connection:
            revision = await connection.run_sync(_applied)
            if await connection.run_sync(_is_current, revision):
                return Schema(revision, ())
    finally:
        await engine.dispose()
    return Schema(revision, [name for name in REVISIONS if name.partition("_")[0] > revision])


async def schema_is_current(url: str) -> bool:
    """Return whether the schema is this version's, or a newer one marked as compatible with it.

    Raises:
        RecordsUnavailable: The store does not answer.
    """
    try:
        return not (await read_schema(url)).pending
    except SchemaRefused:
        return False


def _is_current(connection: Connection, revision: str) -> bool:
    """Return False if migrations are pending.

    Args:
        revision: The result of `_applied`.

    Raises:
        SchemaRefused: The schema is newer, and not marked as compatible, or older than OLDEST.
    """
    if revision and revision < OLDEST:
        raise SchemaTooOld("records", revision, OLDEST)
    if revision <= NEWEST:
        return revision == NEWEST
    oldest = _oldest_program(connection, revision)
    if oldest is None or oldest > NEWEST:
        raise SchemaTooNew("records", revision, oldest, NEWEST)
    return True


def _oldest_program(connection: Connection, revision: str) -> str | None:
    """Return the oldest program that may use the schema, or None if the revision has no mark."""
    if not inspect(connection).has_table(schema_compatibility.name):
        return None
    marks = schema_compatibility.c
    oldest: str | None = connection.scalar(
        select(marks.oldest_program).where(marks.revision == revision)
    )
    return oldest


def _engine(url: URL, busy_s: float = BUSY_S) -> AsyncEngine:
    if url.get_backend_name() == "postgresql":
        return postgres_engine(url)
    make_parent_folder(url)
    pragmas = ("journal_mode = WAL", "synchronous = FULL")
    return sqlite_engine(url, "BEGIN IMMEDIATE", 1, CONNECTION_WAIT_S, *pragmas, busy_s=busy_s)


def _applied(connection: Connection) -> str:
    """Return the revision of the schema, or "" if there is none."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return max(connection.execute(_VERSIONS).scalars(), default="")


def _upgrade(connection: Connection, on_progress: OnProgress | None) -> None:
    """Apply pending migrations, and record which older programs may still use the store."""
    from alembic import command

    config = alembic_config(connection)
    if on_progress is not None:
        pending = _count_pending(config, connection)
        config.attributes["on_apply"] = _progress_hook(on_progress, pending)
    command.upgrade(config, "head")
    connection.execute(delete(schema_compatibility))
    connection.execute(
        insert(schema_compatibility).values(revision=NEWEST, oldest_program=oldest_program())
    )


def _progress_hook(on_progress: OnProgress, pending: int) -> Callable[..., None]:
    """Return a hook for Alembic's `on_version_apply`."""
    applied = 0

    def on_apply(**_: Any) -> None:
        nonlocal applied
        applied += 1
        on_progress(applied, pending)

    on_progress(0, pending)
    return on_apply


def _count_pending(config: "Config", connection: Connection) -> int:
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    applied = MigrationContext.configure(connection).get_current_revision()
    scripts = ScriptDirectory.from_config(config)
    return len(list(scripts.iterate_revisions("head", applied or "base")))


def oldest_program() -> str:
    """Return the oldest version that every migration allows to use the store."""
    from alembic.script import ScriptDirectory

    revisions = ScriptDirectory(str(FOLDER)).walk_revisions()
    return max(str(revision.module.oldest_program) for revision in revisions)


def alembic_config(connection: Connection) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
