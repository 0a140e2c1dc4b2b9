"""Parsing of the questions of web analytics, and refusals."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fanion.errors import Invalid
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import Entity
from fanion.insights.parsing.fields import Fields
from fanion.insights.web_analytics.parsing import (
    read_external_clicks,
    read_web_goals,
    read_web_overview,
    read_web_stats,
    read_web_trends,
)
from fanion.insights.web_analytics.query import Ordering, WebQuery

CLOCK = RangeClock(datetime(2023, 12, 15, 12, tzinfo=UTC), ZoneInfo("UTC"))


def overview(**options: Any) -> WebQuery:
    return read_web_overview(Fields({"kind": "WebOverviewQuery", **options}, at="query"))


def spans(query: WebQuery) -> list[tuple[str, str]]:
    return [(f"{span.start:%m-%d %H:%M}", f"{span.end:%m-%d %H:%M}") for span in query.spans(CLOCK)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [("12-08 00:00", "12-16 00:00")]),
        (
            {
                "dateRange": {"date_from": "2023-12-08", "date_to": "2023-12-15"},
                "compareFilter": {"compare": True},
            },
            [("12-08 00:00", "12-16 00:00"), ("11-30 00:00", "12-08 00:00")],
        ),
        (
            {"dateRange": {"date_from": "-7d"}, "compare": True},
            [("12-08 00:00", "12-16 00:00"), ("12-01 00:00", "12-09 00:00")],
        ),
        (
            {
                "dateRange": {"date_from": "-7d", "date_to": None},
                "compareFilter": {"compare": True, "compare_to": "-1m"},
            },
            [("12-08 00:00", "12-16 00:00"), ("11-08 00:00", "11-16 00:00")],
        ),
        (
            {"dateRange": {"date_from": "2023-12-01T10:30:00", "date_to": "2023-12-02"}},
            [("12-01 10:30", "12-03 00:00")],
        ),
        (
            {"dateRange": {"date_from": "2023-12-01", "date_to": "2023-12-02T11:00:00"}},
            [("12-01 00:00", "12-02 11:00")],
        ),
        (
            {"dateRange": {"date_from": "-24h"}, "compareFilter": {"compare_to": "-12h"}},
            [("12-14 12:00", "12-16 00:00"), ("12-14 00:00", "12-15 12:00")],
        ),
    ],
)
def test_the_stretch_and_what_it_is_compared_with(
    options: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert spans(overview(**options)) == expected


def test_a_conversion_goal_is_an_event() -> None:
    query = overview(conversionGoal={"customEventName": "paid"})

    assert query.entities == (Entity("$pageview"), Entity("$screen"), Entity("paid"))


def test_the_table_has_ten_rows_unless_said() -> None:
    query = read_web_stats(Fields({"breakdownBy": "Browser"}))

    assert (query.limit, query.offset) == (10, 0)
    assert query.columns == ("visitors", "views")


def test_the_table_is_ordered_as_asked() -> None:
    query = read_web_stats(
        Fields(
            {
                "breakdownBy": "Page",
                "includeBounceRate": True,
                "doPathCleaning": True,
                "orderBy": ["BounceRate", "ASC"],
                "limit": 5,
                "offset": 10,
            }
        )
    )

    assert query.ordering == Ordering("bounce_rate", is_descending=False)
    assert (query.limit, query.offset, query.clean_paths) == (5, 10, True)
    assert query.columns == ("visitors", "views", "bounce_rate")


def test_goals_are_events_each_once() -> None:
    query = read_web_goals(
        Fields(
            {
                "conversionGoal": {"customEventName": "paid"},
                "goals": [{"customEventName": "signed up"}, {"customEventName": "paid"}],
            }
        )
    )

    assert [goal.event for goal in query.goals] == ["paid", "signed up"]


READERS = {
    "WebOverviewQuery": read_web_overview,
    "WebStatsTableQuery": read_web_stats,
    "WebGoalsQuery": read_web_goals,
    "WebTrendsQuery": read_web_trends,
    "WebExternalClicksTableQuery": read_external_clicks,
}


@pytest.mark.parametrize(
    ("kind", "options", "attr", "detail"),
    [
        ("WebStatsTableQuery", {}, "query__breakdownBy", "This field is required."),
        ("WebStatsTableQuery", {"breakdownBy": "Planet"}, "query__breakdownBy", None),
        (
            "WebStatsTableQuery",
            {"breakdownBy": "Page", "includeScrollDepth": True},
            "query__includeScrollDepth",
            "WebStatsTableQuery with includeScrollDepth are not supported. Leave it out.",
        ),
        (
            "WebStatsTableQuery",
            {"breakdownBy": "Page", "limit": 0},
            "query__limit",
            "Ensure this value is between 1 and 1000.",
        ),
        (
            "WebStatsTableQuery",
            {"breakdownBy": "Page", "orderBy": ["BounceRate", "DESC"]},
            "query__orderBy",
            "The answer has no column BounceRate to order by.",
        ),
        (
            "WebStatsTableQuery",
            {"breakdownBy": "Page", "orderBy": ["Clicks", "DESC"]},
            "query__orderBy__0",
            None,
        ),
        (
            "WebStatsTableQuery",
            {"breakdownBy": "Page", "orderBy": ["Views", "down"]},
            "query__orderBy__1",
            None,
        ),
        (
            "WebStatsTableQuery",
            {
                "breakdownBy": "Page",
                "includeBounceRate": True,
                "conversionGoal": {"customEventName": "paid"},
            },
            "query__includeBounceRate",
            "A conversion goal and includeBounceRate cannot be combined. Leave one out.",
        ),
        (
            "WebOverviewQuery",
            {"includeRevenue": True},
            "query__includeRevenue",
            "WebOverviewQuery with includeRevenue are not supported. Leave it out.",
        ),
        (
            "WebOverviewQuery",
            {"modifiers": {"bounceRateDurationSeconds": 30}},
            "query__modifiers",
            "WebOverviewQuery with modifiers are not supported. Leave it out.",
        ),
        (
            "WebOverviewQuery",
            {"conversionGoal": {"actionId": 3, "customEventName": "paid"}},
            "query__conversionGoal__actionId",
            "A goal is an event or an action. Leave one out.",
        ),
        (
            "WebOverviewQuery",
            {"conversionGoal": {"customEvent": "paid"}},
            "query__conversionGoal__customEventName",
            "This field is required.",
        ),
        (
            "WebOverviewQuery",
            {"dateRange": {"date_from": "soon"}},
            "query__dateRange__date_from",
            "Invalid date: soon",
        ),
        (
            "WebOverviewQuery",
            {"compareFilter": {"compare_to": "2023-01-01"}},
            "query__compareFilter__compare_to",
            "Must be a distance such as -1w.",
        ),
        (
            "WebOverviewQuery",
            {"dateRange": {"date_form": "-7d"}},
            "query__dateRange__date_form",
            "WebOverviewQuery with date_form are not supported. Leave it out.",
        ),
        (
            "WebOverviewQuery",
            {"aggregation_group_type_index": 0},
            "query__aggregation_group_type_index",
            "Web analytics counts persons. Leave it out.",
        ),
        (
            "WebStatsTableQuery",
            {"breakdownBy": "Browser", "includeAvgTimeOnPage": True},
            "query__includeAvgTimeOnPage",
            "Only the breakdown by Page has it, without a conversion goal. Leave it out.",
        ),
        (
            "WebStatsTableQuery",
            {"breakdownBy": "Page", "orderBy": ["AvgTimeOnPage", "ASC"]},
            "query__orderBy",
            "The answer has no column AvgTimeOnPage to order by.",
        ),
        ("WebTrendsQuery", {"metrics": ["Sessions", "Visits"]}, "query__metrics__1", None),
        ("WebTrendsQuery", {"interval": "decade"}, "query__interval", None),
        (
            "WebTrendsQuery",
            {"conversionGoal": {"customEventName": "paid"}},
            "query__conversionGoal",
            "WebTrendsQuery with conversionGoal are not supported. Leave it out.",
        ),
        (
            "WebExternalClicksTableQuery",
            {"orderBy": ["Views", "ASC"]},
            "query__orderBy__0",
            None,
        ),
        (
            "WebExternalClicksTableQuery",
            {"stripQueryParams": "often"},
            "query__stripQueryParams",
            None,
        ),
        (
            "WebGoalsQuery",
            {"goals": [{"customEventName": f"goal {n}"} for n in range(11)]},
            "query__goals",
            "Ensure this list has at most 10 elements.",
        ),
    ],
)
def test_what_is_refused(kind: str, options: dict[str, Any], attr: str, detail: str | None) -> None:
    with pytest.raises(Invalid) as refused:
        READERS[kind](Fields({"kind": kind, **options}, at="query"))

    assert refused.value.attr == attr
    assert detail is None or refused.value.detail == detail
