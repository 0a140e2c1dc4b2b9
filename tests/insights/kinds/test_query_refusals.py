"""Queries of newer clients that cannot be answered are refused, with the place as it was sent.

Source: insights.md, section 1c.
"""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.kinds.validation import check_query

A = {"kind": "EventsNode", "event": "a"}
TRENDS: dict[str, Any] = {"kind": "TrendsQuery", "series": [A]}
CONDITION = {"key": "k", "type": "event", "value": "v", "operator": "exact"}
# Queries, each with the place of the error and the beginning of its text.
REFUSED: dict[str, tuple[Any, str, str]] = {
    "no object": ([], "query", "Must be a JSON object."),
    "no kind": ({}, "query__kind", "This field is required."),
    "unknown kind": (
        {"kind": "TrendQuery"},
        "query__kind",
        '"TrendQuery" is not a valid choice. Did you mean "TrendsQuery"?',
    ),
    "a list as the kind": ({"kind": []}, "query__kind", '"[]" is not a valid choice.'),
    "a funnel of paths that is none": (
        {"kind": "PathsQuery", "funnelPathsFilter": {"funnelSource": {"kind": "WebGoalsQuery"}}},
        "query__funnelPathsFilter__funnelSource__kind",
        '"WebGoalsQuery" is not supported here. Use one of: TrendsQuery, FunnelsQuery,',
    ),
    "an experiment": (
        {"kind": "ExperimentQuery"},
        "query__kind",
        "ExperimentQuery is not supported. Use a FunnelsQuery or a TrendsQuery with a breakdown by "
        "the event property $feature/ followed by the key of the flag.",
    ),
    "another use of SQL": (
        {"kind": "HogQLMetadata", "query": "select 1"},
        "query__kind",
        "HogQLMetadata is not supported. Use one of: TrendsQuery, FunnelsQuery,",
    ),
    "wrapped events": (
        {"kind": "DataVisualizationNode", "source": {"kind": "EventsQuery"}},
        "query__source__kind",
        "EventsQuery is not supported.",
    ),
    "no source": ({"kind": "InsightVizNode"}, "query__source", "This field is required."),
    "unknown name": (
        {**TRENDS, "dateRang": {}},
        "query__dateRang",
        'Unknown field "dateRang". Did you mean "dateRange"?',
    ),
    "unknown inner name": (
        {**TRENDS, "trendsFilter": {"formla": "A"}},
        "query__trendsFilter__formla",
        'Unknown field "formla". Did you mean "formula"?',
    ),
    "of another kind": (
        {**TRENDS, "funnelsFilter": {}},
        "query__funnelsFilter",
        'Unknown field "funnelsFilter".',
    ),
    "series that are no list": ({**TRENDS, "series": A}, "query__series", "Must be a list."),
    "a table": (
        {**TRENDS, "series": [{"kind": "DataWarehouseNode", "id": 1}]},
        "query__series__0__kind",
        '"DataWarehouseNode" is not supported. Use "EventsNode", "ActionsNode" or "GroupNode".',
    ),
    "no action": (
        {**TRENDS, "series": [{"kind": "ActionsNode", "id": "Paid"}]},
        "query__series__0__id",
        "The id of an action must be a number above 0.",
    ),
    "unknown name of a series": (
        {**TRENDS, "series": [{**A, "evnt": "b"}]},
        "query__series__0__evnt",
        'Unknown field "evnt". Did you mean "event"?',
    ),
    "no text as event": (
        {**TRENDS, "series": [{**A, "event": 5}]},
        "query__series__0__event",
        "The id of an event must be a string.",
    ),
    "unknown math": (
        {**TRENDS, "series": [A, {**A, "math": "zzz"}]},
        "query__series__1__math",
        '"zzz" is not a valid choice.',
    ),
    "unknown operator": (
        {**TRENDS, "series": [{**A, "properties": [{**CONDITION, "operator": "zzz"}]}]},
        "query__series__0__properties__0__operator",
        'Unknown operator "zzz" for type "event".',
    ),
    "unknown name of a condition": (
        {**TRENDS, "properties": [{**CONDITION, "valeu": 1}]},
        "query__properties__0__valeu",
        'Unknown field "valeu".',
    ),
    "unknown date": (
        {**TRENDS, "dateRange": {"date_from": "zzz"}},
        "query__dateRange__date_from",
        "Invalid date: zzz",
    ),
    "unknown interval": (
        {"kind": "InsightVizNode", "source": {**TRENDS, "interval": "decade"}},
        "query__source__interval",
        '"decade" is not a valid choice.',
    ),
    "modifiers": (
        {**TRENDS, "modifiers": {"personsOnEventsMode": "disabled"}},
        "query__modifiers",
        "Trends with modifiers are not supported. Leave it out.",
    ),
    "paths of a funnel": (
        {
            "kind": "PathsQuery",
            "funnelPathsFilter": {
                "funnelPathType": "funnel_path_after_step",
                "funnelSource": {"kind": "FunnelsQuery", "series": [A, A]},
                "funnelStep": 3,
            },
        },
        "query__funnelPathsFilter__funnelStep",
        "Ensure this value is between -2 and 2.",
    ),
    "a math in a funnel of paths": (
        {
            "kind": "PathsQuery",
            "funnelPathsFilter": {
                "funnelSource": {"kind": "FunnelsQuery", "series": [A, {**A, "math": "sum"}]},
            },
        },
        "query__funnelPathsFilter__funnelSource__series__1__math",
        '"sum" is not a valid choice. Allowed are: dau, first_time_for_user,',
    ),
    "an optional first step": (
        {"kind": "FunnelsQuery", "series": [{**A, "optionalInFunnel": True}, A]},
        "query__series__0__optionalInFunnel",
        "The first step of a funnel cannot be optional.",
    ),
    "scroll depth": (
        {"kind": "WebStatsTableQuery", "breakdownBy": "Page", "includeScrollDepth": True},
        "query__includeScrollDepth",
        "WebStatsTableQuery with includeScrollDepth are not supported. Leave it out.",
    ),
    "correlation of a trend": (
        {"kind": "FunnelCorrelationQuery", "source": TRENDS},
        "query__source__kind",
        '"TrendsQuery" is not a valid choice.',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_with_its_place_as_sent(name: str) -> None:
    query, attr, detail = REFUSED[name]

    with pytest.raises(Invalid) as refused:
        check_query(query)

    assert refused.value.attr == attr
    assert refused.value.detail.startswith(detail)
