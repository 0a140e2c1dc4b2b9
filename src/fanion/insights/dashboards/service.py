"""Dashboards with the results of their tiles, and changes of dashboards, each in one transaction.

Source: cohorts.md, section 21.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from fanion.activity.model import Author
from fanion.db.schema.tables import feature_flags
from fanion.errors import Invalid, NotFound
from fanion.insights.dashboards.model import StaleDashboard, StoredDashboard, TileChange
from fanion.insights.dashboards.refresh_store import DashboardRefreshStore
from fanion.insights.dashboards.store import (
    DashboardStore,
    create_dashboard,
    lock_dashboard,
    write_dashboard,
)
from fanion.insights.dashboards.templates import FLAG, TEMPLATES, Template, template_of
from fanion.insights.kinds.validation import check_dashboard_filters, cohort_places
from fanion.insights.model import NO_RESULT, CachedResult
from fanion.insights.parsing.fields import Fields
from fanion.insights.query import InsightQuery
from fanion.insights.questions.names_store import missing_cohorts
from fanion.insights.questions.result_cache import ResultCache
from fanion.insights.questions.service import read_stored_question
from fanion.insights.saved.model import EVERYONE_EDITS, RESTRICTION_LEVELS, DashboardAccess
from fanion.insights.segments.store import require_segments
from fanion.projects.model import Project
from fanion.properties.validation import no_such_cohort
from fanion.rest.unknown_fields import no_choice
from fanion.rest.validation import normal_tags

TILES_AT_ONCE = 4  # calculated at a time, of one dashboard
_OF_TEMPLATE = ("use_template", "flag_key")


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
        """Create a dashboard, with the tiles of a template if it names one.

        Raises:
            Invalid: The dashboard cannot have a value, or there is no such template or flag.
        """
        template = _requested_template(sent)
        values = {
            **{name: value for name, value in sent.items() if name not in _OF_TEMPLATE},
            "filters": sent["filters"] or {},
            "tags": normal_tags(sent["tags"] or []),
        }
        if template is not None:
            values["name"] = sent["name"] or template.name
            values["description"] = sent["description"] or template.description
        await self._check_values(author.project_id, values)
        async with self.store.records.write() as connection:
            if flag_key := sent["flag_key"]:
                await connection.run_sync(_require_flag, author.project_id, flag_key)
            tiles = () if template is None else template.tiles
            return await connection.run_sync(create_dashboard, author, values, tiles)

    async def change_dashboard(
        self,
        author: Author,
        dashboard_id: int,
        sent: Mapping[str, Any],
        tiles: Sequence[TileChange],
        access: DashboardAccess,
    ) -> StoredDashboard:
        """Change a dashboard and its tiles.

        A deleted dashboard accepts only `deleted: false`. Tiles of other dashboards are not
        changed.

        Raises:
            Invalid: The dashboard or a tile cannot have a value.
            NotFound: There is no such dashboard.
            PermissionDenied: The user may not change the dashboard, or its restriction level.
            StaleDashboard: The dashboard or a text was changed since `expected_modified_at`.
        """
        values = dict(sent)
        expected = values.pop("expected_modified_at", None)
        await self._check_changed_values(author.project_id, dashboard_id, values)
        if "tags" in values:
            values["tags"] = normal_tags(values["tags"] or [])
        async with self.store.records.write() as connection:
            return await connection.run_sync(
                _change, author, dashboard_id, values, tiles, access, expected
            )

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
        conditions = check_dashboard_filters(filters)
        await require_segments(self.store.records, project_id, conditions)
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


def _requested_template(sent: Mapping[str, Any]) -> Template | None:
    """Return the template that a new dashboard names, or None.

    Raises:
        Invalid: There is no such template, or it lacks the flag, or has one that it does not show.
    """
    name, flag_key = sent["use_template"] or None, sent["flag_key"] or None
    if name is not None and name not in TEMPLATES:
        raise no_choice(name, TEMPLATES, "use_template")
    if name == FLAG and flag_key is None:
        raise Invalid("This field is required.", code="required", attr="flag_key")
    if name != FLAG and flag_key is not None:
        raise Invalid(f'Only the template "{FLAG}" shows a flag.', attr="flag_key")
    return None if name is None else template_of(name, flag_key or "")


def _require_flag(connection: Connection, project_id: int, key: str) -> None:
    """Raise Invalid unless the project has a flag with the key."""
    flag = feature_flags.c
    known = select(flag.id).where(
        flag.project_id == project_id, flag.key == key, flag.deleted.is_(False)
    )
    if connection.scalar(known) is None:
        raise Invalid(f'There is no flag with the key "{key}".', attr="flag_key")


def _questions_of(dashboard: StoredDashboard) -> list[InsightQuery | None]:
    questions = (tile.question_within(dashboard.filters) for tile in dashboard.tiles)
    return [None if question is None else read_stored_question(question) for question in questions]


def _change(
    connection: Connection,
    author: Author,
    dashboard_id: int,
    values: Mapping[str, Any],
    tiles: Sequence[TileChange],
    access: DashboardAccess,
    expected: datetime | None,
) -> StoredDashboard:
    """Change a dashboard and its tiles.

    Args:
        expected: The time of its last change, as far as the caller knows; None for any.
    """
    before = lock_dashboard(connection, author.project_id, dashboard_id)
    if before is None or (before.deleted and values.get("deleted") is not False):
        raise NotFound
    access.require_edit(before.restriction_level, before.creator_id)
    if values.get("restriction_level", before.restriction_level) != before.restriction_level:
        access.require_restrict(before.creator_id)
    if expected is not None and before.last_modified_at != expected:
        raise StaleDashboard(attr="expected_modified_at")
    return write_dashboard(connection, author, before, values, tiles)
