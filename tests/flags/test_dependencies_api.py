"""Flags that depend on flags and cohorts: changes that make one uncomputable are refused."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import update

from fanion.db.schema.cohorts import cohorts
from tests.support.application import Home, Json, error

BROKEN: Json = {"properties": {"type": "NEITHER", "values": []}}


def after(name: object) -> Json:
    leaf = {"type": "flag", "key": name, "operator": "flag_evaluates_to", "value": True}
    return {"groups": [{"properties": [leaf]}]}


def not_valid(why: str) -> Json:
    detail = f"Filters are not valid ({why})"
    return error("validation_error", "invalid_input", detail, "filters")


LOOP = not_valid("depends on itself, or on a flag that does")


async def patched(home: Home, flag: Json, **changes: Any) -> tuple[int, Json]:
    answer = await home.api.patch(f"/feature_flags/{flag['id']}/", json=changes)
    return answer.status_code, answer.json()


async def created(home: Home, **flag: Any) -> tuple[int, Json]:
    answer = await home.api.post("/feature_flags/", json=flag)
    return answer.status_code, answer.json()


async def test_a_flag_that_does_not_exist_cannot_be_named(home: Home) -> None:
    unknown = not_valid("depends on flag 987654, which does not exist")

    assert await created(home, key="a", filters=after("987654")) == (400, unknown)
    assert await created(home, key="a", active=False, filters=after("987654")) == (400, unknown)
    assert (await home.get("/feature_flags/"))["count"] == 0


async def test_flags_cannot_depend_on_each_other_in_a_loop(home: Home) -> None:
    a = await home.create_flag(key="a", filters={"groups": [{}]})
    b = await home.create_flag(key="b", filters=after(a["id"]))
    c = await home.create_flag(key="c", filters=after(b["id"]))

    assert await patched(home, a, filters=after(c["id"])) == (400, LOOP)
    assert await patched(home, a, filters=after(a["id"])) == (400, LOOP)
    assert await patched(home, a, filters=after("a")) == (400, LOOP)
    early = {**after(c["id"]), "groups": [{}], "super_groups": after(c["id"])["groups"]}
    assert await patched(home, a, filters=early) == (400, LOOP)
    assert (await home.decide("u"))["errorsWhileComputingFlags"] is False


async def test_a_loop_cannot_be_closed_by_switching_on(home: Home) -> None:
    a = await home.create_flag(key="a", filters={"groups": [{}]})
    b = await home.create_flag(key="b", filters=after(a["id"]), active=False)

    assert (await patched(home, a, filters=after(b["id"])))[0] == 200
    assert await patched(home, b, active=True) == (400, LOOP)


async def test_what_others_depend_on_stays(home: Home) -> None:
    a = await home.create_flag(key="a", filters={"groups": [{}]})
    b = await home.create_flag(key="b", filters=after(a["id"]))
    c = await home.create_flag(key="c", filters=after("a"))

    def refused(what: str, others: str) -> tuple[int, Json]:
        detail = f"Cannot {what} because other flags depend on it: {others}."
        return 400, error("validation_error", "invalid_input", detail)

    gone = refused("delete this feature flag", "b, c")
    assert await patched(home, a, deleted=True) == gone
    assert await patched(home, a, key="z") == refused("change the key of this flag", "c")
    assert (await patched(home, c, active=False))[0] == 200
    assert (await patched(home, a, key="z"))[0] == 200
    assert (await patched(home, b, deleted=True))[0] == 200
    assert (await patched(home, a, deleted=True))[0] == 200
    lost = not_valid(f"depends on flag {a['id']}, which does not exist")
    assert await patched(home, b, deleted=False) == (400, lost)


async def test_early_access_follows_the_key(home: Home) -> None:
    def filters(key: str) -> Json:
        leaf = {"type": "person", "operator": "exact", "value": ["true"]}
        enrolled = {"properties": [{**leaf, "key": f"$feature_enrollment/{key}"}]}
        return {"groups": [{"rollout_percentage": 0}], "super_groups": [enrolled]}

    flag = await home.create_flag(key="a", filters=filters("a"))
    plain = await home.create_flag(key="plain")

    assert (await patched(home, flag, key="b"))[1]["filters"] == filters("b")
    assert (await patched(home, plain, key="other"))[1]["filters"] == plain["filters"]
    said = {"$feature_enrollment/b": "true"}
    assert (await home.decide("u", person_properties=said))["featureFlags"]["b"] is True


async def test_a_cohort_that_flags_cannot_ask_for_is_refused(home: Home) -> None:
    cohort = await made(home, name="c")
    await home.store_cohort(cohort, filters=BROKEN)
    leaf = {"type": "cohort", "key": "id", "value": cohort["id"]}
    why = f"cohort {cohort['id']}: a group must be of type AND or OR, not 'NEITHER'"

    status, reported = await created(home, key="a", filters={"groups": [{"properties": [leaf]}]})

    assert (status, reported) == (400, not_valid(why))


def asking(cohort: Json) -> Json:
    return {"groups": [{"properties": [{"type": "cohort", "key": "id", "value": cohort["id"]}]}]}


async def made(home: Home, **cohort: Any) -> Json:
    answer = await home.api.post("/cohorts/", json=cohort)
    assert answer.status_code == 201, answer.text
    created: Json = answer.json()
    return created


def broken_flags(cohort: Json, *keys: str) -> Json:
    why = f"cohort {cohort['id']}: a group must be of type AND or OR, not 'NEITHER'"
    flags = ", ".join(f"{key} ({why})" for key in keys)
    detail = f"This change would break feature flags that use the cohort: {flags}."
    return error("validation_error", "invalid_input", detail, "filters")


@pytest.mark.parametrize("nested", [False, True])
async def test_a_cohort_in_a_flag_keeps_criteria_that_the_flag_can_ask_for(
    home: Home, nested: bool
) -> None:
    cohort = await made(home, name="c", filters={"properties": []})
    leaf = {"type": "cohort", "key": "id", "value": cohort["id"]}
    outer = await made(home, filters={"properties": [leaf]}) if nested else cohort
    await home.create_flag(key="a", filters=asking(outer))
    await home.create_flag(key="off", active=False, filters=asking(outer))
    await home.create_flag(key="b", filters=asking(outer))
    path = f"/cohorts/{cohort['id']}/"

    await home.store_cohort(cohort, deleted=True, filters=BROKEN)
    await home.site.running.public.flags.flag_sets.catch_up()

    refused = await home.api.patch(path, json={"name": "n", "deleted": False})

    assert (refused.status_code, refused.json()) == (400, broken_flags(cohort, "a", "b"))
    stored = await home.get(path)
    assert (stored["name"], stored["deleted"]) == ("c", True)
    assert (await home.decide("u"))["errorsWhileComputingFlags"] is False


async def test_a_broken_cohort_is_not_restored_under_a_flag(home: Home) -> None:
    cohort = await made(home, name="c", filters={"properties": []})
    await home.create_flag(key="a", filters=asking(cohort))
    path = f"/cohorts/{cohort['id']}/"
    await home.store_cohort(cohort, deleted=True, filters=BROKEN)

    refused = await home.api.patch(path, json={"deleted": False})

    assert (refused.status_code, refused.json()) == (400, broken_flags(cohort, "a"))
    mended = {"deleted": False, "filters": {"properties": []}}
    assert (await home.api.patch(path, json=mended)).status_code == 200


async def test_criteria_that_only_the_calculation_refuses_are_taken_under_a_flag(
    home: Home,
) -> None:
    """Criteria that consist only of a negation are an example."""
    plan = {"type": "person", "key": "plan", "value": "pro", "operator": "exact"}
    cohort = await made(home, name="c", filters={"properties": []})
    await home.create_flag(key="a", filters=asking(cohort))

    changed = {"filters": {"properties": [{**plan, "negation": True}]}}
    answer = await home.api.patch(f"/cohorts/{cohort['id']}/", json=changed)
    assert answer.status_code == 200, answer.text
    await home.site.calculated()

    assert (await home.get(f"/cohorts/{cohort['id']}/"))["errors_calculating"] == 1
    decided = await home.decide("u", person_properties={"plan": "free"})
    assert decided["featureFlags"] == {"a": True}
    assert decided["errorsWhileComputingFlags"] is False


async def test_what_was_broken_before_may_be_renamed(home: Home) -> None:
    cohort = await made(home, name="c", filters={"properties": []})
    await home.create_flag(key="a", filters=asking(cohort))
    async with home.site.records.write() as connection:
        await connection.execute(update(cohorts).values(filters=BROKEN))

    answer = await home.api.patch(f"/cohorts/{cohort['id']}/", json={"name": "n"})

    assert (answer.status_code, answer.json()["name"]) == (200, "n")


async def test_a_flag_that_became_wrong_can_be_switched_off_and_deleted(home: Home) -> None:
    made = await home.api.post("/cohorts/", json={"name": "c", "filters": {"properties": []}})
    cohort = made.json()["id"]
    leaf = {"type": "cohort", "key": "id", "value": cohort}
    flag = await home.create_flag(key="a", filters={"groups": [{"properties": [leaf]}]})
    async with home.site.records.write() as connection:
        await connection.execute(update(cohorts).values(filters=BROKEN))

    assert (await patched(home, flag, name="n"))[0] == 200
    assert (await patched(home, flag, active=False))[0] == 200
    assert (await patched(home, flag, active=True))[0] == 400
    assert (await patched(home, flag, deleted=True))[0] == 200


@pytest.mark.every_engine
async def test_two_who_close_a_loop_at_once_do_not_both_succeed(home: Home) -> None:
    for number in range(5):
        a, b = [
            await home.create_flag(key=f"{name}{number}", filters={"groups": [{}]}) for name in "ab"
        ]

        answers = await asyncio.gather(
            patched(home, a, filters=after(b["id"])), patched(home, b, filters=after(a["id"]))
        )

        assert sorted(status for status, _ in answers) == [200, 400]
    assert (await home.decide("u"))["errorsWhileComputingFlags"] is False
