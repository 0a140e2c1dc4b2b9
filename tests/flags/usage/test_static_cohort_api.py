"""Static cohorts of the persons for whom a flag is on."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.cohorts import cohort_members, person, person_is, retrieve_cohort

PLACE = "/feature_flags/{}/create_static_cohort_for_flag/"


def on_plan(plan: str, **group: Any) -> Json:
    return {"groups": [{"properties": [person_is("plan", plan)], **group}]}


async def created_cohort(tenant: Tenant, flag: Json) -> Json:
    """Create a cohort and return it as in the response, after the background work has filled it."""
    answer = await tenant.api.post(PLACE.format(flag["id"]))
    assert answer.status_code == 201, answer.text
    assert answer.json().keys() == {"cohort"}
    await tenant.server.calculated()
    cohort: Json = answer.json()["cohort"]
    return cohort


async def three_persons(tenant: Tenant) -> None:
    await tenant.capture(
        person("ann", plan="pro"), person("bob", plan="free"), person("cid", plan="pro")
    )


@pytest.mark.every_engine
async def test_a_static_cohort_is_created_from_a_flag(tenant: Tenant) -> None:
    await three_persons(tenant)
    flag = await tenant.create_flag(key="beta", filters=on_plan("pro"))

    cohort = await created_cohort(tenant, flag)

    assert cohort["name"] == "Users with feature flag beta enabled at 2024-03-01 12:00:00"
    assert (cohort["is_static"], cohort["is_calculating"], cohort["count"]) == (True, True, None)
    assert cohort["created_by"]["email"] == tenant.owner["email"]
    assert await cohort_members(tenant, cohort) == ["ann", "cid"]
    retrieved = await retrieve_cohort(tenant, cohort)
    assert (retrieved["count"], retrieved["errors_calculating"], retrieved["is_calculating"]) == (
        2,
        0,
        False,
    )
    [reported] = (await tenant.get(f"/cohorts/{cohort['id']}/activity/"))["results"]
    assert (reported["activity"], reported["detail"]["name"]) == ("created", cohort["name"])


async def test_later_changes_do_not_reach_the_cohort(tenant: Tenant) -> None:
    await three_persons(tenant)
    flag = await tenant.create_flag(key="beta", filters=on_plan("pro"))
    cohort = await created_cohort(tenant, flag)

    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"filters": on_plan("free")})
    await tenant.capture(person("ann", plan="free"))
    await tenant.server.calculated()

    assert await cohort_members(tenant, cohort) == ["ann", "cid"]


async def test_rollouts_and_variants_count_as_they_are_decided(tenant: Tenant) -> None:
    """The hashes of flags.md section 3 are 0.209 and 0.966."""
    await tenant.capture(person("example_id"), person("another_id"))
    variants = [{"key": "one", "rollout_percentage": 50}, {"key": "two", "rollout_percentage": 50}]
    filters = {"groups": [{"rollout_percentage": 50}], "multivariate": {"variants": variants}}
    flag = await tenant.create_flag(key="beta-feature", filters=filters)

    assert await cohort_members(tenant, await created_cohort(tenant, flag)) == ["example_id"]


async def test_an_identity_that_was_stored_over_the_login_counts(tenant: Tenant) -> None:
    await tenant.capture(person("other_id"))
    flag = await tenant.create_flag(
        key="beta-feature",
        filters={"groups": [{"rollout_percentage": 30}]},
        ensure_experience_continuity=True,
    )
    before = await created_cohort(tenant, flag)
    decided = await tenant.decide("other_id", **{"$anon_distinct_id": "example_id"})

    after = await created_cohort(tenant, flag)

    assert decided["featureFlags"] == {"beta-feature": True}
    assert await cohort_members(tenant, before) == []
    assert await cohort_members(tenant, after) == ["other_id"]


async def test_conditions_on_cohorts_and_other_flags_are_followed(tenant: Tenant) -> None:
    await three_persons(tenant)
    first = await tenant.create_flag(key="first", filters=on_plan("pro"))
    static = await created_cohort(tenant, first)
    in_cohort = {"key": "id", "type": "cohort", "value": static["id"]}
    after = {"type": "flag", "key": str(first["id"]), "operator": "flag_evaluates_to"}
    second = await tenant.create_flag(
        key="second",
        filters={"groups": [{"properties": [in_cohort, {**after, "value": True}]}]},
    )

    assert await cohort_members(tenant, await created_cohort(tenant, second)) == ["ann", "cid"]


@pytest.mark.parametrize("how", ["active", "deleted", "group"])
async def test_flags_that_are_on_for_no_person_give_an_empty_cohort(
    tenant: Tenant, how: str
) -> None:
    await three_persons(tenant)
    filters: Json = {"groups": [{}]}
    if how == "group":
        filters["aggregation_group_type_index"] = 0
    flag = await tenant.create_flag(key="off", filters=filters, active=how != "active")
    if how == "deleted":
        await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"deleted": True})

    cohort = await created_cohort(tenant, flag)

    retrieved = await retrieve_cohort(tenant, cohort)
    assert (retrieved["count"], retrieved["errors_calculating"]) == (0, 0)
    assert await cohort_members(tenant, cohort) == []


@pytest.mark.every_engine
async def test_the_longest_key_makes_a_name_that_fits(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="k" * 400)

    name = (await created_cohort(tenant, flag))["name"]

    assert len(name) == 400
    assert name.startswith("Users with feature flag kkk")
    assert name.endswith("k enabled at 2024-03-01 12:00:00")


async def test_a_flag_that_does_not_exist_gives_no_cohort(tenant: Tenant) -> None:
    answer = await tenant.api.post(PLACE.format(987654))

    assert (answer.status_code, answer.json()) == (
        404,
        error("invalid_request", "not_found", "Not found."),
    )
    assert (await tenant.get("/cohorts/"))["count"] == 0
