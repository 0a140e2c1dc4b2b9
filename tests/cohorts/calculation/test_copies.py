"""A static copy has the members that the original had when the copy was requested."""

import pytest
from sqlalchemy import func, select, update

from fanion.cohorts.calculation.lease_store import CohortClaim, CohortLeaseStore
from fanion.cohorts.imports.store import ImportStore, by_distinct_id
from fanion.cohorts.members.store import memberships
from fanion.cohorts.model import CalculationRun, MembersImport, StoredCohort
from fanion.cohorts.store import CohortStore
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_people
from fanion.db.schema.tables import person_distinct_ids, persons
from fanion.persons.state.merge_store import move_memberships
from tests.cohorts.test_concurrent_changes import change
from tests.support.stored_cohorts import (
    LEASE_S,
    NOW,
    claim_cohort,
    cohort,
    make_persons,
    merge,
    names_in,
    publish_members,
)

pytestmark = pytest.mark.every_engine

RUN = CalculationRun(started_at=NOW, seconds=0.1)


@pytest.fixture
def work(records: Records) -> CohortLeaseStore:
    return CohortLeaseStore(records, LEASE_S)


async def original(records: Records, work: CohortLeaseStore) -> StoredCohort:
    """Create a dynamic cohort with the members a and b."""
    await make_persons(records, "a", "b", "c")
    dynamic = await cohort(records)
    claim = await claim_cohort(work)
    await work.add_members(claim, by_distinct_id(claim.project_id, ["a", "b"]), NOW)
    await publish_members(work, claim)
    return dynamic


async def copy_of(records: Records, source: StoredCohort) -> StoredCohort:
    return await cohort(records, MembersImport(source_id=source.id), is_static=True)


async def fill(work: CohortLeaseStore, claim: CohortClaim) -> None:
    """Fill a copy as the calculator does."""
    [waiting] = await ImportStore(work.records, lambda: NOW).pending_imports(claim.cohort_id)
    last: int | None = 0
    while last is not None:
        last = await work.copy_members(claim, waiting, last, NOW)
    await work.publish_version(claim, NOW, None, RUN, [waiting.id])
    assert waiting.source_id
    while await work.delete_old_rows(waiting.source_id):
        pass


async def number_of(records: Records, distinct_id: str) -> int:
    link = person_distinct_ids.c
    async with records.read() as connection:
        return (
            await connection.scalar(select(link.person_id).where(link.distinct_id == distinct_id))
            or 0
        )


async def counted(records: Records, source: StoredCohort) -> int | None:
    stored = await CohortStore(records).get_cohort(1, source.id)
    assert stored is not None
    return stored.count


async def rows_of(records: Records, source: StoredCohort) -> int:
    mine = select(func.count()).where(cohort_people.c.cohort_id == source.id)
    async with records.read() as connection:
        return await connection.scalar(mine) or 0


async def test_a_calculation_that_runs_already_does_not_change_the_copy(
    records: Records, work: CohortLeaseStore
) -> None:
    source = await original(records, work)
    await change(records, source, name="due")
    running = await claim_cohort(work)
    copy = await copy_of(records, source)

    await work.change_members(running, [await number_of(records, "a")], [], NOW)
    await work.add_members(running, by_distinct_id(running.project_id, ["c"]), NOW)
    await publish_members(work, running)
    while await work.delete_old_rows(source.id):
        pass
    held = await rows_of(records, source)
    await fill(work, await claim_cohort(work))

    assert await names_in(records, copy.id) == ["a", "b"]
    assert await names_in(records, source.id) == ["b", "c"]
    assert (held, await rows_of(records, source)) == (3, 2)


async def test_a_person_merged_after_leaving_the_original_is_in_the_copy(
    records: Records, work: CohortLeaseStore
) -> None:
    source = await original(records, work)
    await change(records, source, name="due")
    running = await claim_cohort(work)
    copy = await copy_of(records, source)
    await work.change_members(running, [await number_of(records, "a")], [], NOW)
    await publish_members(work, running)

    await merge(records, await number_of(records, "a"), await number_of(records, "c"))
    waiting = await names_in(records, copy.id)
    await fill(work, await claim_cohort(work))

    assert waiting == []
    assert await names_in(records, copy.id) == ["a", "b"]
    assert await names_in(records, source.id) == ["b"]
    assert await counted(records, copy) == 2


