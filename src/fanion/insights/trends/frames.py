"""The ranges that a trend is counted over, and their numbers from the rows of the store.

Source: insights.md, sections 2c, 4a and 4d.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import accumulate
from zoneinfo import ZoneInfo

from fanion.insights.dates.comparison import earlier_range, intervals_back, previous_range
from fanion.insights.dates.intervals import (
    DateRange,
    Intervals,
    cut_into_intervals,
    midnight,
    widen_to_interval,
)
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.sql.compiler import SqlContext
from fanion.insights.trends.maths import COUNTED_ONCE, Math
from fanion.insights.trends.query import Series, TrendsQuery
from fanion.insights.trends.rows_sql import SeriesQuery
from fanion.properties.bindings import MICROSECOND, micros

# Maps a value of the breakdown to its number in each interval, or to one for the whole range.
Numbers = Mapping[str, Sequence[float]]
# A value, its intervals (in microseconds, or as numbers of days), their numbers, and the number of
# all values.
Row = tuple[str, Sequence[int], Sequence[float], int]


@dataclass(frozen=True, slots=True)
class Frame:
    """One range of the question.

    Attributes:
        is_previous: Whether it is the range to compare with.
    """

    span: DateRange
    intervals: Intervals
    is_previous: bool = False


def frames_of(query: TrendsQuery, clock: RangeClock) -> list[Frame]:
    """Return the range of the question, then the one to compare with if there is one."""
    span, interval, zone = query.span(clock), query.effective_interval, clock.zone
    intervals = cut_into_intervals(span, interval, zone, clock.week_start_day)
    frames = [Frame(span, intervals)]
    if query.compare:
        before = _before(query, span, intervals, clock)
        previous_intervals = cut_into_intervals(before, interval, zone, clock.week_start_day)
        frames.append(Frame(before, previous_intervals, is_previous=True))
    return frames


def _before(
    query: TrendsQuery, span: DateRange, intervals: Intervals, clock: RangeClock
) -> DateRange:
    interval, zone = query.effective_interval, clock.zone
    if query.compare_to is None:
        number = intervals_back(query.scope.since, query.scope.until, intervals, interval, zone)
        return previous_range(span, number, interval, zone)
    before = earlier_range(span, query.compare_to, zone)
    if query.scope.is_explicit:
        return before
    return widen_to_interval(before, interval, zone, clock.week_start_day)


def query_of_series(
    context: SqlContext, query: TrendsQuery, series: Series, frame: Frame, clock: RangeClock
) -> SeriesQuery:
    """Return what is counted of one series in one range."""
    series = replace(series, math=series.math.at(query.effective_interval))
    starts = () if query.totals else frame.intervals.starts
    series_query = SeriesQuery(context, series, query.breakdowns, frame.span, starts)
    window = series.math.window
    if window is None:
        once = query.shape == "cumulative" and series.math.word in COUNTED_ONCE
        return replace(series_query, once=once)
    return _of_window(series_query, window, clock.zone, totals=query.totals)


def _of_window(
    series_query: SeriesQuery, window: int, zone: ZoneInfo, *, totals: bool
) -> SeriesQuery:
    """Extend the range by the days before it that count too; a total is that of the last day."""
    first = (
        last_day(series_query.span, zone)
        if totals
        else series_query.span.start.astimezone(zone).date()
    )
    span = DateRange(midnight(first - timedelta(days=window - 1), zone), series_query.span.end)
    if totals:
        series = replace(series_query.series, math=Math("dau"))
        return replace(series_query, span=span, series=series)
    starts = cut_into_intervals(span, "day", zone).starts
    return replace(
        series_query, span=span, starts=starts, numbers=day_numbers(starts, zone), window=window
    )


def day_numbers(starts: Sequence[datetime], zone: ZoneInfo) -> list[int]:
    """Return the number of each day from the first one, counting days that the zone skipped."""
    days = [start.astimezone(zone).date() for start in starts]
    return [(day - days[0]).days for day in days]


def numbers_of_rows(
    series_query: SeriesQuery, rows: Sequence[Row], frame: Frame, zone: ZoneInfo
) -> Numbers:
    """Return the numbers in the rows of the store.

    Source: insights.md, section 4a.
    """
    if series_query.window is not None:
        return {
            value: _active(series_query, dict(zip(days, changes, strict=True)), frame, zone)
            for value, days, changes, _ in rows
        }
    starts = [micros(start) for start in series_query.starts] or [0]
    by_value = {value: dict(zip(at, numbers, strict=True)) for value, at, numbers, _ in rows}
    return {
        value: [float(numbers.get(start, 0.0)) for start in starts]
        for value, numbers in by_value.items()
    }


def _active(
    series_query: SeriesQuery, changes: Mapping[int, float], frame: Frame, zone: ZoneInfo
) -> list[float]:
    """Return how many are active on the last day of each interval."""
    first, last = series_query.starts[0].astimezone(zone).date(), last_day(frame.span, zone)
    active = list(
        accumulate(float(changes.get(day, 0)) for day in range(series_query.numbers[-1] + 1))
    )
    return [active[(min(day, last) - first).days] for day in _last_days(frame.intervals, zone)]


def _last_days(intervals: Intervals, zone: ZoneInfo) -> list[date]:
    ends: list[datetime] = [*intervals.starts[1:]]
    if intervals.end is not None:
        ends.append(intervals.end)
    return [(end - MICROSECOND).astimezone(zone).date() for end in ends]


def last_day(span: DateRange, zone: ZoneInfo) -> date:
    return (span.end - MICROSECOND).astimezone(zone).date()
