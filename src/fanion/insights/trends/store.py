"""Trends, asked of the event store."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
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
from fanion.insights.trends.date_range import Buckets, Clock, Span, cut, distance, previous
from fanion.insights.trends.filters_sql import Asked, Statement
from fanion.insights.trends.query import VALUES_MAX, TrendsQuery
from fanion.insights.trends.results import Counted, trend_result
from fanion.insights.trends.sql import FIRST_EVENT, largest_values, trend_statement
from fanion.projects.model import Project

# Somebody looks at the answer while it is made.
SECONDS_MAX = 30
# Numbers in one answer: a second's work at most, and a few megabytes of JSON.
POINTS_MAX = 200_000
ROLLING_DAYS = 7


@dataclass(frozen=True, slots=True)
class Trends:
    """raises (every call): EventStoreUnavailable, RecordsUnavailable, Invalid"""

    records: Records
    events: EventStore

    async def result(
        self, project: Project, query: TrendsQuery, now: datetime
    ) -> list[dict[str, Any]]:
        """One entry for each series and value. source: cohorts.md section 23"""
        zone = ZoneInfo(project.timezone)
        first = await self.first(project.id, query) if query.since.is_all else None
        span = query.span(Clock(now, zone, first))
        stretches = _stretches(query, span, zone)
        run = await self.handed_in(project.id, query.cohort_ids())
        counted = [
            replace(found, is_previous=place > 0, order=order)
            for order, series in enumerate(query.series)
            async for place, found in self._series(
                stretches, Asked(project.id, query, series, span, (), now, run)
            )
        ]
        return await asyncio.to_thread(trend_result, query, counted)

    async def rolling_average(self, project: Project, query: TrendsQuery, span: Span) -> float:
        """A day's average of the first series in a span of ROLLING_DAYS; 0 without a series.

        source: flags.md section 17
        """
        if not query.series:
            return 0.0
        zone, run = (
            ZoneInfo(project.timezone),
            await self.handed_in(project.id, query.cohort_ids()),
        )
        days = cut(span, "day", zone)
        one = replace(query, interval="day", totals=False, compare=False)
        asked = Asked(project.id, one, query.series[0], span, days.starts, span.end, run)
        found = await self._count(asked, days)
        entries = trend_result(one, [found])
        return sum(entries[0]["data"]) / ROLLING_DAYS if entries else 0.0

    async def _series(
        self, stretches: Sequence[tuple[Span, Buckets]], asked: Asked
    ) -> AsyncIterator[tuple[int, Counted]]:
        for place, (span, buckets) in enumerate(stretches):
            starts = () if asked.query.totals else buckets.starts
            one = replace(asked, span=span, starts=starts)
            yield place, await self._count(one, buckets)

    async def _count(self, asked: Asked, buckets: Buckets) -> Counted:
        rows = await self._ask(trend_statement(asked, None))
        if len({value for _, value, _ in rows}) > VALUES_MAX:
            values = await self._ask(largest_values(asked))
            shown = [value for (value,) in values]
            rows = await self._ask(trend_statement(asked, shown))
        return Counted(
            asked.series, 0, [(int(at), value, int(n)) for at, value, n in rows], buckets
        )

    async def _ask(self, statement: Statement) -> list[tuple[Any, ...]]:
        try:
            found = await self.events.ask(
                statement.text, statement.parameters, SECONDS_MAX, estimated=False
            )
        except EventRejected:
            raise Invalid("A filter compares with a value that cannot be compared.") from None
        return list(zip(*found.columns, strict=True))

    async def first(self, project_id: int, query: TrendsQuery) -> datetime | None:
        names = [one.event for one in query.series]
        known = [name for name in names if name is not None]
        asked: Mapping[str, Any] = {
            "project_id": project_id,
            "any_event": len(known) < len(names),
            "events": known,
        }
        [(number, first)] = await self._ask(Statement(FIRST_EVENT, asked))
        return first if number else None

    async def handed_in(self, project_id: int, cohort_ids: Sequence[int]) -> UUID:
        """Members of the cohorts, as last calculated, to where statements find them."""
        run = uuid4()
        await CohortInputs(self.records, self.events).put(run, project_id, cohort_ids)
        return run


def _stretches(query: TrendsQuery, span: Span, zone: ZoneInfo) -> list[tuple[Span, Buckets]]:
    """The time that is asked about, then the one to compare with. raises: Invalid"""
    interval = query.cut_by
    buckets = cut(span, interval, zone)
    values = VALUES_MAX + 1 if query.breakdown is not None else 1
    points = 1 if query.totals else len(buckets.starts)
    if points * values * len(query.series) * (2 if query.compare else 1) > POINTS_MAX:
        raise Invalid(f"The answer has more than {POINTS_MAX} numbers.", attr="interval")
    stretches = [(span, buckets)]
    if query.compare:
        number = distance(query.since, query.until, buckets, interval, zone)
        before = previous(span, number, interval, zone)
        stretches.append((before, cut(before, interval, zone)))
    return stretches
