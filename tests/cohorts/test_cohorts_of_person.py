"""The cohorts of one person over HTTP."""

import pytest

from tests.support.application import Tenant
from tests.support.cohorts import (
    all_conditions,
    change_cohort,
    create_cohort,
    person_is,
    three_persons,
)

PATH = "/persons/cohorts/"


@pytest.mark.every_engine
async def test_the_cohorts_of_a_person_are_listed_newest_first(tenant: Tenant) -> None:
    await three_persons(tenant)
    pro = await create_cohort(tenant, name="pro", filters=all_conditions(person_is("plan", "pro")))
    anyone = await create_cohort(
        tenant, name="any", filters=all_conditions(person_is("plan", "", operator="is_set"))
    )
    await create_cohort(tenant, name="free", filters=all_conditions(person_is("plan", "free")))
    gone = await create_cohort(
        tenant, name="gone", filters=all_conditions(person_is("plan", "pro"))
    )
    await tenant.server.calculated()
    await change_cohort(tenant, gone, deleted=True)
    ann = await tenant.person("ann")

    cohorts = (await tenant.get(PATH, person_id=ann["uuid"]))["results"]

    assert [cohort["id"] for cohort in cohorts] == [anyone["id"], pro["id"]]
    assert cohorts[0]["count"] == 3
    assert "filters" in cohorts[0]


async def test_a_member_that_left_is_not_listed(tenant: Tenant) -> None:
    await three_persons(tenant)
    await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    await tenant.server.calculated()
    ann = await tenant.person("ann")
    cohort = (await tenant.get(PATH, person_id=ann["uuid"]))["results"][0]

    await change_cohort(tenant, cohort, filters=all_conditions(person_is("plan", "free")))
    await tenant.server.calculated()

    assert (await tenant.get(PATH, person_id=ann["uuid"]))["results"] == []


async def test_a_person_who_does_not_exist_is_not_found(tenant: Tenant) -> None:
    unknown = await tenant.api.get(
        PATH, params={"person_id": "0190f3c6-0000-7000-8000-000000000000"}
    )

    assert unknown.status_code == 404
    assert unknown.json()["detail"] == "Not found."
