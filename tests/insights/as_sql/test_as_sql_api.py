"""Questions as SQL over HTTP: what it looks like, and what is refused by name."""

from typing import Any

from httpx import Response

from tests.support.application import Tenant

TREND: dict[str, Any] = {
    "kind": "TrendsQuery",
    "series": [{"kind": "EventsNode", "event": "paid", "math": "dau"}],
    "dateRange": {"date_from": "2024-02-01", "date_to": "2024-02-03"},
    "breakdownFilter": {"breakdown": "plan", "breakdown_type": "person"},
    "properties": [{"key": "price", "value": 5, "operator": "gt", "type": "event"}],
}
TEXT = """\
SELECT toDate(timestamp) AS day, nullIf(person.properties.plan, '') AS breakdown, \
uniqExact(person_id) AS total
FROM events
WHERE timestamp >= '2024-02-01 00:00:00'
  AND timestamp < '2024-02-04 00:00:00'
  AND event = 'paid'
  AND toFloat(properties.price) > 5
GROUP BY day, breakdown
ORDER BY day, breakdown
LIMIT 10000"""
STEPS = [{"kind": "EventsNode", "event": name} for name in ("a", "b")]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({**TREND, "trendsFilter": {"formula": "A * 2"}}, "formula"),
    ({**TREND, "compareFilter": {"compare": True}}, "compare"),
    ({**TREND, "trendsFilter": {"smoothingIntervals": 3}}, "smoothing_intervals"),
    ({**TREND, "trendsFilter": {"display": "ActionsLineGraphCumulative"}}, "running sums"),
    ({**TREND, "breakdownFilter": {"breakdown": "all", "breakdown_type": "cohort"}}, "type cohort"),
    (
        {
            **TREND,
            "properties": [
                {"type": "session", "key": "$session_duration", "value": 1, "operator": "gt"}
            ],
        },
        "a condition of type session",
    ),
    (
        {**TREND, "properties": [{"key": "at", "value": "-1d", "operator": "is_date_after"}]},
        "the operator is_date_after",
    ),
    (
        {"kind": "FunnelsQuery", "series": STEPS, "funnelsFilter": {"funnelOrderType": "strict"}},
        "funnel_order_type",
    ),
    (
        {
            "kind": "FunnelsQuery",
            "series": STEPS,
            "breakdownFilter": {"breakdown": "plan", "breakdown_type": "event"},
        },
        "breakdowns",
    ),
    ({"kind": "FunnelsQuery", "series": [STEPS[0], STEPS[0]]}, "steps that one event may match"),
    (
        {"kind": "FunnelsQuery", "series": [STEPS[0], {**STEPS[1], "optionalInFunnel": True}]},
        "optionalInFunnel",
    ),
    (
        {"kind": "RetentionQuery", "retentionFilter": {"timeWindowMode": "24_hour_windows"}},
        "time_window_mode",
    ),
    (
        {**TREND, "breakdownFilter": {}, "trendsFilter": {"display": "CalendarHeatmap"}},
        "weekday and hour",
    ),
    ({"kind": "PathsQuery", "pathsFilter": {}}, "its kind, PathsQuery"),
]


async def ask(tenant: Tenant, query: dict[str, Any]) -> Response:
    return await tenant.api.post("/query/", json={"query": query, "as_sql": True})


async def test_a_question_is_a_readable_select(tenant: Tenant) -> None:
    answer = await ask(tenant, {"kind": "InsightVizNode", "source": TREND})

    assert (answer.status_code, answer.json()) == (200, {"hogql": TEXT, "timezone": "UTC"})
    sql = {"kind": "HogQLQuery", "query": TEXT}
    rows = await tenant.api.post("/query/", json={"query": sql})
    assert (rows.status_code, rows.json()["results"]) == (200, [])


async def test_what_sql_cannot_say_is_refused_by_its_name(tenant: Tenant) -> None:
    for query, name in REFUSED:
        answer = await ask(tenant, query)

        sent = answer.json()
        assert (answer.status_code, sent["code"], sent["attr"]) == (400, "not_sql", "query"), sent
        assert name in sent["detail"]
    schema = await ask(tenant, {"kind": "DatabaseSchemaQuery"})
    assert schema.status_code == 400
