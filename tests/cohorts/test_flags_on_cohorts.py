"""Cohorts in the conditions of flags."""

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.cohorts import (
    all_conditions,
    change_cohort,
    create_cohort,
    flag_on,
    in_cohort,
    performed,
    person_is,
    retrieve_cohort,
    three_persons,
    upload_cohort,
)

A = person_is("plan", "pro")


async def test_flags_test_a_dynamic_cohort_live(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))

    key = await flag_on(tenant, cohort)
    ann, bob = [(await tenant.decide(name))["featureFlags"][key] for name in ("ann", "bob")]
    await change_cohort(tenant, cohort, filters=all_conditions(person_is("plan", "free")))

    assert (ann, bob) == (True, False)
    assert (await tenant.decide("bob"))["featureFlags"][key] is True
    await tenant.store_cohort(cohort, deleted=True)
    await tenant.server.running.public.flags.flag_sets.catch_up()
    assert (await tenant.decide("bob"))["featureFlags"][key] is False


def in_use(*keys: str) -> Json:
    return error(
        "validation_error",
        "invalid_input",
        f"This cohort is used in {len(keys)} active feature flag(s): {', '.join(keys)}. "
        "Please remove the cohort from these feature flags before deleting it.",
    )


async def test_a_cohort_that_active_flags_use_is_not_deleted(tenant: Tenant) -> None:
    """One flag uses the cohort directly, another one uses it within another cohort."""
    inner = await create_cohort(tenant, filters=all_conditions(A))
    outer = await create_cohort(tenant, filters=all_conditions(in_cohort(inner["id"]), A))
    direct, nested = await flag_on(tenant, inner), await flag_on(tenant, outer)
    path = f"/cohorts/{inner['id']}/"

    refused = await tenant.api.patch(path, json={"deleted": True})
    stored = await retrieve_cohort(tenant, inner)
    renamed = await change_cohort(tenant, inner, name="n")

    assert (refused.status_code, refused.json()) == (400, in_use(direct, nested))
    assert (stored["deleted"], renamed["deleted"]) == (False, False)


async def test_a_cohort_that_only_idle_flags_use_is_deleted(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, filters=all_conditions(A))
    keys = [await flag_on(tenant, cohort), "second"]
    groups = [{"properties": [in_cohort(cohort["id"])]}]
    second = await tenant.create_flag(key="second", filters={"groups": groups}, active=False)
    [first] = [flag for flag in (await tenant.get("/feature_flags/"))["results"] if flag["active"]]
    path = f"/cohorts/{cohort['id']}/"

    used = await tenant.api.patch(path, json={"deleted": True})
    await tenant.api.patch(f"/feature_flags/{first['id']}/", json={"active": False})
    await tenant.api.patch(f"/feature_flags/{second['id']}/", json={"deleted": True})
    deleted = await tenant.api.patch(path, json={"deleted": True})
    again = await tenant.api.patch(path, json={"deleted": True})
    await tenant.api.patch(f"/feature_flags/{first['id']}/", json={"active": True})
    still = await tenant.api.patch(path, json={"deleted": True})

    assert (used.status_code, used.json()) == (400, in_use(keys[0]))
    assert [answer.status_code for answer in (deleted, again, still)] == [200, 200, 200]


@pytest.mark.every_engine
async def test_flags_look_up_static_and_behavioural_members(tenant: Tenant) -> None:
    await three_persons(tenant)
    static = await upload_cohort(tenant, "ann\n")
    behavioural = await create_cohort(tenant, filters=all_conditions(performed("opened")))
    await tenant.server.calculated()

    picked, opened = await flag_on(tenant, static), await flag_on(tenant, behavioural)
    flags = {name: (await tenant.decide(name)) for name in ("ann", "bob", "stranger")}

    values = {
        name: (answer["featureFlags"][picked], answer["featureFlags"][opened])
        for name, answer in flags.items()
    }
    assert values == {"ann": (True, False), "bob": (False, True), "stranger": (False, False)}
    assert not any(answer["errorsWhileComputingFlags"] for answer in flags.values())


async def test_a_cohort_in_a_flag_may_get_criteria_on_events(tenant: Tenant) -> None:
    await three_persons(tenant)
    inner = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    outer = await create_cohort(tenant, filters=all_conditions(in_cohort(inner["id"])))
    keys = [await flag_on(tenant, cohort) for cohort in (inner, outer)]

    changed = await change_cohort(tenant, inner, filters=all_conditions(performed("opened")))
    await tenant.server.calculated()

    assert changed["filters"] == all_conditions(performed("opened"))
    for distinct_id, expected in (("bob", True), ("ann", False)):
        flags = (await tenant.decide(distinct_id))["featureFlags"]
        assert [flags[key] for key in keys] == [expected, expected]


async def test_a_flag_on_an_unknown_cohort_is_refused(tenant: Tenant) -> None:
    groups = [{"properties": [in_cohort(99_999_999)]}]

    answer = await tenant.api.post(
        "/feature_flags/", json={"key": "f", "filters": {"groups": groups}}
    )

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error",
        "cohort_does_not_exist",
        "Cohort with id 99999999 does not exist",
        "filters",
    )
