"""Changes of a cohort in the records store while it is calculated or imported."""

from typing import Any

import pytest

from fanion.cohorts.calculation.lease_store import CohortLeaseStore
from fanion.cohorts.imports.store import ImportStore, by_distinct_id
from fanion.cohorts.model import CalculationRun, MembersImport, StoredCohort
from fanion.cohorts.store import CohortStore
from fanion.db.engine import Records
from fanion.db.lease import LeaseLost
from fanion.errors import Invalid
from tests.support.stored_cohorts import (
    AUTHOR,
    LEASE_S,
    NOW,
    claim_cohort,
    cohort,
    cohort_service,
    make_persons,
    names_in,
    publish_members,
    store_upload,
)

pytestmark = pytest.mark.every_engine

RUN = CalculationRun(started_at=NOW, seconds=0.1)


async def change(
    records: Records, stored: StoredCohort, members: MembersImport | None = None, **sent: Any
) -> StoredCohort:
    return await cohort_service(records).change_cohort(AUTHOR, stored.id, sent, members)


async def test_a_calculation_writes_nothing_into_a_cohort_that_became_static(
    records: Records,
) -> None:
    made = await make_persons(records, "a", "b")
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)
    first = await claim_cohort(work)
    await work.change_members(first, [], [made["a"][0]], NOW)
    await publish_members(work, first, NOW)
    running = await claim_cohort(work)
    await work.change_members(running, [], [made["a"][0]], NOW)

    static = await change(records, dynamic, is_static=True)
    with pytest.raises(LeaseLost):
        await work.change_members(running, [], [made["b"][0]], NOW)
    with pytest.raises(LeaseLost):
        await publish_members(work, running)
    await work.record_failure(running, "too late", NOW, RUN)

    assert (static.is_calculating, static.count) == (False, None)
    assert await names_in(records, dynamic.id) == []
    assert await CohortStore(records).get_cohort(1, dynamic.id) == static
    assert await work.claim_cohort(NOW, "another") is None


async def test_an_import_writes_nothing_into_a_cohort_that_became_dynamic(records: Records) -> None:
    made = await make_persons(records, "a", "b")
    static = await cohort(records, await store_upload(records, "a"), is_static=True)
    work = CohortLeaseStore(records, LEASE_S)
    running = await claim_cohort(work)
    await work.add_members(running, by_distinct_id(running.project_id, ["a"]), NOW)

    await change(records, static, is_static=False)
    with pytest.raises(LeaseLost):
        await publish_members(work, running)
    calculation = await claim_cohort(work, lease="another")
    await work.change_members(calculation, [], [made["b"][0]], NOW)
    await publish_members(work, calculation)

    assert await ImportStore(work.records, lambda: NOW).pending_imports(static.id) == []
    assert await names_in(records, static.id) == ["b"]


async def test_members_for_a_dynamic_cohort_are_refused(records: Records) -> None:
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)
    await publish_members(work, await claim_cohort(work))

    with pytest.raises(Invalid):
        await change(records, dynamic, await store_upload(records, "a"), name="b")
    await change(records, dynamic, is_static=True)

    assert await ImportStore(work.records, lambda: NOW).pending_imports(dynamic.id) == []
    assert await work.claim_cohort(NOW, "me") is None


async def test_pending_imports_continue_when_a_cohort_is_restored(records: Records) -> None:
    await make_persons(records, "a")
    static = await cohort(records, await store_upload(records, "a"), is_static=True)
    work = CohortLeaseStore(records, LEASE_S)

    await change(records, static, deleted=True)
    await change(records, static, name="still deleted")
    idle = await work.claim_cohort(NOW, "me")
    await change(records, static, deleted=False)
    claim = await claim_cohort(work)

    assert idle is None
    assert [
        waiting.kind
        for waiting in await ImportStore(work.records, lambda: NOW).pending_imports(claim.cohort_id)
    ] == ["distinct_id"]


async def test_a_restored_cohort_without_pending_imports_is_not_calculated(
    records: Records,
) -> None:
    work, static = CohortLeaseStore(records, LEASE_S), await cohort(records, is_static=True)

    await change(records, static, deleted=True)
    await change(records, static, deleted=False)

    assert await work.claim_cohort(NOW, "me") is None


async def test_a_restored_dynamic_cohort_is_calculated(records: Records) -> None:
    work, dynamic = CohortLeaseStore(records, LEASE_S), await cohort(records)
    await publish_members(work, await claim_cohort(work))

    await change(records, dynamic, deleted=True)
    idle = await work.claim_cohort(NOW, "me")
    await change(records, dynamic, deleted=False)

    assert idle is None
    assert (await claim_cohort(work)).cohort_id == dynamic.id
