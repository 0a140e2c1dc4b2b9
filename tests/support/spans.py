"""Ranges of time, resolved on one Wednesday."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from fanion.insights.dates.bounds import parse_bound
from fanion.insights.dates.intervals import DateRange, Interval
from fanion.insights.dates.ranges import RangeClock, resolve_range

NOW = datetime(2024, 5, 15, 13, 45, 30, tzinfo=UTC)  # a Wednesday
BERLIN, UTC_ZONE = ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")


def span_of(
    since: str | None, until: str | None, interval: Interval = "day", zone: ZoneInfo = UTC_ZONE
) -> DateRange:
    clock = RangeClock(NOW, zone, datetime(2024, 5, 1, 23, 30, tzinfo=UTC))
    bounds = parse_bound(since, "date_from"), parse_bound(until, "date_to")
    return resolve_range(*bounds, interval, clock)
