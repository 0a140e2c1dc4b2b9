"""The figures of web analytics by interval."""

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.insights.sessions.conftest import Ask
from tests.insights.sessions.oracle import Question, totals
from tests.insights.sessions.test_oracle import days, visits
from tests.support.examples import examples
from tests.support.histories import History, history_event

METRICS = ("UniqueUsers", "PageViews", "Sessions", "BounceRate", "AverageSessionDuration")
ALL = (*METRICS, "Bounces", "SessionDuration", "TotalSessions")


def view(who: int, at: str, session: str) -> Any:
    own: dict[str, Any] = {"$session_id": session}
    return history_event("$pageview", who, at, **own)


async def test_a_session_counts_in_the_interval_in_which_it_began(web: Ask) -> None:
    """Ann's first session has 4 views in 60 s around midnight, her second one bounces."""
    happened = [
        view(1, "2023-12-14 23:59:30", "s1"),
        view(1, "2023-12-14 23:59:40", "s1"),
        view(1, "2023-12-15 00:00:10", "s1"),
        view(1, "2023-12-15 00:00:30", "s1"),
        view(1, "2023-12-15 10:00", "s2"),
        view(2, "2023-12-15 11:00", "s3"),
    ]

    answer = await web(
        History(happened=happened),
        "WebTrendsQuery",
        dateRange={"date_from": "2023-12-14", "date_to": "2023-12-15"},
        compareFilter={"compare": True},
        metrics=list(ALL),
        interval="day",
    )

    first, second = answer["results"]
    nothing = dict.fromkeys(ALL, 0) | {"BounceRate": None, "AverageSessionDuration": None}
    expected = dict(zip(ALL, (1, 4, 1, 0.0, 60.0, 0, 60, 1), strict=True))
    assert first == {
        "bucket": "2023-12-14",
        "metrics": {name: [expected[name], nothing[name]] for name in ALL},
    }
    assert {name: now for name, (now, _) in second["metrics"].items()} == dict(
        zip(ALL, (2, 2, 2, 100.0, 0.0, 2, 0, 2), strict=True)
    )


async def test_by_hour_and_week_and_only_visitors_by_default(web: Ask) -> None:
    happened = [view(1, "2023-12-15 10:30", "s1"), view(2, "2023-12-08 10:30", "s2")]
    today = {"date_from": "2023-12-15", "date_to": "2023-12-15"}

    by_hour = await web(
        History(happened=happened), "WebTrendsQuery", dateRange=today, interval="hour"
    )
    by_week = await web(
        History(happened=happened),
        "WebTrendsQuery",
        dateRange={"date_from": "2023-12-06", "date_to": "2023-12-15"},
        interval="week",
    )

    assert len(by_hour["results"]) == 24
    assert by_hour["results"][10] == {
        "bucket": "2023-12-15 10:00:00", "metrics": {"UniqueUsers": 1},
    }  # fmt: skip
    assert [(each["bucket"], each["metrics"]["UniqueUsers"]) for each in by_week["results"]] == [
        ("2023-12-03", 1),
        ("2023-12-10", 1),
    ]


@settings(max_examples=examples(12))
@given(visits(), st.sampled_from((2, 1)))
async def test_the_figures_of_each_day(web: Ask, history: History, back: int) -> None:
    compared = {"compare": True} if back == 2 else {"compare_to": "-1d"}

    answer = await web(
        history,
        "WebTrendsQuery",
        dateRange={"date_from": "-2d"},
        compareFilter=compared,
        metrics=list(METRICS),
    )

    for place, ago in ((0, 0), (1, back)):
        of_day = by_day(history, Question(days(history, ago=ago)))
        found = [[point["metrics"][name][place] for name in METRICS] for point in answer["results"]]
        assert found == [pytest.approx(figures) for figures in of_day]


def by_day(history: History, question: Question) -> list[list[float | None]]:
    """Return the figures of the sessions of each day, whose views count until the last one."""
    zone = ZoneInfo(history.zone)
    first = question.span[0].astimezone(zone).date()
    starts = [
        datetime.combine(first + timedelta(days=number), time(), zone).astimezone(UTC)
        for number in range(4)
    ]
    of_sessions = question.of(history)
    return [
        reordered(totals(history, [one for one in of_sessions if since <= one[0].start < until]))
        for since, until in pairwise(starts)
    ]


def reordered(figures: list[float | None]) -> list[float | None]:
    visitors, views, sessions, seconds, bounce_rate = figures
    return [visitors, views, sessions, bounce_rate, seconds]


async def test_points_of_views_and_sessions_add_up_to_the_overview(web: Ask) -> None:
    happened = [
        view(who, f"2023-12-{day} {hour}:00", f"s{who}{day}")
        for who in (1, 2)
        for day in (13, 14, 15)
        for hour in ("09", "21")
    ]
    week: dict[str, Any] = {"dateRange": {"date_from": "2023-12-09", "date_to": "2023-12-15"}}

    points = await web(
        History(happened=happened), "WebTrendsQuery", metrics=["PageViews", "Sessions"], **week
    )
    overview = await web(History(happened=happened), "WebOverviewQuery", **week)

    sums = [
        sum(point["metrics"][name] for point in points["results"])
        for name in ("PageViews", "Sessions")
    ]
    assert sums == [item["value"] for item in overview["results"][1:3]] == [12, 6]
