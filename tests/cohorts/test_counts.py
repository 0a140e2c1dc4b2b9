"""The count of a static cohort is that of its members, whatever becomes of them."""

import asyncio

import pytest
from sqlalchemy import func, select, update

from fanion.db.schema.cohorts import cohort_recounts, cohorts
from tests.support.application import Home, Json
from tests.support.cohorts import all_of, create, members, person, person_is, retrieve, upload

pytestmark = pytest.mark.every_engine


async def static_cohort_of(home: Home, *names: str) -> Json:
    """Create a static cohort of these persons, who have events."""
    await home.capture(*(person(name, email=f"{name}@corp.example") for name in names))
    cohort = await upload(home, "distinct_id\n" + "\n".join(names) + "\n")
    await home.site.calculated()
    return await retrieve(home, cohort)


async def notes(home: Home) -> int:
    [row] = await home.site.records.fetch(select(func.count()).select_from(cohort_recounts))
    return int(row[0])


def merging(survivor: str, other: str) -> Json:
    properties = {"alias": other}
    return {"event": "$merge_dangerously", "distinct_id": survivor, "properties": properties}


@pytest.mark.parametrize("query", ["", "?delete_events=true"])
async def test_the_count_follows_deletions(home: Home, query: str) -> None:
    cohort = await static_cohort_of(home, "ann", "bob", "cid")

    for name in ("bob", "ann"):
        answer = await home.api.delete(f"/persons/{(await home.person(name))['uuid']}/{query}")
        assert answer.status_code in (202, 204)
    await home.site.calculated()

    assert (cohort["count"], (await retrieve(home, cohort))["count"]) == (3, 1)
    assert await members(home, cohort) == ["cid"]
    assert await notes(home) == 0


async def test_the_count_follows_merges_of_two_members(home: Home) -> None:
    cohort = await static_cohort_of(home, "ann", "bob", "cid")

    await home.capture(merging("ann", "bob"))
    await home.site.calculated()

    stored = await retrieve(home, cohort)
    assert (stored["count"], stored["is_calculating"]) == (2, False)
    assert stored["last_calculation"] == cohort["last_calculation"]
    assert len(await members(home, cohort)) == 2


async def test_a_member_that_is_merged_into_another_person_still_counts(home: Home) -> None:
    cohort = await static_cohort_of(home, "ann", "bob")
    await home.capture(person("zoe"))

    await home.capture(merging("zoe", "ann"))
    await home.site.calculated()

    assert (await retrieve(home, cohort))["count"] == 2


async def test_persons_who_are_no_members_cause_no_count(home: Home) -> None:
    await static_cohort_of(home, "ann")
    await create(home, filters=all_of(person_is("email", "zoe@corp.example")))
    await home.capture(person("zoe", email="zoe@corp.example"), person("yan"), person("xul"))
    await home.site.calculated()

    await home.capture(merging("zoe", "yan"))
    await home.api.delete(f"/persons/{(await home.person('xul'))['uuid']}/")

    assert await notes(home) == 0


async def test_each_cohort_of_a_person_is_counted_once(home: Home) -> None:
    first = await static_cohort_of(home, "ann", "bob", "cid")
    second = await static_cohort_of(home, "ann", "bob", "dan")

    await home.capture(merging("ann", "bob"), merging("ann", "cid"), merging("ann", "dan"))
    await home.site.calculated()

    counts = [(await retrieve(home, cohort))["count"] for cohort in (first, second)]
    assert counts == [1, 1]


async def test_a_cohort_that_is_gone_or_has_no_count_yet_is_left_as_it_is(home: Home) -> None:
    cohort = await static_cohort_of(home, "ann")
    async with home.site.records.write() as connection:
        await connection.execute(cohort_recounts.insert().values(cohort_id=10**9))
        await connection.execute(cohort_recounts.insert().values(cohort_id=cohort["id"]))
        this = update(cohorts).where(cohorts.c.id == cohort["id"])
        await connection.execute(this.values(count=None))

    await home.site.calculated()

    assert ((await retrieve(home, cohort))["count"], await notes(home)) == (None, 0)


async def test_counts_that_two_servers_make_at_once_agree(home: Home) -> None:
    cohort = await static_cohort_of(home, "ann", "bob", "cid")
    await home.capture(merging("ann", "bob"))

    await asyncio.gather(home.site.calculated(), home.site.calculated())

    assert (await retrieve(home, cohort))["count"] == 2


async def test_every_fill_in_the_background_is_calculating_until_it_is_done(home: Home) -> None:
    await home.capture(person("ann", plan="pro"), person("bob"))
    pro = all_of(person_is("plan", "pro"))
    original = await create(home, name="Payers", filters=pro)
    await home.site.calculated()
    flag = await home.create_flag(key="on", filters={"groups": [{"properties": []}]})

    copied = await home.get(f"/cohorts/{original['id']}/duplicate_as_static_cohort/")
    from_criteria = await create(home, is_static=True, filters=pro)
    path = f"/feature_flags/{flag['id']}/create_static_cohort_for_flag/"
    from_flag = (await home.api.post(path)).json()["cohort"]
    from_file = await upload(home, "ann\n")

    made = [copied, from_criteria, from_flag, from_file]
    waiting = [await retrieve(home, cohort) for cohort in made]
    await home.site.calculated()
    done = [await retrieve(home, cohort) for cohort in made]
    assert [cohort["is_calculating"] for cohort in [*made, *waiting]] == [True] * 8
    assert [cohort["count"] for cohort in made] == [None] * 4
    assert [(cohort["is_calculating"], cohort["count"]) for cohort in done] == [
        *((False, 1), (False, 1), (False, 2), (False, 1))
    ]
