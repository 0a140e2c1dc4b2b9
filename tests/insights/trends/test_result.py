"""The answer to a trend, as clients read it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl
from uuid import uuid4

import pytest

from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.dates.intervals import cut_into_intervals
from fanion.insights.sql.compiler import NONE, OTHER, SqlContext
from fanion.insights.trends.frames import Frame
from fanion.insights.trends.query import parse_trends
from fanion.insights.trends.result import FrameNumbers, trend_result
from fanion.insights.trends.rows_sql import SeriesQuery
from fanion.insights.trends.sql import trend_statement
from tests.support.spans import NOW, UTC_ZONE, span_of

PAGEVIEWS = {"events": [{"id": "$pageview"}]}


def test_values_are_always_bound_in_statements() -> None:
    nasty = "x'; DROP TABLE events --"
    leaves = [{"key": nasty, "type": kind, "value": nasty} for kind in ("event", "person")]
    query = parse_trends(
        {
            "events": [{"id": nasty}],
            "properties": leaves,
            "breakdown": nasty,
            "breakdown_type": "person",
        }
    )
    span = span_of("-7d", None)
    starts, [series] = cut_into_intervals(span, "day", UTC_ZONE).starts, query.series
    context = SqlContext(1, query.scope, NOW, uuid4())
    question = SeriesQuery(context, series, query.breakdowns, span, starts)

    statement = trend_statement(question, [nasty, OTHER])

    assert "DROP" not in statement.text
    assert nasty in statement.parameters.values()


def result_of(filters: dict[str, Any], numbers: Mapping[str, list[float]]) -> list[dict[str, Any]]:
    query = parse_trends(filters)
    span = span_of("2024-04-01", "2024-04-03")
    frame = Frame(span, cut_into_intervals(span, "day", UTC_ZONE))
    urls = PeopleUrls(7, "trends", query.scope.sent)
    found = [FrameNumbers(frame, [numbers for _ in query.series])]
    return trend_result(query, found, urls, NOW)


FLAG_CALLED = {
    "events": [{"id": "$feature_flag_called", "name": "$feature_flag_called", "type": "events"}]
}


def test_a_series_has_the_fields_that_clients_read() -> None:
    result = result_of({**FLAG_CALLED, "breakdown": "x"}, {"control": [0.0, 1.0, 2.0]})

    [urls] = [entry.pop("persons_urls") for entry in result]
    assert [line["url"].split("?")[0] for line in urls] == ["/api/projects/7/persons/trends/"] * 3
    assert [dict(parse_qsl(line["url"]))["day"] for line in urls] == result[0]["days"]
    assert result == [
        {
            "action": {
                "id": "$feature_flag_called",
                "type": "events",
                "order": 0,
                "name": "$feature_flag_called",
                "custom_name": None,
                "math": None,
                "math_property": None,
                "math_hogql": None,
                "math_group_type_index": None,
                "properties": {},
            },
            "label": "control",
            "breakdown_value": "control",
            "count": 3.0,
            "data": [0.0, 1.0, 2.0],
            "days": ["2024-04-01", "2024-04-02", "2024-04-03"],
            "labels": ["1-Apr-2024", "2-Apr-2024", "3-Apr-2024"],
            "incomplete": 0,
            "filter": {},
        }
    ]


def test_the_largest_value_comes_first_and_ties_are_sorted_by_label() -> None:
    rows = {"b": [2.0, 0, 0], "a": [1.0, 1, 0], NONE: [1.0, 0, 0], OTHER: [9.0, 0, 0]}

    result = result_of({**FLAG_CALLED, "breakdown": "x"}, rows)

    assert [(line["breakdown_value"], line["label"]) for line in result] == [
        (OTHER, "Other (i.e. all remaining values)"),
        ("a", "a"),
        ("b", "b"),
        (NONE, "None (i.e. no value)"),
    ]


def test_without_events_a_plain_series_is_zeros_and_a_breakdown_is_empty() -> None:
    assert [line["data"] for line in result_of(FLAG_CALLED, {})] == [[0.0, 0.0, 0.0]]
    assert result_of({**FLAG_CALLED, "breakdown": "x"}, {}) == []


@pytest.mark.parametrize("display", ["ActionsTable", "ActionsPie", "BoldNumber", "WorldMap"])
def test_a_total_has_one_number_and_no_days(display: str) -> None:
    [entry] = result_of({**FLAG_CALLED, "display": display}, {"": [5.0]})

    assert entry["aggregated_value"] == 5.0
    assert (entry["data"], entry["days"], entry["labels"], entry["count"]) == ([], [], [], 0.0)
    assert "persons" in entry
    assert "persons_urls" not in entry


def test_labels_of_several_series_name_their_event() -> None:
    filters = {"events": [{"id": "a", "custom_name": "First"}, {"id": "b"}], "breakdown": "x"}

    labels = [line["label"] for line in result_of(filters, {"v": [1.0, 0, 0]})]

    assert labels == ["First - v", "b - v"]
