"""Transactions, reads and failures of the records store, on both engines."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from fanion.db.drivers import TransactionConflict
from fanion.db.engine import Records, RecordsUnavailable, open_records
from fanion.db.schema.tables import flag_versions, organizations, persons
from tests.support.postgres import Postgres

pytestmark = pytest.mark.every_engine

NOW = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


def person_row(number: int, **values: Any) -> dict[str, Any]:
    return {
        "project_id": 1,
        "uuid": UUID(int=number),
        "properties": {},
        "is_identified": False,
        "created_at": NOW,
        "version": 0,
    } | values


async def insert_persons(records: Records, *rows: dict[str, Any]) -> None:
    async with records.write() as connection:
        await connection.execute(insert(persons), list(rows))


async def test_what_is_written_is_read_back_as_it_was(records: Records) -> None:
    properties = {"name": "Zoë \x00 \u2028", "n": 12345678901234567890, "deep": [None, {"a": 1.5}]}
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5)))

    await insert_persons(records, person_row(7, properties=properties, created_at=elsewhere))

    [row] = await records.fetch(
        select(persons.c.uuid, persons.c.properties, persons.c.created_at, persons.c.is_identified)
    )
    assert tuple(row) == (UUID(int=7), properties, NOW, False)
    assert row.created_at.tzinfo is UTC


async def test_a_fetch_takes_parameters_and_lists(records: Records) -> None:
    await insert_persons(records, *(person_row(number) for number in range(1, 6)))
    uuids = [UUID(int=2), UUID(int=4), UUID(int=99)]

    rows = await records.fetch(
        select(persons.c.uuid).where(persons.c.uuid.in_(uuids)).order_by(persons.c.id)
    )

    assert [row.uuid for row in rows] == [UUID(int=2), UUID(int=4)]


async def test_an_exception_rolls_everything_back(records: Records) -> None:
    with pytest.raises(KeyError):
        async with records.write() as connection:
            await connection.execute(insert(persons), [person_row(1)])
            raise KeyError

    assert await records.fetch(select(persons.c.id)) == []


async def test_a_broken_constraint_is_not_a_failing_store(records: Records) -> None:
    await insert_persons(records, person_row(1))

    with pytest.raises(IntegrityError):
        await insert_persons(records, person_row(2), person_row(1))

    assert len(await records.fetch(select(persons.c.id))) == 1


async def test_a_row_needs_what_it_refers_to(records: Records) -> None:
    statement = text("INSERT INTO person_distinct_ids VALUES (1, 'a', 12345)")

    with pytest.raises(IntegrityError):
        async with records.write() as connection:
            await connection.execute(statement)


async def test_a_wrong_statement_is_not_a_failing_store(records: Records) -> None:
    with pytest.raises(DBAPIError, match="nowhere"):
        await records.fetch(text("SELECT nonsense FROM nowhere"))


async def test_reading_transactions_cannot_write(records: Records) -> None:
    with pytest.raises(Exception, match=r"readonly|read-only"):
        async with records.read() as connection:
            await connection.execute(insert(persons), [person_row(1)])


async def test_a_read_sees_one_moment_while_others_write(records: Records) -> None:
    await insert_persons(records, person_row(1))

    async with records.read() as connection:
        before = (await connection.execute(select(persons.c.id))).all()
        await insert_persons(records, person_row(2))
        after = (await connection.execute(select(persons.c.id))).all()

    assert len(before) == len(after) == 1


async def test_many_writers_wait_for_each_other(records: Records) -> None:
    async with records.write() as connection:
        await connection.execute(insert(flag_versions), [{"project_id": 1, "version": 0}])

    async def count_up() -> None:
        async with records.write() as connection:
            await connection.execute(
                update(flag_versions).values(version=flag_versions.c.version + 1)
            )

    async with asyncio.TaskGroup() as group:
        for _ in range(40):
            group.create_task(count_up())

    assert [row.version for row in await records.fetch(select(flag_versions.c.version))] == [40]


async def test_a_cancelled_writer_writes_nothing_and_delays_no_other(records: Records) -> None:
    is_writing = asyncio.Event()

    async def write_and_wait() -> None:
        async with records.write() as connection:
            await connection.execute(insert(persons), [person_row(1)])
            is_writing.set()
            await asyncio.Event().wait()

    for _ in range(3):
        is_writing.clear()
        task = asyncio.create_task(write_and_wait())
        await is_writing.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await insert_persons(records, person_row(2))

    assert [row.uuid for row in await records.fetch(select(persons.c.uuid))] == [UUID(int=2)]


async def test_a_statement_cancelled_midway_leaves_a_usable_store(records: Records) -> None:
    async def write_often() -> None:
        for number in range(1000):
            await insert_persons(records, person_row(number + 1))

    for delay in range(1, 6):
        task = asyncio.create_task(write_often())
        for _ in range(delay * 7):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with records.write() as connection:
            await connection.execute(text("DELETE FROM persons"))

    await insert_persons(records, person_row(1))
    assert len(await records.fetch(select(persons.c.id))) == 1


async def test_a_write_cancelled_while_it_reads_leaves_a_usable_store(records: Records) -> None:
    is_reading = asyncio.Event()
    counting = text(
        "WITH RECURSIVE numbers(n) AS"
        " (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 90000)"
        " SELECT count(*) FROM numbers"
    )

    async def write_and_read() -> None:
        async with records.write() as connection:
            await connection.execute(insert(persons), [person_row(1)])
            is_reading.set()
            await connection.execute(counting)

    cancelled = []  # kept, since their tracebacks hold what the driver gave them
    for turns in range(5):
        is_reading.clear()
        cancelled.append(asyncio.create_task(write_and_read()))
        await is_reading.wait()
        for _ in range(turns):
            await asyncio.sleep(0)
        cancelled[-1].cancel()
        await asyncio.wait([cancelled[-1]])
        await insert_persons(records, person_row(2 + turns))

    assert len(await records.fetch(select(persons.c.id))) == 5


async def test_ids_are_never_used_again(records: Records) -> None:
    await insert_persons(records, person_row(1), person_row(2))
    [*_, newest] = await records.fetch(select(persons.c.id).order_by(persons.c.id))
    async with records.write() as connection:
        await connection.execute(text("DELETE FROM persons"))

    await insert_persons(records, person_row(3))

    [row] = await records.fetch(select(persons.c.id))
    assert row.id > newest.id


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(RecordsUnavailable):
        await open_records("postgresql://fanion@127.0.0.1:1/records")


async def test_a_lost_connection_is_unavailable_and_the_next_one_works(
    postgres: Postgres, postgres_url: str
) -> None:
    records = await open_records(postgres_url)
    end_the_others = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    database = postgres_url.rpartition("/")[2]

    with pytest.raises(RecordsUnavailable):
        async with records.write() as connection:
            await connection.execute(insert(persons), [person_row(1)])
            await postgres.run(end_the_others, database)
            await connection.execute(insert(persons), [person_row(2)])
    await insert_persons(records, person_row(3))

    rows = await records.fetch(select(persons.c.uuid))
    await records.close()
    assert [row.uuid for row in rows] == [UUID(int=3)]


@pytest.mark.parametrize("is_in_use", [True, False])
async def test_a_transaction_that_ends_after_the_store_was_closed_leaves_no_connection(
    postgres: Postgres, postgres_url: str, is_in_use: bool
) -> None:
    records = await open_records(postgres_url)
    began, may_end = asyncio.Event(), asyncio.Event()

    async def write() -> None:
        if is_in_use:
            async with records.write():
                began.set()
                await may_end.wait()
        else:
            began.set()
            await may_end.wait()
            async with records.write():
                pass

    writing = asyncio.create_task(write())
    await began.wait()
    await records.close()
    may_end.set()
    await writing

    await postgres.until_left(postgres_url)


async def test_a_statement_over_its_time_is_unavailable(postgres_url: str) -> None:
    records = await open_records(postgres_url)

    with pytest.raises(RecordsUnavailable):
        async with records.write() as connection:
            await connection.execute(text("SET LOCAL statement_timeout = 20"))
            await connection.execute(text("SELECT pg_sleep(30)"))

    await records.ping()
    await records.close()


async def test_a_full_disk_is_unavailable_and_keeps_what_was_there(sqlite_url: str) -> None:
    records = await open_records(sqlite_url)
    await insert_persons(records, person_row(1))

    with pytest.raises(RecordsUnavailable, match="full"):
        async with records.write() as connection:
            await connection.run_sync(_leave_no_room)
            await connection.execute(
                insert(persons), [person_row(n, properties={"a": "x" * 9000}) for n in range(2, 50)]
            )

    rows = await records.fetch(select(persons.c.uuid))
    await records.close()
    assert [row.uuid for row in rows] == [UUID(int=1)]


def _leave_no_room(connection: Connection) -> None:
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")


async def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    path.write_text("This is a letter to my grandmother, who collects databases. " * 20)

    with pytest.raises(RecordsUnavailable):
        await open_records(f"sqlite:///{path}")


async def test_durable_settings_are_on(sqlite_url: str) -> None:
    records = await open_records(sqlite_url)
    names = ("journal_mode", "synchronous", "foreign_keys")

    async with records.write() as connection:
        values = [
            (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one() for name in names
        ]

    await records.close()
    assert values == ["wal", 2, 1]


@pytest.mark.parametrize("url", ["mysql://localhost/x", "sqlite://", "chdb:///x"])
async def test_another_kind_of_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="sqlite:/// or postgresql://"):
        await open_records(url)


async def test_a_url_written_for_libpq_is_understood(postgres_url: str) -> None:
    url = postgres_url.replace("postgresql://", "postgres://") + "?sslmode=disable"

    records = await open_records(url)
    async with records.write() as connection:
        await connection.execute(
            insert(organizations), [{"id": UUID(int=1), "name": "A", "created_at": NOW}]
        )

    await records.close()


async def test_of_two_transactions_that_wait_for_one_another_one_fails(
    postgres_url: str,
) -> None:
    store = await open_records(postgres_url)
    both = asyncio.Barrier(2)

    async def lock(first: int, second: int) -> None:
        async with store.write() as connection:
            await connection.execute(select(func.pg_advisory_xact_lock(first)))
            await both.wait()
            await connection.execute(select(func.pg_advisory_xact_lock(second)))

    ended = await asyncio.gather(lock(1, 2), lock(2, 1), return_exceptions=True)
    await store.close()

    [reported] = [error for error in ended if error is not None]
    assert isinstance(reported, TransactionConflict)
    assert "deadlock" in str(reported)
