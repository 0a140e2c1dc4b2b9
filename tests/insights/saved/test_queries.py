"""Insights that are saved with a `query`, and dashboards that apply their filters to them.

Source: insights.md, section 14.
"""

from typing import Any
from uuid import uuid4

import pytest

from tests.support.application import Json, Tenant, error

SOURCE: Json = {
    "kind": "TrendsQuery",
    "series": [{"kind": "EventsNode", "event": "seen"}],
    "dateRange": {"date_from": "-2d"},
    "properties": [{"key": "plan", "type": "event", "value": "pro", "operator": "exact"}],
}
QUERY: Json = {"kind": "InsightVizNode", "source": SOURCE}
FILTERS: Json = {
    "insight": "TRENDS",
    "events": [{"id": "seen"}],
    "date_from": "-2d",
    "properties": SOURCE["properties"],
}


async def seen(tenant: Tenant) -> None:
    days = (("2024-02-25", "web"), ("2024-03-01", "web"), ("2024-03-01", "app"))
    await tenant.capture(
        *(
            {
                "event": "seen",
                "distinct_id": "ann",
                "uuid": str(uuid4()),
                "timestamp": f"{day}T10:00:00Z",
                "properties": {"plan": "pro", "from": source},
            }
            for day, source in days
        )
    )


async def created(tenant: Tenant, **sent: Any) -> Json:
    answer = await tenant.api.post("/insights/", json=sent)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def patched(tenant: Tenant, path: str, **sent: Any) -> Json:
    answer = await tenant.api.patch(path, json=sent)
    assert answer.status_code == 200, answer.text
    changed: Json = answer.json()
    return changed


@pytest.mark.every_engine
async def test_an_insight_has_filters_or_a_query(tenant: Tenant) -> None:
    await seen(tenant)
    made = await created(tenant, name="Seen", query=QUERY)
    path = f"/insights/{made['id']}/"

    before = await tenant.get(path)
    refreshed = await tenant.get(path, refresh="true")
    [listed] = (await tenant.get("/insights/"))["results"]
    by_filters = await patched(tenant, path, filters=FILTERS)
    by_query = await patched(tenant, path, query=SOURCE)

    assert (made["filters"], made["query"]) == ({}, QUERY)
    assert before["result"] is None
    assert refreshed["result"][0]["data"] == [0.0, 0.0, 2.0]
    assert (listed["result"], listed["is_cached"]) == (refreshed["result"], True)
    assert (by_filters["filters"], by_filters["query"]) == (FILTERS, None)
    assert (by_query["filters"], by_query["query"]) == ({}, SOURCE)
    assert by_filters["result"] == by_query["result"] == refreshed["result"]


async def test_an_empty_part_of_a_change_leaves_the_other(tenant: Tenant) -> None:
    made = await created(tenant, query=QUERY)
    path = f"/insights/{made['id']}/"

    kept = await patched(tenant, path, filters={}, name="n")
    emptied = await patched(tenant, path, query=None)

    assert (kept["filters"], kept["query"]) == ({}, QUERY)
    assert (emptied["filters"], emptied["query"]) == ({}, None)


async def test_the_activity_shows_a_changed_query(tenant: Tenant) -> None:
    made = await created(tenant, filters=FILTERS)
    await patched(tenant, f"/insights/{made['id']}/", query=QUERY)

    [entry, _] = (await tenant.get(f"/insights/{made['id']}/activity/"))["results"]

    changes = [
        (change["field"], change["before"], change["after"])
        for change in entry["detail"]["changes"]
    ]
    assert changes == [("filters", FILTERS, {}), ("query", None, QUERY)]


REFUSED: dict[str, tuple[Json, str, str]] = {
    "both": (
        {"filters": FILTERS, "query": QUERY},
        "Set filters or query, not both.",
        "query",
    ),
    "a list of events": (
        {"query": {"kind": "DataVisualizationNode", "source": {"kind": "EventsQuery"}}},
        "EventsQuery is not supported. Use one of: TrendsQuery, FunnelsQuery, RetentionQuery, "
        "StickinessQuery, LifecycleQuery, PathsQuery, FunnelCorrelationQuery, WebOverviewQuery, "
        "WebStatsTableQuery, WebGoalsQuery, WebTrendsQuery, WebExternalClicksTableQuery, "
        "HogQLQuery, ActorsQuery, InsightVizNode, "
        "DataTableNode.",
        "query__source__kind",
    ),
    "an unknown name": (
        {"query": {"kind": "InsightVizNode", "source": {**SOURCE, "dateRng": {}}}},
        'Unknown field "dateRng". Did you mean "dateRange"?',
        "query__source__dateRng",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_query_that_cannot_be_calculated_is_not_saved(tenant: Tenant, name: str) -> None:
    sent, detail, attr = REFUSED[name]

    answer = await tenant.api.post("/insights/", json=sent)

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_input", detail, attr)


FROM_WEB = [{"key": "from", "type": "event", "value": "web", "operator": "exact"}]


@pytest.mark.parametrize("question", [{"filters": FILTERS}, {"query": QUERY}, {"query": SOURCE}])
async def test_a_dashboard_puts_its_range_and_conditions_over_its_tiles(
    tenant: Tenant, question: Json
) -> None:
    await seen(tenant)
    sent = {"name": "d", "filters": {"date_from": "-6d", "properties": FROM_WEB}}
    board = (await tenant.api.post("/dashboards/", json=sent)).json()
    made = await created(tenant, **question, dashboards=[board["id"]])

    [tile] = (await tenant.get(f"/dashboards/{board['id']}/", refresh="true"))["tiles"]
    alone = await tenant.get(f"/insights/{made['id']}/", refresh="true")
    there = await tenant.get(f"/insights/{made['id']}/", from_dashboard=board["id"])

    [series] = tile["insight"]["result"]
    assert series["data"] == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert alone["result"][0]["data"] == [0.0, 0.0, 2.0]
    assert there["result"] == tile["insight"]["result"]
    assert there["filters"] == tile["insight"]["filters"]
    assert there["query"] == tile["insight"]["query"]
    shown = there["query"] or there["filters"]
    conditions = shown.get("source", shown)["properties"]
    assert conditions == {
        "type": "AND",
        "values": [
            {"type": "AND", "values": SOURCE["properties"]},
            {"type": "AND", "values": FROM_WEB},
        ],
    }


@pytest.mark.parametrize(
    ("properties", "attr"),
    [
        ([{"key": "a", "value": "x", "oparator": "gt"}], "filters__properties__0__oparator"),
        (
            [{"key": "id", "type": "cohort", "value": 987}],
            "filters__properties__0__value",
        ),
    ],
)
async def test_conditions_of_a_dashboard_are_checked(
    tenant: Tenant, properties: Any, attr: str
) -> None:
    answer = await tenant.api.post("/dashboards/", json={"filters": {"properties": properties}})

    assert (answer.status_code, answer.json()["attr"]) == (400, attr)
