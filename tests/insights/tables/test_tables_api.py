"""Answers as tables over HTTP, of every kind of question."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pytest

from fanion.insights.kinds.service import KINDS
from fanion.insights.tables.kinds import TABLES
from tests.support.application import Json, Tenant

HARD = '=HYPERLINK("x"),\n'
SERIES = {"kind": "EventsNode", "event": "seen"}
RANGE = {"dateRange": {"date_from": "2024-02-29", "date_to": "2024-03-01"}}
STEPS = {"series": [SERIES, {"kind": "EventsNode", "event": "paid"}], **RANGE}
TREND = {"kind": "TrendsQuery", "series": [SERIES], **RANGE}
FUNNEL = {"kind": "FunnelsQuery", **STEPS}
WEB = {"properties": [], **RANGE}


def happened(event: str, who: str, day: str, **properties: Any) -> Json:
    own = {"$session_id": f"{who} {day}", "$pathname": "/", **properties}
    return {
        "event": event,
        "distinct_id": who,
        "uuid": str(uuid4()),
        "timestamp": f"2024-{day}:00:00Z",
        "properties": own,
    }


@pytest.fixture
async def two(tenant: Tenant) -> Tenant:
    """Return a project in which Ann pays the day after she is first seen, and Bob never does."""
    await tenant.capture(
        happened("seen", "ann", "02-29T10", plan=HARD),
        happened("seen", "bob", "02-29T11", plan="free"),
        happened("$pageview", "bob", "02-29T11"),
        happened("seen", "ann", "03-01T09", plan=HARD),
        happened("paid", "ann", "03-01T10", price=10),
    )
    return tenant


async def table(tenant: Tenant, query: Json, form: str = "csv") -> Any:
    answer = await tenant.api.post(f"/query/?format={form}", json={"query": query})
    assert answer.status_code == 200, answer.text
    return answer


async def rows(tenant: Tenant, query: Json) -> list[list[str]]:
    answer = await table(tenant, query)
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.reader(io.StringIO(answer.text)))


WHOLE: list[tuple[Json, list[list[str]] | None]] = [
    (TREND, [["time", "seen"], ["2024-02-29", "2"], ["2024-03-01", "1"]]),
    (
        {**TREND, "breakdownFilter": {"breakdown": "plan"}},
        [["time", f"'{HARD}", "free"], ["2024-02-29", "1", "1"], ["2024-03-01", "1", "0"]],
    ),
    (
        {**TREND, "compareFilter": {"compare": True}},
        [["time", "seen", "seen (previous)"], ["2024-02-29", "2", "0"], ["2024-03-01", "1", "0"]],
    ),
    (
        {**TREND, "series": [SERIES, SERIES], "trendsFilter": {"display": "BoldNumber"}},
        [["name", "total"], ["seen", "3"], ["seen", "3"]],
    ),
    (
        {**TREND, "series": [SERIES, SERIES]},
        [["time", "seen", "seen (2)"], ["2024-02-29", "2", "2"], ["2024-03-01", "1", "1"]],
    ),
    (
        FUNNEL,
        [
            [
                *("step", "name", "count", "of_previous_percent", "of_first_percent"),
                *("dropped_off", "average_conversion_time", "median_conversion_time"),
            ],
            ["1", "seen", "2", "", "100", "", "", ""],
            ["2", "paid", "1", "50", "50", "1", "45000", "45000"],
        ],
    ),
    (
        {**FUNNEL, "funnelsFilter": {"funnelVizType": "trends"}},
        [
            ["time", "entered", "converted", "not_converted", "converted_percent"],
            ["2024-02-29", "2", "1", "1", "50"],
            ["2024-03-01", "1", "1", "0", "100"],
        ],
    ),
    (
        {**FUNNEL, "funnelsFilter": {"funnelVizType": "time_to_convert", "binCount": 1}},
        [
            ["from_seconds", "to_seconds", "count"],
            ["45000", "45060", "1"],
            ["45060", "45120", "0"],
        ],
    ),
    (
        {"kind": "RetentionQuery", "retentionFilter": {"totalIntervals": 2}, **RANGE},
        [
            ["date", "Day 0", "Day 1"],
            ["2024-02-29T00:00:00Z", "1", "0"],
            ["2024-03-01T00:00:00Z", "0", ""],
        ],
    ),
    (
        {"kind": "StickinessQuery", "series": [SERIES], **RANGE},
        [["intervals", "seen"], ["1", "1"], ["2", "1"]],
    ),
    (
        {"kind": "LifecycleQuery", "series": [SERIES], **RANGE},
        [
            ["time", "new", "returning", "resurrecting", "dormant"],
            ["2024-02-29", "2", "0", "0", "0"],
            ["2024-03-01", "0", "1", "0", "-1"],
        ],
    ),
    ({"kind": "PathsQuery", **RANGE}, None),
    (
        {
            "kind": "FunnelCorrelationQuery",
            "source": {"kind": "FunnelsActorsQuery", "source": FUNNEL},
        },
        [["event", "success_count", "failure_count", "odds_ratio", "correlation_type"]],
    ),
    (
        {"kind": "WebStatsTableQuery", "breakdownBy": "Page", **WEB},
        [["breakdown_value", "visitors", "views"], ["/", "1", "1"]],
    ),
    (
        {"kind": "WebGoalsQuery", "goals": [{"customEventName": "paid"}], **WEB},
        [
            ["action_name", "converting_users", "total_conversions", "conversion_rate"],
            ["paid", "1", "1", "0.5"],
        ],
    ),
    (
        {"kind": "HogQLQuery", "query": "SELECT event e, count() n, null x FROM events GROUP BY 1"},
        [["e", "n", "x"], ["$pageview", "1", ""], ["paid", "1", ""], ["seen", "3", ""]],
    ),
    (
        {"kind": "EventsQuery", "select": ["properties.plan", "[1]"], "event": "seen",
         "after": "2024-02-01", "orderBy": ["timestamp"]},
        [["properties.plan", "[1]"], [f"'{HARD}", "[1]"], ["free", "[1]"], [f"'{HARD}", "[1]"]],
    ),
    (
        {"kind": "ActorsQuery", "select": ["id", "person"], "source": {
            "kind": "InsightActorsQuery", "source": TREND, "day": "2024-03-01"}},
        None,
    ),
    (
        {"kind": "WebTrendsQuery", "metrics": ["PageViews", "BounceRate"], **WEB},
        [["time", "PageViews", "BounceRate"], ["2024-02-29", "1", "100"], ["2024-03-01", "0", ""]],
    ),
    (
        {"kind": "WebTrendsQuery", "compareFilter": {"compare": True}, **WEB},
        [
            ["time", "UniqueUsers", "UniqueUsers_previous"],
            ["2024-02-29", "1", "0"],
            ["2024-03-01", "0", "0"],
        ],
    ),
    (
        {"kind": "WebExternalClicksTableQuery", **WEB},
        [["url", "visitors", "clicks"]],
    ),
    ({"kind": "WebOverviewQuery", **WEB}, None),
    ({"kind": "DatabaseSchemaQuery"}, None),
]  # fmt: skip


async def test_every_kind_is_answered_as_a_table(two: Tenant, tmp_path: Path) -> None:
    for query, expected in WHOLE:
        found = await rows(two, query)
        lines = (await table(two, query, "jsonl")).text.splitlines()
        parquet = await table(two, query, "parquet")
        file = tmp_path / "table.parquet"
        file.write_bytes(parquet.content)
        typed = duckdb.read_parquet(str(file))

        if query["kind"] == "HogQLQuery":
            found = [found[0], *sorted(found[1:])]
        assert found == (expected or found), query
        assert len(lines) == len(found) - 1 == len(typed.fetchall())
        plain = [name.removeprefix("'") for name in found[0]]
        assert typed.columns == plain
        assert all(list(json.loads(line)) == plain for line in lines)


def test_every_kind_has_a_table() -> None:
    asked = {query["kind"] for query, _ in WHOLE}

    assert {kind.name for kind in KINDS} <= TABLES.keys()
    assert TABLES.keys() - {"ExperimentQuery", "ExperimentExposureQuery"} == asked


async def test_parquet_has_the_types_of_sql(two: Tenant, tmp_path: Path) -> None:
    text = (
        "SELECT timestamp, toDate(timestamp), count(), sum(toFloat(properties.price)), "
        'toString(person_id), [1], null AS "a `b\\\\" '
        "FROM events WHERE event = 'paid' GROUP BY timestamp, person_id"
    )
    answer = await table(two, {"kind": "HogQLQuery", "query": text}, "parquet")

    file = tmp_path / "table.parquet"
    file.write_bytes(answer.content)
    read = duckdb.read_parquet(str(file))
    kinds = ["TIMESTAMP WITH TIME ZONE", "DATE", "UBIGINT", "DOUBLE", "VARCHAR", "VARCHAR"]
    assert list(map(str, read.types))[:6] == kinds
    [row] = read.project('epoch_us("timestamp"), #2, #3, #4, #6, #7').fetchall()
    assert (row[0], row[1].isoformat()) == (1_709_287_200_000_000, "2024-03-01")
    assert row[2:] == (1, 10.0, "[1]", None)


async def test_a_saved_insight_and_filters_are_answered_as_tables(two: Tenant) -> None:
    filters = {"insight": "TRENDS", "events": [{"id": "seen"}], "date_from": "-1d"}
    made = (await two.api.post("/insights/", json={"filters": filters})).json()
    saved = f"/insights/{made['id']}/"
    of_body = await two.api.post("/insights/trend/?format=csv", json=filters)
    addresses = [
        '/insights/trend/?events=[{"id":"seen"}]&date_from=-1d&format=csv',
        f"{saved}?format=csv",
        f"{saved}?format=csv&refresh=true",
    ]

    answers = [of_body, *[await two.api.get(address) for address in addresses]]
    refused = [
        await two.api.get(f"{saved}?format=xml"),
        await two.api.post("/query/?format=xml", json={"query": TREND}),
        await two.api.get('/insights/trend/?events=[{"id":"seen"}]&format=xml'),
    ]

    expected = "time,seen\r\n2024-02-29,2\r\n2024-03-01,1\r\n"
    assert [answer.text for answer in answers] == [expected] * 4
    assert answers[0].headers["content-disposition"] == 'attachment; filename="TrendsQuery.csv"'
    assert (await two.api.get(f"{saved}?format=json")).json()["id"] == made["id"]
    for answer in refused:
        assert (answer.status_code, answer.json()["attr"]) == (400, "format")
        assert "csv, json, jsonl, parquet" in answer.json()["detail"]
