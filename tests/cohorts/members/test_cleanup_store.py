"""Members of deleted cohorts are removed after the retention time."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from fanion.cohorts.calculation.lease_store import CohortLeaseStore
from fanion.cohorts.imports.store import by_distinct_id
from fanion.cohorts.members.cleanup_store import CohortTrashStore
from fanion.cohorts.store import CohortStore
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_imports, cohort_people
from tests.cohorts.test_concurrent_changes import change
from tests.support.stored_cohorts import (
    LEASE_S,
    NOW,
    claim_cohort,
    cohort,
    make_persons,
    names_in,
    publish_members,
    store_upload,
)

pytestmark = pytest.mark.every_engine

RETENTION = timedelta(days=7)
LATER = NOW + RETENTION


async def remaining_rows(records: Records) -> tuple[int, int]:
    """Return the numbers of members and of files of all cohorts."""
    async with records.read() as connection:
        members = await connection.scalar(select(func.count()).select_from(cohort_people))
        waiting = select(func.count()).where(cohort_imports.c.cohort_id.is_not(None))
        files = await connection.scalar(waiting)
    return members or 0, files or 0


async def test_deleted_cohorts_lose_their_members_after_a_while(records: Records) -> None:
    await make_persons(records, "a", "b", "c")
    work, deleted = CohortLeaseStore(records, LEASE_S), CohortTrashStore(records, RETENTION)
    deleted_one, other = [
        await cohort(records, await store_upload(records, "a"), is_static=True) for _ in range(2)
    ]
    for _ in (deleted_one, other):
        claim = await claim_cohort(work)
        await work.add_members(claim, by_distinct_id(claim.project_id, ["a", "b", "c"]), NOW)
        await publish_members(work, claim)

    await change(records, deleted_one, deleted=True)
    early = await deleted.purge_members(LATER - timedelta(seconds=1))
    await change(records, deleted_one, deleted=True)
    before = await remaining_rows(records)
    while await deleted.purge_members(LATER):
        pass

    assert (early, before) == (False, (6, 2))
    assert await remaining_rows(records) == (3, 1)
    assert await names_in(records, other.id) == ["a", "b", "c"]
    stored = await CohortStore(records).get_cohort(1, deleted_one.id)
    assert stored is not None and (stored.deleted, stored.count) == (True, None)


async def test_a_restored_cohort_keeps_its_members(records: Records) -> None:
    await make_persons(records, "a")
    work, deleted = CohortLeaseStore(records, LEASE_S), CohortTrashStore(records, RETENTION)
    static = await cohort(records, await store_upload(records, "a"), is_static=True)

    await change(records, static, deleted=True)
    await change(records, static, deleted=False)
    claim = await claim_cohort(work)
    await work.add_members(claim, by_distinct_id(claim.project_id, ["a"]), NOW)
    await publish_members(work, claim)

    assert not await deleted.purge_members(LATER)
    assert await names_in(records, static.id) == ["a"]


async def test_a_cohort_restored_during_removal_shows_no_partial_members(records: Records) -> None:
    await make_persons(records, "a", "b")
    work = CohortLeaseStore(records, LEASE_S)
    deleted = CohortTrashStore(records, RETENTION, members_max=1)
    dynamic = await cohort(records)
    claim = await claim_cohort(work)
    await work.add_members(claim, by_distinct_id(claim.project_id, ["a", "b"]), NOW)
    await publish_members(work, claim)
    await change(records, dynamic, deleted=True)

    more = await deleted.purge_members(LATER)
    half = await remaining_rows(records)
    await change(records, dynamic, deleted=False)
    returned, idle = await names_in(records, dynamic.id), await deleted.purge_members(LATER)
    again = await claim_cohort(work)
    await work.add_members(again, by_distinct_id(again.project_id, ["b"]), NOW)
    await publish_members(work, again)

    assert (more, half, returned, idle) == (True, (1, 0), [], False)
    assert await names_in(records, dynamic.id) == ["b"]


async def test_a_cohort_being_calculated_is_not_purged(records: Records) -> None:
    await make_persons(records, "a")
    work, deleted = CohortLeaseStore(records, LEASE_S), CohortTrashStore(records, RETENTION)
    dynamic = await cohort(records)
    await change(records, dynamic, deleted=True)
    await change(records, dynamic, name="asks for a calculation")

    claim = await work.claim_cohort(LATER, "me")
    assert claim is not None
    await work.add_members(claim, by_distinct_id(claim.project_id, ["a"]), LATER)

    assert not await deleted.purge_members(LATER)
