"""Questions over HTTP, by `filters` and by a `query`.

Source: insights.md, section 1.
"""

from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update

from fanion.db.schema.insights import insight_results
from fanion.projects.model import Level
from tests.support.application import Json, Tenant, error
from tests.support.management import add_key, add_member

FILTERS: Json = {"insight": "TRENDS", "events": [{"id": "seen"}], "date_from": "-2d"}
QUERY: Json = {
    "kind": "TrendsQuery",
    "series": [{"kind": "EventsNode", "event": "seen"}],
    "dateRange": {"date_from": "-2d"},
}


async def seen(tenant: Tenant, **properties: Any) -> None:
    times = ("2024-02-29T10:00:00Z", "2024-03-01T10:00:00Z", "2024-03-01T11:00:00Z")
    await tenant.capture(
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


async def ask(tenant: Tenant, query: Any = QUERY, status: int = 200, **more: Any) -> Json:
    answer = await tenant.api.post("/query/", json={"query": query, **more})
    assert answer.status_code == status, answer.text
    body: Json = answer.json()
    return body


async def test_a_query_is_answered(tenant: Tenant) -> None:
    await seen(tenant)

    answer = await ask(tenant, client_query_id="any text")

    [series] = answer.pop("results")
    assert len(answer.pop("cache_key")) == 40
    assert answer.pop("rows_read") >= 3
    assert answer.pop("seconds") >= 0
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


async def test_both_ways_to_ask_share_one_cached_result(tenant: Tenant) -> None:
    await seen(tenant)

    first = await ask(tenant)
    second = (await tenant.api.post("/insights/trend/", json=FILTERS)).json()
    wrapped = await ask(tenant, {"kind": "InsightVizNode", "source": QUERY, "full": True})

    assert (first["is_cached"], second["is_cached"], wrapped["is_cached"]) == (False, True, True)
    assert first["results"] == second["result"] == wrapped["results"]


async def test_a_question_without_a_start_shares_the_result_of_the_last_seven_days(
    tenant: Tenant,
) -> None:
    await seen(tenant)
    open_query = {name: value for name, value in QUERY.items() if name != "dateRange"}
    retention = {"kind": "RetentionQuery", "retentionFilter": {"totalIntervals": 3}}
    week = {"dateRange": {"date_from": "-7d"}}

    answers = [await ask(tenant, {**open_query, **dates}) for dates in ({}, week)]
    rows = [len((await ask(tenant, {**retention, **dates}))["results"]) for dates in ({}, week)]

    assert [answer["is_cached"] for answer in answers] == [False, True]
    assert answers[0]["results"] == answers[1]["results"]
    assert rows == [3, 8], "retention begins as many intervals ago as it has"


@pytest.mark.every_engine
async def test_a_cached_answer_says_what_its_calculation_took(tenant: Tenant) -> None:
    await seen(tenant, plan="pro")
    broken_down = {**QUERY, "breakdownFilter": {"breakdown": "plan"}}

    new = await ask(tenant, broken_down)
    cached = await ask(tenant, broken_down)
    by_filters = (
        await tenant.api.post("/insights/trend/", json={**FILTERS, "breakdown": "plan"})
    ).json()

    names = ("rows_read", "seconds", "breakdown_values", "hasMore")
    assert (new["is_cached"], cached["is_cached"], by_filters["is_cached"]) == (False, True, True)
    assert [[answer[name] for name in names] for answer in (cached, by_filters)] == [
        [new[name] for name in names]
    ] * 2
    assert new["rows_read"] >= 3
    assert new["breakdown_values"] == [{"shown": 1, "total": 1}]


async def test_a_result_of_an_earlier_version_is_answered_as_it_is(tenant: Tenant) -> None:
    await seen(tenant)
    new = await ask(tenant)
    async with tenant.server.records.write() as connection:
        await connection.execute(update(insight_results).values(result=new["results"]))

    cached = await ask(tenant)

    assert (cached["is_cached"], cached["results"]) == (True, new["results"])
    assert (cached["rows_read"], cached["seconds"]) == (None, None)
    assert "breakdown_values" not in cached


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
    tenant: Tenant, refresh: Any, is_cached: bool
) -> None:
    await ask(tenant)

    assert (await ask(tenant, refresh=refresh))["is_cached"] is is_cached


async def test_an_environment_answers_queries_of_its_project(tenant: Tenant) -> None:
    path = f"/api/environments/{tenant.project_id}/query"
    async with tenant.server.client(tenant.key) as client:
        answers = [
            await client.post(f"{path}{slash}", json={"query": QUERY}) for slash in ("", "/")
        ]

    assert [answer.status_code for answer in answers] == [200, 200]


async def test_a_query_needs_the_scope_to_query(tenant: Tenant) -> None:
    for scopes, status in ((["query:read"], 200), (["insight:read"], 403)):
        key = await add_key(
            tenant.server.records, tenant.user_id, f"phx_{scopes[0]}_{uuid4()}", scopes
        )
        async with tenant.server.client(key, f"/api/projects/{tenant.project_id}") as client:
            assert (await client.post("/query/", json={"query": QUERY})).status_code == status


async def test_sessions_and_viewers_may_ask(tenant: Tenant) -> None:
    path = f"/api/projects/{tenant.project_id}"
    viewer = await add_member(tenant.server.records, "vera", Level.VIEWER, tenant.organization_id)
    async with (
        await tenant.server.browser(tenant.user_id, path) as browser,
        tenant.server.client(viewer.key, path) as reader,
    ):
        answers = [
            await client.post("/query/", json={"query": QUERY}) for client in (browser, reader)
        ]

    assert [answer.status_code for answer in answers] == [200, 200]


REFUSED: dict[str, tuple[Json, str, str, str]] = {
    "no query": ({}, "required", "This field is required.", "query"),
    "another kind": (
        {"query": {"kind": "TracesQuery"}},
        "invalid_input",
        "TracesQuery is not supported. Use one of: TrendsQuery, FunnelsQuery, RetentionQuery, "
        "StickinessQuery, LifecycleQuery, PathsQuery, FunnelCorrelationQuery, WebOverviewQuery, "
        "WebStatsTableQuery, WebGoalsQuery, WebTrendsQuery, WebExternalClicksTableQuery, "
        "HogQLQuery, ActorsQuery, InsightVizNode, "
        "DataTableNode.",
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
async def test_a_query_that_cannot_be_answered_is_refused(tenant: Tenant, name: str) -> None:
    sent, code, detail, attr = REFUSED[name]

    answer = await tenant.api.post("/query/", json=sent)

    assert (answer.status_code, answer.json()) == (
        400,
        error("validation_error", code, detail, attr),
    )


async def test_an_unknown_name_is_refused_at_every_address(tenant: Tenant) -> None:
    for path in ("trend", "funnel", "funnel/correlation", "retention", "path"):
        answers = [
            await tenant.api.get(f"/insights/{path}/", params={"evnts": "[]"}),
            await tenant.api.post(f"/insights/{path}/", json={"evnts": []}),
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
    tenant: Tenant, changed: Json, expected: Json
) -> None:
    await seen(tenant, plan="pro")

    first = await ask(tenant, {**QUERY, **changed})
    again = await ask(tenant, {**QUERY, **changed})

    for answer in (first, again):
        assert {name: answer[name] for name in answer if "unknown" in name} == expected
    assert again["is_cached"]


async def test_a_question_by_filters_names_what_was_never_seen(tenant: Tenant) -> None:
    answer = await tenant.api.post("/insights/trend/", json={**FILTERS, "events": [{"id": "sen"}]})

    assert answer.json()["unknown_event"] == ["sen"]
