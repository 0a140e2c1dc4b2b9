"""The worker that checks alerts on a schedule, one after another and each on one server."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from fanion.db.due_work import DueRow, LeasedWorker
from fanion.errors import Invalid, NotFound, Unavailable
from fanion.events.event import EventStoreUnavailable
from fanion.insights.alerts.model import Alert, Checked, check_alert, follow_breakdown_value
from fanion.insights.alerts.store import AlertStore
from fanion.insights.questions.result_cache import ResultCache
from fanion.insights.questions.service import read_stored_question
from fanion.insights.saved.store import InsightStore
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
        results: ResultCache,
        project_of: Callable[[int], Awaitable[Project | None]],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(store.checks, project_of, now)
        self._store = store
        self._insights = InsightStore(store.records)
        self._results = results

    async def _due_items(self, now: datetime) -> Sequence[DueRow]:
        return await self._store.due_alerts(now)

    async def _process(self, row: DueRow, project: Project) -> None:
        alert = await self._store.get_alert(project.id, row.id)
        alert, outcome = await self._checked(project, alert)
        await self._store.finish_check(row, alert, outcome, self._now())

    async def _checked(self, project: Project, alert: Alert) -> tuple[Alert, Checked]:
        """Return the alert, with the value of the breakdown that it follows, and the outcome."""
        insight = await self._insights.get_insight(project.id, alert.insight_id)
        query = None if insight is None else read_stored_question(insight.question)
        if query is None:
            return alert, Checked("errored", error="The insight cannot be calculated.")
        try:
            answer = await self._results.get_or_calculate(project, query, self._now())
        except Invalid as error:
            return alert, Checked("errored", error=error.detail)
        alert = follow_breakdown_value(alert, answer.results)
        breakdowns = getattr(query, "breakdowns", None)
        return alert, check_alert(
            alert,
            answer.results,
            is_unfinished=query.scope.until.text is None,
            shows_all_values=breakdowns is not None and not breakdowns.hide_other,
        )
