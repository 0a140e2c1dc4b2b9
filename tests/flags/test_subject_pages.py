"""Persons and groups, read page by page."""

from collections import namedtuple

import pytest

from fanion.db.engine import Records
from fanion.flags.engine.conditions import Reads
from fanion.flags.evaluation.pages_store import ROWS_MAX, ROWS_MIN, SubjectPages, next_page
from tests.flags.test_change_process import store_groups, store_persons

Text = namedtuple("Text", "text")


@pytest.mark.parametrize(
    ("chars", "rows"), [(2, ROWS_MAX), (2_000, ROWS_MAX), (20_000, 419), (500_000, ROWS_MIN)]
)
def test_large_properties_make_small_pages(chars: int, rows: int) -> None:
    assert next_page([Text("x" * chars)] * 100) == rows  # type: ignore[list-item]


@pytest.mark.every_engine
async def test_each_person_comes_once_in_the_order_of_uuids(records: Records) -> None:
    await store_persons(records, 250)
    pages = SubjectPages(records)

    plain = [one async for page in pages.persons(1, Reads()) for one in page]
    read = [one async for page in pages.persons(1, Reads(frozenset({"n"}))) for one in page]
    some = [one async for page in pages.persons(1, Reads(), 120) for one in page]

    assert [one.uuid for one in plain] == sorted(one.uuid for one in plain)
    assert {one.subject.distinct_id for one in plain} == {f"user{n}" for n in range(250)}
    # Values that no flag uses are not read.
    assert {len(one.subject.stored or {}) for one in plain} == {0}
    assert all(one.subject.distinct_id == f"user{(one.subject.stored or {})['n'] - 1}"
               for one in read)  # fmt: skip
    assert some == plain[:120]


@pytest.mark.every_engine
async def test_each_group_comes_once_and_a_sample_stays_the_same(records: Records) -> None:
    await store_groups(records, 250)
    pages = SubjectPages(records)

    found = [one async for page in pages.groups(1, 0, "org") for one in page]
    chosen = await pages.sample_groups(1, 0, 120)
    sampled = [one async for page in pages.groups_of(1, 0, "org", chosen) for one in page]

    assert sorted(one.groups["org"] for one in found) == sorted(f"org{n}" for n in range(250))
    assert sorted(one.groups["org"] for one in sampled) == sorted(chosen)
    assert len(set(chosen)) == 120
    assert chosen == (await pages.sample_groups(1, 0, 200))[:120]
