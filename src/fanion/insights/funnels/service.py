"""Funnels, calculated in the event store: how many reach each of some steps.

Source: insights.md, sections 1b, 5 and 13.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from math import nan
from typing import Any, Final

from fanion.errors import Invalid
from fanion.insights.calculation.cohort_names_store import cohort_names
from fanion.insights.calculation.kind_service import ActorsKind, ActorsSource, Kind
from fanion.insights.calculation.service import Calculation, require_few_numbers
from fanion.insights.calculation.value_counts import with_value_counts
from fanion.insights.dates.whole_intervals import intervals_of
from fanion.insights.funnels.elements_sql import FunnelSql
from fanion.insights.funnels.places import FunnelPlace, interval_start, read_funnel_place
from fanion.insights.funnels.query import FunnelsQuery, read_funnels
from fanion.insights.funnels.ranges import ranges_of
from fanion.insights.funnels.result import FunnelAnswer, shared_bins, times_to_convert
from fanion.insights.funnels.sql import (
    actors_of_interval,
    actors_of_optional,
    actors_of_steps,
    conversion_times,
    interval_counts,
    ranked_step_counts,
    step_counts,
)
from fanion.insights.funnels.times_sql import binned_times, time_extents
from fanion.insights.parsing.query_names import DRAWN, Part, same_names
from fanion.insights.parsing.translation import StandardForm
from fanion.insights.sql.compiler import OTHER, Statement

# Numbers in one answer.
POINTS_MAX = 200_000


async def calculate_funnels(calculation: Calculation, query: FunnelsQuery) -> Any:
    """Return a list of steps or of lines, or one object for the time to convert.

    With a comparison, entries of the previous range follow those of the range of the question.
    """
    is_of_times = query.visualization == "time_to_convert"
    if not query.steps:
        return times_to_convert([]) if is_of_times else []
    if is_of_times and query.breakdowns is None and not query.compare:
        funnel = funnel_sql(calculation, query)
        return times_to_convert(await calculation.rows(conversion_times(funnel)))
    names = await cohort_names(calculation.records, calculation.project.id, query.breakdowns)
    answer = FunnelAnswer(query, calculation.project.id, names)
    if is_of_times:
        return await _times(calculation, answer)
    if query.visualization == "trends":
        return await _trends(calculation, answer)
    if query.compare:
        return await _compared_steps(calculation, answer)
    return await _steps(calculation, answer)


async def _steps(calculation: Calculation, answer: FunnelAnswer) -> Any:
    funnel = funnel_sql(calculation, answer.query)
    most = values_max(funnel.query)
    if funnel.one_value_an_actor and len(answer.query.steps) > 1:
        ranked = await calculation.rows(ranked_step_counts(funnel, most))
        total, rows = _total(ranked), [_with_averages(*row) for row in ranked]
    else:
        rows = await calculation.rows(step_counts(funnel, most + 1))
        total = _total(rows)
        if len(rows) > most:
            funnel = replace(funnel, shown=[row[0] for row in rows[:-1]])
            rows = await calculation.rows(step_counts(funnel, len(rows)))
        rows = [row[:-1] for row in rows]
    steps = await asyncio.to_thread(answer.steps, _without_hidden(funnel.query, rows))
    return with_value_counts(steps, funnel.query.breakdowns, [total])


async def _compared_steps(calculation: Calculation, answer: FunnelAnswer) -> Any:
    query = answer.query
    _, rows, total = await _rows_of_largest_values(calculation, query, step_counts)
    ranges = [[row[:-1] for row in of_range] for of_range in rows]
    steps = await asyncio.to_thread(answer.compared_steps, *ranges)
    return with_value_counts(steps, query.breakdowns, [total])


def _total(rows: Sequence[tuple[Any, ...]]) -> int:
    """Return how many values there are, as each row says at its end."""
    return int(rows[0][-1]) if rows else 0


def _with_averages(
    value: str, counts: Sequence[int], sums: Sequence[float], medians: Sequence[float], _: int
) -> tuple[Any, ...]:
    """Convert a row of `ranked_step_counts` to the columns of `step_counts` but the last."""
    times = zip(counts[1:], sums, medians, strict=True)
    pairs = ((total / count if count else nan, median) for count, total, median in times)
    return value, *counts, *chain.from_iterable(pairs)


async def _trends(calculation: Calculation, answer: FunnelAnswer) -> Any:
    query = answer.query
    spans = ranges_of(query, calculation.clock)
    intervals = [intervals_of(span, query.interval, calculation.clock) for span in spans]
    number = len(intervals[0].starts) * len(spans)
    require_few_numbers(number * (values_max(query) + 1), POINTS_MAX)
    funnels, total = await _with_largest_values(calculation, query, step_counts)
    lines = []
    for place, funnel in enumerate(funnels):
        rows = await calculation.rows(interval_counts(funnel, intervals[place].starts))
        shown = _without_hidden(query, rows)
        lines += await asyncio.to_thread(answer.trends, shown, intervals[place], place)
    return with_value_counts(lines, query.breakdowns, [total])


async def _times(calculation: Calculation, answer: FunnelAnswer) -> Any:
    """Return the distributions of times, which all have the same bins."""
    query = answer.query
    funnels, extents, total = await _rows_of_largest_values(calculation, query, time_extents)
    bins = shared_bins([row for rows in extents for row in rows], query.bin_count)
    entries = []
    for place, (funnel, rows) in enumerate(zip(funnels, extents, strict=True)):
        counts = await calculation.rows(binned_times(funnel, bins.start, bins.width))
        entries += answer.times(rows, counts, bins, place)
    return with_value_counts(entries, query.breakdowns, [total])


async def find_funnel_actors(
    calculation: Calculation, query: FunnelsQuery, place: FunnelPlace
) -> Statement:
    """Return the statement of the actors, each with the number of steps that it reached."""
    if query.counted_by is not None:
        detail = "Values of an expression have no list of persons."
        raise Invalid(detail, attr="funnel_aggregate_by_hogql")
    funnels = _funnels(calculation, query)
    if place.value == OTHER:
        funnels, _ = await _with_largest_values(calculation, query, step_counts)
    funnel = funnels[place.is_previous]
    if place.optional is not None:
        return actors_of_optional(funnel, place.optional, skipped=place.dropped, value=place.value)
    if not place.interval:
        return actors_of_steps(funnel, place.levels, place.value)
    intervals = intervals_of(funnel.span, query.interval, calculation.clock)
    start = interval_start(intervals, place.interval)
    return actors_of_interval(
        funnel, intervals.starts, start, dropped=place.dropped, value=place.value
    )


def _funnels(calculation: Calculation, query: FunnelsQuery) -> list[FunnelSql]:
    """Return the inputs to the funnel's statements, for each range of the question."""
    required = query.of_required()
    spans = ranges_of(query, calculation.clock)
    return [FunnelSql(calculation.context, required, span) for span in spans]


