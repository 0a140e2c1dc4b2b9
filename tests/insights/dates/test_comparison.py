"""The range that a question compares its own with."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from fanion.insights.dates.bounds import Bound, parse_bound
from fanion.insights.dates.comparison import earlier_range, intervals_back, previous_range
from fanion.insights.dates.intervals import Interval, cut_into_intervals
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.trends.query import parse_trends
from tests.support.spans import BERLIN, UTC_ZONE, span_of

COMPARED: list[tuple[str | None, str | None, Interval, str, str]] = [
    ("2024-01-15", "2024-01-19", "day", "2024-01-10 00:00", "2024-01-15 00:00"),
    ("-7d", None, "day", "2024-01-10 00:00", "2024-01-18 00:00"),
    (None, None, "day", "2024-01-10 00:00", "2024-01-18 00:00"),
    ("-7d", None, "hour", "2024-01-10 00:00", "2024-01-17 14:00"),
    ("-24h", None, "hour", "2024-01-22 13:00", "2024-01-23 14:00"),
    ("-7d", "-1d", "day", "2024-01-10 00:00", "2024-01-17 00:00"),
    ("-0d", None, "day", "2024-01-23 00:00", "2024-01-24 00:00"),
    ("mStart", None, "day", "2023-12-08 00:00", "2024-01-01 00:00"),
    ("-14d", None, "week", "2023-12-24 00:00", "2024-01-11 00:00"),
    ("-1y", None, "month", "2022-01-01 00:00", "2023-01-25 00:00"),
    ("-9m", None, "quarter", "2022-07-01 00:00", "2023-04-25 00:00"),
    ("2023-01-01", None, "year", "2021-01-01 00:00", "2022-01-25 00:00"),
    ("-2h", None, "minute", "2024-01-24 09:00", "2024-01-24 11:31"),
]


@pytest.mark.parametrize(("since", "until", "interval", "start", "end"), COMPARED)
def test_a_relative_range_is_compared_with_the_same_weekdays_and_dates_by_length(
    since: str | None, until: str | None, interval: Interval, start: str, end: str
) -> None:
    query = parse_trends({"date_from": since, "date_to": until, "interval": interval})
    span = query.span(RangeClock(datetime(2024, 1, 24, 13, 30, tzinfo=UTC), UTC_ZONE))
    buckets = cut_into_intervals(span, interval, UTC_ZONE)

    number = intervals_back(query.scope.since, query.scope.until, buckets, interval, UTC_ZONE)
    before = previous_range(span, number, interval, UTC_ZONE)

    assert (f"{before.start:%Y-%m-%d %H:%M}", f"{before.end:%Y-%m-%d %H:%M}") == (start, end)
    assert len(cut_into_intervals(before, interval, UTC_ZONE).starts) == len(buckets.starts)


def test_the_range_before_one_with_a_skipped_day_ends_where_that_begins() -> None:
    zone = ZoneInfo("Pacific/Apia")
    query = parse_trends({"date_from": "2011-12-29", "date_to": "2011-12-31"})
    span = query.span(RangeClock(datetime(2024, 1, 24, tzinfo=UTC), zone))

    number = intervals_back(
        query.scope.since, query.scope.until, cut_into_intervals(span, "day", zone), "day", zone
    )

    assert previous_range(span, number, "day", zone).end == span.start


EARLIER = [
    ("-1w", "2024-03-20 00:00", "2024-03-25 00:00"),
    ("-1m", "2024-02-27 00:00", "2024-03-01 00:00"),
    ("-1y", "2023-03-27 00:00", "2023-04-01 00:00"),
    ("-24h", "2024-03-26 00:00", "2024-03-30 23:00"),
]


@pytest.mark.parametrize(("by", "start", "end"), EARLIER)
def test_a_range_moves_back_by_a_distance_of_the_calendar(by: str, start: str, end: str) -> None:
    span = span_of("2024-03-27", "2024-03-31", zone=BERLIN)

    before = earlier_range(span, parse_bound(by, "compare_to"), BERLIN)

    here = [bound.astimezone(BERLIN) for bound in (before.start, before.end)]
    assert [f"{bound:%Y-%m-%d %H:%M}" for bound in here] == [start, end]


@pytest.mark.parametrize("interval", ["hour", "day", "week", "month", "quarter", "year"])
@pytest.mark.parametrize("since", ["-7d", "-1m", "2024-03-25", "2023-11-20"])
def test_the_previous_range_has_as_many_intervals(since: str, interval: Interval) -> None:
    span = span_of(since, None, interval, BERLIN)
    buckets = cut_into_intervals(span, interval, BERLIN)

    number = intervals_back(parse_bound(since, "date_from"), Bound(), buckets, interval, BERLIN)
    before = previous_range(span, number, interval, BERLIN)

    assert before.start < span.start
    assert len(cut_into_intervals(before, interval, BERLIN).starts) == len(buckets.starts)
