"""Invalid cohorts over HTTP: the error names the field, and nothing is stored."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.cohorts import (
    UNKNOWN,
    all_conditions,
    change_cohort,
    create_cohort,
    in_cohort,
    performed,
    person_is,
    retrieve_cohort,
    three_persons,
)

INVALID: dict[str, tuple[Json, str | None, str]] = {
    "filtres": ({"filtres": all_conditions()}, "filtres", 'Did you mean "filters"?'),
    "isStatic": ({"isStatic": True}, "isStatic", 'Did you mean "is_static"?'),
    "tags": ({"tags": ["a"]}, "tags", 'Unknown field "tags"'),
    "an operator": (
        {"filters": all_conditions(person_is("age", "5", operator="less"))},
        "filters",
        'Unknown operator "less"',
    ),
    "an interval": (
        {"filters": all_conditions(performed("opened", time_interval="fortnight"))},
        "filters",
        "minute, hour, day, week, month, year",
    ),
    "a field of a condition": (
        {"filters": all_conditions(performed("opened", time_valeu=3))},
        "filters",
        'Did you mean "time_value"?',
    ),
    "a date": (
        {"filters": all_conditions(person_is("born", "soon", operator="is_date_after"))},
        "filters",
        '"soon"',
    ),
    "a cohort": (
        {"filters": all_conditions(in_cohort(UNKNOWN))},
        None,
        f"Invalid Cohort ID in filter: {UNKNOWN}",
    ),
    "field next to properties": ({"filters": {**all_conditions(), "name": 1}}, "filters", '"name"'),
    "a field of a group": ({"groups": [{"event_id": "a", "dayz": 1}]}, "groups", '"days"'),
    "a cohort in a group": (
        {"groups": [{"properties": [in_cohort(UNKNOWN)]}]},
        None,
        f"Invalid Cohort ID in filter: {UNKNOWN}",
    ),
    "persons": (
        {"_create_static_person_ids": ["x"], "is_static": True},
        "_create_static_person_ids",
        "add_persons_to_static_cohort",
    ),
}


@pytest.mark.parametrize("name", INVALID)
async def test_an_invalid_request_creates_no_cohort(tenant: Tenant, name: str) -> None:
    sent, attr, reported = INVALID[name]

    answer = await tenant.api.post("/cohorts/", json={"name": "c", **sent})

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert answer.json()["type"] == "validation_error"
    assert reported in answer.json()["detail"]
    assert (await tenant.get("/cohorts/"))["count"] == 0


@pytest.mark.parametrize("name", INVALID)
async def test_an_invalid_request_changes_no_cohort(tenant: Tenant, name: str) -> None:
    sent, attr, _ = INVALID[name]
    cohort = await create_cohort(tenant, name="c", filters=all_conditions(person_is("plan", "pro")))

    for method in ("PATCH", "PUT"):
        answer = await tenant.api.request(method, f"/cohorts/{cohort['id']}/", json=sent)
        assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text

    assert await retrieve_cohort(tenant, cohort) == cohort


@pytest.mark.parametrize("name", ["an operator", "a date", "a cohort", "field next to properties"])
async def test_an_invalid_preview_is_refused(tenant: Tenant, name: str) -> None:
    sent, attr, reported = INVALID[name]

    answer = await tenant.api.post("/cohorts/preview/", json=sent)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert reported in answer.json()["detail"]


async def test_an_unknown_field_of_a_preview_is_refused(tenant: Tenant) -> None:
    answer = await tenant.api.post(
        "/cohorts/preview/", json={"filters": all_conditions(), "limit": 3}
    )

    assert (answer.status_code, answer.json()["attr"]) == (400, "limit")


async def test_older_conditions_without_an_operator_can_be_tried(tenant: Tenant) -> None:
    await three_persons(tenant)
    leaf = {"type": "person", "key": "plan", "value": "pro"}

    answer = await tenant.api.post("/cohorts/preview/", json={"filters": all_conditions(leaf)})

    assert answer.json()["count"] == 2


async def test_field_names_of_every_api_version_are_accepted(tenant: Tenant) -> None:
    returned: Json = {
        "id": 7,
        "created_by": None,
        "created_at": None,
        "is_calculating": True,
        "count": 3,
        "last_calculation": None,
        "next_calculation": None,
        "errors_calculating": 9,
        "last_error_message": "x",
        "experiment_set": [],
        "cohort_type": None,
        "version": 3,
        "pending_version": 4,
        "query": None,
        "_create_in_folder": "",
        "_create_static_person_ids": [],
    }

    cohort = await create_cohort(tenant, name="c", **returned)
    changed = await change_cohort(tenant, cohort, **returned)

    assert cohort["id"] != 7
    assert (changed["count"], changed["errors_calculating"]) == (None, 0)


QUERIES = {
    "/cohorts/?serach=a": "serach",
    "/cohorts/COHORT/?version=1": "version",
    "/cohorts/COHORT/persons/?cohort=1": "cohort",
    "/cohorts/COHORT/activity/?sort=1": "sort",
    "/cohorts/COHORT/explain/?verbose": "verbose",
    "/cohorts/COHORT/duplicate_as_static_cohort/?name=x": "name",
    "/cohorts/activity/?sort=1": "sort",
}


@pytest.mark.parametrize("path", QUERIES)
async def test_an_unknown_query_parameter_is_refused(tenant: Tenant, path: str) -> None:
    cohort = await create_cohort(tenant, name="c")
    attr = QUERIES[path]

    answer = await tenant.api.get(path.replace("COHORT", str(cohort["id"])))

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert answer.json()["detail"].startswith(f'Unknown query parameter "{attr}". ')
    assert (await tenant.get("/cohorts/"))["count"] == 1


async def test_known_query_parameters_are_accepted_everywhere(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, name="c")
    common = f"token={tenant.token}&format=json&_=1700000000"

    for path in ("", "persons/", "activity/", "explain/"):
        answer = await tenant.api.get(f"/cohorts/{cohort['id']}/{path}?{common}")
        assert answer.status_code == 200, answer.text
    changed = await tenant.api.patch(f"/cohorts/{cohort['id']}/?{common}", json={"name": "n"})
    assert changed.status_code == 200


@pytest.mark.parametrize(
    ("query", "attr"),
    [
        ({"format": "xml"}, "format"),
        (
            {"properties": '[{"key": "plan", "value": 1, "operater": "gt"}]'},
            "properties__0__operater",
        ),
        (
            {"properties": '[{"key": "plan", "value": 1, "operator": "less"}]'},
            "properties__0__operator",
        ),
    ],
)
async def test_query_parameters_of_members_are_validated(
    tenant: Tenant, query: dict[str, str], attr: str
) -> None:
    cohort = await create_cohort(tenant, name="c")

    answer = await tenant.api.get(f"/cohorts/{cohort['id']}/persons/", params=query)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text


@pytest.mark.parametrize(
    ("query", "attr"),
    [
        ({"insight": "TRENDS", "filter_test_accounts": "maybe"}, "filter_test_accounts"),
        ({"insight": "TRENDS", "entity_idd": "a"}, "entity_idd"),
        ({"entity_id": "a"}, "insight"),
    ],
)
async def test_insight_parameters_that_would_be_ignored_are_refused(
    tenant: Tenant, query: dict[str, str], attr: str
) -> None:
    events = '[{"id": "seen"}]'

    answer = await tenant.api.post(
        "/cohorts/", params={"events": events, **query}, json={"is_static": True}
    )

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text


@pytest.mark.parametrize(
    ("more", "attr"),
    [
        ({"select": ["name"]}, "query__select"),
        ({"limit": 5, "search": "a", "orderBy": ["id"]}, "query__search"),
        ({"propertys": []}, "query__propertys"),
        ({"properties": [person_is("plan", "x", operator="gt")]}, "query"),
    ],
)
async def test_unsupported_fields_of_a_query_are_refused(
    tenant: Tenant, more: Json, attr: str
) -> None:
    query = {"kind": "ActorsQuery", "properties": [person_is("plan", "pro")], **more}

    answer = await tenant.api.post("/cohorts/", json={"is_static": True, "query": query})

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text


# ── Cohorts stored before ────────────────────────────────────────────────────────────────

OLD: Json = all_conditions(
    {"type": "person", "key": "plan", "value": "pro"},
    {"type": "AND", "values": []},
    person_is("age", "5", operator="less", colour=1),
    in_cohort(UNKNOWN),
)


async def test_an_invalid_cohort_stored_before_still_works(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, name="c")
    await tenant.store_cohort(cohort, filters=OLD)
    returned = await retrieve_cohort(tenant, cohort)
    leaves: list[Any] = OLD["properties"]["values"]

    answers = [
        await tenant.api.patch(f"/cohorts/{cohort['id']}/", json=sent)
        for sent in (
            returned,
            {"name": "n"},
            {"filters": OLD},
            {"filters": all_conditions(*leaves[2:], person_is("plan", "pro"))},
            {"deleted": True},
            {"deleted": False},
        )
    ]

    assert [answer.status_code for answer in answers] == [200] * 6, [a.text for a in answers]


async def test_a_new_error_in_an_old_cohort_is_refused(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, name="c")
    await tenant.store_cohort(cohort, filters=OLD)
    worse = all_conditions(in_cohort(UNKNOWN), in_cohort(UNKNOWN + 1))

    answer = await tenant.api.patch(f"/cohorts/{cohort['id']}/", json={"filters": worse})

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error", "invalid_input", f"Invalid Cohort ID in filter: {UNKNOWN + 1}"
    )
    assert (await retrieve_cohort(tenant, cohort))["filters"] == OLD


async def test_filters_converted_from_groups_may_be_sent_back(tenant: Tenant) -> None:
    """The cohort keeps its groups, which could otherwise not be changed any more."""
    cohort = await create_cohort(tenant, groups=[{"properties": {"plan": "pro"}}])

    same = await change_cohort(tenant, cohort, filters=cohort["filters"], name="n")
    changed = await change_cohort(tenant, cohort, groups=[{"properties": {"plan": "free"}}])

    assert same["filters"] == cohort["filters"]
    [leaf] = changed["filters"]["properties"]["values"][0]["values"]
    assert leaf["value"] == "free"


async def test_criteria_of_a_static_cohort_are_validated_when_it_becomes_dynamic(
    tenant: Tenant,
) -> None:
    cohort = await create_cohort(tenant, name="c", is_static=True)
    await tenant.store_cohort(cohort, filters=OLD)

    stays = await tenant.api.patch(f"/cohorts/{cohort['id']}/", json={"name": "n"})
    becomes = await tenant.api.patch(f"/cohorts/{cohort['id']}/", json={"is_static": False})

    assert stays.status_code == 200
    assert (becomes.status_code, becomes.json()["attr"]) == (400, "filters")
