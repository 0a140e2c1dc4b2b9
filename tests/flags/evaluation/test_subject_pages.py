"""Persons and groups, read page by page."""

from collections import namedtuple

import pytest

from fanion.db.engine import Records
from fanion.flags.engine.conditions import Reads
from fanion.flags.evaluation.pages_store import ROWS_MAX, ROWS_MIN, SubjectPages, next_page
from tests.flags.preview.test_change_process import store_groups, store_persons

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

    plain = [person async for page in pages.persons(1, Reads()) for person in page]
    read = [person async for page in pages.persons(1, Reads(frozenset({"n"}))) for person in page]
    some = [person async for page in pages.persons(1, Reads(), 120) for person in page]

    assert [person.uuid for person in plain] == sorted(person.uuid for person in plain)
    assert {person.subject.distinct_id for person in plain} == {f"user{n}" for n in range(250)}
    # Values that no flag uses are not read.
    assert {len(person.subject.stored or {}) for person in plain} == {0}
    assert all(person.subject.distinct_id == f"user{(person.subject.stored or {})['n'] - 1}"
               for person in read)  # fmt: skip
    assert some == plain[:120]


@pytest.mark.every_engine
async def test_each_group_comes_once_and_a_sample_stays_the_same(records: Records) -> None:
    await store_groups(records, 250)
    pages = SubjectPages(records)

    subjects = [subject async for page in pages.groups(1, 0, "org") for subject in page]
    chosen = await pages.sample_groups(1, 0, 120)
    sampled = [subject async for page in pages.groups_of(1, 0, "org", chosen) for subject in page]

    assert sorted(subject.groups["org"] for subject in subjects) == sorted(
        f"org{n}" for n in range(250)
    )
    assert sorted(subject.groups["org"] for subject in sampled) == sorted(chosen)
    assert len(set(chosen)) == 120
    assert chosen == (await pages.sample_groups(1, 0, 200))[:120]
