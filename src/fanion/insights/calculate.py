"""Results of insights: what was calculated before, or calculated now."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from fanion.insights.model import NO_ANSWER, Answer, filters_hash, is_fresh
from fanion.insights.result_cache import ResultStore
from fanion.insights.trends.query import TrendsQuery, parse_trends
from fanion.insights.trends.store import Trends
from fanion.projects.model import Project

Filters = Mapping[str, Any]


class Results:
    """Who asks for what is being calculated waits for the same calculation.

    raises (every call): RecordsUnavailable; where something is calculated also Invalid for
    filters that cannot be, and EventStoreUnavailable
    """

    def __init__(self, trends: Trends, kept: ResultStore) -> None:
        self._trends = trends
        self._kept = kept
        self._running: dict[tuple[int, str], asyncio.Task[Answer]] = {}

    async def known(
        self, project: Project, asked: Sequence[Filters], now: datetime
    ) -> Sequence[Answer]:
        """For each of the filters what was calculated last, however old, within KEPT."""
        hashes = [filters_hash(filters, project.timezone) for filters in asked]
        found = await self._kept.get(project.id, hashes, now) if hashes else {}
        return [found.get(one, NO_ANSWER) for one in hashes]

    async def fresh(self, project: Project, filters: Filters, now: datetime) -> Answer:
        """Calculated now, unless that was done a moment ago."""
        query = parse_trends(filters)
        [known] = await self.known(project, [filters], now)
        zone = ZoneInfo(project.timezone)
        if known.calculated_at and is_fresh(query, known.calculated_at, now, zone):
            return known
        return await self._calculated(project, filters, query, now)

    async def anew(self, project: Project, filters: Filters, now: datetime) -> Answer:
        return await self._calculated(project, filters, parse_trends(filters), now)

    async def _calculated(
        self, project: Project, filters: Filters, query: TrendsQuery, now: datetime
    ) -> Answer:
        key = project.id, filters_hash(filters, project.timezone)
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(self._calculate(project, query, key[1], now))
            task.add_done_callback(lambda done: self._ended(key, done))
            self._running[key] = task
        return await asyncio.shield(task)

    def _ended(self, key: tuple[int, str], done: "asyncio.Task[Answer]") -> None:
        """Whoever waited may be gone: the error is taken off the task in any case."""
        self._running.pop(key, None)
        if not done.cancelled():
            done.exception()

    async def _calculate(
        self, project: Project, query: TrendsQuery, key: str, now: datetime
    ) -> Answer:
        result = await self._trends.result(project, query, now)
        await self._kept.put(project.id, key, result, now)
        return Answer(result, now, is_cached=False)
