"""Questions over HTTP, by `filters` and by a `query`.

Source: insights.md, section 1.
"""

from typing import Any
from uuid import uuid4

import pytest

from fanion.projects.model import Level
from tests.support.application import Home, Json, error
from tests.support.management import add_key, add_member

FILTERS: Json = {"insight": "TRENDS", "events": [{"id": "seen"}], "date_from": "-2d"}
QUERY: Json = {
    "kind": "TrendsQuery",
    "series": [{"kind": "EventsNode", "event": "seen"}],
    "dateRange": {"date_from": "-2d"},
}


async def seen(home: Home, **properties: Any) -> None:
    times = ("2024-02-29T10:00:00Z", "2024-03-01T10:00:00Z", "2024-03-01T11:00:00Z")
    await home.capture(
        *(
            {
                "event": "seen",
                "distinct_id": "ann",
                "uuid": str(uuid4()),
                "timestamp": at,
                "properties": properties,
            }
            for at in times
        )
    )


async def ask(home: Home, query: Any = QUERY, status: int = 200, **more: Any) -> Json:
    answer = await home.api.post("/query/", json={"query": query, **more})
    assert answer.status_code == status, answer.text
    body: Json = answer.json()
    return body


async def test_a_query_is_answered(home: Home) -> None:
    await seen(home)

    answer = await ask(home, client_query_id="any text")

    [series] = answer.pop("results")
    assert len(answer.pop("cache_key")) == 40
    assert answer == {
        "timezone": "UTC",
        "last_refresh": "2024-03-01T12:00:00Z",
        "is_cached": False,
        "hasMore": False,
        "error": None,
        "timings": [],
        "modifiers": {},
    }
    assert (series["label"], series["data"]) == ("seen", [0.0, 1.0, 2.0])


async def test_both_ways_to_ask_share_one_cached_result(home: Home) -> None:
    await seen(home)

    first = await ask(home)
    second = (await home.api.post("/insights/trend/", json=FILTERS)).json()
    wrapped = await ask(home, {"kind": "InsightVizNode", "source": QUERY, "full": True})

    assert (first["is_cached"], second["is_cached"], wrapped["is_cached"]) == (False, True, True)
    assert first["results"] == second["result"] == wrapped["results"]


@pytest.mark.parametrize(
    ("refresh", "is_cached"),
    [
        (None, True),
        (False, True),
        ("blocking", True),
        ("async", True),
        ("lazy_async", True),
        ("force_cache", True),
        (True, False),
        ("force_blocking", False),
        ("force_async", False),
    ],
)
async def test_refresh_says_whether_to_calculate_now(
    home: Home, refresh: Any, is_cached: bool
) -> None:
    await ask(home)

    assert (await ask(home, refresh=refresh))["is_cached"] is is_cached


async def test_an_environment_answers_queries_of_its_project(home: Home) -> None:
    path = f"/api/environments/{home.project_id}/query"
    async with home.site.client(home.key) as client:
        answers = [
            await client.post(f"{path}{slash}", json={"query": QUERY}) for slash in ("", "/")
        ]

    assert [one.status_code for one in answers] == [200, 200]


async def test_a_query_needs_the_scope_to_query(home: Home) -> None:
    for scopes, status in ((["query:read"], 200), (["insight:read"], 403)):
        key = await add_key(home.site.records, home.user_id, f"phx_{scopes[0]}_{uuid4()}", scopes)
        async with home.site.client(key, f"/api/projects/{home.project_id}") as client:
            assert (await client.post("/query/", json={"query": QUERY})).status_code == status


async def test_sessions_and_viewers_may_ask(home: Home) -> None:
    path = f"/api/projects/{home.project_id}"
    viewer = await add_member(home.site.records, "vera", Level.VIEWER, home.organization_id)
    async with (
        await home.site.browser(home.user_id, path) as browser,
        home.site.client(viewer.key, path) as reader,
    ):
        answers = [await one.post("/query/", json={"query": QUERY}) for one in (browser, reader)]

    assert [one.status_code for one in answers] == [200, 200]


