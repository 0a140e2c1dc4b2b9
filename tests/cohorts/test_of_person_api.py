"""The cohorts of one person over HTTP."""

import pytest

from tests.support.application import Home
from tests.support.cohorts import all_of, change, create, person_is, three_persons

PATH = "/persons/cohorts/"


@pytest.mark.every_engine
async def test_the_cohorts_of_a_person_are_listed_newest_first(home: Home) -> None:
    await three_persons(home)
    pro = await create(home, name="pro", filters=all_of(person_is("plan", "pro")))
    anyone = await create(
        home, name="any", filters=all_of(person_is("plan", "", operator="is_set"))
    )
    await create(home, name="free", filters=all_of(person_is("plan", "free")))
    gone = await create(home, name="gone", filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()
    await change(home, gone, deleted=True)
    ann = await home.person("ann")

    cohorts = (await home.get(PATH, person_id=ann["uuid"]))["results"]

    assert [cohort["id"] for cohort in cohorts] == [anyone["id"], pro["id"]]
    assert cohorts[0]["count"] == 3
    assert "filters" in cohorts[0]


async def test_a_member_that_left_is_not_listed(home: Home) -> None:
    await three_persons(home)
    await create(home, filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()
    ann = await home.person("ann")
    cohort = (await home.get(PATH, person_id=ann["uuid"]))["results"][0]

    await change(home, cohort, filters=all_of(person_is("plan", "free")))
    await home.site.calculated()

    assert (await home.get(PATH, person_id=ann["uuid"]))["results"] == []


async def test_a_person_who_does_not_exist_is_not_found(home: Home) -> None:
    unknown = await home.api.get(PATH, params={"person_id": "0190f3c6-0000-7000-8000-000000000000"})

    assert unknown.status_code == 404
    assert unknown.json()["detail"] == "Not found."
