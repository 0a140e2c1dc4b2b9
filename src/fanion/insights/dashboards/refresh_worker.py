"""The worker that calculates the tiles of viewed dashboards, so that they show recent numbers."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import structlog

from fanion.db.due_work import DueRow, LeasedWorker
from fanion.errors import Invalid, Unavailable
from fanion.events.event import EventStoreUnavailable
from fanion.insights.dashboards.model import StoredDashboard
from fanion.insights.dashboards.refresh_store import DashboardRefreshStore
from fanion.insights.dashboards.store import DashboardStore
from fanion.insights.questions.result_cache import ResultCache
from fanion.insights.questions.service import read_stored_question
from fanion.projects.model import Project


class DashboardRefreshWorker(LeasedWorker[Project]):
    """The scheduled refreshes: one dashboard after another, shared by all servers.

    Args:
        project_of: Returns a project by its id.
    """

    waits, all_wait, id_name = "dashboard_waits", "dashboards_wait", "dashboard"
    expected = (EventStoreUnavailable, Unavailable)

    def __init__(
        self,
        store: DashboardRefreshStore,
        results: ResultCache,
        project_of: Callable[[int], Awaitable[Project | None]],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(store.refreshes, project_of, now)
        self._store = store
        self._dashboards = DashboardStore(store.records)
        self._results = results

    async def _due_items(self, now: datetime) -> Sequence[DueRow]:
        return await self._store.due_dashboards(now)

    async def _process(self, row: DueRow, project: Project) -> None:
        dashboard = await self._dashboards.get_dashboard(project.id, row.id)
        if dashboard is not None:
            await self._calculate(project, dashboard, row)
        await self._store.finish_refresh(row, self._now())

    async def _calculate(self, project: Project, dashboard: StoredDashboard, row: DueRow) -> None:
        """Calculate all tiles; one that cannot be calculated does not delay the others."""
        for tile in dashboard.tiles:
            question = tile.question_within(dashboard.filters)
            query = None if question is None else read_stored_question(question)
            if query is None:
                continue
            await self._rows.renew(row, self._now())
            try:
                await self._results.get_or_calculate(project, query, self._now())
            except Invalid as error:
                structlog.get_logger().info(
                    "tile_not_refreshed", dashboard=dashboard.id, tile=tile.id, reason=str(error)
                )