REFUSED: dict[str, tuple[Json, str, str, str]] = {
    "no query": ({}, "required", "This field is required.", "query"),
    "SQL": (
        {"query": {"kind": "HogQLQuery", "query": "select 1"}},
        "invalid_input",
        "HogQLQuery is not supported. Use one of: TrendsQuery, FunnelsQuery, RetentionQuery, "
        "StickinessQuery, LifecycleQuery, PathsQuery, FunnelCorrelationQuery, WebOverviewQuery, "
        "WebStatsTableQuery, WebGoalsQuery, ActorsQuery, InsightVizNode, DataTableNode.",
        "query__kind",
    ),
    "unknown refresh": (
        {"query": QUERY, "refresh": "sometimes"},
        "invalid_choice",
        '"sometimes" is not a valid choice. Allowed are: async, async_except_on_cache_miss, '
        "blocking, false, force_async, force_blocking, force_cache, lazy_async, true.",
        "refresh",
    ),
    "an empty range": (
        {"query": {**QUERY, "dateRange": {"date_from": "2024-03-02", "date_to": "2024-03-01"}}},
        "invalid_input",
        "date_from must be before date_to.",
        "query__dateRange__date_from",
    ),
    "an unknown cohort": (
        {"query": {**QUERY, "properties": [{"key": "id", "type": "cohort", "value": 987}]}},
        "cohort_does_not_exist",
        "Cohort with id 987 does not exist",
        "query__properties__0__value",
    ),
    "overridden filters": (
        {"query": QUERY, "filters_override": {"date_from": "-1d"}},
        "invalid_input",
        '"filters_override" is not supported. Set it in the query.',
        "filters_override",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_query_that_cannot_be_answered_is_refused(home: Home, name: str) -> None:
    sent, code, detail, attr = REFUSED[name]

    answer = await home.api.post("/query/", json=sent)

    assert (answer.status_code, answer.json()) == (
        400,
        error("validation_error", code, detail, attr),
    )


async def test_an_unknown_name_is_refused_at_every_address(home: Home) -> None:
    for path in ("trend", "funnel", "funnel/correlation", "retention", "path"):
        answers = [
            await home.api.get(f"/insights/{path}/", params={"evnts": "[]"}),
            await home.api.post(f"/insights/{path}/", json={"evnts": []}),
        ]
        for answer in answers:
            assert (answer.status_code, answer.json()["attr"]) == (400, "evnts"), answer.text


NEVER_SEEN: list[tuple[Json, Json]] = [
    ({"series": [{"kind": "EventsNode", "event": "sen"}]}, {"unknown_event": ["sen"]}),
    (
        {"series": [{"kind": "EventsNode", "event": "seen", "math": "sum", "math_property": "x"}]},
        {"unknown_property": ["x"]},
    ),
    (
        {
            "properties": [
                {"type": "event", "key": "plan", "value": "pro"},
                {"type": "event", "key": "pln", "value": "pro"},
                {"type": "person", "key": "any", "value": "pro"},
            ],
            "breakdownFilter": {"breakdown": "plam", "breakdown_type": "event"},
        },
        {"unknown_property": ["pln", "plam"]},
    ),
    ({"series": [{"kind": "EventsNode", "event": None}]}, {}),
]


@pytest.mark.parametrize(("changed", "expected"), NEVER_SEEN)
async def test_names_that_were_never_seen_are_beside_the_result(
    home: Home, changed: Json, expected: Json
) -> None:
    await seen(home, plan="pro")

    first = await ask(home, {**QUERY, **changed})
    again = await ask(home, {**QUERY, **changed})

    for answer in (first, again):
        assert {name: answer[name] for name in answer if "unknown" in name} == expected
    assert again["is_cached"]


async def test_a_question_by_filters_names_what_was_never_seen(home: Home) -> None:
    answer = await home.api.post("/insights/trend/", json={**FILTERS, "events": [{"id": "sen"}]})

    assert answer.json()["unknown_event"] == ["sen"]
