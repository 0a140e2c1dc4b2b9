"""The worker that checks alerts on a schedule, one after another and each on one server."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Never

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.errors import Invalid, Unavailable
from fanion.events.event import EventStoreUnavailable
from fanion.insights.alerts.model import Alert, Checked, check_alert, follow_breakdown_value
from fanion.insights.alerts.store import AlertStore, DueAlert
from fanion.insights.questions.result_cache import ResultCache
from fanion.insights.questions.service import read_stored_question
from fanion.insights.saved.store import InsightStore
from fanion.projects.model import Project
from fanion.runtime.background import run_loop

POLL_S = 30.0


class AlertWorker:
    """The scheduled checks of alerts.

    Args:
        project_of: Returns a project by its id.
    """

    def __init__(
        self,
        store: AlertStore,
        results: ResultCache,
        project_of: Callable[[int], Awaitable[Project | None]],
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._insights = InsightStore(store.records)
        self._results = results
        self._project_of = project_of
        self._now = now

    async def run(self) -> Never:
        await run_loop(self._work, POLL_S, "alerts_not_checked", (RecordsUnavailable,))

    async def work_once(self) -> int:
        """Check the alerts that are due, and return how many were checked.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        done = 0
        for due in await self._store.due_alerts(self._now()):
            done += await self._check(due)
        return done

    async def _work(self) -> None:
        await self.work_once()

    async def _check(self, due: DueAlert) -> bool:
        project = await self._project_of(due.alert.project_id)
        if project is None or not await self._store.claim_alert(due, self._now()):
            return False
        try:
            alert, outcome = await self._checked(project, due.alert)
        except (EventStoreUnavailable, Unavailable) as error:  # due again once the lease is over
            log = structlog.get_logger()
            log.warning("alert_not_checked", alert=due.alert.id, reason=str(error))
            return True
        await self._store.finish_check(due, alert, outcome, self._now())
        return True

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
