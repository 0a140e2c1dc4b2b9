"""The worker that calculates the tiles of viewed dashboards, so that they show recent numbers."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Never

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.errors import Invalid, Unavailable
from fanion.events.event import EventStoreUnavailable
from fanion.insights.dashboards.model import StoredDashboard
from fanion.insights.dashboards.refresh_store import DashboardRefreshStore, DueDashboard
from fanion.insights.questions.result_cache import ResultCache
from fanion.insights.questions.service import read_stored_question
from fanion.projects.model import Project
from fanion.runtime.background import run_loop

POLL_S = 30.0


class DashboardRefreshWorker:
    """The scheduled refreshes: one dashboard after another, shared by all servers.

    Args:
        project_of: Returns a project by its id.
    """

    def __init__(
        self,
        store: DashboardRefreshStore,
        results: ResultCache,
        project_of: Callable[[int], Awaitable[Project | None]],
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._results = results
        self._project_of = project_of
        self._now = now

    async def run(self) -> Never:
        expected = (RecordsUnavailable, EventStoreUnavailable, Unavailable)
        await run_loop(self._work, POLL_S, "dashboards_not_refreshed", expected)

    async def work_once(self) -> int:
        """Calculate the dashboards that are due, and return how many.

        Errors of the stores are passed on.
        """
        done = 0
        for due in await self._store.due_dashboards(self._now()):
            done += await self._refresh(due)
        return done

    async def _work(self) -> None:
        await self.work_once()

    async def _refresh(self, due: DueDashboard) -> bool:
        project = await self._project_of(due.project_id)
        dashboard = await self._store.claim_dashboard(due, self._now())
        if project is None or dashboard is None:
            return False
        await self._calculate(project, dashboard)
        await self._store.finish_refresh(due, self._now())
        return True

    async def _calculate(self, project: Project, dashboard: StoredDashboard) -> None:
        """Calculate all tiles; one that cannot be calculated does not delay the others."""
        for tile in dashboard.tiles:
            query = read_stored_question(tile.insight.question.on_dashboard(dashboard.filters))
            if query is None:
                continue
            try:
                await self._results.get_or_calculate(project, query, self._now())
            except Invalid as error:
                structlog.get_logger().info(
                    "tile_not_refreshed", dashboard=dashboard.id, tile=tile.id, reason=str(error)
                )
