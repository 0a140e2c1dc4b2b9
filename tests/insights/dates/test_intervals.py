"""The intervals of a range: their starts, their names, and whether they are over."""

from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from fanion.errors import Invalid
from fanion.insights.dates.intervals import INTERVALS_MAX, Interval, cut_into_intervals
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.trends.query import parse_trends
from tests.support.spans import BERLIN, NOW, UTC_ZONE, span_of


def test_a_range_from_thirty_days_ago_has_thirty_one_days() -> None:
    buckets = cut_into_intervals(span_of("-30d", None), "day", UTC_ZONE)

    assert (len(buckets.days), buckets.days[0], buckets.days[-1]) == (
        31,
        "2024-04-15",
        "2024-05-15",
    )
    assert buckets.labels[16] == "1-May-2024"


def test_days_begin_at_the_midnight_of_the_zone() -> None:
    buckets = cut_into_intervals(span_of("2024-03-30", "2024-04-01", zone=BERLIN), "day", BERLIN)

    hours = [start.strftime("%d %H") for start in buckets.starts]
    assert hours == ["29 23", "30 23", "31 22"]
    assert buckets.days == ("2024-03-30", "2024-03-31", "2024-04-01")


@pytest.mark.parametrize(
    ("day", "zone", "hours", "repeated"),
    [
        ("2024-03-31", "Europe/Berlin", 23, 0),
        ("2024-10-27", "Europe/Berlin", 25, 1),
        ("2024-10-26", "Europe/Berlin", 24, 0),
        ("2018-11-04", "America/Sao_Paulo", 23, 0),  # without a midnight
        ("2024-05-15", "Asia/Kathmandu", 24, 0),
        ("2024-04-07", "Australia/Lord_Howe", 24, 0),  # repeats half an hour
        ("2024-10-06", "Australia/Lord_Howe", 23, 0),  # skips half an hour
    ],
)
def test_a_day_has_the_hours_of_its_zone(day: str, zone: str, hours: int, repeated: int) -> None:
    here = ZoneInfo(zone)
    span = span_of(day, day, "hour", here)

    buckets = cut_into_intervals(span, "hour", here)

    assert len(buckets.days) == hours
    assert len(buckets.days) - len(set(buckets.days)) == repeated
    assert buckets.starts[0] == span.start
    assert list(buckets.starts) == sorted(buckets.starts)
    assert all(name.startswith(day) and name.endswith(":00:00") for name in buckets.days)


# Zones that moved across the date line: the first and the last day of a range, and its days.
SKIPPED = [
    ("Pacific/Apia", "2011-12-29", "2011-12-31", ["2011-12-29", "2011-12-31"]),
    ("Pacific/Fakaofo", "2011-12-29", "2011-12-31", ["2011-12-29", "2011-12-31"]),
    ("Pacific/Kwajalein", "1993-08-20", "1993-08-23", ["1993-08-20", "1993-08-22", "1993-08-23"]),
    ("Pacific/Kiritimati", "1994-12-30", "1995-01-02", ["1994-12-30", "1995-01-01", "1995-01-02"]),
]


@pytest.mark.parametrize(("zone", "first", "last", "days"), SKIPPED)
def test_a_day_that_a_zone_skipped_is_no_interval(
    zone: str, first: str, last: str, days: list[str]
) -> None:
    here = ZoneInfo(zone)
    span = span_of(first, last, zone=here)

    buckets = cut_into_intervals(span, "day", here)

    assert list(buckets.days) == days
    assert buckets.starts[0] == span.start
    assert buckets.end == span.end
    hours = cut_into_intervals(span, "hour", here)
    assert {hour[:10] for hour in hours.days} == set(days)
    assert len(hours.starts) == 24 * len(days)


