"""Checks of alerts: on a schedule, and before an alert is saved."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic

from fanion.errors import Invalid
from fanion.insights.alerts.checks import (
    AlertSeries,
    AnyAlert,
    check_alert,
    follow_breakdown_value,
)
from fanion.insights.alerts.model import Checked
from fanion.insights.dates.intervals import Interval
from fanion.insights.questions.result_cache import ResultCache
from fanion.insights.questions.service import read_stored_question
from fanion.insights.saved.store import InsightStore
from fanion.projects.model import Project


@dataclass(frozen=True, slots=True)
class Check(Generic[AnyAlert]):
    """A check of an alert, with the numbers that it has compared.

    Attributes:
        alert: The alert with the value of the breakdown that it follows from now on.
        results: The result of the insight; None if it could not be calculated.
        series: None if the result does not have the alert's series.
        is_unfinished: Whether the last interval is not over yet.
        interval: The interval of the numbers, also if they are totals.
    """

    alert: AnyAlert
    outcome: Checked
    results: Any = None
    series: AlertSeries | None = None
    is_unfinished: bool = False
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class AlertChecks:
    """Calculates the insights of alerts and compares their numbers."""

    insights: InsightStore
    results: ResultCache

    async def check(
        self, project: Project, insight_id: int, alert: AnyAlert, now: datetime
    ) -> Check[AnyAlert]:
        """Check an alert; a recent result of its insight is used again."""
        insight = await self.insights.get_insight(project.id, insight_id)
        query = None if insight is None else read_stored_question(insight.question)
        if query is None:
            return Check(alert, Checked("errored", error="The insight cannot be calculated."))
        try:
            answer = await self.results.get_or_calculate(project, query, now)
        except Invalid as error:
            return Check(alert, Checked("errored", error=error.detail))
        alert = follow_breakdown_value(alert, answer.results)
        breakdowns = getattr(query, "breakdowns", None)
        shows_all_values = breakdowns is not None and not breakdowns.hide_other
        is_unfinished = query.scope.until.text is None
        outcome, series = check_alert(
            alert,
            answer.results,
            is_unfinished=is_unfinished,
            shows_all_values=shows_all_values,
        )
        interval = getattr(query, "interval", None)
        return Check(alert, outcome, answer.results, series, is_unfinished, interval)
