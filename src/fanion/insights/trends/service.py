"""Trends, calculated in the event store: events, persons, sessions or a property by interval.

Source: insights.md, sections 1b, 4 and 13; cohorts.md, section 23.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fanion.insights.calculation.cohort_names_store import cohort_names
from fanion.insights.calculation.kind_service import (
    NEWER_SERIES_PLACES,
    SERIES_PLACES,
    ActorsKind,
    Kind,
)
from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.calculation.service import Analysis, Calculation, require_few_numbers
from fanion.insights.calculation.value_counts import with_value_counts
from fanion.insights.dates.intervals import DateRange, cut_into_intervals
from fanion.insights.parsing.query_names import DRAWN, Part, same_names
from fanion.insights.parsing.translation import StandardForm
from fanion.insights.sql.breakdown import Bins, equal_bins
from fanion.insights.sql.compiler import Statement
from fanion.insights.trends.actors_sql import actors_statement, extent_statement
from fanion.insights.trends.frames import (
    Frame,
    Numbers,
    Row,
    frames_of,
    numbers_of_rows,
    query_of_series,
)
from fanion.insights.trends.places import (
    TrendPlace,
    group_type_of_trend,
    query_of_cell,
    read_trends_place,
)
from fanion.insights.trends.query import TrendsQuery, read_trends
from fanion.insights.trends.result import FrameNumbers, largest_values, trend_result
from fanion.insights.trends.rows_sql import SeriesQuery
from fanion.insights.trends.sql import ranked_trend_statement, trend_statement
from fanion.insights.trends.week_service import calculate_week
from fanion.projects.model import Project

# Numbers in one result: a second's work at most, and a few megabytes of JSON.
POINTS_MAX = 200_000
ROLLING_DAYS = 7


async def calculate_trends(calculation: Calculation, query: TrendsQuery) -> Any:
    """Return one entry for each series or formula, and value of the breakdown.

    With a breakdown, the entries are `results` beside the numbers of values in the current range.
    """
    if query.shape == "week":
        return await calculate_week(calculation, query)
    frames = frames_of(query, calculation.clock)
    require_few_numbers(_numbers_max(query, len(frames[0].intervals.starts)), POINTS_MAX)
    numbers = [await _numbers(calculation, query, frame) for frame in frames]
    urls = PeopleUrls(calculation.project.id, "trends", query.scope.sent)
    entries = await asyncio.to_thread(trend_result, query, numbers, urls, calculation.now)
    return with_value_counts(entries, query.breakdowns, numbers[0].values)


def _numbers_max(query: TrendsQuery, intervals: int) -> int:
    values = query.breakdowns.limit + 1 if query.breakdowns is not None else 1
    points = 1 if query.totals else intervals
    entries = max(len(query.series), len(query.formulas)) * values * (2 if query.compare else 1)
    return points * entries


async def _numbers(calculation: Calculation, query: TrendsQuery, frame: Frame) -> FrameNumbers:
    queries = await series_queries(calculation, query, frame)
    rows = [await _first_rows(calculation, series_query) for series_query in queries]
    names = await cohort_names(calculation.records, calculation.project.id, query.breakdowns)
    if query.formulas and _has_more(query, rows):
        return replace(await _ranked(calculation, query, frame, queries), cohorts=names)
    totals = _totals(query, rows)
    for order, values in enumerate(shown_values(query, rows)):
        if values is not None and not queries[order].series.math.is_summed:
            rows[order] = await _rows(calculation, queries[order], values)
    pairs = zip(queries, rows, strict=True)
    numbers = [numbers_of_rows(*pair, frame, calculation.zone) for pair in pairs]
    return FrameNumbers(frame, numbers, cohorts=names, values=totals)


def _totals(query: TrendsQuery, rows: Sequence[Sequence[Row]]) -> list[int | None]:
    """Return how many values of the breakdown each series has, or those of a formula together.

    Args:
        rows: The rows of each series. Those of a formula have a row for each value.
    """
    if not query.formulas:
        return [_total(series_rows) for series_rows in rows]
    together: int | None = len(_values_of(rows))
    if any(_total(series_rows) > len(series_rows) for series_rows in rows):
        together = None
    return [together] * len(query.formulas)


def _total(rows: Sequence[Row]) -> int:
    return int(rows[0][-1]) if rows else 0


def _values_of(rows: Sequence[Sequence[Row]]) -> set[str]:
    return {value for series_rows in rows for value, *_ in series_rows}


async def _ranked(
    calculation: Calculation, query: TrendsQuery, frame: Frame, queries: Sequence[SeriesQuery]
) -> FrameNumbers:
    """Return the numbers of the values that have the largest results of each formula.

    They are chosen from the values with the most in a series, as many as one answer can hold.
    """
    points = max(len(frame.intervals.starts), 1) * len(queries)
    limit = query.breakdowns.limit if query.breakdowns is not None else 1
    most = max(limit, POINTS_MAX // points)
    rows = [await _rows(calculation, series_query, None, most) for series_query in queries]
    pairs = zip(queries, rows, strict=True)
    every = [numbers_of_rows(*pair, frame, calculation.zone) for pair in pairs]
    of_values: dict[tuple[str, ...], Sequence[Numbers]] = {}
    of_formulas = []
    for formula in query.formulas:
        values = tuple(await asyncio.to_thread(largest_values, query, frame, every, formula))
        if values not in of_values:
            of_values[values] = [
                numbers_of_rows(
                    series_query,
                    await _rows(calculation, series_query, values),
                    frame,
                    calculation.zone,
                )
                for series_query in queries
            ]
        of_formulas.append(of_values[values])
    return FrameNumbers(frame, every, of_formulas, values=_totals(query, rows))


async def series_queries(
    calculation: Calculation, query: TrendsQuery, frame: Frame
) -> list[SeriesQuery]:
    """Return each series in one range, with the bins of its histograms."""
    queries = []
    for series in query.series:
        series_query = query_of_series(calculation.context, query, series, frame, calculation.clock)
        queries.append(await _with_bins(calculation, series_query))
    return queries


async def find_trends_actors(
    calculation: Calculation, query: TrendsQuery, place: TrendPlace
) -> Statement:
    """Return the statement of the actors that the number counts, each with its events."""
    frame = frames_of(query, calculation.clock)[1 if place.is_previous else 0]
    series = query.series[place.series]
    series_query = query_of_series(calculation.context, query, series, frame, calculation.clock)
    series_query = await _with_bins(calculation, series_query)
    cell_query = query_of_cell(query, series_query, place, frame, calculation.clock)
    if not place.is_other:
        return actors_statement(cell_query, place.values)
    rows = await _rows(calculation, series_query, None)
    return actors_statement(cell_query, (), [value for value, *_ in rows[: series_query.limit]])


async def _with_bins(calculation: Calculation, series_query: SeriesQuery) -> SeriesQuery:
    bins: dict[int, Bins] = {}
    for index, part in enumerate(series_query.breakdowns.parts if series_query.breakdowns else ()):
        if part.bins is not None and part.type != "cohort":
            [(least, greatest)] = await calculation.rows(extent_statement(series_query, index))
            bins[index] = Bins() if least is None else equal_bins(least, greatest, part.bins)
    return replace(series_query, bins=bins)


async def _first_rows(calculation: Calculation, series_query: SeriesQuery) -> list[Row]:
    """Return the rows of the largest values, with OTHER among them where one pass can tell it."""
    if series_query.breakdowns is None or not series_query.series.math.is_summed:
        return await _rows(calculation, series_query, None)
    return _as_rows(await calculation.rows(ranked_trend_statement(series_query)))


async def _rows(
    calculation: Calculation,
    series_query: SeriesQuery,
    values: Sequence[str] | None,
    most: int | None = None,
) -> list[Row]:
    return _as_rows(await calculation.rows(trend_statement(series_query, values, most)))


def _as_rows(rows: Sequence[tuple[Any, ...]]) -> list[Row]:
    return [(value, buckets, totals, values) for value, buckets, totals, values in rows]


def _has_more(query: TrendsQuery, rows: Sequence[Sequence[Row]]) -> bool:
    """Return whether all series together have more values than are shown."""
    if query.breakdowns is None:
        return False
    return len(_values_of(rows)) > query.breakdowns.limit


def shown_values(query: TrendsQuery, rows: Sequence[Sequence[Row]]) -> list[Sequence[str] | None]:
    """Return the values of each series that are shown beside Other, None if all are shown.

    Args:
        rows: The rows of each series, the largest values first.
    """
    if query.breakdowns is None:
        return [None] * len(rows)
    limit = query.breakdowns.limit
    return [
        [value for value, *_ in series_rows[:limit]] if len(series_rows) > limit else None
        for series_rows in rows
    ]


@dataclass(frozen=True, slots=True)
class RollingAverage:
    """The average of a trend over several days.

    Every call raises EventStoreUnavailable, RecordsUnavailable or Invalid.
    """

    analysis: Analysis

    async def daily_average(self, project: Project, query: TrendsQuery, span: DateRange) -> float:
        """Return a day's average of the first entry in a span of ROLLING_DAYS; 0 without a series.

        Source: flags.md, section 17.
        """
        if not query.series:
            return 0.0
        daily = replace(query, interval="day", shape="series", compare=False, smoothed=1)
        if not daily.formulas:
            daily = replace(daily, series=daily.series[:1])

        async def calculate() -> float:
            query, calculation = await self.analysis.begin(project, daily, span.end)
            frame = Frame(span, cut_into_intervals(span, "day", calculation.zone))
            numbers = await _numbers(calculation, query, frame)
            entries = trend_result(query, [numbers], None, calculation.now)
            return sum(entries[0]["data"]) / ROLLING_DAYS if entries else 0.0

        return await self.analysis.complete(project, calculate)


_FILTER = Part(
    {
        **same_names("display", "formula", "formulas", "smoothingIntervals", "compare"),
        "formulaNodes": "formulaNodes",
        "breakdown_histogram_bin_count": "breakdown_histogram_bin_count",
    },
    DRAWN,
)
TRENDS: Final = Kind(
    "TrendsQuery",
    TrendsQuery,
    read_trends,
    calculate_trends,
    form=StandardForm("TRENDS", {"trendsFilter": _FILTER}),
    path="trend",
    actors=ActorsKind(
        "trends",
        read_trends_place,
        find_trends_actors,
        SERIES_PLACES
        | {"day", "people_day", "breakdown_value", "compare_label", "weekday", "hour"},
        {**NEWER_SERIES_PLACES, "day": "day", "breakdown": "breakdown_value"},
        group_type=group_type_of_trend,
    ),
    has_series=lambda query: query.shape != "week",
)
