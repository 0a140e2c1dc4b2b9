"""Dashboards with the results of their tiles, and changes of dashboards, each in one transaction.

Source: cohorts.md, section 21.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.errors import Invalid, NotFound
from fanion.insights.dashboards.model import StoredDashboard
from fanion.insights.dashboards.refresh_store import DashboardRefreshStore
from fanion.insights.dashboards.store import (
    DashboardStore,
    create_dashboard,
    lock_dashboard,
    write_dashboard,
)
from fanion.insights.kinds.validation import check_dashboard_filters, cohort_places
from fanion.insights.model import NO_RESULT, CachedResult
from fanion.insights.parsing.fields import Fields
from fanion.insights.query import InsightQuery
from fanion.insights.questions.names_store import missing_cohorts
from fanion.insights.questions.result_cache import ResultCache
from fanion.insights.questions.service import read_stored_question
from fanion.insights.saved.model import EVERYONE_EDITS, RESTRICTION_LEVELS, DashboardAccess
from fanion.projects.model import Project
from fanion.properties.validation import no_such_cohort
from fanion.rest.unknown_fields import no_choice
from fanion.rest.validation import normal_tags

TILES_AT_ONCE = 4  # calculated at a time, of one dashboard


@dataclass(frozen=True, slots=True)
class DashboardService:
    store: DashboardStore
    results: ResultCache
    refreshes: DashboardRefreshStore

    async def view_dashboard(
        self, project_id: int, dashboard_id: int, now: datetime
    ) -> StoredDashboard:
        """Return a dashboard, and note that it was viewed; raise NotFound if there is none."""
        dashboard = await self.store.get_dashboard(project_id, dashboard_id)
        if dashboard is None:
            raise NotFound
        await self.refreshes.note_view(project_id, dashboard_id, now)
        return dashboard

    async def create_dashboard(self, author: Author, sent: Mapping[str, Any]) -> StoredDashboard:
        """Create a dashboard.

        Raises:
            Invalid: The dashboard cannot have a value.
        """
        values = {
            **sent,
            "filters": sent["filters"] or {},
            "tags": normal_tags(sent["tags"] or []),
        }
        await self._check_values(author.project_id, values)
        async with self.store.records.write() as connection:
            return await connection.run_sync(create_dashboard, author, values)

    async def change_dashboard(
        self,
        author: Author,
        dashboard_id: int,
        sent: Mapping[str, Any],
        tiles: Sequence[Mapping[str, Any]],
        access: DashboardAccess,
    ) -> StoredDashboard:
        """Change a dashboard and its tiles.

        A deleted dashboard accepts only `deleted: false`. Tiles of other dashboards are not
        changed.

        Args:
            tiles: Columns of tiles to set, each with the `id` of the tile.

        Raises:
            Invalid: The dashboard cannot have a value.
            NotFound: There is no such dashboard.
            PermissionDenied: The user may not change the dashboard, or its restriction level.
        """
        values = dict(sent)
        await self._check_changed_values(author.project_id, dashboard_id, values)
        if "tags" in values:
            values["tags"] = normal_tags(values["tags"] or [])
        async with self.store.records.write() as connection:
            return await connection.run_sync(_change, author, dashboard_id, values, tiles, access)

    async def cached_results(
        self,
        project: Project,
        dashboard: StoredDashboard,
        now: datetime,
        *,
        with_missing: bool = False,
    ) -> Sequence[CachedResult]:
        """Return the cached result of each tile, and refresh old ones in the background.

        Args:
            with_missing: Whether to also calculate results that were never calculated.
        """
        questions = _questions_of(dashboard)
        return await self.results.cached_and_renewed(
            project, questions, now, with_missing=with_missing
        )

    async def new_results(
        self, project: Project, dashboard: StoredDashboard, now: datetime
    ) -> Sequence[CachedResult]:
        """Return new results, a few at a time: a large dashboard must not fill the queue."""
        turns = asyncio.Semaphore(TILES_AT_ONCE)

        async def recalculate(query: InsightQuery | None) -> CachedResult:
            async with turns:
                return await self._new_result(project, query, now)

        return await asyncio.gather(*map(recalculate, _questions_of(dashboard)))

    async def _new_result(
        self, project: Project, query: InsightQuery | None, now: datetime
    ) -> CachedResult:
        """Return a new result, or none if the tile cannot be calculated."""
        if query is None:
            return NO_RESULT
        try:
            return await self.results.calculate(project, query, now)
        except Invalid:
            return NO_RESULT

    async def _check_values(self, project_id: int, values: Mapping[str, Any]) -> None:
        """Raise Invalid for values that a dashboard cannot have."""
        level = values.get("restriction_level", EVERYONE_EDITS)
        if level not in RESTRICTION_LEVELS:
            allowed = [str(allowed) for allowed in RESTRICTION_LEVELS]
            raise no_choice(level, allowed, "restriction_level")
        filters = values.get("filters") or {}
        check_dashboard_filters(filters)
        named = cohort_places(Fields(filters, at="filters"))
        for cohort_id in await missing_cohorts(self.store.records, project_id, named):
            raise no_such_cohort(cohort_id, named[cohort_id])

    async def _check_changed_values(
        self, project_id: int, dashboard_id: int, values: Mapping[str, Any]
    ) -> None:
        """Raise Invalid for values that a dashboard cannot have, except its stored filters."""
        try:
            await self._check_values(project_id, values)
        except Invalid as error:
            stored = await self.store.get_dashboard(project_id, dashboard_id)
            of_filters = str(error.attr).startswith("filters")
            if stored is None or not of_filters or stored.filters != values["filters"]:
                raise


def _questions_of(dashboard: StoredDashboard) -> list[InsightQuery | None]:
    return [
        read_stored_question(tile.insight.question.on_dashboard(dashboard.filters))
        for tile in dashboard.tiles
    ]


def _change(
    connection: Connection,
    author: Author,
    dashboard_id: int,
    values: Mapping[str, Any],
    tiles: Sequence[Mapping[str, Any]],
    access: DashboardAccess,
) -> StoredDashboard:
    before = lock_dashboard(connection, author.project_id, dashboard_id)
    if before is None or (before.deleted and values.get("deleted") is not False):
        raise NotFound
    access.require_edit(before.restriction_level, before.creator_id)
    if values.get("restriction_level", before.restriction_level) != before.restriction_level:
        access.require_restrict(before.creator_id)
    return write_dashboard(connection, author, before, values, tiles)
