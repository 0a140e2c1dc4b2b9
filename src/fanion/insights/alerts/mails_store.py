"""The outbox of mails about alerts: they are written in the transaction of the check."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select

from fanion.accounts.mail.message import Mail
from fanion.db.due_work import AHEAD, DueRow, DueRows
from fanion.db.engine import Records
from fanion.db.schema.insights import alert_mails
from fanion.db.schema.tables import memberships, projects, users
from fanion.insights.alerts.mail import AlertNews, alert_mail

LEASE = timedelta(minutes=5)  # longer than an attempt to send a mail

_mail = alert_mails.c


def enqueue_mails(connection: Connection, news: AlertNews) -> int:
    """Write a mail for each subscribed user who may see the alert, and return their number."""
    alert = news.alert
    rows = [
        {
            "project_id": alert.project_id,
            "alert_id": alert.id,
            "user_id": user_id,
            "subject": news.subject,
            "body": news.body,
            "created_at": news.checked_at,
        }
        for user_id in _readers(connection, alert.project_id, alert.subscribed_users)
    ]
    if rows:
        connection.execute(insert(alert_mails), rows)
    return len(rows)


def _readers(connection: Connection, project_id: int, user_ids: Sequence[int]) -> Sequence[int]:
    """Return which of the users are active members of the project's organization."""
    member = memberships.c
    statement = (
        select(users.c.id)
        .join_from(memberships, users, users.c.id == member.user_id)
        .join(projects, projects.c.organization_id == member.organization_id)
        .where(projects.c.id == project_id, users.c.id.in_(user_ids), users.c.is_active.is_(True))
        .order_by(users.c.id)
    )
    return connection.scalars(statement).all() if user_ids else ()


@dataclass(frozen=True, slots=True)
class AlertMailStore:
    records: Records

    @property
    def mails(self) -> DueRows:
        """Return the mails as rows that are due as soon as they are written."""
        return DueRows(self.records, alert_mails, _mail.created_at, LEASE)

    async def due_mails(self, now: datetime) -> Sequence[DueRow]:
        return await self.mails.due_rows(now, ahead=AHEAD)

    async def read_mail(self, mail_id: int) -> Mail | None:
        """Return a mail to the user's current address, or None if the user is no longer a member.

        It is also None if the mail was sent or deleted.
        """
        async with self.records.read() as connection:
            return await connection.run_sync(_read_mail, mail_id)

    async def finish_mail(self, row: DueRow) -> None:
        """Delete a mail that was sent or given up."""
        async with self.records.write() as connection:
            await connection.execute(delete(alert_mails).where(self.mails.is_unchanged(row)))


def _read_mail(connection: Connection, mail_id: int) -> Mail | None:
    row = connection.execute(select(alert_mails).where(_mail.id == mail_id)).first()
    if row is None or not _readers(connection, row.project_id, [row.user_id]):
        return None
    email = connection.scalar(select(users.c.email).where(users.c.id == row.user_id))
    return alert_mail(str(email), row.subject, row.body)
