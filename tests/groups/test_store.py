"""Promises of the store of groups beyond what the API exposes."""

from datetime import timedelta

import pytest
from sqlalchemy import insert

from fanion.db.engine import Records
from fanion.db.schema.tables import groups
from fanion.groups.store import PORTION_KEYS, GroupQuery, find_groups, load_groups
from fanion.properties.size import ByteBudget, ByteBudgetExceeded, json_bytes
from tests.support.management import NOW

pytestmark = pytest.mark.every_engine

PROJECT = 1
COUNT = PORTION_KEYS * 2 + 10
PROPERTIES = {"name": "Ü" * 50}


@pytest.fixture
async def many(records: Records) -> Records:
    rows = [
        {
            "project_id": PROJECT,
            "group_type_index": 0,
            "group_key": f"g{n:03}",
            "properties": PROPERTIES,
            "created_at": NOW - timedelta(days=n),
            "version": 1,
        }
        for n in range(COUNT)
    ]
    async with records.write() as connection:
        await connection.execute(insert(groups), rows)
    return records


async def test_a_page_of_many_groups_is_whole_and_in_order(many: Records) -> None:
    page, total = await find_groups(many, PROJECT, GroupQuery(0, limit=COUNT, offset=5))

    assert total == COUNT
    assert [group.key for group in page] == [f"g{n:03}" for n in range(5, COUNT)]
    assert all(group.properties == PROPERTIES for group in page)


async def test_a_page_ends_early_when_it_holds_much(many: Records) -> None:
    page, total = await find_groups(many, PROJECT, GroupQuery(0, limit=COUNT), bytes_max=1_000)

    assert (len(page), total) == (PORTION_KEYS, COUNT)


async def test_ingestion_reads_all_groups_that_it_names_and_their_size(many: Records) -> None:
    keys = [(0, f"g{n:03}") for n in range(COUNT + 5)]
    size = json_bytes(PROPERTIES)

    async with many.read() as connection:
        loaded = await connection.run_sync(load_groups, PROJECT, keys, ByteBudget(COUNT * size))
        with pytest.raises(ByteBudgetExceeded):
            await connection.run_sync(load_groups, PROJECT, keys, ByteBudget(COUNT * size - 1))

    assert loaded.keys() == set(keys[:COUNT])
    assert {group.properties_bytes for group in loaded.values()} == {size}
