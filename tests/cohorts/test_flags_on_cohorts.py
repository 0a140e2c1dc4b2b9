"""Cohorts in the conditions of flags."""

import pytest

from tests.support.application import Home, Json, error
from tests.support.cohorts import (
    all_of,
    change,
    create,
    did,
    flag_on,
    in_cohort,
    person_is,
    retrieve,
    three_persons,
    upload,
)

A = person_is("plan", "pro")


async def test_flags_test_a_dynamic_cohort_live(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(person_is("plan", "pro")))

    key = await flag_on(home, cohort)
    ann, bob = [(await home.decide(name))["featureFlags"][key] for name in ("ann", "bob")]
    await change(home, cohort, filters=all_of(person_is("plan", "free")))

    assert (ann, bob) == (True, False)
    assert (await home.decide("bob"))["featureFlags"][key] is True
    await home.store_cohort(cohort, deleted=True)
    await home.site.running.public.flags.flag_sets.catch_up()
    assert (await home.decide("bob"))["featureFlags"][key] is False


def in_use(*keys: str) -> Json:
    return error(
        "validation_error",
        "invalid_input",
        f"This cohort is used in {len(keys)} active feature flag(s): {', '.join(keys)}. "
        "Please remove the cohort from these feature flags before deleting it.",
    )


async def test_a_cohort_that_active_flags_use_is_not_deleted(home: Home) -> None:
    """One flag uses the cohort directly, another one uses it within another cohort."""
    inner = await create(home, filters=all_of(A))
    outer = await create(home, filters=all_of(in_cohort(inner["id"]), A))
    direct, nested = await flag_on(home, inner), await flag_on(home, outer)
    path = f"/cohorts/{inner['id']}/"

    refused = await home.api.patch(path, json={"deleted": True})
    stored = await retrieve(home, inner)
    renamed = await change(home, inner, name="n")

    assert (refused.status_code, refused.json()) == (400, in_use(direct, nested))
    assert (stored["deleted"], renamed["deleted"]) == (False, False)


async def test_a_cohort_that_only_idle_flags_use_is_deleted(home: Home) -> None:
    cohort = await create(home, filters=all_of(A))
    keys = [await flag_on(home, cohort), "second"]
    groups = [{"properties": [in_cohort(cohort["id"])]}]
    second = await home.create_flag(key="second", filters={"groups": groups}, active=False)
    [first] = [flag for flag in (await home.get("/feature_flags/"))["results"] if flag["active"]]
    path = f"/cohorts/{cohort['id']}/"

    used = await home.api.patch(path, json={"deleted": True})
    await home.api.patch(f"/feature_flags/{first['id']}/", json={"active": False})
    await home.api.patch(f"/feature_flags/{second['id']}/", json={"deleted": True})
    deleted = await home.api.patch(path, json={"deleted": True})
    again = await home.api.patch(path, json={"deleted": True})
    await home.api.patch(f"/feature_flags/{first['id']}/", json={"active": True})
    still = await home.api.patch(path, json={"deleted": True})

    assert (used.status_code, used.json()) == (400, in_use(keys[0]))
    assert [answer.status_code for answer in (deleted, again, still)] == [200, 200, 200]


@pytest.mark.every_engine
async def test_flags_look_up_static_and_behavioural_members(home: Home) -> None:
    await three_persons(home)
    static = await upload(home, "ann\n")
    behavioural = await create(home, filters=all_of(did("opened")))
    await home.site.calculated()

    picked, opened = await flag_on(home, static), await flag_on(home, behavioural)
    flags = {name: (await home.decide(name)) for name in ("ann", "bob", "stranger")}

    values = {
        name: (answer["featureFlags"][picked], answer["featureFlags"][opened])
        for name, answer in flags.items()
    }
    assert values == {"ann": (True, False), "bob": (False, True), "stranger": (False, False)}
    assert not any(answer["errorsWhileComputingFlags"] for answer in flags.values())


async def test_a_cohort_in_a_flag_may_get_criteria_on_events(home: Home) -> None:
    await three_persons(home)
    inner = await create(home, filters=all_of(person_is("plan", "pro")))
    outer = await create(home, filters=all_of(in_cohort(inner["id"])))
    keys = [await flag_on(home, cohort) for cohort in (inner, outer)]

    changed = await change(home, inner, filters=all_of(did("opened")))
    await home.site.calculated()

    assert changed["filters"] == all_of(did("opened"))
    for distinct_id, expected in (("bob", True), ("ann", False)):
        flags = (await home.decide(distinct_id))["featureFlags"]
        assert [flags[key] for key in keys] == [expected, expected]


async def test_a_flag_on_an_unknown_cohort_is_refused(home: Home) -> None:
    groups = [{"properties": [in_cohort(99_999_999)]}]

    answer = await home.api.post(
        "/feature_flags/", json={"key": "f", "filters": {"groups": groups}}
    )

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error",
        "cohort_does_not_exist",
        "Cohort with id 99999999 does not exist",
        "filters",
    )
