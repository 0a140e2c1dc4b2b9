"""Calculations in the records store: one worker each, one step from old to new members."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import func, select, update

from fanion.cohorts.calculation.lease_store import CohortLeaseStore
from fanion.cohorts.imports.store import ImportStore, by_distinct_id
from fanion.cohorts.members.store import memberships
from fanion.cohorts.store import CohortStore
from fanion.db.engine import Records
from fanion.db.lease import LeaseLost
from fanion.db.schema.cohorts import cohort_people, cohorts
from tests.support.stored_cohorts import (
    LEASE_S,
    NOW,
    RUN,
    claim_cohort,
    cohort,
    make_persons,
    merge,
    names_in,
    publish_members,
    store_upload,
    uuids,
)

pytestmark = pytest.mark.every_engine


async def test_new_members_become_visible_in_one_step(records: Records) -> None:
    made = await make_persons(records, "a", "b", "c")
    work, stored_cohort = CohortLeaseStore(records, LEASE_S), await cohort(records)
    first = await claim_cohort(work)
    await work.change_members(first, [], await uuids(made, "ab"), NOW)
    before = await names_in(records, stored_cohort.id)
    assert await publish_members(work, first, NOW) == 2

    second = await claim_cohort(work)
    await work.change_members(second, [], await uuids(made, "c"), NOW)
    await work.change_members(second, [made["a"][1]], [], NOW)
    half = await names_in(records, stored_cohort.id)
    flag_memberships = await memberships(records, [(1, "a"), (1, "c"), (1, "nobody")])
    count = await publish_members(work, second)
    await work.delete_old_rows(stored_cohort.id)

    assert (before, half, count) == ([], ["a", "b"], 2)
    assert flag_memberships == {(1, "a"): frozenset({stored_cohort.id})}
    assert await names_in(records, stored_cohort.id) == ["b", "c"]
    async with records.read() as connection:
        assert await connection.scalar(select(func.count()).select_from(cohort_people)) == 2


async def test_rows_of_a_crashed_calculation_never_become_visible(records: Records) -> None:
    made = await make_persons(records, "a", "b", "c")
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)
    first = await claim_cohort(work)
    await work.change_members(first, [], await uuids(made, "a"), NOW)
    await publish_members(work, first, NOW)
    crashed = await claim_cohort(work)
    await work.change_members(crashed, [], await uuids(made, "b"), NOW)
    await work.change_members(crashed, [made["a"][1]], [], NOW)

    later = NOW + timedelta(seconds=LEASE_S)
    again = await claim_cohort(work, later, "another")
    await work.change_members(again, [], await uuids(made, "c"), later)
    await publish_members(work, again)

    assert await names_in(records, dynamic.id) == ["a", "c"]
    stored = await CohortStore(records).get_cohort(1, dynamic.id)
    assert stored is not None and not stored.is_calculating


async def test_a_cohort_has_one_worker_and_a_lost_lease_writes_nothing(records: Records) -> None:
    made = await make_persons(records, "a", "b")
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)
    slow = await claim_cohort(work)
    taken = await work.claim_cohort(NOW + timedelta(seconds=LEASE_S - 1), "another")
    await work.renew_lease(slow, NOW + timedelta(seconds=30))
    renewed = await work.claim_cohort(NOW + timedelta(seconds=LEASE_S), "another")

    other = await claim_cohort(work, NOW + timedelta(seconds=30 + LEASE_S), "another")
    with pytest.raises(LeaseLost):
        await work.change_members(slow, [], await uuids(made, "a"), NOW)
    with pytest.raises(LeaseLost):
        await publish_members(work, slow)
    await work.record_failure(slow, "too late", None, RUN)
    await work.change_members(other, [], await uuids(made, "b"), NOW)
    await publish_members(work, other)

    assert (taken, renewed) == (None, None)
    assert await names_in(records, dynamic.id) == ["b"]
    stored = await CohortStore(records).get_cohort(1, dynamic.id)
    assert stored is not None and stored.errors_calculating == 0


async def test_a_change_during_a_calculation_leaves_the_next_one_due(records: Records) -> None:
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)
    claim = await claim_cohort(work)
    async with records.write() as connection:
        await connection.execute(
            update(cohorts)
            .where(cohorts.c.id == dynamic.id)
            .values(requested=cohorts.c.requested + 1, due_at=NOW)
        )

    await publish_members(work, claim, NOW + timedelta(minutes=15))

    stored = await CohortStore(records).get_cohort(1, dynamic.id)
    assert stored is not None and stored.is_calculating
    assert (await claim_cohort(work)).version > claim.version


async def test_a_failure_keeps_the_members(records: Records) -> None:
    made = await make_persons(records, "a", "b")
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)
    first = await claim_cohort(work)
    await work.change_members(first, [], await uuids(made, "a"), NOW)
    await publish_members(work, first, NOW)

    second = await claim_cohort(work)
    await work.change_members(second, [], await uuids(made, "b"), NOW)
    await work.record_failure(second, "no" * 1000, NOW, RUN)

    stored = await CohortStore(records).get_cohort(1, dynamic.id)
    assert stored is not None
    assert (stored.errors_calculating, stored.count, stored.is_calculating) == (1, 1, False)
    assert len(stored.last_error_message or "") == 1000
    assert await names_in(records, dynamic.id) == ["a"]


async def test_characters_that_a_text_column_cannot_store_are_removed(records: Records) -> None:
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)

    await work.record_failure(await claim_cohort(work), "a\0b\ud800c", None, RUN)

    stored = await CohortStore(records).get_cohort(1, dynamic.id)
    assert stored is not None and stored.last_error_message == "ab?c"


async def test_only_persons_of_the_project_become_members(records: Records) -> None:
    made = await make_persons(records, "a")
    theirs = await make_persons(records, "a", project_id=2)
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)

    claim = await claim_cohort(work)
    await work.change_members(claim, [], [made["a"][0], theirs["a"][0], uuid4()], NOW)
    await work.add_members(claim, by_distinct_id(claim.project_id, ["a", "nobody"]), NOW)

    assert await publish_members(work, claim) == 1
    assert await memberships(records, [(2, "a")]) == {}
    assert await names_in(records, dynamic.id) == ["a"]


@pytest.mark.parametrize(
    ("gone_in", "survivor_in"), [(True, False), (False, True), (True, True), (False, False)]
)
async def test_a_merge_moves_memberships(
    records: Records, gone_in: bool, survivor_in: bool
) -> None:
    made = await make_persons(records, "gone", "survivor")
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)
    claim = await claim_cohort(work)
    chosen = [made[n][0] for n, is_in in (("gone", gone_in), ("survivor", survivor_in)) if is_in]
    await work.change_members(claim, [], chosen, NOW)
    await publish_members(work, claim, NOW)
    pending = await claim_cohort(work)
    await work.change_members(pending, [made["gone"][1], made["survivor"][1]], [], NOW)

    await merge(records, made["gone"][1], made["survivor"][1])
    now = await names_in(records, dynamic.id)
    await publish_members(work, pending)

    assert now == (["gone"] if gone_in or survivor_in else [])
    assert await names_in(records, dynamic.id) == []


async def test_a_merge_does_not_bring_back_former_members(records: Records) -> None:
    made = await make_persons(records, "gone", "survivor")
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)
    first = await claim_cohort(work)
    await work.change_members(first, [], [made["gone"][0]], NOW)
    await publish_members(work, first, NOW)
    second = await claim_cohort(work)
    await work.change_members(second, [made["gone"][1]], [], NOW)
    await publish_members(work, second, NOW)
    third = await claim_cohort(work)
    await work.change_members(third, [], [made["survivor"][0]], NOW)

    await merge(records, made["gone"][1], made["survivor"][1])
    now = await names_in(records, dynamic.id)
    await publish_members(work, third)

    assert now == []
    assert await names_in(records, dynamic.id) == ["gone"]


async def test_imports_stay_until_their_members_are_visible(records: Records) -> None:
    await make_persons(records, "a")
    static = await cohort(records, await store_upload(records, "a"), is_static=True)
    work = CohortLeaseStore(records, LEASE_S)

    claim = await claim_cohort(work)
    [waiting] = await ImportStore(work.records, lambda: NOW).pending_imports(static.id)
    parts = [ids async for ids in ImportStore(records, lambda: NOW).upload_ids(waiting.id)]
    await work.add_members(claim, by_distinct_id(claim.project_id, ["a"]), NOW)
    await work.publish_version(claim, NOW, None, RUN, [waiting.id])

    assert (waiting.kind, parts) == ("distinct_id", [["a"]])
    assert await ImportStore(work.records, lambda: NOW).pending_imports(static.id) == []
    assert await work.claim_cohort(NOW, "me") is None
    assert await names_in(records, static.id) == ["a"]
