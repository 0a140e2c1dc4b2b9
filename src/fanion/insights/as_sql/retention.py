"""Retention as SQL: a row for each interval in which people began, and each later one."""

from typing import Final

from fanion.insights.as_sql.refusals import require_known
from fanion.insights.as_sql.rows import EventRows, is_entity, named, values_of
from fanion.insights.as_sql.texts import select
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.retention.query import RetentionQuery

# How many intervals lie between two starts of them.
_BETWEEN: Final = {
    "hour": "dateDiff('hour', {0}, {1})",
    "day": "dateDiff('day', {0}, {1})",
    "week": "intDiv(dateDiff('day', {0}, {1}), 7)",
    "month": "dateDiff('month', {0}, {1})",
}
_LATER: Final = "arrayFilter(n -> n > 0, arrayMap(back -> {between}, returned))"


def retention_text(query: RetentionQuery, clock: RangeClock) -> str:
    """Write retention.

    Raises:
        Invalid: An option cannot be said in SQL.
    """
    require_known(
        query,
        *("scope", "target", "returning", "type", "period", "total_intervals", "cumulative"),
        *("occurrences", "breakdowns"),
    )
    period, values = query.period, list(values_of(query.breakdowns))
    later = _LATER.format(between=_BETWEEN[period].format(period, "back"))
    if query.cumulative:
        later = f"range(1, toUInt64(arrayMax({later})) + 1)"
    each = select(
        [period, *values, f"arrayJoin(arrayConcat([0], {later})) AS later"],
        select([f"arrayJoin(began) AS {period}", *values, "returned"], _actors(query, clock)),
    )
    columns = [period, *values, "later"]
    where = [f"later < {query.total_intervals}"]
    return select([*columns, "count() AS total"], each, where, columns, columns)


def _actors(query: RetentionQuery, clock: RangeClock) -> str:
    """Return a row for each person, with the intervals in which it began and came back."""
    events, period, values = EventRows(query.scope, clock), query.period, list(_values(query))
    began = f"groupArrayIf({period}, is_begun)"
    if query.type == "retention_first_time":
        span = query.span(clock)
        began = f"arrayFilter(first -> first >= {events.start(period, events.moment(span.start))}, "
        began += f"[minIf({period}, is_begun)])"
    returned = f"groupArrayIf({period}, returns >= {query.occurrences})"
    return select(
        [events.counted, *values, f"{began} AS began", f"{returned} AS returned"],
        _intervals(query, clock),
        (),
        [events.counted, *values],
    )


def _values(query: RetentionQuery) -> dict[str, str]:
    return values_of(query.breakdowns)


def _intervals(query: RetentionQuery, clock: RangeClock) -> str:
    """Return a row for each person and interval with an event of the question."""
    events, period, span = EventRows(query.scope, clock), query.period, query.span(clock)
    target, returning = is_entity(query.target), is_entity(query.returning)
    columns = {period: events.start(period), **_values(query)}
    within = events.within(span)
    if query.type == "retention_first_time":
        within = [events.until(span.end), f"({events.since(span.start)} OR ({target}))"]
    return select(
        [
            events.who_column,
            *named(columns),
            f"max({target}) AS is_begun",
            f"countIf({returning}) AS returns",
        ],
        "events",
        [*within, *events.any_of(query.entities), *events.of_scope()],
        [events.counted, *columns],
    )