@pytest.mark.parametrize("zone", [zone for zone, *_ in SKIPPED])
@pytest.mark.parametrize("interval", ["hour", "day", "week", "month", "quarter", "year"])
def test_intervals_follow_one_another_where_a_day_was_skipped(
    zone: str, interval: Interval
) -> None:
    here = ZoneInfo(zone)
    year = {"Pacific/Kwajalein": "1993", "Pacific/Kiritimati": "1994"}.get(zone, "2011")

    buckets = cut_into_intervals(
        span_of(f"{year}-07-01", f"{int(year) + 1}-02-01", zone=here), interval, here
    )

    assert all(start < after for start, after in pairwise(buckets.starts))
    assert len(set(buckets.days)) == len(buckets.days)


def test_hours_are_named_with_their_day() -> None:
    buckets = cut_into_intervals(span_of("-2h", None, "hour"), "hour", UTC_ZONE)

    assert buckets.days == ("2024-05-15 11:00:00", "2024-05-15 12:00:00", "2024-05-15 13:00:00")
    assert buckets.labels[0] == "15-May-2024 11:00"


def test_minutes_are_named_with_their_day() -> None:
    buckets = cut_into_intervals(
        span_of("2024-05-15T11:58:30", "2024-05-15T12:01:00", "minute"), "minute", UTC_ZONE
    )

    assert buckets.days == tuple(
        f"2024-05-15 {at}:00" for at in ("11:58", "11:59", "12:00", "12:01")
    )
    assert buckets.labels[2] == "15-May-2024 12:00"
    assert (
        cut_into_intervals(span_of("-1h", None, "minute"), "minute", UTC_ZONE).days[-1]
        == "2024-05-15 13:45:00"
    )


@pytest.mark.parametrize(("day", "minutes"), [("2024-03-31", 23 * 60), ("2024-10-27", 25 * 60)])
def test_a_day_has_the_minutes_of_its_zone(day: str, minutes: int) -> None:
    span = span_of(day, day, "minute", BERLIN)

    assert len(cut_into_intervals(span, "minute", BERLIN).days) == minutes


@pytest.mark.parametrize(
    ("week_start_day", "days"),
    [(0, ("2024-05-05", "2024-05-12")), (1, ("2024-05-06", "2024-05-13"))],
)
def test_weeks_begin_on_the_day_of_the_project(week_start_day: int, days: tuple[str, ...]) -> None:
    query = parse_trends({"date_from": "-7d", "interval": "week"})
    clock = RangeClock(NOW, BERLIN, week_start_day=week_start_day)
    this_week = parse_trends({"date_from": "wStart"}).span(clock)

    span = query.span(clock)

    assert cut_into_intervals(span, "week", BERLIN, week_start_day).days == days
    assert span.start == cut_into_intervals(span, "week", BERLIN, week_start_day).starts[0]
    assert this_week.start == span_of(days[1], None, zone=BERLIN).start


@pytest.mark.parametrize(
    ("until", "interval", "unfinished"),
    [
        (None, "day", 1),
        ("-1d", "day", 0),
        ("2024-05-17", "day", 3),
        ("mEnd", "week", 3),
        (None, "hour", 1),
        ("-1d", "month", 1),
        ("-1d", "quarter", 1),
        ("mEnd", "year", 1),
    ],
)
def test_intervals_that_go_on_are_unfinished(
    until: str | None, interval: Interval, unfinished: int
) -> None:
    span = span_of("-7d", until, interval)

    result = cut_into_intervals(span, interval, UTC_ZONE).unfinished(min(span.end, NOW))

    assert result == unfinished


@pytest.mark.parametrize(
    ("interval", "days"),
    [
        ("week", ("2024-04-14", "2024-04-21", "2024-04-28", "2024-05-05", "2024-05-12")),
        ("month", ("2024-04-01", "2024-05-01")),
        ("quarter", ("2024-04-01",)),
        ("year", ("2024-01-01",)),
    ],
)
def test_weeks_and_longer_intervals_are_complete(interval: Interval, days: tuple[str, ...]) -> None:
    assert cut_into_intervals(span_of("-30d", None), interval, UTC_ZONE).days == days


def test_too_many_intervals_are_refused() -> None:
    with pytest.raises(Invalid) as refused:
        cut_into_intervals(span_of("-5y", None, "hour"), "hour", UTC_ZONE)

    assert refused.value.detail == f"There are more than {INTERVALS_MAX} intervals."
