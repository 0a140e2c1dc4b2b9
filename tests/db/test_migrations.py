"""A migrated database is the one the tables describe, on both engines."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, delete, func, insert, select, text

from fanion.accept_log.postgres_partitions import PARTITIONS as LOG_PARTITIONS
from fanion.db.engine import open_records
from fanion.db.migrate import (
    FOLDER,
    NEWEST,
    migrate,
    oldest_program,
    schema_is_current,
)
from fanion.db.person_partitions import PARTITIONS
from fanion.db.schema.tables import (
    log_positions,
    metadata,
    personal_api_keys,
    schema_compatibility,
)
from fanion.db.schema.webhooks import webhooks
from fanion.errors import SchemaTooNew
from fanion.projects.auth.secret_keys_store import SecretKeyOwner, SecretKeyStore
from fanion.projects.store import ProjectStore
from tests.support.awaited import until_soon
from tests.support.postgres import SQLITE, Postgres
from tests.support.undivided import make_undivided, migrate_from_the_first_version

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
    """On PostgreSQL one that was set up before persons had partitions: a new one has the schema
    that such a one gets by `fanion persons partition`."""
    if engine == SQLITE:
        await migrate(empty_url)
    else:
        await make_undivided(empty_url)

    records = await open_records(empty_url)
    async with records.read() as connection:
        difference = await connection.run_sync(_difference)
    await records.close()

    assert difference == [], 'run: python -m fanion.db.migrations "what changed"'


def _difference(connection: Connection) -> list[object]:
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


def test_the_newest_revision_is_derived_from_the_names_of_the_files() -> None:
    assert ScriptDirectory(str(FOLDER)).get_heads() == [NEWEST]


async def test_the_schema_is_current_only_after_migrating(empty_url: str) -> None:
    before = await schema_is_current(empty_url)
    await migrate(empty_url)
    after = await schema_is_current(empty_url)

    assert (before, after) == (False, True)


async def bring_to_a_later_schema(url: str, oldest_program: str | None) -> None:
    """As a later version would. oldest_program: None when it does not say which goes on with it"""
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


@pytest.mark.parametrize("oldest_program", ["0001", NEWEST])
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
    """The other one is of a later version, with which this one may go on."""
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


def test_each_migration_since_then_says_which_programs_go_on() -> None:
    revisions = list(ScriptDirectory(str(FOLDER)).walk_revisions())
    known = {one.revision for one in revisions}

    for one in revisions:
        if one.revision >= "0005":
            assert one.module.oldest_program in known
            assert "0005" <= one.module.oldest_program <= one.revision


async def test_servers_that_start_together_migrate_once(empty_url: str) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(migrate(empty_url))

    assert await schema_is_current(empty_url)


async def test_a_new_file_that_another_process_opens_is_waited_for(tmp_path: Path) -> None:
    """To change the journal of a file SQLite itself waits for no other writer."""
    other = sqlite3.connect(tmp_path / "records.db", isolation_level=None)
    other.execute("CREATE TABLE other (a)")
    other.execute("BEGIN IMMEDIATE")

    migrating = asyncio.create_task(migrate(f"sqlite:///{tmp_path}/records.db"))
    done, _ = await asyncio.wait({migrating}, timeout=0.2)
    other.execute("COMMIT")
    other.close()

    assert not done
    await migrating


# Of the first version, one row of each table that a later one changes.
FIRST_ROWS = (
    "INSERT INTO organizations (id, name, created_at) "
    "VALUES ('00000000000000000000000000000001', 'o', '2024-03-01 12:00:00')",
    "INSERT INTO users (id, uuid, distinct_id, email, first_name, password_hash, is_active, "
    "is_email_verified, created_at) VALUES (5, '00000000000000000000000000000002', 'd', "
    "'a@example.com', 'A', '', true, true, '2024-03-01 12:00:00')",
    "INSERT INTO projects (id, uuid, organization_id, name, api_token, timezone, created_at) "
    "VALUES (6, '00000000000000000000000000000004', '00000000000000000000000000000001', 'p', "
    "'phc_first', 'UTC', '2024-03-01 12:00:00')",
    "INSERT INTO project_secret_keys (project_id, hash, mask_value, created_at) "
    "VALUES (6, 'h', 'm', '2024-03-01 12:00:00')",
    "INSERT INTO webhooks (id, project_id, url, secret, events, active, created_at, updated_at) "
    "VALUES (7, 6, 'https://a.example/', 'whsec_', '[]', true, '2024-03-01 12:00:00', "
    "'2024-03-01 12:00:00')",
    "INSERT INTO personal_api_keys (id, user_id, label, hash, mask_value, created_at) "
    "VALUES ('00000000000000000000000000000003', 5, 'CI', 'h', 'm', '2024-03-01 12:00:00')",
)


async def test_a_store_of_the_first_version_keeps_its_rows(empty_url: str) -> None:
    await migrate_from_the_first_version(empty_url, *FIRST_ROWS)

    records = await open_records(empty_url)
    [key] = await records.fetch(select(personal_api_keys))
    [webhook] = await records.fetch(select(webhooks))
    projects = await ProjectStore(records).by_tokens(["phc_first"])
    secrets = await SecretKeyStore(records).owners(["h"])
    await records.close()
    assert (key.label, key.user_id, key.expires_at) == ("CI", 5, None)
    assert (webhook.id, webhook.secret, webhook.former_secrets) == (7, "whsec_", None)
    assert (projects["phc_first"].id, projects["phc_first"].former_tokens) == (6, ())
    assert secrets == {"h": SecretKeyOwner(6, None)}


@pytest.mark.parametrize("is_used", [False, True])
async def test_a_new_database_on_postgresql_has_partitions_and_a_used_one_does_not(
    empty_url: str, is_used: bool
) -> None:
    await migrate_from_the_first_version(empty_url, *FIRST_ROWS[:1] if is_used else ())

    records = await open_records(empty_url)
    [row] = await records.fetch(select(func.max(log_positions.c.partition)))
    of_persons = "SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'persons'::regclass"
    is_server = records.dialect == "postgresql"
    persons = (await records.fetch(text(of_persons)))[0][0] if is_server else 0
    await records.close()
    is_divided = is_server and not is_used
    assert (row[0] or 0, persons) == ((LOG_PARTITIONS, PARTITIONS) if is_divided else (0, 0))


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
