"""Explanations and previews of cohorts over HTTP, and their activity."""

from tests.support.application import Tenant
from tests.support.cohorts import (
    all_conditions,
    change_cohort,
    create_cohort,
    performed,
    person_is,
    retrieve_cohort,
    three_persons,
    upload_cohort,
)


async def test_a_cohort_is_explained_in_english_and_sql(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(
        tenant, filters=all_conditions(person_is("plan", "pro"), performed("opened", time_value=60))
    )
    await tenant.server.calculated()

    reported = await tenant.get(f"/cohorts/{cohort['id']}/explain/")

    assert reported["sentence"] == (
        "Persons whose “plan” is “pro” and who did “opened” in the last 60 days."
    )
    assert "'pro'" not in reported["sql"] and ["pro"] in reported["parameters"].values()
    assert reported["last_run"]["members"] == 1 and reported["last_run"]["rows_read"] > 0
    assert reported["problem"] is None


async def test_criteria_can_be_tried_without_storing_them(tenant: Tenant) -> None:
    await three_persons(tenant)

    answer = await tenant.api.post(
        "/cohorts/preview/", json={"filters": all_conditions(person_is("plan", "pro"))}
    )
    broken = await tenant.api.post(
        "/cohorts/preview/", json={"filters": all_conditions(performed("x", value=1))}
    )

    tried = answer.json()
    assert answer.status_code == 200
    assert (tried["count"], len(tried["sample"])) == (2, 2)
    assert tried["sentence"] == "Persons whose “plan” is “pro”."
    assert (await tenant.get("/cohorts/"))["count"] == 0
    assert broken.status_code == 400
    assert broken.json()["attr"] == "filters"


async def test_a_preview_does_not_count_deleted_persons(tenant: Tenant) -> None:
    """The events of the deleted person are still stored."""
    await three_persons(tenant)
    gone = (await tenant.person("bob"))["id"]
    tree = all_conditions(performed("opened", time_value=60))

    before = (await tenant.api.post("/cohorts/preview/", json={"filters": tree})).json()
    answer = await tenant.api.delete(f"/persons/{gone}/")
    after = (await tenant.api.post("/cohorts/preview/", json={"filters": tree})).json()
    cohort = await create_cohort(tenant, filters=tree)
    await tenant.server.calculated()

    assert answer.status_code == 204
    assert (before["count"], after["count"]) == (2, 1)
    assert len(after["sample"]) == 1
    assert (await retrieve_cohort(tenant, cohort))["count"] == 1


async def test_the_activity_records_cohorts(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, name="a", filters=all_conditions(person_is("plan", "pro")))
    await tenant.server.calculated()
    await change_cohort(tenant, cohort, name="b")
    await change_cohort(tenant, cohort, name="b")

    reported = await tenant.get(f"/cohorts/{cohort['id']}/activity/")

    assert [entry["activity"] for entry in reported["results"]] == ["updated", "created"]
    assert reported["results"][0]["detail"]["changes"] == [
        {"type": "Cohort", "action": "changed", "field": "name", "before": "a", "after": "b"}
    ]
    assert (await tenant.get("/cohorts/activity/"))["total_count"] == 2


async def test_the_activity_records_imports(tenant: Tenant) -> None:
    cohort = await upload_cohort(tenant, "ann\n")
    await upload_cohort(tenant, "bob\n", cohort)
    await tenant.server.calculated()

    reported = await tenant.get(f"/cohorts/{cohort['id']}/activity/")

    assert [entry["activity"] for entry in reported["results"]] == [
        "imported",
        "imported",
        "created",
    ]
    assert reported["results"][0]["detail"]["name"] == "Hand-picked"
    assert reported["results"][0]["user"]["first_name"] == "Olga"
