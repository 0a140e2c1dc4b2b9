"""SQL within insights over HTTP: answered, refused with its place, and checked before it is saved.

Source: insights.md, sections 4a and 10.
"""

from typing import Any

from tests.support.application import Json, Tenant

SERIES: Json = {"kind": "EventsNode", "event": "seen", "math": "hogql"}


def trends(math: str, **more: Any) -> Json:
    return {"kind": "TrendsQuery", "series": [{**SERIES, "math_hogql": math}], **more}


async def asked(tenant: Tenant, query: Json, status: int) -> Json:
    answer = await tenant.api.post("/query/", json={"query": query})
    assert answer.status_code == status, answer.text
    body: Json = answer.json()
    return body


async def test_sql_in_a_query_and_in_filters_is_one_question(tenant: Tenant) -> None:
    held = [{"type": "hogql", "key": "event = 'seen'", "value": None}]
    by = {"breakdown": "properties.plan", "breakdown_type": "hogql"}

    first = await asked(tenant, trends("count()", properties=held, breakdownFilter=by), 200)
    series = {"id": "seen", "math": "hogql", "math_hogql": "count()"}
    filters = await tenant.api.post(
        "/insights/trend/", json={"events": [series], "properties": held, **by}
    )

    assert filters.status_code == 200, filters.text
    assert filters.json()["result"] == first["results"]
    assert filters.json()["is_cached"] is True


async def test_wrong_sql_is_neither_answered_nor_saved(tenant: Tenant) -> None:
    query = trends("sum(1) +\n sleep(3)")

    refused = await asked(tenant, {"kind": "InsightVizNode", "source": query}, 400)
    saved = await tenant.api.post("/insights/", json={"name": "x", "query": query})
    older = await tenant.api.post(
        "/insights/",
        json={
            "name": "x",
            "filters": {"events": [{}], "breakdown": "f(", "breakdown_type": "hogql"},
        },
    )

    detail = 'The function "sleep" is not supported. Line 2, column 2.'
    place = "series__0__math_hogql"
    assert (refused["code"], refused["detail"]) == ("invalid_sql", detail)
    assert refused["attr"] == f"query__source__{place}"
    assert (saved.status_code, saved.json()["attr"]) == (400, f"query__{place}")
    assert (older.status_code, older.json()["attr"]) == (400, "filters__breakdown")
    assert (await tenant.api.get("/insights/")).json()["count"] == 0


async def test_sql_is_saved_as_it_was_sent(tenant: Tenant) -> None:
    query = trends("count() / 2", properties=[{"type": "hogql", "key": "1 = 1 -- all"}])

    made = await tenant.api.post("/insights/", json={"name": "x", "query": query})

    assert made.status_code == 201, made.text
    assert made.json()["query"] == query


async def test_conditions_that_are_not_of_insights_have_no_sql(tenant: Tenant) -> None:
    held = [{"type": "hogql", "key": "1 = 1"}]
    dashboard = await tenant.api.post(
        "/dashboards/", json={"name": "x", "filters": {"properties": held}}
    )
    cohort = await tenant.api.post(
        "/cohorts/",
        json={"name": "x", "filters": {"properties": {"type": "AND", "values": held}}},
    )

    assert (dashboard.status_code, cohort.status_code) == (400, 400)
    assert "hogql" in dashboard.json()["detail"]
