"""Changes of alerts by requests, each in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.errors import Invalid
from fanion.insights.alerts.checks_service import AlertChecks, Check
from fanion.insights.alerts.model import (
    Alert,
    PlainAlert,
    check_snooze,
    check_threshold,
    check_value,
)
from fanion.insights.alerts.store import (
    AlertStore,
    change_alert,
    create_alert,
    question_of_insight,
    remove_alert,
)
from fanion.insights.kinds.service import has_series
from fanion.insights.questions.service import read_stored_question
from fanion.projects.model import Project

NO_SERIES = (
    "An alert needs an insight with numbers by interval: trends, life cycles, or funnels shown as "
    "trends."
)


@dataclass(frozen=True, slots=True)
class AlertService:
    """The changes of alerts, and checks before them.

    Every call raises Invalid for a threshold, a time or a value of the breakdown that cannot be
    used, and for an insight that does not exist or has no series of numbers.
    """

    store: AlertStore
    checks: AlertChecks

    async def create_alert(self, author: Author, sent: Mapping[str, Any]) -> Alert:
        """Create an alert.

        Raises:
            Invalid: The request is refused, or the project has too many alerts.
        """
        values = _columns(sent, {})
        async with self.store.records.write() as connection:
            await connection.run_sync(_require_series, author.project_id, values)
            return await connection.run_sync(create_alert, author, values)

    async def change_alert(self, author: Author, alert_id: int, sent: Mapping[str, Any]) -> Alert:
        """Change an alert, or raise NotFound."""
        before = await self.store.get_alert(author.project_id, alert_id)
        known = {"condition": before.condition, "threshold": before.threshold}
        values = _columns(sent, known)
        check_snooze(values.get("snoozed_until"), author.now)
        async with self.store.records.write() as connection:
            await connection.run_sync(_require_series, author.project_id, values)
            return await connection.run_sync(change_alert, author, alert_id, values)

    async def remove_alert(self, author: Author, alert_id: int) -> None:
        """Delete an alert, or raise NotFound."""
        async with self.store.records.write() as connection:
            await connection.run_sync(remove_alert, author, alert_id)

    async def preview_alert(
        self, project: Project, sent: Mapping[str, Any], now: datetime
    ) -> Check[PlainAlert]:
        """Check an alert that is not saved. Nobody is told of the outcome."""
        values = _columns(sent, {})
        async with self.store.records.read() as connection:
            await connection.run_sync(_require_series, project.id, values)
        insight_id = values.pop("insight_id")
        alert = PlainAlert(name="", enabled=True, **values)
        return await self.checks.check(project, insight_id, alert, now)


def _columns(sent: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that a request sets.

    Args:
        known: The condition and the threshold before the request.

    Raises:
        Invalid: The threshold or the value of the breakdown cannot be used.
    """
    values = dict(sent)
    if "insight" in values:
        values["insight_id"] = values.pop("insight")
    if "subscribed_users" in values:
        values["subscribed_users"] = list(dict.fromkeys(values["subscribed_users"]))
    check_value(values.get("breakdown_value"))
    check_threshold(*({**known, **values}[name] for name in ("condition", "threshold")))
    return values


def _require_series(connection: Connection, project_id: int, values: Mapping[str, Any]) -> None:
    """Raise Invalid for an insight without a series of numbers."""
    saved = question_of_insight(connection, project_id, values)
    if saved is None:
        return
    question = read_stored_question(saved)
    if question is None or not has_series(question):
        raise Invalid(NO_SERIES, attr="insight")
