"""Static cohorts of a query, and requests for cohorts that are refused."""

import pytest

from tests.support.actors_cohorts import (
    event_condition,
    event_of,
    event_series,
    members_of_query,
    post_cohort,
    stored_cohort,
)
from tests.support.application import Json, Tenant, error
from tests.support.cohorts import (
    cohort_members,
    create_cohort,
    in_cohort,
    person,
    person_is,
    retrieve_cohort,
)

REQUIRED = "This field is required."


async def test_persons_who_match_a_query_now_become_a_static_cohort(tenant: Tenant) -> None:
    await tenant.capture(
        person("ann", plan="pro", town="Ulm"), person("bob", plan="free"), person("cid", plan="pro")
    )
    static = await create_cohort(
        tenant,
        is_static=True,
        query={"kind": "ActorsQuery", "properties": [person_is("plan", "pro")]},
    )
    await tenant.server.calculated()
    await tenant.capture(person("ann", plan="free"))
    await tenant.server.calculated()

    assert await cohort_members(tenant, static) == ["ann", "cid"]
    assert await members_of_query(tenant, person_is("plan", "pro")) == ["cid"]
    assert await members_of_query(tenant, in_cohort(static["id"]), person_is("town", "Ulm")) == [
        "ann"
    ]


async def refused(tenant: Tenant, body: Json, **query: str) -> Json:
    answer = await post_cohort(tenant, body, **query)
    assert answer.status_code == 400, answer.text
    assert (await tenant.get("/cohorts/"))["count"] == 0
    reported: Json = answer.json()
    return reported


def wrong(detail: str, attr: str, code: str = "invalid_input") -> Json:
    return error("validation_error", code, detail, attr)


SEEN = event_series("seen")
STICKY = {"insight": "STICKINESS", "events": SEEN}
LIVED = {"insight": "LIFECYCLE", "events": SEEN}
RETAINED = {"insight": "RETENTION", "target_entity": '{"id": "seen"}'}
FUNNEL = {"insight": "FUNNELS", "events": event_series("seen", "opened")}
BAD: list[tuple[dict[str, str], Json]] = [
    (
        {"insight": "PATHS"},
        wrong("Name the step that paths come from or lead to.", "path_start_key"),
    ),
    (
        {"insight": "odd"},
        wrong(
            '"ODD" is not a valid choice. Allowed are: FUNNELS, FUNNELS_CORRELATION, LIFECYCLE, '
            "PATHS, RETENTION, STICKINESS, TRENDS.",
            "insight",
            "invalid_choice",
        ),
    ),
    (RETAINED, wrong("This field is required.", "selected_interval")),
    *(
        (
            {**question, "aggregation_group_type_index": "0"},
            wrong(
                "A cohort has persons, and this insight counts groups.",
                "aggregation_group_type_index",
            ),
        )
        for question in (
            {"insight": "TRENDS", "events": SEEN},
            {**RETAINED, "selected_interval": "0"},
        )
    ),
    ({"insight": "TRENDS"}, wrong("At least one event is required.", "events")),
    ({"insight": "TRENDS", "events": "["}, wrong("This value must be valid JSON.", "events")),
    ({"insight": "TRENDS", "events": "{}"}, wrong("Must be a list.", "events")),
    (
        {"insight": "TRENDS", "events": SEEN, "entity_type": "actions"},
        wrong("This field is required.", "entity_id", "required"),
    ),
    (
        {"insight": "TRENDS", "events": SEEN, "date_from": "2024-02-02", "date_to": "2024-02-01"},
        wrong("date_from must be before date_to.", "date_from"),
    ),
    (
        {"insight": "TRENDS", "events": SEEN, "date_to": "soon"},
        wrong("Invalid date: soon", "date_to"),
    ),
    (
        {"insight": "TRENDS", "events": SEEN, "formula": "A"},
        wrong("A formula has no persons of its own. Ask for one of its series.", "formula"),
    ),
    (
        {"insight": "TRENDS", "events": SEEN, "breakdown_value": "a"},
        wrong("Set breakdown when breakdown_value is set.", "breakdown_value"),
    ),
    (STICKY, wrong(REQUIRED, "stickiness_days")),
    (
        {**STICKY, "stickiness_days": "some"},
        wrong("A valid integer is required.", "stickiness_days"),
    ),
    (
        {**STICKY, "stickiness_days": "0"},
        wrong("Ensure this value is between 1 and 10000.", "stickiness_days"),
    ),
    (
        {**STICKY, "stickiness_days": "1", "breakdown": "page"},
        wrong("Stickiness questions with breakdown are not supported. Leave it out.", "breakdown"),
    ),
    (LIVED, wrong(REQUIRED, "target_date")),
    ({**LIVED, "target_date": "all"}, wrong("Invalid date: all", "target_date")),
    ({**LIVED, "target_date": "2024-02-28"}, wrong(REQUIRED, "lifecycle_type")),
    (
        {**LIVED, "target_date": "2024-02-28", "lifecycle_type": "old"},
        wrong(
            '"old" is not a valid choice. Allowed are: dormant, new, resurrecting, returning.',
            "lifecycle_type",
            "invalid_choice",
        ),
    ),
    (FUNNEL, wrong(REQUIRED, "funnel_step", "required")),
    (
        {**FUNNEL, "funnel_step": "3"},
        wrong("Ensure this value is between -2 and 2.", "funnel_step"),
    ),
    (
        {**FUNNEL, "funnel_step": "-1"},
        wrong("Ensure this value is 1 or greater, or -2 or less.", "funnel_step"),
    ),
    (
        {**FUNNEL, "funnel_step": "1", "funnel_window_days": "0"},
        wrong("Ensure this value is between 1 and 3650.", "funnel_window_days"),
    ),
]


