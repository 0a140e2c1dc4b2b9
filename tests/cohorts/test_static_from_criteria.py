"""Static cohorts that are created from criteria, which are evaluated once."""

import json

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.cohorts import (
    UNKNOWN,
    all_conditions,
    change_cohort,
    cohort_members,
    create_cohort,
    in_cohort,
    performed,
    person,
    person_is,
    retrieve_cohort,
    three_persons,
)

PRO = all_conditions(person_is("plan", "pro"))
FIXED = "The criteria of a static cohort cannot be changed."


async def test_criteria_of_a_static_cohort_are_evaluated_once(tenant: Tenant) -> None:
    await three_persons(tenant)

    cohort = await create_cohort(tenant, name="then", is_static=True, filters=PRO)
    await tenant.server.calculated()
    await tenant.capture(person("bob", plan="pro"))
    tenant.server.clock.move(hours=1)
    await tenant.server.calculated()

    assert (cohort["is_static"], cohort["filters"]) == (True, PRO)
    assert await cohort_members(tenant, cohort) == ["ann", "cid"]
    assert (await retrieve_cohort(tenant, cohort))["count"] == 2


async def test_criteria_on_events_and_cohorts_are_evaluated_once_too(tenant: Tenant) -> None:
    await three_persons(tenant)
    pro = await create_cohort(tenant, filters=PRO)
    tree = {"type": "OR", "values": [performed("opened"), in_cohort(pro["id"])]}

    cohort = await create_cohort(tenant, is_static=True, filters={"properties": tree})
    await tenant.server.calculated()

    assert await cohort_members(tenant, cohort) == ["ann", "bob", "cid"]


@pytest.mark.parametrize("properties", [{}, [], {"type": "AND", "values": []}])
async def test_without_conditions_a_static_cohort_is_empty(
    tenant: Tenant, properties: Json
) -> None:
    cohort = await create_cohort(tenant, is_static=True, filters={"properties": properties})
    await tenant.server.calculated()

    assert (await retrieve_cohort(tenant, cohort))["count"] is None


async def test_criteria_sent_with_a_file_are_stored_and_not_evaluated(tenant: Tenant) -> None:
    await three_persons(tenant)
    fields = {"is_static": "true", "filters": json.dumps(PRO)}

    answer = await tenant.api.post("/cohorts/", data=fields, files={"csv": ("a.csv", b"bob\n")})
    await tenant.server.calculated()

    assert answer.status_code == 201, answer.text
    assert answer.json()["filters"] == PRO
    assert await cohort_members(tenant, answer.json()) == ["bob"]


@pytest.mark.parametrize(
    ("filters", "attr"),
    [
        (all_conditions(person_is("plan", "x", operator="less")), "filters"),
        (all_conditions(performed("opened", time_valeu=3)), "filters"),
        (all_conditions(in_cohort(UNKNOWN)), None),
    ],
)
async def test_criteria_of_a_static_cohort_are_validated(
    tenant: Tenant, filters: Json, attr: str | None
) -> None:
    answer = await tenant.api.post("/cohorts/", json={"is_static": True, "filters": filters})

    assert (answer.status_code, answer.json()["attr"]) == (400, attr)
    assert (await tenant.get("/cohorts/"))["count"] == 0


@pytest.mark.parametrize(
    ("sent", "attr"),
    [
        ({"filters": all_conditions(person_is("plan", "free"))}, "filters"),
        ({"filters": None}, "filters"),
        ({"filters": {"properties": {}}}, "filters"),
        ({"groups": [{"event_id": "opened"}]}, "groups"),
    ],
)
async def test_criteria_of_a_static_cohort_cannot_be_changed(
    tenant: Tenant, sent: Json, attr: str
) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, is_static=True, filters=PRO)
    await tenant.server.calculated()
    before = await retrieve_cohort(tenant, cohort)

    answer = await tenant.api.patch(f"/cohorts/{cohort['id']}/", json={"name": "n", **sent})

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_input", FIXED, attr)
    assert await retrieve_cohort(tenant, cohort) == before


async def test_a_static_cohort_may_be_sent_back_as_it_was_read(tenant: Tenant) -> None:
    with_criteria = await create_cohort(tenant, is_static=True, filters=PRO)
    empty = await create_cohort(tenant, is_static=True)
    nothing: Json = {"properties": {"type": "AND", "values": []}}

    for cohort in (with_criteria, empty):
        same = await change_cohort(tenant, cohort, **{**cohort, "name": "n"})
        assert (same["name"], same["filters"]) == ("n", cohort["filters"])
    cleared = await change_cohort(tenant, empty, filters=nothing, groups=[])
    assert cleared["filters"] == empty["filters"]


async def test_a_static_cohort_becomes_dynamic_with_other_criteria(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, is_static=True, filters=PRO)
    free = all_conditions(person_is("plan", "free"))

    changed = await change_cohort(tenant, cohort, is_static=False, filters=free)
    await tenant.server.calculated()

    assert changed["filters"] == free
    assert await cohort_members(tenant, cohort) == ["bob"]
