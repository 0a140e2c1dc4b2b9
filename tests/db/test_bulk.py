"""Rows that are inserted many at once are read like rows that are inserted one by one."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from fanion.db.bulk import as_bound, insert_rows, put_rows, update_rows
from fanion.db.engine import Records
from fanion.db.schema.tables import person_overrides, persons

pytestmark = pytest.mark.every_engine

COLUMNS = ("project_id", "uuid", "properties", "is_identified", "created_at", "version", "email")
AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=2)))


def row(number: int) -> tuple[Any, ...]:
    properties = {"number": number, "text": "ä\0'\"?$1", "none": None}
    return (7, uuid4(), properties, number % 2 == 0, AT, 2**40 + number, None)


@pytest.mark.parametrize("count", [1, 3, 511, 512, 513, 1203])
async def test_every_row_comes_back_as_it_was_given(records: Records, count: int) -> None:
    rows = [row(number) for number in range(count)]

    async with records.write() as connection:
        await connection.run_sync(insert_rows, persons, COLUMNS, rows)

    statement = select(*(persons.c[name] for name in COLUMNS)).order_by(persons.c.version)
    stored = [tuple(row) for row in await records.fetch(statement)]
    assert stored == rows
    assert all(row[4].tzinfo is UTC for row in stored)


async def test_new_numbers_are_matched_by_another_column(records: Records) -> None:
    rows = [row(number) for number in range(777)]

    async with records.write() as connection:
        reported = await connection.run_sync(insert_rows, persons, COLUMNS, rows, ("uuid", "id"))
        uuids = await connection.run_sync(as_bound, persons, "uuid", [row[1] for row in rows])

    numbers = dict(reported)
    stored: dict[UUID, int] = {
        row.uuid: row.id for row in await records.fetch(select(persons.c.uuid, persons.c.id))
    }
    assert [numbers[uuid] for uuid in uuids] == [stored[row[1]] for row in rows]


async def test_a_row_that_breaks_a_constraint_leaves_none(records: Records) -> None:
    rows = [row(number) for number in range(600)]

    with pytest.raises(IntegrityError):
        async with records.write() as connection:
            await connection.run_sync(insert_rows, persons, COLUMNS, [*rows, rows[0]])

    assert await records.fetch(select(persons.c.id)) == []


CHANGED = ("id", "properties", "is_identified", "created_at", "version", "email")


async def test_rows_that_are_named_change_and_no_others(records: Records) -> None:
    rows = [row(number) for number in range(1101)]
    async with records.write() as connection:
        reported = await connection.run_sync(insert_rows, persons, COLUMNS, rows, ("version", "id"))
    numbers = dict(reported)
    changes = [
        (numbers[version], {"now": version, "text": "\0"}, True, AT + timedelta(days=1), 1, "a@b.c")
        for version in [row[5] for row in rows[:-1]]
    ]

    async with records.write() as connection:
        await connection.run_sync(update_rows, persons, CHANGED, changes)

    statement = select(*(persons.c[name] for name in CHANGED)).order_by(persons.c.id)
    stored = {row[0]: tuple(row) for row in await records.fetch(statement)}
    assert [stored[row[0]] for row in changes] == changes
    assert stored[numbers[rows[-1][5]]][1:] == (*rows[-1][2:6], None)


async def test_rows_that_are_put_are_new_or_take_the_place_of_old_ones(records: Records) -> None:
    old, new = [[(7, uuid4(), uuid4(), version) for _ in range(501)] for version in (1, 2)]
    moved = [(*row[:2], uuid4(), 3) for row in old[:-1]]
    names = (("project_id", "old_person"), ("new_person", "version"))

    for rows in (old, moved + new):
        async with records.write() as connection:
            await connection.run_sync(put_rows, person_overrides, *names, rows)

    stored = await records.fetch(select(person_overrides))
    assert sorted(map(tuple, stored)) == sorted([old[-1], *moved, *new])