async def test_a_person_merged_into_one_already_copied_is_in_the_copy(
    records: Records, work: CohortLeaseStore
) -> None:
    made = await make_persons(records, "first", "second", "third")
    source = await cohort(records)
    calculation = await claim_cohort(work)
    await work.add_members(
        calculation, by_distinct_id(calculation.project_id, ["second", "third"]), NOW
    )
    await publish_members(work, calculation)
    copy = await copy_of(records, source)
    claim = await claim_cohort(work)
    [waiting] = await ImportStore(work.records, lambda: NOW).pending_imports(claim.cohort_id)

    await merge(records, made["third"][1], made["first"][1])
    assert await work.copy_members(claim, waiting, made["second"][1], NOW) is None
    await work.publish_version(claim, NOW, None, RUN, [waiting.id])

    assert await names_in(records, copy.id) == ["third"]
    assert await counted(records, copy) == 1


async def test_a_person_merged_after_a_copy_crashed_is_in_the_next_one(
    records: Records, work: CohortLeaseStore
) -> None:
    source = await original(records, work)
    copy = await copy_of(records, source)
    died = await claim_cohort(work)
    [waiting] = await ImportStore(work.records, lambda: NOW).pending_imports(died.cohort_id)
    await work.copy_members(died, waiting, 0, NOW)

    await merge(records, await number_of(records, "a"), await number_of(records, "c"))
    await work.release_lease(died)
    await fill(work, await claim_cohort(work, lease="another"))

    assert await names_in(records, copy.id) == ["a", "b"]


async def test_of_several_merges_at_once_the_last_survivor_is_in_the_copy(
    records: Records, work: CohortLeaseStore
) -> None:
    source = await original(records, work)
    await make_persons(records, "d")
    copy = await copy_of(records, source)
    a, c, d = [await number_of(records, name) for name in "acd"]

    async with records.write() as connection:
        link = person_distinct_ids.c
        moved = update(person_distinct_ids).where(link.person_id.in_([a, c])).values(person_id=d)
        await connection.execute(moved)
        moves = [{"gone": a, "survivor": c}, {"gone": c, "survivor": d}]
        await connection.run_sync(move_memberships, moves)
        await connection.execute(persons.delete().where(persons.c.id.in_([a, c])))
    await fill(work, await claim_cohort(work))

    assert await counted(records, copy) == 2
    assert await memberships(records, [(1, "a"), (1, "b")]) == {
        (1, name): frozenset({source.id, copy.id}) for name in "ab"
    }


async def test_the_original_is_calculated_after_it_was_copied(
    records: Records, work: CohortLeaseStore
) -> None:
    source = await original(records, work)
    copy = await copy_of(records, source)
    await change(records, source, name="due too")

    first = await claim_cohort(work)
    nothing_yet = await work.claim_cohort(NOW, "another")
    await fill(work, first)
    second = await claim_cohort(work)

    assert (first.cohort_id, nothing_yet, second.cohort_id) == (copy.id, None, source.id)
    assert await names_in(records, copy.id) == ["a", "b"]


async def test_a_failed_copy_does_not_block_other_cohorts(
    records: Records, work: CohortLeaseStore
) -> None:
    source = await original(records, work)
    copy = await copy_of(records, source)
    await change(records, source, name="due too")

    first = await claim_cohort(work)
    await work.record_failure(first, "broken", NOW, RUN)

    assert first.cohort_id == copy.id
    claims = {(await claim_cohort(work, lease=f"{n}")).cohort_id for n in range(2)}
    assert claims == {source.id, copy.id}


async def test_an_original_that_becomes_static_is_copied_all_the_same(
    records: Records, work: CohortLeaseStore
) -> None:
    source = await original(records, work)
    copy = await copy_of(records, source)

    await change(records, source, is_static=True)
    hidden = await names_in(records, source.id)
    await fill(work, await claim_cohort(work))

    assert hidden == await names_in(records, source.id) == []
    assert await names_in(records, copy.id) == ["a", "b"]
    assert await rows_of(records, source) == 0
