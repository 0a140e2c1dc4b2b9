"""Alerts in the records store: managed with their activity, and checked by one server at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.due_work import AHEAD, DueRow, DueRows
from fanion.db.engine import Records
from fanion.db.schema.insights import alerts, insights
from fanion.db.schema.tables import projects
from fanion.errors import Invalid, NotFound
from fanion.insights.alerts.model import Alert, Checked, PlainAlert
from fanion.insights.model import SavedQuestion
from fanion.insights.saved.store import read_user_summaries
from fanion.projects.model import UserSummary
from fanion.webhooks.model import alert_body
from fanion.webhooks.outbox_store import enqueue

ALERTS_MAX = 100  # in one project
LEASE = timedelta(minutes=5)
# Fields whose changes are recorded in the activity log; outcomes of checks are not.
RECORDED = ("insight_id", *PlainAlert.__struct_fields__)
_COLUMNS = tuple(name for name in Alert.__struct_fields__ if name != "created_by")
_NEW = {"state": "not_checked", "value": None, "error": None, "last_checked_at": None}

_alert = alerts.c


@dataclass(frozen=True, slots=True)
class AlertStore:
    """The alerts in the records store.

    Attributes:
        every: The time from one check of an alert to the next.
    """

    records: Records
    every: timedelta

    async def list_alerts(
        self, project_id: int, limit: int, offset: int
    ) -> tuple[Sequence[Alert], int]:
        """Return a page of the project's alerts, oldest first, and their total number."""
        theirs = _alert.project_id == project_id
        count = select(func.count()).select_from(alerts).where(theirs)
        statement = select(alerts).where(theirs).order_by(_alert.id).limit(limit).offset(offset)
        async with self.records.read() as connection:
            total = (await connection.execute(count)).scalar_one()
            rows = (await connection.execute(statement)).all()
            return await connection.run_sync(_read_alerts, rows), total

    async def get_alert(self, project_id: int, alert_id: int) -> Alert:
        """Return an alert, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(_get_alert, project_id, alert_id)

    @property
    def checks(self) -> DueRows:
        """Return the checks of alerts as rows that are due."""
        return DueRows(self.records, alerts, _alert.due_at, LEASE)

    async def due_alerts(self, now: datetime) -> Sequence[DueRow]:
        """Return alerts that fall due within AHEAD, of insights that are not deleted."""
        insight = select(insights.c.id).where(
            insights.c.id == _alert.insight_id, insights.c.deleted.is_(False)
        )
        return await self.checks.due_rows(
            now, _alert.enabled.is_(True), insight.exists(), ahead=AHEAD
        )

    async def finish_check(
        self, row: DueRow, alert: Alert, outcome: Checked, now: datetime
    ) -> None:
        """Store the outcome of a check, and call webhooks when the alert starts or stops firing.

        Args:
            row: The claim of the alert.
            alert: The alert with the value of the breakdown that it follows from now on.
            outcome: The outcome.
            now: The time of the check.
        """
        async with self.records.write() as connection:
            await connection.run_sync(self._finish_check, row, alert, outcome, now)

    def _finish_check(
        self, connection: Connection, row: DueRow, alert: Alert, outcome: Checked, now: datetime
    ) -> None:
        followed = {"series_index": alert.series_index, "breakdown_value": alert.breakdown_value}
        times = {"last_checked_at": now, "due_at": now + self.every}
        values = {**asdict(outcome), **followed, **times}
        if not self.checks.finish(connection, row, **values):
            return
        if (alert.state == "firing") != (outcome.state == "firing"):
            body = partial(alert_body, _webhook_values(alert, outcome), now)
            enqueue(connection, alert.project_id, "insight.alert", body, now)


def _webhook_values(alert: Alert, outcome: Checked) -> Mapping[str, Any]:
    names = ("project_id", *(name for name in RECORDED if name != "enabled"))
    values = {name: getattr(alert, name) for name in names}
    return {"alert_id": alert.id, **values, **asdict(outcome)}


def create_alert(connection: Connection, author: Author, values: Mapping[str, Any]) -> Alert:
    """Create an alert within a transaction.

    Raises:
        Invalid: The insight does not exist, or the project has ALERTS_MAX alerts.
    """
    project_id = author.project_id
    # Serialises creations, so that the limit holds.
    connection.execute(select(projects.c.id).where(projects.c.id == project_id).with_for_update())
    count = select(func.count()).select_from(alerts).where(_alert.project_id == project_id)
    if (connection.scalar(count) or 0) >= ALERTS_MAX:
        raise Invalid(f"A project can have at most {ALERTS_MAX} alerts.")
    _require_insight(connection, project_id, values)
    statement = insert(alerts).values(
        project_id=project_id,
        created_by_id=author.user_id,
        created_at=author.now,
        updated_at=author.now,
        due_at=author.now,
        **_NEW,
        **values,
    )
    alert = _get_alert(
        connection, project_id, connection.execute(statement.returning(_alert.id)).scalar_one()
    )
    _record_change(connection, author, None, alert)
    return alert


def change_alert(
    connection: Connection, author: Author, alert_id: int, values: Mapping[str, Any]
) -> Alert:
    """Set columns of an alert within a transaction.

    Raises:
        NotFound: There is no such alert.
        Invalid: The insight does not exist.
    """
    before = _get_alert(connection, author.project_id, alert_id)
    _require_insight(connection, author.project_id, values)
    if "insight_id" in values:
        values = {"breakdown_value": None, **values}  # the old value belongs to the other insight
    differing = {name: value for name, value in values.items() if getattr(before, name) != value}
    if not differing:
        return before
    again = {**_NEW, "due_at": author.now, "updated_at": author.now, "lease_until": None}
    connection.execute(update(alerts).where(_alert.id == alert_id).values(**differing, **again))
    after = _get_alert(connection, author.project_id, alert_id)
    _record_change(connection, author, before, after)
    return after


def remove_alert(connection: Connection, author: Author, alert_id: int) -> None:
    """Delete an alert within a transaction, or raise NotFound."""
    gone = _get_alert(connection, author.project_id, alert_id)
    connection.execute(delete(alerts).where(_alert.id == alert_id))
    _record_change(connection, author, gone, None)


def _require_insight(connection: Connection, project_id: int, values: Mapping[str, Any]) -> None:
    if "insight_id" not in values:
        return
    known = select(insights.c.id).where(
        insights.c.project_id == project_id,
        insights.c.id == values["insight_id"],
        insights.c.deleted.is_(False),
    )
    if connection.execute(known).first() is None:
        raise Invalid(
            f'Invalid pk "{values["insight_id"]}" - object does not exist.',
            code="does_not_exist",
            attr="insight",
        )


def question_of_insight(
    connection: Connection, project_id: int, values: Mapping[str, Any]
) -> SavedQuestion | None:
    """Return the question of the insight that `values` set, or None if they set none.

    Raises:
        Invalid: The insight does not exist.
    """
    if "insight_id" not in values:
        return None
    _require_insight(connection, project_id, values)
    statement = select(insights.c.filters, insights.c.query)
    row = connection.execute(statement.where(insights.c.id == values["insight_id"])).one()
    return SavedQuestion(row.filters, row.query)


def _record_change(
    connection: Connection, author: Author, before: Alert | None, after: Alert | None
) -> None:
    former, latest = (None if alert is None else _state(alert) for alert in (before, after))
    record_activity(connection, item_record(author, "AlertConfiguration", former, latest))


def _state(alert: Alert) -> ItemState:
    return ItemState(str(alert.id), alert.name, {name: getattr(alert, name) for name in RECORDED})


def _get_alert(connection: Connection, project_id: int, alert_id: int) -> Alert:
    statement = select(alerts).where(_alert.project_id == project_id, _alert.id == alert_id)
    rows = connection.execute(statement).all()
    if not rows:
        raise NotFound
    return _read_alerts(connection, rows)[0]


def _read_alerts(connection: Connection, rows: Sequence[Row[Any]]) -> list[Alert]:
    users: Mapping[int, UserSummary] = read_user_summaries(
        connection, (row.created_by_id for row in rows)
    )
    return [
        Alert(
            created_by=users.get(row.created_by_id),
            **{name: getattr(row, name) for name in _COLUMNS},
        )
        for row in rows
    ]