@pytest.mark.parametrize(("query", "reported"), BAD)
async def test_an_unsupported_insight_creates_no_cohort(
    tenant: Tenant, query: dict[str, str], reported: Json
) -> None:
    assert await refused(tenant, {"name": "Bad", "is_static": True}, **query) == reported


PRO = {"kind": "ActorsQuery", "properties": [person_is("plan", "pro")]}
FILTERS = {"properties": {"type": "AND", "values": []}}
NOT_STATIC = wrong(
    "Only a static cohort can be created from an insight or a query.",
    "is_static",
)


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        ({"query": PRO}, NOT_STATIC),
        ({"query": PRO, "is_static": False}, NOT_STATIC),
        (
            {"query": PRO, "is_static": True, "filters": FILTERS},
            wrong("Cannot set both 'query' and 'filters' at the same time.", "query"),
        ),
        (
            {"query": {"kind": "HogQLQuery", "query": "select 1"}, "is_static": True},
            wrong('HogQLQuery is not supported. Use kind "ActorsQuery".', "query"),
        ),
        (
            {"query": {"kind": "TrendsQuery"}, "is_static": True},
            wrong('The kind of a query must be ActorsQuery, not "TrendsQuery".', "query"),
        ),
        (
            {"query": "everybody", "is_static": True},
            wrong("query must be an object.", "query"),
        ),
        (
            {"query": {"kind": "ActorsQuery", "properties": []}, "is_static": True},
            wrong("An ActorsQuery must have a non-empty list of properties.", "query"),
        ),
        (
            {
                "query": {"kind": "ActorsQuery", "properties": [event_condition("page", "a")]},
                "is_static": True,
            },
            wrong(
                'A condition of type "event" cannot be used in a cohort. Allowed are: '
                "behavioral, cohort, person, precalculated-cohort, static-cohort.",
                "query",
            ),
        ),
    ],
)
async def test_an_invalid_query_creates_no_cohort(
    tenant: Tenant, body: Json, reported: Json
) -> None:
    assert await refused(tenant, body) == reported


async def test_an_insight_only_creates_static_cohorts_and_excludes_other_sources(
    tenant: Tenant,
) -> None:
    query = {"insight": "TRENDS", "events": SEEN}

    assert await refused(tenant, {"name": "x"}, **query) == NOT_STATIC
    assert await refused(tenant, {"is_static": True, "query": PRO}, **query) == wrong(
        "Send only one of csv, insight and query.", "query"
    )
    answer = await tenant.api.post(
        "/cohorts/", params=query, data={"is_static": "true"}, files={"csv": b"ann\n"}
    )
    assert (answer.status_code, answer.json()) == (
        400,
        wrong("Send only one of csv, insight and query.", "insight"),
    )


async def test_an_insight_that_fails_later_is_reported_and_tried_again(tenant: Tenant) -> None:
    await tenant.capture(event_of("ann", "02-28T10:00"))
    question = {"insight": "TRENDS", "events": SEEN, "date_from": "all", "date_to": "2024-02-10"}
    cohort = await stored_cohort(tenant, **question)
    failed = await retrieve_cohort(tenant, cohort)

    await tenant.capture(event_of("bob", "02-08T10:00"))
    tenant.server.clock.move(minutes=2)
    await tenant.server.calculated()

    assert (failed["errors_calculating"], failed["count"]) == (1, None)
    assert failed["last_error_message"] == "date_from must be before date_to."
    result = await retrieve_cohort(tenant, cohort)
    assert (result["errors_calculating"], result["last_error_message"], result["count"]) == (
        0,
        None,
        1,
    )
    assert await cohort_members(tenant, cohort) == ["bob"]


async def test_a_change_takes_no_query(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, is_static=True)

    answer = await tenant.api.patch(f"/cohorts/{cohort['id']}/", json={"query": PRO})

    assert (answer.status_code, answer.json()["attr"]) == (400, "query")
    assert (await retrieve_cohort(tenant, cohort))["count"] is None


async def test_the_parameters_of_an_insight_are_documented(tenant: Tenant) -> None:
    paths = (await tenant.public.get("/api/schema/")).json()["paths"]

    created = paths["/api/projects/{project_id}/cohorts/"]["post"]

    names = {parameter["name"] for parameter in created["parameters"] if parameter["in"] == "query"}
    assert names >= {"insight", "events", "stickiness_days", "target_date", "funnel_step"}
