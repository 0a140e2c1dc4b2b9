"""The ranges of a funnel: its own, and the one that it is compared with.

Source: insights.md, section 4d.
"""

from fanion.insights.dates.comparison import earlier_range, intervals_back, previous_range
from fanion.insights.dates.intervals import DateRange, widen_to_interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.dates.whole_intervals import intervals_of
from fanion.insights.funnels.query import FunnelsQuery


def ranges_of(query: FunnelsQuery, clock: RangeClock) -> list[DateRange]:
    """Return the range of the question, then the one to compare with if there is one.

    Raises:
        Invalid: The range is empty.
    """
    span = query.span(clock)
    return [span, _before(query, span, clock)] if query.compare else [span]


def _before(query: FunnelsQuery, span: DateRange, clock: RangeClock) -> DateRange:
    scope, zone = query.scope, clock.zone
    interval = query.interval if query.visualization == "trends" else "day"
    if query.compare_to is None:
        intervals = intervals_of(span, interval, clock)
        number = intervals_back(scope.since, scope.until, intervals, interval, zone)
        return previous_range(span, number, interval, zone)
    before = earlier_range(span, query.compare_to, zone)
    if scope.is_explicit or query.visualization != "trends":
        return before
    return widen_to_interval(before, interval, zone, clock.week_start_day)
