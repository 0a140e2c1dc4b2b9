"""Translation of a `query` of newer clients into the `filters` that ask for the same.

Source: insights.md, sections 1b, 2 and 15.
"""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fanion.insights.dates.intervals import DateRange
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.kinds.service import fields_of_query, read_query
from fanion.insights.parsing.fields import TIMES_STAND, Fields
from fanion.insights.questions.question_key import question_key

A = {"kind": "EventsNode", "event": "a"}
FUNNEL = {
    "kind": "FunnelsQuery",
    "series": [A, {**A, "event": "b", "custom_name": "B"}],
    "funnelsFilter": {
        "funnelOrderType": "strict",
        "funnelVizType": "steps",
        "funnelWindowInterval": 3,
        "funnelWindowIntervalUnit": "hour",
        "funnelFromStep": 0,
        "funnelToStep": 1,
        "binCount": 4,
        "exclusions": [{**A, "event": "x", "funnelFromStep": 0, "funnelToStep": 1}],
        "breakdownAttributionType": "step",
        "breakdownAttributionValue": 1,
        "layout": "horizontal",
    },
}
OF_FUNNEL = {
    "insight": "FUNNELS",
    "events": [{"id": "a"}, {"id": "b", "custom_name": "B"}],
    "funnel_order_type": "strict",
    "funnel_viz_type": "steps",
    "funnel_window_interval": 3,
    "funnel_window_interval_unit": "hour",
    "funnel_from_step": 0,
    "funnel_to_step": 1,
    "bin_count": 4,
    "exclusions": [{"id": "x", "funnel_from_step": 0, "funnel_to_step": 1}],
    "breakdown_attribution_type": "step",
    "breakdown_attribution_value": 1,
}

