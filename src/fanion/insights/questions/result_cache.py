"""A cache of insight results in the records store, shared by all servers."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, delete, select

from fanion.db.bulk import upsert
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.insights import insight_results
from fanion.errors import Invalid, Unavailable
from fanion.events.event import EventStoreUnavailable
from fanion.events.turns.asker_service import shared_context
from fanion.insights.calculation.service import resolve_query
from fanion.insights.dates.bounds import FROM_DEFAULT, LEFT_OUT, parse_bound
from fanion.insights.model import NO_RESULT, RESULT_MAX_AGE, CachedResult, is_fresh
from fanion.insights.query import InsightQuery, scopes_of, with_scope
from fanion.insights.questions.question_key import question_key
from fanion.insights.retention.query import RetentionQuery
from fanion.projects.model import Project

BEHIND_MAX = 50  # calculations in the background at once
RESULTS_MAX = 1_000  # in one project; some kilobytes each
REFUSED_MAX = 1_000  # questions that could not be calculated, as one server remembers them

_result = insight_results.c


@dataclass(frozen=True, slots=True)
class ResultStore:
    records: Records

    async def load_results(
        self, project_id: int, hashes: Sequence[str], now: datetime
    ) -> Mapping[str, CachedResult]:
        """Return results by hash, without those that were never calculated, or too long ago."""
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

    async def store_result(
        self, project_id: int, filters_hash: str, result: Any, now: datetime
    ) -> None:
        async with self.records.write() as connection:
            await connection.run_sync(_store_result, project_id, filters_hash, result, now)


def _store_result(
    connection: Connection,
    project_id: int,
    filters_hash: str,
    result: Any,
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


def cache_key(project: Project, query: InsightQuery) -> str:
    """Return the cache key, which covers the settings of the project that the answer depends on."""
    is_filtered = any(scope.filter_test_accounts for scope in scopes_of(query))
    within = project.test_account_filters if is_filtered else ()
    week = project.timezone, project.week_start_day
    rules = project.path_cleaning_filters
    return question_key(_with_usual_start(query), *week, within, rules)


def _with_usual_start(query: InsightQuery) -> InsightQuery:
    """Return a question without a start as one with the usual start, which asks for the same.

    Retention without a start begins as many intervals before its end.
    """
    if query.scope.since != LEFT_OUT or isinstance(query, RetentionQuery):
        return query
    return with_scope(query, replace(query.scope, since=parse_bound(FROM_DEFAULT, "date_from")))


_Key = tuple[int, str]  # project, question


@dataclass(slots=True)
class _Run:
    """A running calculation.

    Attributes:
        waiting: The number of callers that wait for it.
    """

    task: "asyncio.Task[CachedResult]"
    waiting: int = 0


class Calculator(Protocol):
    """The calculation of the questions that one cache keeps the answers of."""

    async def answer(
        self, project: Project, query: InsightQuery, now: datetime
    ) -> Mapping[str, Any]:
        """Return the `results`, and what there is beside them."""
        ...


class ResultCache:
    """The cache of results, which calculates what it does not have.

    Concurrent requests for the same result wait for one calculation. Every call raises
    RecordsUnavailable; where something is calculated also EventStoreUnavailable, and Invalid for
    questions that cannot be calculated.
    """

    def __init__(self, calculator: Calculator, store: ResultStore) -> None:
        self._calculator = calculator
        self._store = store
        self._running: dict[_Key, _Run] = {}
        self._behind: set[asyncio.Task[None]] = set()
        self._refused: dict[_Key, datetime] = {}

    @property
    def waiting(self) -> int:
        """Return how many callers wait for calculations."""
        return sum(run.waiting for run in self._running.values())

    async def cached(
        self, project: Project, queries: Sequence[InsightQuery | None], now: datetime
    ) -> Sequence[CachedResult]:
        """Return the last result of each question that is not older than RESULT_MAX_AGE.

        Args:
            queries: The questions; None for a stored one that cannot be calculated.
        """
        resolved = [await self._resolved(project, query) for query in queries]
        keys = [None if query is None else cache_key(project, query) for query in resolved]
        known = [key for key in keys if key is not None]
        results = await self._store.load_results(project.id, known, now) if known else {}
        return [results.get(key or "", NO_RESULT) for key in keys]

    async def _resolved(self, project: Project, query: InsightQuery | None) -> InsightQuery | None:
        """Return a question with the conditions of its actions, None if one does not exist."""
        if query is None:
            return None
        try:
            return await resolve_query(self._store.records, project.id, query)
        except Invalid:
            return None

    async def get_or_calculate(
        self, project: Project, query: InsightQuery, now: datetime
    ) -> CachedResult:
        """Return the cached result if it is fresh, else a new one."""
        [known] = await self.cached(project, [query], now)
        if _is_fresh(project, query, known.calculated_at, now):
            return known
        return await self.calculate(project, query, now)

    async def cached_and_renewed(
        self,
        project: Project,
        queries: Sequence[InsightQuery | None],
        now: datetime,
        *,
        with_missing: bool = False,
    ) -> Sequence[CachedResult]:
        """Return what `cached` does, and renew results that are not fresh for the next request.

        They are calculated in the background. One that cannot be calculated is not tried again
        before a result would be renewed.

        Args:
            with_missing: Whether those that were never calculated are calculated, too.
        """
        resolved = [await self._resolved(project, query) for query in queries]
        results = await self.cached(project, resolved, now)
        return [
            self._renewed(project, query, known, now, with_missing=with_missing)
            for query, known in zip(resolved, results, strict=True)
        ]

    def _renewed(
        self,
        project: Project,
        query: InsightQuery | None,
        known: CachedResult,
        now: datetime,
        *,
        with_missing: bool,
    ) -> CachedResult:
        if query is None:
            return replace(known, is_refused=True)
        key = project.id, cache_key(project, query)
        if _is_fresh(project, query, self._refused.get(key), now):
            return replace(known, is_refused=True)
        is_stale = with_missing or known.calculated_at is not None
        if is_stale and not _is_fresh(project, query, known.calculated_at, now):
            self._renew_in_background(key, project, query, now)
        return known

    def _renew_in_background(
        self, key: _Key, project: Project, query: InsightQuery, now: datetime
    ) -> None:
        if key in self._running or len(self._behind) >= BEHIND_MAX:
            return
        work = self._renew(key, project, query, now)
        task = asyncio.create_task(work, context=shared_context())
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def _renew(self, key: _Key, project: Project, query: InsightQuery, now: datetime) -> None:
        self._refused.pop(key, None)
        try:
            with suppress(Unavailable, EventStoreUnavailable, RecordsUnavailable):
                await self.calculate(project, query, now)
        except Invalid:
            self._refused[key] = now
            while len(self._refused) > REFUSED_MAX:
                del self._refused[next(iter(self._refused))]

    async def background_done(self) -> None:
        """Return once nothing is calculated in the background any more."""
        while self._behind:
            await asyncio.wait(list(self._behind))

    async def close(self) -> None:
        """Cancel the calculations in the background."""
        behind = list(self._behind)
        for task in behind:
            task.cancel()
        await asyncio.gather(*behind, return_exceptions=True)

    async def calculate(self, project: Project, query: InsightQuery, now: datetime) -> CachedResult:
        """Return a new result.

        The calculation ends early when no client waits for it any more.
        """
        query = await resolve_query(self._store.records, project.id, query)
        key = project.id, cache_key(project, query)
        run = self._running.get(key)
        if run is None:
            work = self._calculate(project, query, key[1], now)
            run = _Run(asyncio.create_task(work, context=shared_context()))
            run.task.add_done_callback(partial(self._ended, key))
            self._running[key] = run
        run.waiting += 1
        try:
            return await asyncio.shield(run.task)
        finally:
            run.waiting -= 1
            if not run.waiting and not run.task.done():
                self._forget(key, run.task)
                run.task.cancel()

    def _ended(self, key: _Key, done: "asyncio.Task[CachedResult]") -> None:
        """Retrieve the error even when no waiter is left, so that asyncio does not log it."""
        self._forget(key, done)
        if not done.cancelled():
            done.exception()

    def _forget(self, key: _Key, task: "asyncio.Task[CachedResult]") -> None:
        """Remove a calculation, unless another one has begun under its key."""
        run = self._running.get(key)
        if run is not None and run.task is task:
            del self._running[key]

    async def _calculate(
        self, project: Project, query: InsightQuery, key: str, now: datetime
    ) -> CachedResult:
        answer = await self._calculator.answer(project, query, now)
        await self._store.store_result(project.id, key, answer, now)
        return CachedResult(answer, now, is_cached=False)


def _is_fresh(project: Project, query: InsightQuery, at: datetime | None, now: datetime) -> bool:
    return at is not None and is_fresh(query, at, now, ZoneInfo(project.timezone))
