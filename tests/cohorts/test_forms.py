"""PUT, form bodies, and the backoff of a cohort that fails."""

import json

import pytest

from fanion.cohorts.calculation.worker import ERRORS_MAX
from tests.support.application import Home, Json, error
from tests.support.cohorts import (
    ALONE,
    all_of,
    change,
    create,
    members,
    person_is,
    retrieve,
    three_persons,
)


async def test_put_leaves_omitted_fields_unchanged(home: Home) -> None:
    cohort = await create(home, name="a", description="b", filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()

    answer = await home.api.put(f"/cohorts/{cohort['id']}/", json={"name": "c"})
    refused = await home.api.put(f"/cohorts/{cohort['id']}/", json={"description": None})
    unknown = await home.api.put("/cohorts/99999999/", json={"name": "c"})

    changed = answer.json()
    assert answer.status_code == 200
    assert (changed["name"], changed["description"]) == ("c", "b")
    assert (changed["filters"], changed["is_calculating"]) == (cohort["filters"], True)
    assert refused.status_code == 400
    assert refused.json() == error(
        "validation_error", "null", "This field may not be null.", "description"
    )
    assert unknown.status_code == 404


async def test_put_adds_the_members_of_a_file(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, is_static=True)

    answer = await home.api.put(
        f"/cohorts/{cohort['id']}/", files={"csv": ("a.csv", b"ann\nbob\n", "text/csv")}
    )
    await home.site.calculated()

    assert answer.status_code == 200
    assert await members(home, cohort) == ["ann", "bob"]


@pytest.mark.parametrize("parts", [False, True], ids=["urlencoded", "multipart"])
async def test_a_form_holds_criteria_as_json(home: Home, parts: bool) -> None:
    await three_persons(home)
    filters, groups = all_of(person_is("plan", "pro")), [{"event_id": "opened", "days": 60}]
    fields = {
        "name": "Payers",
        "is_static": "false",
        "filters": json.dumps(filters),
        "groups": json.dumps(groups),
    }
    body: Json = {"data": fields}
    if parts:
        body = {"files": {name: (None, text) for name, text in fields.items()}}

    answer = await home.api.post("/cohorts/", **body)
    await home.site.calculated()

    cohort = answer.json()
    assert answer.status_code == 201, answer.text
    assert (cohort["name"], cohort["is_static"], cohort["filters"]) == ("Payers", False, filters)
    assert cohort["groups"][0]["event_id"] == "opened"
    assert await members(home, cohort) == ["ann", "cid"]


@pytest.mark.parametrize("text", ["true", "True", "1"])
async def test_a_form_accepts_several_spellings_of_true(home: Home, text: str) -> None:
    answer = await home.api.post("/cohorts/", data={"is_static": text})

    assert (answer.status_code, answer.json()["is_static"]) == (201, True)


@pytest.mark.parametrize(
    ("fields", "attr"),
    [({"is_static": "perhaps"}, "is_static"), ({"filters": "{"}, "filters")],
)
async def test_a_form_that_cannot_be_read_is_refused(
    home: Home, fields: dict[str, str], attr: str
) -> None:
    answer = await home.api.post("/cohorts/", data=fields)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr)


async def test_a_cohort_that_fails_is_tried_less_and_less_often(home: Home) -> None:
    """Each wait is at least 15 minutes, longer than the first backoffs of 1, 2, 4 and 8."""
    cohort = await create(home, filters=all_of(ALONE))
    await home.site.calculated()
    waits_min = [15, 15, 15, 15, 16, 32, 64, 128, 256, 512, 1024, *[1440] * 9]

    for failures, wait in enumerate(waits_min, start=1):
        assert (await retrieve(home, cohort))["errors_calculating"] == failures
        home.site.clock.move(minutes=wait, seconds=-1)
        await home.site.calculated()
        assert (await retrieve(home, cohort))["errors_calculating"] == failures
        home.site.clock.move(seconds=1)
        await home.site.calculated()
    given_up = await retrieve(home, cohort)
    home.site.clock.move(days=30)
    await home.site.calculated()
    still = await retrieve(home, cohort)
    await change(home, cohort, filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()

    assert given_up["errors_calculating"] == still["errors_calculating"] == ERRORS_MAX + 1
    mended = await retrieve(home, cohort)
    assert (mended["errors_calculating"], mended["last_error_message"]) == (0, None)
    assert mended["last_calculation"] is not None
