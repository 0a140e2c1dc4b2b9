"""On both engines a migrated database has the tables that the program describes."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, delete, insert, select, text

from fanion.accept_log.postgres_partitions import PARTITIONS as LOG_PARTITIONS
from fanion.accept_log.postgres_partitions import SIZE_SLOTS
from fanion.db.drivers import BUSY_S
from fanion.db.engine import Records, open_records
from fanion.db.migrate import (
    FOLDER,
    NEWEST,
    OLDEST,
    migrate,
    oldest_program,
    read_schema,
    schema_is_current,
)
from fanion.db.schema.tables import metadata, schema_compatibility
from fanion.errors import SchemaTooNew, SchemaTooOld
from tests.support.awaited import until_soon
from tests.support.postgres import SQLITE, Postgres
from tests.support.schemas import records_schema

pytestmark = pytest.mark.every_engine


@pytest.fixture
async def empty_url(
    request: pytest.FixtureRequest, engine: str, tmp_path: Path
) -> AsyncIterator[str]:
    if engine == SQLITE:
        yield f"sqlite:///{tmp_path / 'deep' / 'records.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    name = await server.create_database()
    yield server.url(name)
    await server.drop_database(name)


async def test_a_migrated_database_equals_the_tables(empty_url: str, engine: str) -> None:
    """On PostgreSQL they differ in what `person_keys` enforces for the partitions of `persons`.

    Source: decision 20.
    """
    await migrate(empty_url)

    records = await open_records(empty_url)
    async with records.read() as connection:
        difference = await connection.run_sync(_difference)
    await records.close()

    expected = [] if engine == SQLITE else OF_PARTITIONS
    assert difference == expected, 'run: python -m fanion.db.migrations "what changed"'


REFERENCES = ("cohort_people", "flag_continuity", "person_distinct_ids")
OF_PARTITIONS = [
    "add_constraint uq_persons_project_id_uuid",
    *(f"add_fk fk_{table}_person_id" for table in REFERENCES),
    *(f"remove_fk fk_{table}_person_id" for table in REFERENCES),
    "remove_index ix_persons_project_id_uuid",
]


def _difference(connection: Connection) -> list[str]:
    def is_compared(_: object, name: str | None, kind: str, *__: object) -> bool:
        return kind != "table" or re.fullmatch(r"person_keys|persons_\d\d", name or "") is None

    options = {"include_object": is_compared}
    found = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    return sorted(f"{kind} {item.name}" for kind, item, *_ in found)


def test_the_newest_revision_is_derived_from_the_names_of_the_files() -> None:
    assert ScriptDirectory(str(FOLDER)).get_heads() == [NEWEST]


async def test_the_schema_is_current_only_after_migrating(empty_url: str) -> None:
    before = await schema_is_current(empty_url)
    await migrate(empty_url)
    after = await schema_is_current(empty_url)

    assert (before, after) == (False, True)


async def bring_to_a_later_schema(url: str, oldest_program: str | None) -> None:
    """Mark the schema like a later version does.

    Args:
        oldest_program: None if the later version does not say which programs may go on using it.
    """
    await migrate(url)
    records = await open_records(url)
    async with records.write() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        if oldest_program is not None:
            mark = insert(schema_compatibility).values(
                revision="9999", oldest_program=oldest_program
            )
            await connection.execute(delete(schema_compatibility))
            await connection.execute(mark)
    await records.close()


@pytest.mark.parametrize("oldest_program", [OLDEST, NEWEST])
async def test_a_later_schema_that_is_marked_as_compatible_is_left_as_it_is(
    empty_url: str, oldest_program: str
) -> None:
    await bring_to_a_later_schema(empty_url, oldest_program)

    await migrate(empty_url)

    assert await schema_is_current(empty_url)
    records = await open_records(empty_url)
    [version] = await records.fetch(text("SELECT version_num FROM alembic_version"))
    await records.close()
    assert version.version_num == "9999"


@pytest.mark.parametrize(
    ("oldest_program", "reported"), [(None, "9999"), ("9999", "9999"), ("9990", "9990")]
)
async def test_a_later_schema_of_which_nothing_else_is_said_is_refused(
    empty_url: str, oldest_program: str | None, reported: str
) -> None:
    await bring_to_a_later_schema(empty_url, oldest_program)

    assert not await schema_is_current(empty_url)
    with pytest.raises(SchemaTooNew) as refused:
        await migrate(empty_url)
    assert str(refused.value) == (
        f"the records have schema 9999, for programs of schema {reported} and newer; this program "
        f"knows {NEWEST}. Start the newer version, or restore what was backed up before the "
        "upgrade."
    )


async def test_a_server_that_waits_for_another_one_to_migrate_sees_what_that_has_done(
    postgres: Postgres,
) -> None:
    """The other server is of a later version, whose schema this one may go on using."""
    name = await postgres.create_database()
    url = postgres.url(name)
    other = await asyncpg.connect(url)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("SELECT pg_advisory_xact_lock(7238414921)")

    migrating = asyncio.create_task(migrate(url))
    await until_soon(partial(_is_waiting, postgres, name), "it does not wait")
    await other.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
    await other.execute("INSERT INTO alembic_version VALUES ('9999')")
    await other.execute("CREATE TABLE schema_compatibility (revision TEXT, oldest_program TEXT)")
    await other.execute(f"INSERT INTO schema_compatibility VALUES ('9999', '{NEWEST}')")
    await transaction.commit()
    await migrating

    tables = await other.fetchval("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'")
    await other.close()
    await postgres.drop_database(name)
    assert tables == 2


async def _is_waiting(postgres: Postgres, database: str) -> bool:
    connection = await asyncpg.connect(postgres.url("postgres"))
    try:
        waiting: bool = await connection.fetchval(
            "SELECT COUNT(*) > 0 FROM pg_stat_activity "
            "WHERE datname = $1 AND wait_event = 'advisory'",
            database,
        )
    finally:
        await connection.close()
    return waiting


async def test_migrating_notes_which_programs_may_use_the_schema(empty_url: str) -> None:
    await migrate(empty_url)

    records = await open_records(empty_url)
    marks = await records.fetch(select(schema_compatibility))
    await records.close()
    assert [(mark.revision, mark.oldest_program) for mark in marks] == [(NEWEST, oldest_program())]


def test_each_migration_says_which_programs_go_on() -> None:
    revisions = list(ScriptDirectory(str(FOLDER)).walk_revisions())
    known = {migration.revision for migration in revisions}

    for migration in revisions:
        assert migration.module.oldest_program in known
        assert migration.module.oldest_program <= migration.revision


async def test_servers_that_start_together_migrate_once(empty_url: str) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(migrate(empty_url))

    assert await schema_is_current(empty_url)


async def test_a_new_file_that_another_process_opens_is_waited_for(tmp_path: Path) -> None:
    """SQLite itself does not wait for another writer when it changes the journal of a file."""
    other = sqlite3.connect(tmp_path / "records.db", isolation_level=None)
    other.execute("CREATE TABLE other (a)")
    other.execute("BEGIN IMMEDIATE")

    migrating = asyncio.create_task(migrate(f"sqlite:///{tmp_path}/records.db"))
    done, _ = await asyncio.wait({migrating}, timeout=0.2)
    other.execute("COMMIT")
    other.close()

    assert not done
    await migrating


@pytest.mark.long("waits for longer than other statements do")
async def test_a_migration_that_takes_long_is_waited_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/records.db"
    await migrate(url)
    other = sqlite3.connect(tmp_path / "records.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    migrating = asyncio.create_task(migrate(url))
    done, _ = await asyncio.wait({migrating}, timeout=BUSY_S + 0.5)
    other.execute("COMMIT")
    other.close()

    assert not done
    assert await migrating == NEWEST


@pytest.mark.postgresql
async def test_the_log_and_persons_have_partitions_on_postgresql(records: Records) -> None:
    question = """
    SELECT (SELECT COUNT(*) FROM log_positions WHERE partition BETWEEN 1 AND 64) AS positions,
           (SELECT COUNT(*) FROM accept_log_sizes WHERE slot BETWEEN 0 AND 63) AS sizes,
           (SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'persons'::regclass) AS persons
    """

    [row] = await records.fetch(text(question))

    assert (LOG_PARTITIONS, SIZE_SLOTS) == (64, 64)
    assert tuple(row) == (2 * LOG_PARTITIONS, 2 * SIZE_SLOTS, 16)


@pytest.mark.parametrize("revision", ["0001", "0024", "0030"])
async def test_a_schema_from_before_the_first_published_version_is_refused_and_left_as_it_is(
    empty_url: str, revision: str
) -> None:
    await migrate(empty_url)
    await write(empty_url, f"UPDATE alembic_version SET version_num = '{revision}'")
    before = await records_schema(empty_url)

    for work in (migrate, read_schema):
        with pytest.raises(SchemaTooOld) as refused:
            await work(empty_url)
        assert str(refused.value) == (
            f"the records have schema {revision}, which is older than {OLDEST}, that of version "
            "0.9.0. No earlier version was published, and its data cannot be upgraded. Start with "
            "a new data folder and new databases."
        )

    assert not await schema_is_current(empty_url)
    assert await records_schema(empty_url) == before


async def write(url: str, statement: str) -> None:
    records = await open_records(url)
    async with records.write() as connection:
        await connection.execute(text(statement))
    await records.close()


@pytest.mark.every_engine
async def test_migrating_again_keeps_what_is_stored(records_url: str) -> None:
    records = await open_records(records_url)
    insert = "INSERT INTO flag_versions (project_id, version) VALUES (1, 7)"
    async with records.write() as connection:
        await connection.execute(text(insert))

    await migrate(records_url)

    rows = await records.fetch(text("SELECT project_id, version FROM flag_versions"))
    await records.close()
    assert [tuple(row) for row in rows] == [(1, 7)]
