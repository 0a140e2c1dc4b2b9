"""Static cohorts created from the actors of a point of an insight, or from a query."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.support.application import Home, Json, error
from tests.support.cohorts import create, in_cohort, members, person, person_is, retrieve

REQUIRED = "This field is required."


def did(distinct_id: str, at: str, name: str = "seen", **properties: Any) -> Json:
    """at: a time of 2024, as `02-28T10:00`"""
    return {
        "event": name,
        "distinct_id": distinct_id,
        "uuid": str(uuid4()),
        "timestamp": f"2024-{at}:00Z",
        "properties": properties,
    }


def events(*names: str, **more: Any) -> str:
    return json.dumps([{"id": name, "type": "events", **more} for name in names])


def where(key: str, value: Any, **more: Any) -> Json:
    return {"key": key, "value": value, "operator": "exact", "type": "event", **more}


async def ask(home: Home, body: Json, **query: str) -> Any:
    return await home.api.post("/cohorts/", params=query, json=body)


async def stored(home: Home, **query: str) -> Json:
    """The new cohort as the API returned it; its members have been imported since."""
    answer = await ask(home, {"name": "Behind", "is_static": True}, **query)
    assert answer.status_code == 201, answer.text
    await home.site.calculated()
    cohort: Json = answer.json()
    return cohort


async def behind(home: Home, **query: str) -> list[str]:
    """First distinct ids of the members."""
    cohort = await stored(home, **query)
    found = await retrieve(home, cohort)
    assert (found["errors_calculating"], found["last_error_message"]) == (0, None)
    names = await members(home, cohort)
    assert found["count"] == len(names)
    return names


async def trend(home: Home, **query: str) -> list[str]:
    return await behind(home, **{"insight": "TRENDS", "events": events("seen"), **query})


async def test_actors_of_a_trend_become_a_static_cohort(home: Home) -> None:
    await home.capture(
        did("ann", "02-28T10:00"),
        did("bob", "02-28T10:00", "opened"),
        did("cid", "02-20T10:00"),
        did("dan", "02-29T23:59"),
    )

    cohort = await stored(
        home, insight="TRENDS", events=events("seen"), date_from="2024-02-28", date_to="2024-02-29"
    )

    assert (cohort["name"], cohort["is_static"], cohort["is_calculating"]) == (
        "Behind",
        True,
        False,
    )
    assert (cohort["count"], cohort["last_calculation"]) == (None, None)
    assert await members(home, cohort) == ["ann", "dan"]
    found = await retrieve(home, cohort)
    assert (found["count"], found["last_calculation"]) == (2, "2024-03-01T12:00:00Z")
    assert (found["errors_calculating"], found["is_calculating"]) == (0, False)


async def test_later_events_do_not_reach_the_cohort(home: Home) -> None:
    await home.capture(did("ann", "02-28T10:00"))
    cohort = await stored(home, insight="TRENDS", events=events("seen"))

    await home.capture(did("bob", "02-28T10:00"))
    await home.site.calculated()

    assert await members(home, cohort) == ["ann"]


async def test_relative_dates_are_resolved_at_the_time_of_the_request(home: Home) -> None:
    await home.capture(did("ann", "03-01T10:00"))
    query = {"insight": "TRENDS", "events": events("seen"), "date_from": "dStart"}
    answer = await ask(home, {"is_static": True}, **query)
    assert answer.status_code == 201, answer.text

    home.site.clock.move(days=2)
    await home.site.calculated()

    assert await members(home, answer.json()) == ["ann"]


async def test_the_days_of_a_trend_are_in_the_projects_zone(home: Home) -> None:
    answer = await home.api.patch("/", json={"timezone": "Pacific/Auckland"})
    assert answer.status_code == 200, answer.text
    await home.capture(did("ann", "02-27T10:59"), did("bob", "02-27T11:01"))

    day = {"date_from": "2024-02-28", "date_to": "2024-02-28"}

    assert await trend(home, **day) == ["bob"]


async def test_all_time_begins_with_the_first_event(home: Home) -> None:
    await home.capture(did("ann", "01-02T10:00"), did("bob", "02-28T10:00", "opened"))

    assert await trend(home, date_from="all") == ["ann"]
    assert await trend(home, date_from="all", entity_id="opened") == ["bob"]
    assert await trend(home, date_from="all", events="[]", entity_id="seen") == ["ann"]


async def test_the_entity_is_one_of_the_events_with_its_own_filters(home: Home) -> None:
    await home.capture(
        did("ann", "02-28T10:00", "opened", page="a"),
        did("bob", "02-28T10:00", "opened", page="b"),
        did("cid", "02-28T10:00", "seen", page="a"),
    )
    opened = {"id": "opened", "properties": [where("page", "a")]}
    both = json.dumps([{"id": "seen"}, opened])

    assert await trend(home, events=both) == ["cid"]
    assert await trend(home, events=both, entity_id="opened", entity_type="events") == ["ann"]
    assert await trend(home, events=events("seen"), entity_id="opened") == ["ann", "bob"]


async def test_filters_of_a_trend_are_on_events_persons_and_cohorts(home: Home) -> None:
    await home.capture(
        did("ann", "02-28T10:00", page="a"),
        did("bob", "02-28T10:00", page="a"),
        did("cid", "02-28T10:00", page="b"),
        person("ann", "other", plan="pro"),
        person("cid", "other", plan="pro"),
    )
    payers = await create(
        home,
        name="Payers",
        filters={"properties": {"type": "AND", "values": [person_is("plan", "pro")]}},
    )
    await home.site.calculated()

    async def filtered(*leaves: Json) -> list[str]:
        return await trend(home, properties=json.dumps(leaves))

    assert await filtered(where("page", "a")) == ["ann", "bob"]
    assert await filtered(person_is("plan", "pro")) == ["ann", "cid"]
    assert await filtered(in_cohort(payers["id"]), where("page", "b")) == ["cid"]


async def test_one_value_of_a_breakdown_has_its_own_actors(home: Home) -> None:
    await home.capture(
        did("ann", "02-28T10:00", page="a"),
        did("bob", "02-28T10:00", page="b"),
        did("cid", "02-28T10:00"),
        person("ann", "other", plan="pro"),
        person("bob", "other", plan="free"),
    )
    none = "$$_posthog_breakdown_null_$$"

    async def at(key: str, kind: str, value: str) -> list[str]:
        return await trend(home, breakdown=key, breakdown_type=kind, breakdown_value=value)

    assert await at("page", "event", "a") == ["ann"]
    assert await at("page", "event", none) == ["cid"]
    assert await at("plan", "person", "free") == ["bob"]
    assert await at("plan", "person", none) == ["cid"]
    assert await trend(home, breakdown="page") == ["ann", "bob", "cid"]


async def merge(home: Home, survivor: str, other: str) -> None:
    merging = {"event": "$create_alias", "distinct_id": survivor, "properties": {"alias": other}}
    await home.capture(merging)


async def test_a_merged_person_counts_as_the_survivor(home: Home) -> None:
    await home.capture(
        did("visitor", "02-27T10:00"), did("ann", "02-28T10:00"), did("bob", "02-28T10:00")
    )
    await merge(home, "ann", "visitor")

    assert await trend(home, date_to="2024-02-27") == ["ann"]
    query = {"insight": "STICKINESS", "events": events("seen"), "stickiness_days": "2"}
    assert await behind(home, **query) == ["ann"]
    steps = {"insight": "FUNNELS", "events": events("seen", "seen"), "funnel_step": "2"}
    assert await behind(home, **steps) == ["ann"]


async def test_stickiness_counts_the_days_of_each_person(home: Home) -> None:
    await home.capture(
        did("ann", "02-27T10:00"),
        did("ann", "02-28T10:00"),
        did("ann", "02-28T11:00"),
        did("bob", "02-28T10:00"),
        did("bob", "02-29T10:00", "opened"),
        *(did("cid", f"02-{day}T10:00") for day in (26, 27, 28)),
        did("dan", "02-10T10:00"),
        did("dan", "02-28T10:00"),
    )
    query = {"insight": "STICKINESS", "events": events("seen"), "date_from": "2024-02-20"}

    found = [await behind(home, **query, stickiness_days=str(days)) for days in (1, 2, 3, 4)]

    assert found == [["bob", "dan"], ["ann"], ["cid"], []]


async def test_stickiness_counts_other_intervals_too(home: Home) -> None:
    await home.capture(
        did("ann", "02-20T10:00"), did("ann", "02-28T10:00"), did("bob", "02-27T10:00")
    )
    query = {"insight": "STICKINESS", "events": events("seen"), "date_from": "2024-02-18"}

    assert await behind(home, **query, interval="week", stickiness_days="2") == ["ann"]


async def lives(home: Home, day: str, **query: str) -> Json:
    """For each status who has it on a day."""
    asked = {"insight": "LIFECYCLE", "events": events("seen"), "target_date": day, **query}
    return {
        status: await behind(home, **asked, lifecycle_type=status)
        for status in ("new", "returning", "resurrecting", "dormant")
    }


async def test_a_life_cycle_finds_new_and_dormant_persons(home: Home) -> None:
    """Persons are created when their first event is taken, on 1 March unless the clock moves."""
    await home.capture(did("ann", "02-29T10:00"), did("cid", "02-25T10:00"))
    await home.capture(did("dan", "02-29T10:00"), did("eve", "02-29T10:00", "opened"))
    home.site.clock.move(days=1)
    await home.capture(
        did("ann", "03-01T10:00"),
        did("bob", "03-02T10:00"),
        did("cid", "03-02T10:00"),
        did("eve", "03-02T10:00"),
        did("fay", "03-02T10:00", "opened"),
    )

    assert await lives(home, "2024-03-02") == {
        "new": ["bob"],
        "returning": [],
        "resurrecting": ["cid", "eve"],
        "dormant": ["ann"],
    }
    assert await lives(home, "2024-03-01T15:00:00Z") == {
        "new": [],
        "returning": ["ann"],
        "resurrecting": [],
        "dormant": ["dan"],
    }


async def test_a_life_cycle_by_week_and_by_month(home: Home) -> None:
    await home.capture(did("ann", "02-10T10:00"), did("ann", "02-26T10:00"))
    await home.capture(did("bob", "02-20T10:00"), did("bob", "03-01T10:00"))

    by_week = await lives(home, "2024-02-28", interval="week")
    by_month = await lives(home, "2024-03-01", interval="month")

    assert by_week == {"new": [], "returning": ["bob"], "resurrecting": ["ann"], "dormant": []}
    assert by_month == {"new": [], "returning": ["bob"], "resurrecting": [], "dormant": ["ann"]}


async def funnel(home: Home, *names: str, **query: str) -> list[str]:
    return await behind(home, **{"insight": "FUNNELS", "events": events(*names), **query})


async def test_a_funnel_finds_persons_who_reached_a_step_and_who_dropped_off(home: Home) -> None:
    await home.capture(
        did("ann", "02-27T10:00", "seen"),
        did("ann", "02-28T10:00", "opened"),
        did("ann", "02-29T10:00", "paid"),
        did("bob", "02-27T10:00", "seen"),
        did("bob", "02-28T10:00", "opened"),
        did("cid", "02-27T10:00", "seen"),
        did("cid", "02-28T10:00", "paid"),
        did("dan", "02-27T10:00", "opened"),
        did("dan", "02-28T10:00", "seen"),
        did("eve", "02-27T10:00", "paid"),
    )
    steps = ("seen", "opened", "paid")

    found = [await funnel(home, *steps, funnel_step=str(step)) for step in (1, 2, 3, -2, -3)]

    assert found == [
        ["ann", "bob", "cid", "dan"],
        ["ann", "bob"],
        ["ann"],
        ["cid", "dan"],
        ["bob"],
    ]


async def test_the_last_step_of_a_funnel_lies_in_its_window(home: Home) -> None:
    await home.capture(
        did("ann", "02-01T10:00"),
        did("ann", "02-15T10:00", "opened"),
        did("bob", "02-01T10:00"),
        did("bob", "02-15T10:01", "opened"),
        did("cid", "02-01T10:00"),
        did("cid", "02-14T10:00"),
        did("cid", "02-15T10:01", "opened"),
    )
    asked = {"funnel_step": "2", "date_from": "2024-02-01"}

    assert await funnel(home, "seen", "opened", **asked) == ["ann", "cid"]
    assert await funnel(home, "seen", "opened", **asked, funnel_window_days="2") == ["cid"]
    assert await funnel(home, "seen", "opened", **asked, funnel_window_days="15") == [
        "ann",
        "bob",
        "cid",
    ]


async def test_an_event_is_not_its_own_next_step(home: Home) -> None:
    again = did("bob", "02-28T10:00")
    await home.capture(did("ann", "02-27T10:00"), did("ann", "02-28T10:00"), again)
    await home.capture(again, did("cid", "02-28T10:00"), did("cid", "02-28T10:00", "opened"))

    assert await funnel(home, "seen", "seen", funnel_step="2") == ["ann"]
    assert await funnel(home, "seen", "seen", funnel_step="-2") == ["bob", "cid"]
    assert await funnel(home, "seen", "opened", funnel_step="2") == ["cid"]


async def test_steps_of_a_funnel_have_filters_and_an_order(home: Home) -> None:
    await home.capture(
        did("ann", "02-27T10:00", "seen", page="a"),
        did("ann", "02-28T10:00", "seen", page="b"),
        did("bob", "02-27T10:00", "seen", page="b"),
        did("bob", "02-28T10:00", "seen", page="a"),
    )
    steps = [
        {"id": "seen", "order": 1, "properties": [where("page", "b")]},
        {"id": "seen", "order": 0, "properties": [where("page", "a")]},
    ]
    asked = {"insight": "FUNNELS", "events": json.dumps(steps), "funnel_step": "2"}

    assert await behind(home, **asked) == ["ann"]
    assert await behind(home, **asked, properties=json.dumps([where("page", "a")])) == []


async def of_query(home: Home, *leaves: Json) -> list[str]:
    query = {"kind": "ActorsQuery", "properties": list(leaves)}
    cohort = await create(home, name="Asked", is_static=True, query=query)
    await home.site.calculated()
    found = await retrieve(home, cohort)
    names = await members(home, cohort)
    assert (found["count"], found["is_static"]) == (len(names), True)
    return names


async def test_persons_who_match_a_query_now_become_a_static_cohort(home: Home) -> None:
    await home.capture(
        person("ann", plan="pro", town="Ulm"), person("bob", plan="free"), person("cid", plan="pro")
    )
    static = await create(
        home,
        is_static=True,
        query={"kind": "ActorsQuery", "properties": [person_is("plan", "pro")]},
    )
    await home.site.calculated()
    await home.capture(person("ann", plan="free"))
    await home.site.calculated()

    assert await members(home, static) == ["ann", "cid"]
    assert await of_query(home, person_is("plan", "pro")) == ["cid"]
    assert await of_query(home, in_cohort(static["id"]), person_is("town", "Ulm")) == ["ann"]


async def refused(home: Home, body: Json, **query: str) -> Json:
    answer = await ask(home, body, **query)
    assert answer.status_code == 400, answer.text
    assert (await home.get("/cohorts/"))["count"] == 0
    reported: Json = answer.json()
    return reported


def wrong(detail: str, attr: str, code: str = "invalid_input") -> Json:
    return error("validation_error", code, detail, attr)


SEEN = events("seen")
STICKY = {"insight": "STICKINESS", "events": SEEN}
LIVED = {"insight": "LIFECYCLE", "events": SEEN}
FUNNEL = {"insight": "FUNNELS", "events": events("seen", "opened")}
BAD: list[tuple[dict[str, str], Json]] = [
    (
        {"insight": "PATHS"},
        wrong("A cohort cannot be created from an insight of type PATHS.", "insight"),
    ),
    (
        {"insight": "odd"},
        wrong("A cohort cannot be created from an insight of type odd.", "insight"),
    ),
    ({"insight": "TRENDS"}, wrong("At least one event is required.", "events")),
    ({"insight": "TRENDS", "events": "["}, wrong("This value must be valid JSON.", "events")),
    ({"insight": "TRENDS", "events": "{}"}, wrong("events must be a list.", "events")),
    (
        {"insight": "TRENDS", "events": SEEN, "entity_type": "actions"},
        wrong('entity_type must be "events".', "entity_type"),
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
        {"insight": "TRENDS", "events": SEEN, "breakdown_value": "a"},
        wrong("Set breakdown when breakdown_value is set.", "breakdown_value"),
    ),
    (
        {
            "insight": "TRENDS",
            "events": SEEN,
            "breakdown": "page",
            "breakdown_value": "$$_posthog_breakdown_other_$$",
        },
        wrong(
            "A cohort cannot be created from the combined remaining values of a breakdown.",
            "breakdown_value",
        ),
    ),
    (STICKY, wrong(REQUIRED, "stickiness_days", "required")),
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
        wrong("Only a trend can have a breakdown.", "breakdown"),
    ),
    (LIVED, wrong(REQUIRED, "target_date", "required")),
    ({**LIVED, "target_date": "all"}, wrong("Invalid date: all", "target_date")),
    ({**LIVED, "target_date": "2024-02-28"}, wrong(REQUIRED, "lifecycle_type", "required")),
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
    (
        {**FUNNEL, "funnel_step": "1", "funnel_order_type": "strict"},
        wrong("Only ordered funnels are supported.", "funnel_order_type"),
    ),
]


@pytest.mark.parametrize(("query", "reported"), BAD)
async def test_an_unsupported_insight_creates_no_cohort(
    home: Home, query: dict[str, str], reported: Json
) -> None:
    assert await refused(home, {"name": "Bad", "is_static": True}, **query) == reported


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
                "query": {"kind": "ActorsQuery", "properties": [where("page", "a")]},
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
async def test_an_invalid_query_creates_no_cohort(home: Home, body: Json, reported: Json) -> None:
    assert await refused(home, body) == reported


async def test_an_insight_only_creates_static_cohorts_and_excludes_other_sources(
    home: Home,
) -> None:
    query = {"insight": "TRENDS", "events": SEEN}

    assert await refused(home, {"name": "x"}, **query) == NOT_STATIC
    assert await refused(home, {"is_static": True, "query": PRO}, **query) == wrong(
        "Send only one of csv, insight and query.", "query"
    )
    answer = await home.api.post(
        "/cohorts/", params=query, data={"is_static": "true"}, files={"csv": b"ann\n"}
    )
    assert (answer.status_code, answer.json()) == (
        400,
        wrong("Send only one of csv, insight and query.", "insight"),
    )


async def test_an_insight_that_fails_later_is_reported_and_tried_again(home: Home) -> None:
    await home.capture(did("ann", "02-28T10:00"))
    asked = {"insight": "TRENDS", "events": SEEN, "date_from": "all", "date_to": "2024-02-10"}
    cohort = await stored(home, **asked)
    failed = await retrieve(home, cohort)

    await home.capture(did("bob", "02-08T10:00"))
    home.site.clock.move(minutes=2)
    await home.site.calculated()

    assert (failed["errors_calculating"], failed["count"]) == (1, None)
    assert failed["last_error_message"] == "date_from must be before date_to."
    found = await retrieve(home, cohort)
    assert (found["errors_calculating"], found["last_error_message"], found["count"]) == (
        0,
        None,
        1,
    )
    assert await members(home, cohort) == ["bob"]


async def test_a_change_takes_no_query(home: Home) -> None:
    cohort = await create(home, is_static=True)

    answer = await home.api.patch(f"/cohorts/{cohort['id']}/", json={"query": PRO})

    assert (answer.status_code, answer.json()["attr"]) == (400, "query")
    assert (await retrieve(home, cohort))["count"] is None


async def test_the_parameters_of_an_insight_are_documented(home: Home) -> None:
    paths = (await home.public.get("/api/schema/")).json()["paths"]

    created = paths["/api/projects/{project_id}/cohorts/"]["post"]

    names = {one["name"] for one in created["parameters"] if one["in"] == "query"}
    assert names >= {"insight", "events", "stickiness_days", "target_date", "funnel_step"}
