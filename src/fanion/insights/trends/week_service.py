"""Trends by weekday and hour, calculated in the event store.

Source: insights.md, section 4.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fanion.insights.calculation.entity_action import entity_action
from fanion.insights.calculation.service import Calculation
from fanion.insights.dates.offsets import offsets_in
from fanion.insights.trends.frames import frames_of, query_of_series
from fanion.insights.trends.query import Series, TrendsQuery
from fanion.insights.trends.rows_sql import SeriesQuery
from fanion.insights.trends.sql import trend_statement
from fanion.insights.trends.week import DAYS, HOURS, SIZES, Part, WeekPart

_Numbers = Mapping[Part, Sequence[float]]


async def calculate_week(calculation: Calculation, query: TrendsQuery) -> list[dict[str, Any]]:
    """Return one entry, with a number for each hour of each weekday; none without a series."""
    [frame, *_] = frames_of(query, calculation.clock)
    entries = []
    for series in query.series:
        series_query = query_of_series(calculation.context, query, series, frame, calculation.clock)
        offsets = await asyncio.to_thread(offsets_in, frame.span, calculation.zone)
        series_query = replace(series_query, starts=(), week=WeekPart(offsets))
        entries.append(_entry(series, await _numbers(calculation, series_query)))
    return entries


async def _numbers(calculation: Calculation, query: SeriesQuery) -> _Numbers:
    """Return all numbers; persons, and what is not a sum, are counted for each part again."""
    cells = await _numbers_of(calculation, query, "cell")
    if query.series.math.is_summed:
        return _added(cells)
    others: Sequence[Part] = ("weekday", "hour", "all")
    return {
        "cell": cells,
        **{part: await _numbers_of(calculation, query, part) for part in others},
    }


async def _numbers_of(calculation: Calculation, query: SeriesQuery, part: Part) -> Sequence[float]:
    assert query.week is not None
    of_part = replace(query, week=replace(query.week, part=part))
    numbers = [0.0] * SIZES[part]
    for _, places, totals, _ in await calculation.rows(trend_statement(of_part, None)):
        for place, total in zip(places, totals, strict=True):
            numbers[place] = float(total)
    return numbers


def _added(cells: Sequence[float]) -> _Numbers:
    return {
        "cell": cells,
        "weekday": [sum(cells[day * HOURS : (day + 1) * HOURS]) for day in range(DAYS)],
        "hour": [sum(cells[hour::HOURS]) for hour in range(HOURS)],
        "all": [sum(cells)],
    }


def _entry(series: Series, numbers: _Numbers) -> dict[str, Any]:
    """Return the entry of a series. Rows are weekdays from 1 for Monday, columns are hours."""
    cells, days, hours = numbers["cell"], numbers["weekday"], numbers["hour"]
    return {
        "action": entity_action(series.entity, 0),
        "label": series.entity.label,
        "count": numbers["all"][0],
        "data": [],
        "labels": [],
        "days": [],
        "calendar_heatmap_data": {
            "data": [
                {"row": place // HOURS + 1, "column": place % HOURS, "value": value}
                for place, value in enumerate(cells)
            ],
            "rowAggregations": [{"row": row, "value": value} for row, value in enumerate(days, 1)],
            "columnAggregations": [
                {"column": column, "value": value} for column, value in enumerate(hours)
            ],
            "allAggregations": numbers["all"][0],
        },
    }
