"""Stickiness and life cycles as SQL."""

from dataclasses import replace
from typing import Final

from fanion.insights.as_sql.conditions import entity_conditions
from fanion.insights.as_sql.refusals import no_sql_for, require_known
from fanion.insights.as_sql.rows import EventRows
from fanion.insights.as_sql.texts import ROWS_MAX, quoted, select
from fanion.insights.dates.intervals import DateRange, cut_into_intervals
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.dates.whole_intervals import interval_before
from fanion.insights.lifecycle.query import LifecycleQuery
from fanion.insights.query import Scope
from fanion.insights.stickiness.query import StickinessQuery, StickinessSeries

_OPERATORS: Final = {"gte": ">=", "lte": "<=", "exact": "="}
# An actor has a status in each interval in which it is active, and in the one after it.
_STATUS: Final = (
    "multiIf(NOT has(active, {0}), 'dormant', {0} = created, 'new', "
    "has(active, {0} - INTERVAL 1 {1}), 'returning', 'resurrecting') AS status"
)

# Who stays away is below zero.
_TOTAL: Final = "count() * if(status = 'dormant', -1, 1) AS total"


def stickiness_text(query: StickinessQuery, clock: RangeClock) -> str:
    """Write stickiness: how many are active in how many intervals.

    Raises:
        Invalid: An option cannot be said in SQL.
    """
    require_known(query, "scope", "series", "interval", "criteria", "cumulative")
    if not query.series:
        raise no_sql_for("stickiness without series")
    if len(query.series) == 1:
        return _series(query, query.series[0], clock, [], [f"{query.interval}s"])
    texts = [
        _series(query, series, clock, [f"{quoted(_label(series, number))} AS series"], [])
        for number, series in enumerate(query.series)
    ]
    end = f"\nORDER BY series, {query.interval}s\nLIMIT {ROWS_MAX}"
    return "\nUNION ALL\n".join(texts) + end


def _label(series: StickinessSeries, number: int) -> str:
    return f"{chr(ord('A') + number)}: {series.entity.label}"


def _series(
    query: StickinessQuery,
    series: StickinessSeries,
    clock: RangeClock,
    before: list[str],
    order: list[str],
) -> str:
    require_known(series, "entity", "group_type_index")
    events, name = EventRows(_scope(query.scope, series), clock), f"{query.interval}s"
    where = [
        *events.within(query.span(clock)),
        *entity_conditions(series.entity),
        *events.of_scope(),
    ]
    start = events.start(query.interval)
    if query.criteria is None:
        number = f"uniqExact({start}) AS number"
        actors = select([events.who_column, number], "events", where, [events.counted])
    else:
        columns = [events.who_column, f"{start} AS {query.interval}", "count() AS events"]
        each = select(columns, "events", where, [events.counted, query.interval])
        enough = f"events {_OPERATORS[query.criteria.operator]} {query.criteria.value}"
        number = "count() AS number"
        actors = select([events.counted, number], each, [enough], [events.counted])
    shown = "arrayJoin(range(1, number + 1))" if query.cumulative else "number"
    columns = [*before, f"{shown} AS {name}", "count() AS total"]
    return select(columns, actors, (), [name], order)


def _scope(scope: Scope, series: StickinessSeries) -> Scope:
    if series.group_type_index is None:
        return scope
    return replace(scope, group_type_index=series.group_type_index)


def lifecycle_text(query: LifecycleQuery, clock: RangeClock) -> str:
    """Write a life cycle: how many are new, come back or stay away in each interval.

    Raises:
        Invalid: An option cannot be said in SQL.
    """
    require_known(query, "scope", "entity", "interval")
    if query.scope.is_explicit:
        raise no_sql_for("explicit_date")
    events, span, interval = EventRows(query.scope, clock), query.span(clock), query.interval
    starts = cut_into_intervals(span, interval, clock.zone, clock.week_start_day).starts
    before = interval_before(starts[0], interval, clock)
    start = events.start(interval)
    created = f"min({start})"
    if query.scope.counts_persons:
        born = f"min({events.start(interval, 'person.created_at')})"
        created = f"least({created}, coalesce({born}, {created}))"
    actors = select(
        [events.who_column, f"groupUniqArray({start}) AS active", f"{created} AS created"],
        "events",
        [
            *events.within(DateRange(before.start, span.end)),
            *entity_conditions(query.entity),
            *events.of_scope(),
        ],
        [events.counted],
    )
    unit = interval.upper()
    following = f"arrayMap(one -> one + INTERVAL 1 {unit}, active)"
    every = f"arrayJoin(arrayDistinct(arrayConcat(active, {following}))) AS {interval}"
    each = select(["active", "created", every], actors)
    first, last = (events.start(interval, events.moment(at)) for at in (starts[0], starts[-1]))
    columns = [interval, "status"]
    return select(
        [interval, _STATUS.format(interval, unit), _TOTAL],
        each,
        [f"{interval} >= {first}", f"{interval} <= {last}"],
        columns,
        columns,
    )
