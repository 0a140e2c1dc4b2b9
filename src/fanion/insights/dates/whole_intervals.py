"""Whole intervals around an instant, whatever the bounds of the question.

Source: insights.md, sections 2c and 2d.
"""

from dataclasses import replace
from datetime import datetime

from fanion.insights.dates.comparison import previous_range
from fanion.insights.dates.intervals import DateRange, Interval, Intervals, cut_into_intervals
from fanion.insights.dates.ranges import RangeClock
from fanion.properties.bindings import MICROSECOND


def intervals_of(span: DateRange, interval: Interval, clock: RangeClock) -> Intervals:
    return cut_into_intervals(span, interval, clock.zone, clock.week_start_day)


def interval_with(moment: datetime, interval: Interval, clock: RangeClock) -> DateRange:
    """Return the whole interval that contains an instant."""
    intervals = intervals_of(DateRange(moment, moment + MICROSECOND), interval, clock)
    assert intervals.end is not None  # `cut_into_intervals` sets it
    return DateRange(intervals.starts[0], intervals.end)


def interval_before(start: datetime, interval: Interval, clock: RangeClock) -> DateRange:
    """Return the whole interval that ends where another one starts."""
    return interval_with(start - MICROSECOND, interval, clock)


def last_intervals(
    number: int, moment: datetime, interval: Interval, clock: RangeClock
) -> tuple[DateRange, Intervals]:
    """Return the last `number` whole intervals up to the one that contains an instant."""
    last = interval_with(moment, interval, clock)
    # Cut one more: an hour may be longer or shorter where clocks change by half an hour.
    longer = DateRange(previous_range(last, number, interval, clock.zone).start, last.end)
    intervals = intervals_of(longer, interval, clock)
    kept = replace(
        intervals,
        starts=intervals.starts[-number:],
        days=intervals.days[-number:],
        labels=intervals.labels[-number:],
    )
    return DateRange(kept.starts[0], last.end), kept
