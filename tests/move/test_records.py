"""Every row of the records store arrives, from SQLite in PostgreSQL and back."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import (
    Boolean,
    Column,
    Date,
    Float,
    LargeBinary,
    String,
    Table,
    Uuid,
    delete,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from fanion.db.columns import UtcDateTime
from fanion.db.migrate import migrate
from fanion.db.schema.accounts import sessions
from fanion.db.schema.tables import feature_flags, organizations, projects, users
from fanion.move.records_store import (
    NotSettled,
    copy_records,
    make_records_equal,
    open_engine,
    settled_positions,
    snapshot_of,
)
from fanion.move.rows_store import RowsDiffer, Sum, pages
from fanion.move.tables import OWN, all_tables, moved_tables
from tests.support.postgres import Postgres

ROWS = 3
NOW = datetime(2026, 5, 4, 3, 2, 1, 123456, tzinfo=UTC)


def ignore(_: int) -> None:
    pass


def value_of(column: Column[Any], number: int) -> object:
    """Return a value for any column, which rows of other tables with the same number refer to."""
    kind = column.type
    match kind:
        case Boolean():
            return bool(number % 2)
        case Uuid():
            return UUID(int=number)
        case UtcDateTime():
            return NOW + timedelta(days=number)
        case Date():
            return date(2026, 1, number)
        case LargeBinary():
            return b"\x00\xff" * number
        case Float():
            return number + 0.25
        case String():
            return f"{number} ü '\\u0000' {column.name}"[: kind.length]
    return number


async def fill(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        for table in moved_tables():
            await connection.execute(delete(table))
            rows = [
                {column.name: value_of(column, number) for column in table.columns}
                for number in range(1, ROWS + 1)
            ]
            await connection.execute(insert(table), rows)


@pytest.fixture
async def stores(tmp_path: Path, postgres: Postgres) -> AsyncIterator[Sequence[AsyncEngine]]:
    """Yield a store in SQLite, one in PostgreSQL, and another one in SQLite, without rows."""
    database = await postgres.create_database()
    urls = [
        f"sqlite:///{tmp_path / 'first.db'}",
        postgres.url(database),
        f"sqlite:///{tmp_path / 'second.db'}",
    ]
    engines = [open_engine(url, writes=True) for url in urls]
    for url in urls:
        await migrate(url)
    yield engines
    for engine in engines:
        await engine.dispose()
    await postgres.drop_database(database)


async def copy(source: AsyncEngine, target: AsyncEngine) -> dict[str, Sum]:
    async with snapshot_of(source) as connection:
        await copy_records(connection, target, ignore)
        async with target.begin() as written:
            return await make_records_equal(connection, written, ignore)


async def rows_of(engine: AsyncEngine, table: Table) -> list[tuple[Any, ...]]:
    async with engine.begin() as connection:
        return [tuple(row) async for page in pages(connection, table) for row in page]


def test_a_table_is_moved_unless_it_is_named() -> None:
    assert {*OWN} < {table.name for table in all_tables()}
    assert {table.name for table in moved_tables()} == {t.name for t in all_tables()} - {*OWN}


async def test_all_rows_of_all_tables_arrive_up_and_down(stores: Sequence[AsyncEngine]) -> None:
    first, up, down = stores
    await fill(first)

    held = await copy(first, up)
    again = await copy(up, down)

    assert held == again
    for table in moved_tables():
        rows = await rows_of(first, table)
        assert len(rows) == ROWS
        assert sorted(rows) == sorted(await rows_of(up, table))
        assert rows == await rows_of(down, table)


async def test_a_second_copy_follows_changes_deletions_and_new_rows(
    stores: Sequence[AsyncEngine],
) -> None:
    """Two flags exchange their keys, which are unique."""
    first, up, _ = stores
    await fill(first)
    await copy(first, up)
    flag = feature_flags.c
    async with first.begin() as connection:
        await connection.execute(delete(sessions).where(sessions.c.user_id == 2))
        await connection.execute(update(users).where(users.c.id == 1).values(first_name="Changed"))
        for key, number in (("between", 1), ("one", 2), ("two", 1)):
            await connection.execute(update(feature_flags).where(flag.id == number).values(key=key))
        new = {column.name: value_of(column, ROWS + 1) for column in organizations.columns}
        await connection.execute(insert(organizations).values(new))

    await copy(first, up)

    for table in moved_tables():
        assert sorted(await rows_of(up, table)) == sorted(await rows_of(first, table))


async def test_a_table_that_differs_after_copying_is_found(stores: Sequence[AsyncEngine]) -> None:
    first, _, second = stores
    await fill(first)
    async with second.begin() as connection:
        for change in ("INSERT", "UPDATE"):
            trigger = f"""
            CREATE TRIGGER spoil_{change} AFTER {change} ON projects WHEN NEW.id = 2
            BEGIN UPDATE projects SET name = 'spoiled' WHERE id = 2; END
            """
            await connection.execute(text(trigger))

    with pytest.raises(RowsDiffer, match=r"^projects has 3 rows with the checksum \w{16} in the s"):
        await copy(first, second)

    async with second.begin() as connection:  # the copies made before stay, for the next attempt
        assert await connection.scalar(select(projects.c.name).where(projects.c.id == 1))


async def test_new_rows_are_numbered_behind_deleted_ones(stores: Sequence[AsyncEngine]) -> None:
    first, up, down = stores
    await fill(first)
    async with first.begin() as connection:
        await connection.execute(text("UPDATE sqlite_sequence SET seq = 900"))
        await connection.execute(text("UPDATE mirror_versions SET version = 5000"))
    await copy(first, up)
    await copy(up, down)

    async with up.begin() as connection:
        drawn = await connection.scalar(text("SELECT nextval('feature_flags_id_seq')"))
        version = await connection.scalar(text("SELECT nextval('mirror_versions_version_seq')"))
    async with down.begin() as connection:
        given = await connection.scalar(
            text("SELECT seq FROM sqlite_sequence WHERE name = 'feature_flags'")
        )
        below = await connection.scalar(text("SELECT version FROM mirror_versions"))
    assert (drawn, given) == (901, 900)
    assert 5000 < version < below


async def test_references_are_checked_again_after_a_move(stores: Sequence[AsyncEngine]) -> None:
    first, up, _ = stores
    await fill(first)
    await copy(first, up)

    async with up.connect() as connection:
        with pytest.raises(IntegrityError, match="fk_memberships_organization_id"):
            await connection.execute(delete(organizations))


@pytest.mark.parametrize(
    ("row", "is_settled"),
    [
        (("live", 5, 5), True),
        (("live", 5, 6), False),
        (("live:progress", 6, 2), False),
        (("live:progress", 5, 2), True),
    ],
)
async def test_a_batch_that_was_begun_is_awaited(
    stores: Sequence[AsyncEngine], row: tuple[str, int, int], is_settled: bool
) -> None:
    first = stores[0]
    async with first.begin() as connection:
        for consumer, (position, claimed) in {"live": (5, 5), row[0]: row[1:]}.items():
            await connection.execute(
                text(
                    "INSERT INTO log_positions (consumer, position, claimed, holder, held_until)"
                    " VALUES (:consumer, :position, :claimed, '', '1970-01-01')"
                ),
                {"consumer": consumer, "position": position, "claimed": claimed},
            )
        if is_settled:
            assert await settled_positions(connection) == {"live": 5}
        else:
            with pytest.raises(NotSettled):
                await settled_positions(connection)
