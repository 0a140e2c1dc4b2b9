"""The worker that checks alerts on a schedule, one after another and each on one server."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from fanion.db.due_work import DueRow, LeasedWorker
from fanion.errors import NotFound, Unavailable
from fanion.events.event import EventStoreUnavailable
from fanion.insights.alerts.checks_service import AlertChecks
from fanion.insights.alerts.store import AlertStore
from fanion.projects.model import Project


class AlertWorker(LeasedWorker[Project]):
    """The scheduled checks of alerts.

    Args:
        project_of: Returns a project by its id.
    """

    waits, all_wait, id_name = "alert_waits", "alerts_wait", "alert"
    expected = (EventStoreUnavailable, Unavailable, NotFound)

    def __init__(
        self,
        store: AlertStore,
        checks: AlertChecks,
        project_of: Callable[[int], Awaitable[Project | None]],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(store.checks, project_of, now)
        self._store = store
        self._checks = checks

    async def _due_items(self, now: datetime) -> Sequence[DueRow]:
        return await self._store.due_alerts(now)

    async def _process(self, row: DueRow, project: Project) -> None:
        alert = await self._store.get_alert(project.id, row.id)
        check = await self._checks.check(project, alert.insight_id, alert, self._now())
        await self._store.finish_check(row, check.alert, check.outcome, self._now())
