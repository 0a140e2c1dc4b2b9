"""Flags that depend on flags and cohorts: changes that make one uncomputable are refused."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import update

from fanion.db.schema.cohorts import cohorts
from tests.support.application import Json, Tenant, error

BROKEN: Json = {"properties": {"type": "NEITHER", "values": []}}


def after(name: object) -> Json:
    leaf = {"type": "flag", "key": name, "operator": "flag_evaluates_to", "value": True}
    return {"groups": [{"properties": [leaf]}]}


def not_valid(why: str) -> Json:
    detail = f"Filters are not valid ({why})"
    return error("validation_error", "invalid_input", detail, "filters")


LOOP = not_valid("depends on itself, or on a flag that does")


async def patched(tenant: Tenant, flag: Json, **changes: Any) -> tuple[int, Json]:
    answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json=changes)
    return answer.status_code, answer.json()


async def created(tenant: Tenant, **flag: Any) -> tuple[int, Json]:
    answer = await tenant.api.post("/feature_flags/", json=flag)
    return answer.status_code, answer.json()


async def test_a_flag_that_does_not_exist_cannot_be_named(tenant: Tenant) -> None:
    unknown = not_valid("depends on flag 987654, which does not exist")

    assert await created(tenant, key="a", filters=after("987654")) == (400, unknown)
    assert await created(tenant, key="a", active=False, filters=after("987654")) == (400, unknown)
    assert (await tenant.get("/feature_flags/"))["count"] == 0


async def test_flags_cannot_depend_on_each_other_in_a_loop(tenant: Tenant) -> None:
    a = await tenant.create_flag(key="a", filters={"groups": [{}]})
    b = await tenant.create_flag(key="b", filters=after(a["id"]))
    c = await tenant.create_flag(key="c", filters=after(b["id"]))

    assert await patched(tenant, a, filters=after(c["id"])) == (400, LOOP)
    assert await patched(tenant, a, filters=after(a["id"])) == (400, LOOP)
    assert await patched(tenant, a, filters=after("a")) == (400, LOOP)
    early = {**after(c["id"]), "groups": [{}], "super_groups": after(c["id"])["groups"]}
    assert await patched(tenant, a, filters=early) == (400, LOOP)
    assert (await tenant.decide("u"))["errorsWhileComputingFlags"] is False


async def test_a_loop_cannot_be_closed_by_switching_on(tenant: Tenant) -> None:
    a = await tenant.create_flag(key="a", filters={"groups": [{}]})
    b = await tenant.create_flag(key="b", filters=after(a["id"]), active=False)

    assert (await patched(tenant, a, filters=after(b["id"])))[0] == 200
    assert await patched(tenant, b, active=True) == (400, LOOP)


async def test_what_others_depend_on_stays(tenant: Tenant) -> None:
    a = await tenant.create_flag(key="a", filters={"groups": [{}]})
    b = await tenant.create_flag(key="b", filters=after(a["id"]))
    c = await tenant.create_flag(key="c", filters=after("a"))

    def refused(what: str, others: str) -> tuple[int, Json]:
        detail = f"Cannot {what} because other flags depend on it: {others}."
        return 400, error("validation_error", "invalid_input", detail)

    gone = refused("delete this feature flag", "b, c")
    assert await patched(tenant, a, deleted=True) == gone
    assert await patched(tenant, a, key="z") == refused("change the key of this flag", "c")
    assert (await patched(tenant, c, active=False))[0] == 200
    assert (await patched(tenant, a, key="z"))[0] == 200
    assert (await patched(tenant, b, deleted=True))[0] == 200
    assert (await patched(tenant, a, deleted=True))[0] == 200
    lost = not_valid(f"depends on flag {a['id']}, which does not exist")
    assert await patched(tenant, b, deleted=False) == (400, lost)


async def test_early_access_follows_the_key(tenant: Tenant) -> None:
    def filters(key: str) -> Json:
        leaf = {"type": "person", "operator": "exact", "value": ["true"]}
        enrolled = {"properties": [{**leaf, "key": f"$feature_enrollment/{key}"}]}
        return {"groups": [{"rollout_percentage": 0}], "super_groups": [enrolled]}

    flag = await tenant.create_flag(key="a", filters=filters("a"))
    plain = await tenant.create_flag(key="plain")

    assert (await patched(tenant, flag, key="b"))[1]["filters"] == filters("b")
    assert (await patched(tenant, plain, key="other"))[1]["filters"] == plain["filters"]
    said = {"$feature_enrollment/b": "true"}
    assert (await tenant.decide("u", person_properties=said))["featureFlags"]["b"] is True


async def test_a_cohort_that_flags_cannot_ask_for_is_refused(tenant: Tenant) -> None:
    cohort = await made(tenant, name="c")
    await tenant.store_cohort(cohort, filters=BROKEN)
    leaf = {"type": "cohort", "key": "id", "value": cohort["id"]}
    why = f"cohort {cohort['id']}: a group must be of type AND or OR, not 'NEITHER'"

    status, reported = await created(tenant, key="a", filters={"groups": [{"properties": [leaf]}]})

    assert (status, reported) == (400, not_valid(why))


def asking(cohort: Json) -> Json:
    return {"groups": [{"properties": [{"type": "cohort", "key": "id", "value": cohort["id"]}]}]}


async def made(tenant: Tenant, **cohort: Any) -> Json:
    answer = await tenant.api.post("/cohorts/", json=cohort)
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
    tenant: Tenant, nested: bool
) -> None:
    cohort = await made(tenant, name="c", filters={"properties": []})
    leaf = {"type": "cohort", "key": "id", "value": cohort["id"]}
    outer = await made(tenant, filters={"properties": [leaf]}) if nested else cohort
    await tenant.create_flag(key="a", filters=asking(outer))
    await tenant.create_flag(key="off", active=False, filters=asking(outer))
    await tenant.create_flag(key="b", filters=asking(outer))
    path = f"/cohorts/{cohort['id']}/"

    await tenant.store_cohort(cohort, deleted=True, filters=BROKEN)
    await tenant.server.running.public.flags.flag_sets.catch_up()

    refused = await tenant.api.patch(path, json={"name": "n", "deleted": False})

    assert (refused.status_code, refused.json()) == (400, broken_flags(cohort, "a", "b"))
    stored = await tenant.get(path)
    assert (stored["name"], stored["deleted"]) == ("c", True)
    assert (await tenant.decide("u"))["errorsWhileComputingFlags"] is False


async def test_a_broken_cohort_is_not_restored_under_a_flag(tenant: Tenant) -> None:
    cohort = await made(tenant, name="c", filters={"properties": []})
    await tenant.create_flag(key="a", filters=asking(cohort))
    path = f"/cohorts/{cohort['id']}/"
    await tenant.store_cohort(cohort, deleted=True, filters=BROKEN)

    refused = await tenant.api.patch(path, json={"deleted": False})

    assert (refused.status_code, refused.json()) == (400, broken_flags(cohort, "a"))
    mended = {"deleted": False, "filters": {"properties": []}}
    assert (await tenant.api.patch(path, json=mended)).status_code == 200


async def test_criteria_that_only_the_calculation_refuses_are_taken_under_a_flag(
    tenant: Tenant,
) -> None:
    """Criteria that consist only of a negation are an example."""
    plan = {"type": "person", "key": "plan", "value": "pro", "operator": "exact"}
    cohort = await made(tenant, name="c", filters={"properties": []})
    await tenant.create_flag(key="a", filters=asking(cohort))

    changed = {"filters": {"properties": [{**plan, "negation": True}]}}
    answer = await tenant.api.patch(f"/cohorts/{cohort['id']}/", json=changed)
    assert answer.status_code == 200, answer.text
    await tenant.server.calculated()

    assert (await tenant.get(f"/cohorts/{cohort['id']}/"))["errors_calculating"] == 1
    decided = await tenant.decide("u", person_properties={"plan": "free"})
    assert decided["featureFlags"] == {"a": True}
    assert decided["errorsWhileComputingFlags"] is False


async def test_what_was_broken_before_may_be_renamed(tenant: Tenant) -> None:
    cohort = await made(tenant, name="c", filters={"properties": []})
    await tenant.create_flag(key="a", filters=asking(cohort))
    async with tenant.server.records.write() as connection:
        await connection.execute(update(cohorts).values(filters=BROKEN))

    answer = await tenant.api.patch(f"/cohorts/{cohort['id']}/", json={"name": "n"})

    assert (answer.status_code, answer.json()["name"]) == (200, "n")


async def test_a_flag_that_became_wrong_can_be_switched_off_and_deleted(tenant: Tenant) -> None:
    made = await tenant.api.post("/cohorts/", json={"name": "c", "filters": {"properties": []}})
    cohort = made.json()["id"]
    leaf = {"type": "cohort", "key": "id", "value": cohort}
    flag = await tenant.create_flag(key="a", filters={"groups": [{"properties": [leaf]}]})
    async with tenant.server.records.write() as connection:
        await connection.execute(update(cohorts).values(filters=BROKEN))

    assert (await patched(tenant, flag, name="n"))[0] == 200
    assert (await patched(tenant, flag, active=False))[0] == 200
    assert (await patched(tenant, flag, active=True))[0] == 400
    assert (await patched(tenant, flag, deleted=True))[0] == 200


@pytest.mark.every_engine
async def test_two_who_close_a_loop_at_once_do_not_both_succeed(tenant: Tenant) -> None:
    for number in range(5):
        a, b = [
            await tenant.create_flag(key=f"{name}{number}", filters={"groups": [{}]})
            for name in "ab"
        ]

        answers = await asyncio.gather(
            patched(tenant, a, filters=after(b["id"])), patched(tenant, b, filters=after(a["id"]))
        )

        assert sorted(status for status, _ in answers) == [200, 400]
    assert (await tenant.decide("u"))["errorsWhileComputingFlags"] is False