def funnel_sql(calculation: Calculation, query: FunnelsQuery) -> FunnelSql:
    """Return the inputs to the funnel's statements; raise Invalid for an empty range."""
    return FunnelSql(calculation.context, query.of_required(), query.span(calculation.clock))


def values_max(query: FunnelsQuery) -> int:
    """Return how many values of the breakdown have an entry; each cohort has one."""
    if query.breakdowns is None:
        return 1
    is_cohort = query.breakdowns.parts[0].type == "cohort"
    return len(query.breakdowns.parts) if is_cohort else query.breakdowns.limit


async def _rows_of_largest_values(
    calculation: Calculation, query: FunnelsQuery, count: Callable[[FunnelSql, int], Statement]
) -> tuple[list[FunnelSql], list[list[tuple[Any, ...]]], int]:
    """Return what `_with_largest_values` does, and between its parts the rows of each funnel.

    Args:
        count: Returns the statement of the rows, of which the first column is the value.
    """
    most = values_max(query) + 1
    funnels = _funnels(calculation, query)
    rows = [await calculation.rows(count(funnel, most)) for funnel in funnels]
    total = 0
    if query.breakdowns is not None:
        shown, total = _shown_values(query, rows), _total(rows[0])
        if shown is not None:  # else the same statements would be asked again
            funnels = [replace(funnel, shown=shown) for funnel in funnels]
            rows = [await calculation.rows(count(funnel, most)) for funnel in funnels]
    return funnels, [_without_hidden(query, of_range) for of_range in rows], total


async def _with_largest_values(
    calculation: Calculation, query: FunnelsQuery, count: Callable[[FunnelSql, int], Statement]
) -> tuple[list[FunnelSql], int]:
    """Return the funnels with the largest values as `shown`, and how many values there are.

    All other values become OTHER. All ranges show the same values: the largest of the question's
    range, then those of the previous one, as long as there is room.

    Args:
        count: Returns the statement of the values, of which the first column is the value.
    """
    funnels, most = _funnels(calculation, query), values_max(query)
    if query.breakdowns is None:
        return funnels, 0
    rows = [await calculation.rows(count(funnel, most + 1)) for funnel in funnels]
    shown = _shown_values(query, rows)
    return [replace(funnel, shown=shown) for funnel in funnels], _total(rows[0])


def _shown_values(
    query: FunnelsQuery, rows: Sequence[Sequence[tuple[Any, ...]]]
) -> list[str] | None:
    """Return the values with entries of their own, or None if all values have one."""
    most = values_max(query)
    values = list(dict.fromkeys(row[0] for of_range in rows for row in of_range[:most]))
    has_more = len(values) > most or any(len(of_range) > most for of_range in rows)
    return values[:most] if has_more else None


def _without_hidden(query: FunnelsQuery, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    if query.breakdowns is None or not query.breakdowns.hide_other:
        return rows
    return [row for row in rows if row[0] != OTHER]


_FILTER = Part(
    same_names(
        *("funnelVizType", "funnelOrderType", "funnelWindowInterval", "funnelWindowIntervalUnit"),
        *("funnelWindowDays", "funnelFromStep", "funnelToStep", "binCount", "exclusions"),
        *("breakdownAttributionType", "breakdownAttributionValue", "funnelAggregateByHogQL"),
        "customAggregationTarget",
    ),
    DRAWN
    | {
        *("funnelStepReference", "breakdownSorting", "funnelAdvanced"),
        "hideIncompleteConversionWindowPeriods",
    },
)
_PLACES: Final = {
    "funnelStep": "funnel_step",
    "funnelStepBreakdown": "funnel_step_breakdown",
    "funnelCustomSteps": "funnel_custom_steps",
    "funnelTrendsDropOff": "drop_off",
    "funnelTrendsEntrancePeriodStart": "entrance_period_start",
    "compare": "compare_label",
}
FUNNELS: Final = Kind(
    "FunnelsQuery",
    FunnelsQuery,
    read_funnels,
    calculate_funnels,
    form=StandardForm("FUNNELS", {"funnelsFilter": _FILTER}),
    path="funnel",
    actors=ActorsKind(
        "funnel",
        read_funnel_place,
        find_funnel_actors,
        frozenset(_PLACES.values()),
        _PLACES,
        ActorsSource("FunnelsActorsQuery", frozenset(_PLACES)),
    ),
    has_series=lambda query: query.visualization == "trends",
)
