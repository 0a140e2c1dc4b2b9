"""A cache of insight results in the records store, shared by all servers."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, delete, select

from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.insights import insight_results
from fanion.insights.model import NO_RESULT, RESULT_MAX_AGE, CachedResult, filters_hash, is_fresh
from fanion.insights.trends.query import TrendsQuery, excludes_test_accounts, parse_trends
from fanion.insights.trends.store import Trends
from fanion.projects.model import Project

RESULTS_MAX = 1_000  # of one project; some kilobytes each

_result = insight_results.c


@dataclass(frozen=True, slots=True)
class ResultStore:
    records: Records

    async def get(
        self, project_id: int, hashes: Sequence[str], now: datetime
    ) -> Mapping[str, CachedResult]:
        """By hash; what was never calculated, or too long ago, is absent."""
        statement = select(_result.filters_hash, _result.result, _result.calculated_at).where(
            _result.project_id == project_id,
            _result.filters_hash.in_(hashes),
            _result.calculated_at > now - RESULT_MAX_AGE,
        )
        rows = await self.records.fetch(statement)
        return {
            row.filters_hash: CachedResult(row.result, row.calculated_at, is_cached=True)
            for row in rows
        }

    async def put(
        self, project_id: int, filters_hash: str, result: list[dict[str, Any]], now: datetime
    ) -> None:
        async with self.records.write() as connection:
            await connection.run_sync(_put, project_id, filters_hash, result, now)


def _put(
    connection: Connection,
    project_id: int,
    filters_hash: str,
    result: list[dict[str, Any]],
    now: datetime,
) -> None:
    statement = upsert(connection.dialect, insight_results).values(
        project_id=project_id, filters_hash=filters_hash, result=result, calculated_at=now
    )
    new = statement.excluded
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id", "filters_hash"],
            set_={"result": new.result, "calculated_at": new.calculated_at},
        )
    )
    oldest_kept = (
        select(_result.calculated_at)
        .where(_result.project_id == project_id)
        .order_by(_result.calculated_at.desc())
        .offset(RESULTS_MAX)
        .limit(1)
    )
    connection.execute(delete(insight_results).where(_result.calculated_at <= now - RESULT_MAX_AGE))
    connection.execute(
        delete(insight_results).where(
            _result.project_id == project_id,
            _result.calculated_at <= oldest_kept.scalar_subquery(),
        )
    )


Filters = Mapping[str, Any]


def _key(project: Project, filters: Filters) -> str:
    """Another one as soon as the project's conditions on test accounts are others."""
    within = project.test_account_filters if excludes_test_accounts(filters) else ()
    return filters_hash(filters, project.timezone, within=within)


class ResultCache:
    """Concurrent requests for the same result wait for one calculation.

    raises (every call): RecordsUnavailable; where something is calculated also Invalid for
    filters that cannot be, and EventStoreUnavailable
    """

    def __init__(self, trends: Trends, store: ResultStore) -> None:
        self._trends = trends
        self._store = store
        self._running: dict[tuple[int, str], asyncio.Task[CachedResult]] = {}

    async def cached(
        self, project: Project, asked: Sequence[Filters], now: datetime
    ) -> Sequence[CachedResult]:
        """For each of the filters the last result, not older than RESULT_MAX_AGE."""
        hashes = [_key(project, filters) for filters in asked]
        found = await self._store.get(project.id, hashes, now) if hashes else {}
        return [found.get(one, NO_RESULT) for one in hashes]

    async def get_or_calculate(
        self, project: Project, filters: Filters, now: datetime
    ) -> CachedResult:
        """The cached result if it is fresh, else a new one."""
        query = parse_trends(filters)
        [known] = await self.cached(project, [filters], now)
        zone = ZoneInfo(project.timezone)
        if known.calculated_at and is_fresh(query, known.calculated_at, now, zone):
            return known
        return await self._calculate_once(project, filters, query, now)

    async def calculate(self, project: Project, filters: Filters, now: datetime) -> CachedResult:
        return await self._calculate_once(project, filters, parse_trends(filters), now)

    async def _calculate_once(
        self, project: Project, filters: Filters, query: TrendsQuery, now: datetime
    ) -> CachedResult:
        key = project.id, _key(project, filters)
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(self._calculate(project, query, key[1], now))
            task.add_done_callback(lambda done: self._ended(key, done))
            self._running[key] = task
        return await asyncio.shield(task)

    def _ended(self, key: tuple[int, str], done: "asyncio.Task[CachedResult]") -> None:
        """Retrieve the error even when no waiter is left, so that asyncio does not log it."""
        self._running.pop(key, None)
        if not done.cancelled():
            done.exception()

    async def _calculate(
        self, project: Project, query: TrendsQuery, key: str, now: datetime
    ) -> CachedResult:
        result = await self._trends.result(project, query, now)
        await self._store.put(project.id, key, result, now)
        return CachedResult(result, now, is_cached=False)