# Queries, each with the filters that ask for the same.
SAME: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "trends": (
        {
            "kind": "TrendsQuery",
            "series": [
                {**A, "math": "dau", "name": "A", "properties": [{"key": "k", "value": "v"}]},
                {"kind": "EventsNode", "event": None, "math_property": "n", "math": "sum"},
            ],
            "dateRange": {"date_from": "-7d", "date_to": None, "explicitDate": True},
            "interval": "week",
            "properties": [],
            "filterTestAccounts": True,
            "samplingFactor": 0.1,
            "aggregation_group_type_index": 0,
            "breakdownFilter": {"breakdown": "plan", "breakdown_type": "person"},
            "compareFilter": {"compare": True, "compare_to": "-1w"},
            "trendsFilter": {
                "display": "ActionsBar",
                "formula": "A/B",
                "smoothingIntervals": 2,
                "showLegend": True,
                "aggregationAxisFormat": "duration",
                "formulaNodes": [{"formula": "A"}],
            },
            "version": 2,
        },
        {
            "insight": "TRENDS",
            "events": [
                {"id": "a", "math": "dau", "name": "A", "properties": [{"key": "k", "value": "v"}]},
                {"id": None, "math_property": "n", "math": "sum"},
            ],
            "date_from": "-7d",
            "date_to": None,
            "explicit_date": True,
            "interval": "week",
            "properties": [],
            "filter_test_accounts": True,
            "sampling_factor": 0.1,
            "aggregation_group_type_index": 0,
            "breakdown": "plan",
            "breakdown_type": "person",
            "compare": True,
            "compare_to": "-1w",
            "display": "ActionsBar",
            "formula": "A/B",
            "smoothing_intervals": 2,
            "formulaNodes": [{"formula": "A"}],
        },
    ),
    "trends of 2023": (
        {
            "kind": "TrendsQuery",
            "series": [A],
            "breakdown": {"breakdown": "plan"},
            "trends_filter": {"smoothing_intervals": 2, "show_legend": True, "compare": True},
        },
        {
            "insight": "TRENDS",
            "events": [{"id": "a"}],
            "breakdown": "plan",
            "smoothing_intervals": 2,
            "compare": True,
        },
    ),
    "wrapped": (
        {
            "kind": "InsightVizNode",
            "full": True,
            "source": {"kind": "DataTableNode", "source": {"kind": "TrendsQuery", "series": [A]}},
        },
        {"insight": "TRENDS", "events": [{"id": "a"}]},
    ),
    "funnel": (FUNNEL, OF_FUNNEL),
    "correlation": (
        {
            "kind": "FunnelCorrelationQuery",
            "source": {"kind": "FunnelsActorsQuery", "source": FUNNEL, "funnelStep": -1},
            "funnelCorrelationType": "properties",
            "funnelCorrelationNames": ["$all"],
        },
        {
            **OF_FUNNEL,
            "insight": "FUNNELS_CORRELATION",
            "funnel_correlation_type": "properties",
            "funnel_correlation_names": ["$all"],
        },
    ),
    "retention": (
        {
            "kind": "RetentionQuery",
            "retentionFilter": {
                "period": "Week",
                "totalIntervals": 5,
                "retentionType": "retention_first_time",
                "targetEntity": {"id": "a", "type": "events", "name": "a"},
                "returningEntity": A,
                "cumulative": True,
                "minimumOccurrences": 2,
                "retentionReference": "total",
                "showMean": True,
                "meanRetentionCalculation": "simple",
            },
        },
        {
            "insight": "RETENTION",
            "period": "Week",
            "total_intervals": 5,
            "retention_type": "retention_first_time",
            "target_entity": {"id": "a", "type": "events", "name": "a"},
            "returning_entity": {"id": "a"},
            "cumulative": True,
            "minimum_occurrences": 2,
        },
    ),
    "retention without its number of intervals": (
        {"kind": "RetentionQuery", "retentionFilter": {"period": "Day"}},
        {"insight": "RETENTION", "period": "Day", "total_intervals": 7},
    ),
    "stickiness": (
        {
            "kind": "StickinessQuery",
            "series": [A],
            "stickinessFilter": {
                "computedAs": "cumulative",
                "stickinessCriteria": {"operator": "gte", "value": 2},
            },
            "compareFilter": {"compare": False},
        },
        {
            "insight": "STICKINESS",
            "events": [{"id": "a"}],
            "computed_as": "cumulative",
            "stickiness_criteria": {"operator": "gte", "value": 2},
            "compare": False,
        },
    ),
    "life cycle": (
        {
            "kind": "LifecycleQuery",
            "series": [A],
            "lifecycleFilter": {"toggledLifecycles": ["new"], "showLegend": True},
        },
        {"insight": "LIFECYCLE", "events": [{"id": "a"}]},
    ),
    "paths": (
        {
            "kind": "PathsQuery",
            "pathsFilter": {
                "includeEventTypes": ["$pageview"],
                "startPoint": "/",
                "endPoint": "/end",
                "stepLimit": 4,
                "pathGroupings": ["/a/*"],
                "excludeEvents": ["b"],
                "edgeLimit": 10,
                "minEdgeWeight": 1,
                "maxEdgeWeight": 9,
                "pathReplacements": True,
                "localPathCleaningFilters": [{"regex": "1", "alias": "2"}],
                "pathsHogQLExpression": None,
            },
            "funnelPathsFilter": {
                "funnelPathType": "funnel_path_after_step",
                "funnelSource": FUNNEL,
                "funnelStep": 1,
            },
        },
        {
            "insight": "PATHS",
            "include_event_types": ["$pageview"],
            "start_point": "/",
            "end_point": "/end",
            "step_limit": 4,
            "path_groupings": ["/a/*"],
            "exclude_events": ["b"],
            "edge_limit": 10,
            "min_edge_weight": 1,
            "max_edge_weight": 9,
            "path_replacements": True,
            "local_path_cleaning_filters": [{"regex": "1", "alias": "2"}],
            "paths_hogql_expression": None,
            "funnel_paths": "funnel_path_after_step",
            "funnel_filter": OF_FUNNEL | {TIMES_STAND: True},
            "funnel_step": 1,
        },
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_a_query_becomes_filters(name: str) -> None:
    query, filters = SAME[name]

    result = dict(fields_of_query(query).values)

    assert result.pop(TIMES_STAND) is True
    assert result == filters


TRENDS: dict[str, Any] = {"kind": "TrendsQuery", "series": [A]}


def test_both_ways_to_ask_have_one_key() -> None:
    filters = {
        "insight": "TRENDS",
        "events": [{"id": "a", "type": "events", "order": 0, "math": "total"}],
        "date_from": "-7d",
        "interval": "day",
        "show_legend": True,
    }
    query = {**TRENDS, "dateRange": {"date_from": "-7d"}, "trendsFilter": {"showLegend": False}}

    question = [read_query(Fields(filters)), read_query(fields_of_query(query))]
    other = read_query(fields_of_query({**query, "interval": "week"}))

    assert len({question_key(series, "UTC") for series in question}) == 1
    assert question_key(question[0], "UTC") != question_key(question[0], "Europe/Berlin")
    assert question_key(other, "UTC") != question_key(question[1], "UTC")


NOW = datetime(2024, 3, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("interval", "start", "end"),
    [
        ("hour", "2024-03-05 10:30", "2024-03-07 09:15:01"),
        ("day", "2024-03-05", "2024-03-07 09:15:01"),
        ("week", "2024-03-03", "2024-03-07 09:15:01"),
    ],
)
def test_times_of_a_query_are_not_rounded(interval: str, start: str, end: str) -> None:
    """The first interval is whole nevertheless."""
    sent = {"date_from": "2024-03-05T10:30:00", "date_to": "2024-03-07T09:15:00"}
    query = read_query(fields_of_query({**TRENDS, "dateRange": sent, "interval": interval}))

    span = query.span(RangeClock(NOW, ZoneInfo("UTC")))

    assert span == DateRange(
        *(datetime.fromisoformat(moment).replace(tzinfo=UTC) for moment in (start, end))
    )
