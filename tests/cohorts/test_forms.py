"""PUT, form bodies, and the backoff of a cohort that fails."""

import json

import pytest

from fanion.cohorts.calculation.worker import ERRORS_MAX
from tests.support.application import Json, Tenant, error
from tests.support.cohorts import (
    ALONE,
    all_conditions,
    change_cohort,
    cohort_members,
    create_cohort,
    person_is,
    retrieve_cohort,
    three_persons,
)


async def test_put_leaves_omitted_fields_unchanged(tenant: Tenant) -> None:
    cohort = await create_cohort(
        tenant, name="a", description="b", filters=all_conditions(person_is("plan", "pro"))
    )
    await tenant.server.calculated()

    answer = await tenant.api.put(f"/cohorts/{cohort['id']}/", json={"name": "c"})
    refused = await tenant.api.put(f"/cohorts/{cohort['id']}/", json={"description": None})
    unknown = await tenant.api.put("/cohorts/99999999/", json={"name": "c"})

    changed = answer.json()
    assert answer.status_code == 200
    assert (changed["name"], changed["description"]) == ("c", "b")
    assert (changed["filters"], changed["is_calculating"]) == (cohort["filters"], True)
    assert refused.status_code == 400
    assert refused.json() == error(
        "validation_error", "null", "This field may not be null.", "description"
    )
    assert unknown.status_code == 404


async def test_put_adds_the_members_of_a_file(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, is_static=True)

    answer = await tenant.api.put(
        f"/cohorts/{cohort['id']}/", files={"csv": ("a.csv", b"ann\nbob\n", "text/csv")}
    )
    await tenant.server.calculated()

    assert answer.status_code == 200
    assert await cohort_members(tenant, cohort) == ["ann", "bob"]


@pytest.mark.parametrize("parts", [False, True], ids=["urlencoded", "multipart"])
async def test_a_form_holds_criteria_as_json(tenant: Tenant, parts: bool) -> None:
    await three_persons(tenant)
    filters, groups = all_conditions(person_is("plan", "pro")), [{"event_id": "opened", "days": 60}]
    fields = {
        "name": "Payers",
        "is_static": "false",
        "filters": json.dumps(filters),
        "groups": json.dumps(groups),
    }
    body: Json = {"data": fields}
    if parts:
        body = {"files": {name: (None, text) for name, text in fields.items()}}

    answer = await tenant.api.post("/cohorts/", **body)
    await tenant.server.calculated()

    cohort = answer.json()
    assert answer.status_code == 201, answer.text
    assert (cohort["name"], cohort["is_static"], cohort["filters"]) == ("Payers", False, filters)
    assert cohort["groups"][0]["event_id"] == "opened"
    assert await cohort_members(tenant, cohort) == ["ann", "cid"]


@pytest.mark.parametrize("text", ["true", "True", "1"])
async def test_a_form_accepts_several_spellings_of_true(tenant: Tenant, text: str) -> None:
    answer = await tenant.api.post("/cohorts/", data={"is_static": text})

    assert (answer.status_code, answer.json()["is_static"]) == (201, True)


@pytest.mark.parametrize(
    ("fields", "attr"),
    [({"is_static": "perhaps"}, "is_static"), ({"filters": "{"}, "filters")],
)
async def test_a_form_that_cannot_be_read_is_refused(
    tenant: Tenant, fields: dict[str, str], attr: str
) -> None:
    answer = await tenant.api.post("/cohorts/", data=fields)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr)


async def test_a_cohort_that_fails_is_tried_less_and_less_often(tenant: Tenant) -> None:
    """Each wait is at least 15 minutes, longer than the first backoffs of 1, 2, 4 and 8."""
    cohort = await create_cohort(tenant, filters=all_conditions(ALONE))
    await tenant.server.calculated()
    waits_min = [15, 15, 15, 15, 16, 32, 64, 128, 256, 512, 1024, *[1440] * 9]

    for failures, wait in enumerate(waits_min, start=1):
        assert (await retrieve_cohort(tenant, cohort))["errors_calculating"] == failures
        tenant.server.clock.move(minutes=wait, seconds=-1)
        await tenant.server.calculated()
        assert (await retrieve_cohort(tenant, cohort))["errors_calculating"] == failures
        tenant.server.clock.move(seconds=1)
        await tenant.server.calculated()
    given_up = await retrieve_cohort(tenant, cohort)
    tenant.server.clock.move(days=30)
    await tenant.server.calculated()
    still = await retrieve_cohort(tenant, cohort)
    await change_cohort(tenant, cohort, filters=all_conditions(person_is("plan", "pro")))
    await tenant.server.calculated()

    assert given_up["errors_calculating"] == still["errors_calculating"] == ERRORS_MAX + 1
    mended = await retrieve_cohort(tenant, cohort)
    assert (mended["errors_calculating"], mended["last_error_message"]) == (0, None)
    assert mended["last_calculation"] is not None
