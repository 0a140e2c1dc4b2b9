"""Funnels as SQL: one row, with how many reached each step."""

from typing import Final

from fanion.insights.as_sql.refusals import no_sql_for, require_known
from fanion.insights.as_sql.rows import EventRows, is_entity
from fanion.insights.as_sql.texts import local_text, quoted, select
from fanion.insights.dates.intervals import DateRange
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.funnels.elements_sql import end_of_window
from fanion.insights.funnels.query import FunnelsQuery
from fanion.insights.funnels.steps import are_disjoint

_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 7 * 86_400}
_TIME: Final = "toUInt64(toUnixTimestamp64Micro(timestamp))"


def funnel_text(query: FunnelsQuery, clock: RangeClock) -> str:
    """Write a funnel.

    Raises:
        Invalid: An option cannot be said in SQL.
    """
    # Without a breakdown its attribution does not matter, nor do bins and the interval of steps.
    require_known(
        query,
        *("steps", "scope", "counted_by", "window", "attribution", "attribution_step"),
        *("from_step", "to_step", "bin_count", "interval"),
    )
    if not query.steps:
        raise no_sql_for("a funnel without steps")
    if any(step.optional_at is not None for step in query.steps):
        raise no_sql_for("optionalInFunnel")
    first_time = next((step.first_time for step in query.steps if step.first_time), None)
    if first_time is not None:
        raise no_sql_for(f"math {first_time}")
    if query.window.unit not in _SECONDS:
        raise no_sql_for("funnel_window_interval_unit month")
    if not are_disjoint(query.steps):
        raise no_sql_for("steps that one event may match together")
    events, span = EventRows(query.scope, clock), query.span(clock)
    steps = [is_entity(step) for step in query.steps]
    begins = f"{steps[0]} AND timestamp < {quoted(local_text(span.end, clock.zone))}"
    microseconds = query.window.number * _SECONDS[query.window.unit] * 1_000_000
    level = f"windowFunnel({microseconds})({_TIME}, {', '.join([begins, *steps[1:]])}) AS level"
    reach = DateRange(span.start, end_of_window(span.end, query.window))
    actors = select(
        [events.who_column, level],
        "events",
        [*events.within(reach), *events.any_of(query.steps), *events.of_scope()],
        [events.counted],
    )
    counts = [f"countIf(level >= {number}) AS step_{number}" for number in range(1, len(steps) + 1)]
    return select(counts, actors)
