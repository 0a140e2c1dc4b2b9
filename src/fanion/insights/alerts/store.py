"""Alerts in the records store: managed with their activity, and checked by one server at a time."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.due_work import AHEAD, DueRow, DueRows
from fanion.db.engine import Records
from fanion.db.schema.insights import alerts, insights
from fanion.db.schema.tables import memberships, projects
from fanion.errors import Invalid, NotFound
from fanion.insights.alerts.checks_store import record_check
from fanion.insights.alerts.mail import AlertNews
from fanion.insights.alerts.mails_store import enqueue_mails
from fanion.insights.alerts.model import Alert, AlertCheck, Checked, PlainAlert, is_news
from fanion.insights.model import SavedQuestion
from fanion.projects.model import UserSummary
from fanion.projects.organizations.store import read_user_summaries
from fanion.webhooks.model import alert_body
from fanion.webhooks.outbox_store import enqueue

ALERTS_MAX = 100  # in one project
LEASE = timedelta(minutes=5)
# Fields whose changes are recorded in the activity log; outcomes of checks are not.
RECORDED = ("insight_id", *PlainAlert.__struct_fields__, "subscribed_users", "snoozed_until")
_COLUMNS = tuple(
    name for name in Alert.__struct_fields__ if name not in ("created_by", "subscribed_users")
)
_WEBHOOK_FIELDS = ("project_id", "insight_id", *PlainAlert.__struct_fields__)
# Fields that do not change what a check says.
_TOLD = frozenset({"name", "subscribed_users"})
_NEW = {"state": "not_checked", "value": None, "error": None, "last_checked_at": None}

_alert = alerts.c


@dataclass(frozen=True, slots=True)
class AlertStore:
    """The alerts in the records store.

    Attributes:
        every: The time from one check of an alert to the next.
        mail_url: The start of links in mails; None if no mail can be sent.
    """

    records: Records
    every: timedelta
    mail_url: str | None = None

    async def list_alerts(
        self, project_id: int, limit: int, offset: int, insight_id: int | None = None
    ) -> tuple[Sequence[Alert], int]:
        """Return a page of the project's alerts, oldest first, and their total number.

        Args:
            insight_id: Only alerts of this insight.
        """
        theirs = _alert.project_id == project_id
        if insight_id is not None:
            theirs &= _alert.insight_id == insight_id
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
        """Store the outcome of a check, and tell of it if it is news.

        Webhooks are called, and the subscribed users get mails.

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
        times = {"last_checked_at": now, "due_at": now + self.every, "snoozed_until": None}
        values = {**asdict(outcome), **followed, **times}
        if not self.checks.finish(connection, row, **values):
            return
        called = mailed = 0
        if is_news(alert, outcome):
            body = partial(alert_body, _webhook_values(alert, outcome), now)
            called = enqueue(connection, alert.project_id, "insight.alert", body, now)
            mailed = self._enqueue_mails(connection, alert, outcome, now)
        check = AlertCheck(checked_at=now, webhooks=called, mails=mailed, **asdict(outcome))
        record_check(connection, alert, check)

    def _enqueue_mails(
        self, connection: Connection, alert: Alert, outcome: Checked, now: datetime
    ) -> int:
        if self.mail_url is None:
            return 0
        statement = select(insights.c.name, insights.c.derived_name)
        insight = connection.execute(statement.where(insights.c.id == alert.insight_id)).one()
        path = f"/project/{alert.project_id}/insights/{alert.insight_id}?tab=alerts"
        name = insight.name or insight.derived_name or ""
        news = AlertNews(alert, outcome, name, self.mail_url + path, now)
        return enqueue_mails(connection, news)


def _webhook_values(alert: Alert, outcome: Checked) -> Mapping[str, Any]:
    values = {name: getattr(alert, name) for name in _WEBHOOK_FIELDS if name != "enabled"}
    return {"alert_id": alert.id, **values, **asdict(outcome)}


def create_alert(connection: Connection, author: Author, values: Mapping[str, Any]) -> Alert:
    """Create an alert within a transaction.

    Raises:
        Invalid: The insight or a subscribed user does not exist, or the project has ALERTS_MAX
            alerts.
    """
    project_id = author.project_id
    # Serialises creations, so that the limit holds.
    connection.execute(select(projects.c.id).where(projects.c.id == project_id).with_for_update())
    count = select(func.count()).select_from(alerts).where(_alert.project_id == project_id)
    if (connection.scalar(count) or 0) >= ALERTS_MAX:
        raise Invalid(f"A project can have at most {ALERTS_MAX} alerts.")
    _require_insight(connection, project_id, values)
    _require_members(connection, author.organization_id, values.get("subscribed_users", ()))
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
        Invalid: The insight, or a user who is not subscribed yet, does not exist.
    """
    before = _get_alert(connection, author.project_id, alert_id)
    _require_insight(connection, author.project_id, values)
    added = set(values.get("subscribed_users", ())).difference(before.subscribed_users)
    _require_members(connection, author.organization_id, sorted(added))
    if "insight_id" in values:
        values = {"breakdown_value": None, **values}  # the old value belongs to the other insight
    differing = {name: value for name, value in values.items() if getattr(before, name) != value}
    if not differing:
        return before
    again = _next_check(before.snoozed_until, differing, author.now)
    changed = {**differing, **again, "updated_at": author.now}
    connection.execute(update(alerts).where(_alert.id == alert_id).values(**changed))
    after = _get_alert(connection, author.project_id, alert_id)
    _record_change(connection, author, before, after)
    return after


def _next_check(
    snoozed_until: datetime | None, differing: Mapping[str, Any], now: datetime
) -> Mapping[str, Any]:
    """Return further columns for an alert whose columns `differing` change.

    It is checked again at once, or when it is no longer snoozed, if the change affects that.
    """
    of_rule = differing.keys() - _TOLD - {"snoozed_until"}
    if not of_rule and "snoozed_until" not in differing:
        return {}
    until = differing.get("snoozed_until", snoozed_until) or now
    return {**(_NEW if of_rule else {}), "due_at": max(now, until), "lease_until": None}


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


def _require_members(
    connection: Connection, organization_id: UUID, user_ids: Collection[int]
) -> None:
    member = memberships.c
    statement = select(member.user_id).where(
        member.organization_id == organization_id, member.user_id.in_(user_ids)
    )
    known = set(connection.scalars(statement)) if user_ids else set()
    for user_id in user_ids:
        if user_id not in known:
            raise Invalid(
                f'Invalid pk "{user_id}" - object does not exist.',
                code="does_not_exist",
                attr="subscribed_users",
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
            subscribed_users=row.subscribed_users or [],
            **{name: getattr(row, name) for name in _COLUMNS},
        )
        for row in rows
    ]
