"""Calculation of trends in the event store."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from fanion.errors import Invalid
from fanion.insights.date_range import DateRange, Intervals, RangeClock, cut, distance, previous
from fanion.insights.events_store import InsightEvents
from fanion.insights.filters_sql import SeriesQuery
from fanion.insights.series import Series
from fanion.insights.trends.query import VALUES_MAX, TrendsQuery
from fanion.insights.trends.results import SeriesCounts, trend_result
from fanion.insights.trends.sql import largest_values, trend_statement
from fanion.projects.model import Project

# Numbers in one result: a second's work at most, and a few megabytes of JSON.
POINTS_MAX = 200_000
ROLLING_DAYS = 7


@dataclass(frozen=True, slots=True)
class Trends(InsightEvents):
    """raises (every call): EventStoreUnavailable, RecordsUnavailable, Invalid"""

    async def result(
        self, project: Project, query: TrendsQuery, now: datetime
    ) -> list[dict[str, Any]]:
        """One entry for each series and value. source: cohorts.md section 23"""
        zone = ZoneInfo(project.timezone)
        first = await self.first_event(project.id, query.series) if query.since.is_all else None
        span = query.span(RangeClock(now, zone, first))
        ranges = _ranges(query, span, zone)
        run = await self.put_cohorts(project.id, query.cohort_ids())
        counted = [
            replace(found, is_previous=place > 0, order=order)
            for order, series in enumerate(query.series)
            async for place, found in self._series(
                ranges,
                _series_query(project.id, query, series, span, now, run),
                totals=query.totals,
            )
        ]
        return await asyncio.to_thread(trend_result, query, counted)

    async def rolling_average(self, project: Project, query: TrendsQuery, span: DateRange) -> float:
        """A day's average of the first series in a span of ROLLING_DAYS; 0 without a series.

        source: flags.md section 17
        """
        if not query.series:
            return 0.0
        run = await self.put_cohorts(project.id, query.cohort_ids())
        days = cut(span, "day", ZoneInfo(project.timezone))
        one = replace(query, interval="day", totals=False, compare=False)
        asked = _series_query(project.id, one, query.series[0], span, span.end, run)
        found = await self._count(replace(asked, starts=days.starts), days)
        entries = trend_result(one, [found])
        return sum(entries[0]["data"]) / ROLLING_DAYS if entries else 0.0

    async def _series(
        self, ranges: Sequence[tuple[DateRange, Intervals]], asked: SeriesQuery, *, totals: bool
    ) -> AsyncIterator[tuple[int, SeriesCounts]]:
        for place, (span, intervals) in enumerate(ranges):
            starts = () if totals else intervals.starts
            one = replace(asked, span=span, starts=starts)
            yield place, await self._count(one, intervals)

    async def _count(self, asked: SeriesQuery, intervals: Intervals) -> SeriesCounts:
        rows = await self.rows(trend_statement(asked, None))
        if len({value for _, value, _ in rows}) > VALUES_MAX:
            values = await self.rows(largest_values(asked))
            largest = [value for (value,) in values]
            rows = await self.rows(trend_statement(asked, largest))
        return SeriesCounts(
            asked.series, 0, [(int(at), value, int(n)) for at, value, n in rows], intervals
        )


def _series_query(
    project_id: int, query: TrendsQuery, series: Series, span: DateRange, now: datetime, run: UUID
) -> SeriesQuery:
    return SeriesQuery(project_id, query.properties, query.breakdown, series, span, (), now, run)


def _ranges(
    query: TrendsQuery, span: DateRange, zone: ZoneInfo
) -> list[tuple[DateRange, Intervals]]:
    """The range of the query, then the previous one to compare with. raises: Invalid"""
    interval = query.effective_interval
    intervals = cut(span, interval, zone)
    values = VALUES_MAX + 1 if query.breakdown is not None else 1
    points = 1 if query.totals else len(intervals.starts)
    if points * values * len(query.series) * (2 if query.compare else 1) > POINTS_MAX:
        raise Invalid(
            f"The result has more than {POINTS_MAX} numbers. Use a shorter date range.",
            attr="interval",
        )
    ranges = [(span, intervals)]
    if query.compare:
        number = distance(query.since, query.until, intervals, interval, zone)
        before = previous(span, number, interval, zone)
        ranges.append((before, cut(before, interval, zone)))
    return ranges
