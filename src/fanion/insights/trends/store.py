"""Calculates trends in the event store, and builds their results as clients read them.

source: cohorts.md section 23
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from fanion.cohorts.calculation.inputs_store import CohortInputs
from fanion.db.engine import Records
from fanion.errors import Invalid
from fanion.events.event import EventRejected
from fanion.events.storage.store import EventStore
from fanion.insights.date_range import DateRange, Intervals, RangeClock, cut, distance, previous
from fanion.insights.series import Series, series_body
from fanion.insights.series_sql import (
    NONE,
    OTHER,
    InsightStatement,
    SeriesQuery,
    largest_values,
    trend_statement,
)
from fanion.insights.trends.query import VALUES_MAX, TrendsQuery, for_project
from fanion.projects.model import Project
from fanion.properties.cohort_sql import micros

# A user waits for the answer.
SECONDS_MAX = 30
# Numbers in one result: a second's work at most, and a few megabytes of JSON.
POINTS_MAX = 200_000
ROLLING_DAYS = 7

_LABELS = {NONE: "None (i.e. no value)", OTHER: "Other (i.e. all remaining values)"}
_NO_TIME = Intervals((), (), ())

FIRST_EVENT = """
  SELECT count(), min(timestamp)
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND ({any_event:Bool} OR event IN {events:Array(String)})
"""


@dataclass(frozen=True, slots=True)
class SeriesCounts:
    """The counts of one series. rows: (interval in microseconds, value, number)

    is_previous: of the previous range, for comparison
    """

    series: Series
    order: int
    rows: Iterable[tuple[int, str, int]]
    intervals: Intervals
    is_previous: bool = False


@dataclass(frozen=True, slots=True)
class Trends:
    """raises (every call): EventStoreUnavailable, RecordsUnavailable, Invalid"""

    records: Records
    events: EventStore

    async def result(
        self, project: Project, query: TrendsQuery, now: datetime
    ) -> list[dict[str, Any]]:
        """One entry for each series and value. source: cohorts.md section 23"""
        query = for_project(query, project.test_account_filters)
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
        query = for_project(query, project.test_account_filters)
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

    async def rows(self, statement: InsightStatement) -> list[tuple[Any, ...]]:
        try:
            found = await self.events.ask(
                statement.text, statement.parameters, SECONDS_MAX, estimated=False
            )
        except EventRejected:
            raise Invalid("A filter compares a property with a value of another type.") from None
        return list(zip(*found.columns, strict=True))

    async def first_event(self, project_id: int, series: Collection[Series]) -> datetime | None:
        """The time of the oldest event of these series."""
        names = [one.event for one in series if one.event is not None]
        parameters: Mapping[str, Any] = {
            "project_id": project_id,
            "any_event": len(names) < len(series),
            "events": names,
        }
        [(number, first)] = await self.rows(InsightStatement(FIRST_EVENT, parameters))
        return first if number else None

    async def put_cohorts(self, project_id: int, cohort_ids: Collection[int]) -> UUID:
        """Copy the members, as last calculated, to where statements read them under this run."""
        run = uuid4()
        await CohortInputs(self.records, self.events).put(run, project_id, cohort_ids)
        return run


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


def trend_result(query: TrendsQuery, counts: Sequence[SeriesCounts]) -> list[dict[str, Any]]:
    """One entry for each series and value of the breakdown: series as asked, then the largest."""
    result = []
    for one in counts:
        found = _by_value(one)
        if query.breakdown is None:
            found = {"": found.get("", {})}
        entries = [_entry(query, one, value, numbers) for value, numbers in found.items()]
        result += sorted(entries, key=_size)
    return result


def _by_value(counted: SeriesCounts) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for bucket, value, number in counted.rows:
        found.setdefault(value, {})[bucket] = number
    return found


def _size(entry: Mapping[str, Any]) -> tuple[float, str]:
    return -entry.get("aggregated_value", entry["count"]), entry["label"]


def _entry(
    query: TrendsQuery, counted: SeriesCounts, value: str, numbers: Mapping[int, int]
) -> dict[str, Any]:
    intervals = _NO_TIME if query.totals else counted.intervals
    data = [float(numbers.get(one, 0)) for one in _micros(intervals.starts)]
    entry: dict[str, Any] = {
        "action": series_body(counted.series, counted.order),
        "label": _label(query, counted.series, value),
        "count": float(sum(data)),
        "data": data,
        "days": list(intervals.days),
        "labels": list(intervals.labels),
        "filter": {},
    }
    if query.breakdown is not None:
        entry["breakdown_value"] = value
    if query.compare:
        entry["compare"] = True
        entry["compare_label"] = "previous" if counted.is_previous else "current"
    if query.totals:
        return entry | {"aggregated_value": float(sum(numbers.values())), "persons": {}}
    return entry | {"persons_urls": []}


def _micros(starts: Sequence[datetime]) -> list[int]:
    return [micros(start) for start in starts]


def _label(query: TrendsQuery, series: Series, value: str) -> str:
    if query.breakdown is None:
        return series.name
    label = _LABELS.get(value, value)
    return label if len(query.series) == 1 else f"{series.name} - {label}"
