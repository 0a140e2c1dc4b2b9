"""The count of a static cohort is that of its members, whatever becomes of them."""

import asyncio

import pytest
from sqlalchemy import func, select, update

from fanion.db.schema.cohorts import cohort_recounts, cohorts
from tests.support.application import Json, Tenant
from tests.support.cohorts import (
    all_conditions,
    cohort_members,
    create_cohort,
    person,
    person_is,
    retrieve_cohort,
    upload_cohort,
)

pytestmark = pytest.mark.every_engine


async def static_cohort_of(tenant: Tenant, *names: str) -> Json:
    """Create a static cohort of these persons, who have events."""
    await tenant.capture(*(person(name, email=f"{name}@corp.example") for name in names))
    cohort = await upload_cohort(tenant, "distinct_id\n" + "\n".join(names) + "\n")
    await tenant.server.calculated()
    return await retrieve_cohort(tenant, cohort)


async def notes(tenant: Tenant) -> int:
    [row] = await tenant.server.records.fetch(select(func.count()).select_from(cohort_recounts))
    return int(row[0])


def merging(survivor: str, other: str) -> Json:
    properties = {"alias": other}
    return {"event": "$merge_dangerously", "distinct_id": survivor, "properties": properties}


# It takes seconds: each person is deleted in the event store too.
@pytest.mark.parametrize("query", ["", "?delete_events=true"])
async def test_the_count_follows_deletions(tenant: Tenant, query: str) -> None:
    cohort = await static_cohort_of(tenant, "ann", "bob", "cid")

    for name in ("bob", "ann"):
        answer = await tenant.api.delete(f"/persons/{(await tenant.person(name))['uuid']}/{query}")
        assert answer.status_code in (202, 204)
    await tenant.server.calculated()

    assert (cohort["count"], (await retrieve_cohort(tenant, cohort))["count"]) == (3, 1)
    assert await cohort_members(tenant, cohort) == ["cid"]
    assert await notes(tenant) == 0


async def test_the_count_follows_merges_of_two_members(tenant: Tenant) -> None:
    cohort = await static_cohort_of(tenant, "ann", "bob", "cid")

    await tenant.capture(merging("ann", "bob"))
    await tenant.server.calculated()

    stored = await retrieve_cohort(tenant, cohort)
    assert (stored["count"], stored["is_calculating"]) == (2, False)
    assert stored["last_calculation"] == cohort["last_calculation"]
    assert len(await cohort_members(tenant, cohort)) == 2


async def test_a_member_that_is_merged_into_another_person_still_counts(tenant: Tenant) -> None:
    cohort = await static_cohort_of(tenant, "ann", "bob")
    await tenant.capture(person("zoe"))

    await tenant.capture(merging("zoe", "ann"))
    await tenant.server.calculated()

    assert (await retrieve_cohort(tenant, cohort))["count"] == 2


async def test_persons_who_are_no_members_cause_no_count(tenant: Tenant) -> None:
    await static_cohort_of(tenant, "ann")
    await create_cohort(tenant, filters=all_conditions(person_is("email", "zoe@corp.example")))
    await tenant.capture(person("zoe", email="zoe@corp.example"), person("yan"), person("xul"))
    await tenant.server.calculated()

    await tenant.capture(merging("zoe", "yan"))
    await tenant.api.delete(f"/persons/{(await tenant.person('xul'))['uuid']}/")

    assert await notes(tenant) == 0


async def test_each_cohort_of_a_person_is_counted_once(tenant: Tenant) -> None:
    first = await static_cohort_of(tenant, "ann", "bob", "cid")
    second = await static_cohort_of(tenant, "ann", "bob", "dan")

    await tenant.capture(merging("ann", "bob"), merging("ann", "cid"), merging("ann", "dan"))
    await tenant.server.calculated()

    counts = [(await retrieve_cohort(tenant, cohort))["count"] for cohort in (first, second)]
    assert counts == [1, 1]


async def test_a_cohort_that_is_gone_or_has_no_count_yet_is_left_as_it_is(tenant: Tenant) -> None:
    cohort = await static_cohort_of(tenant, "ann")
    async with tenant.server.records.write() as connection:
        await connection.execute(cohort_recounts.insert().values(cohort_id=10**9))
        await connection.execute(cohort_recounts.insert().values(cohort_id=cohort["id"]))
        this = update(cohorts).where(cohorts.c.id == cohort["id"])
        await connection.execute(this.values(count=None))

    await tenant.server.calculated()

    assert ((await retrieve_cohort(tenant, cohort))["count"], await notes(tenant)) == (None, 0)


async def test_counts_that_two_servers_make_at_once_agree(tenant: Tenant) -> None:
    cohort = await static_cohort_of(tenant, "ann", "bob", "cid")
    await tenant.capture(merging("ann", "bob"))

    await asyncio.gather(tenant.server.calculated(), tenant.server.calculated())

    assert (await retrieve_cohort(tenant, cohort))["count"] == 2


async def test_every_fill_in_the_background_is_calculating_until_it_is_done(tenant: Tenant) -> None:
    await tenant.capture(person("ann", plan="pro"), person("bob"))
    pro = all_conditions(person_is("plan", "pro"))
    original = await create_cohort(tenant, name="Payers", filters=pro)
    await tenant.server.calculated()
    flag = await tenant.create_flag(key="on", filters={"groups": [{"properties": []}]})

    copied = await tenant.get(f"/cohorts/{original['id']}/duplicate_as_static_cohort/")
    from_criteria = await create_cohort(tenant, is_static=True, filters=pro)
    path = f"/feature_flags/{flag['id']}/create_static_cohort_for_flag/"
    from_flag = (await tenant.api.post(path)).json()["cohort"]
    from_file = await upload_cohort(tenant, "ann\n")

    made = [copied, from_criteria, from_flag, from_file]
    waiting = [await retrieve_cohort(tenant, cohort) for cohort in made]
    await tenant.server.calculated()
    done = [await retrieve_cohort(tenant, cohort) for cohort in made]
    assert [cohort["is_calculating"] for cohort in [*made, *waiting]] == [True] * 8
    assert [cohort["count"] for cohort in made] == [None] * 4
    assert [(cohort["is_calculating"], cohort["count"]) for cohort in done] == [
        *((False, 1), (False, 1), (False, 2), (False, 1))
    ]
