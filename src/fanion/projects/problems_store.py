"""The failures in a project, from the tables of all automatic work."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from msgspec import Struct
from sqlalchemy import Connection, func, select

from fanion.activity.model import url_without_path
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.experiments import guarded_releases
from fanion.db.schema.exports import batch_exports
from fanion.db.schema.flags import scheduled_changes
from fanion.db.schema.insights import alerts, insights
from fanion.db.schema.tables import dead_letters, feature_flags
from fanion.db.schema.webhooks import webhook_deliveries, webhooks
from fanion.runtime.backup_state import backup_problem, read_backup_state

# How far back deliveries and scheduled changes count. All other failures persist.
SPAN = timedelta(days=7)
OF_A_KIND_MAX = 20

Kind = Literal[
    "dead_letters",
    "webhook",
    "cohort",
    "scheduled_change",
    "rollback",
    "guarded_release",
    "alert",
    "batch_export",
    "backup",
]


class Problem(Struct, frozen=True, kw_only=True):
    """A failure in a project.

    Attributes:
        item_id: The id of the webhook, the cohort, the flag or, of an alert, its insight; None for
            others.
        name: The name by which people know the item; of a webhook, its URL without the path.
        value: The number of an alert that fires.
        at: The time of the last failure; None if it is not stored.
    """

    kind: Kind
    item_id: int | None = None
    name: str = ""
    count: int = 1
    detail: str | None = None
    alert_id: int | None = None
    value: float | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Backups:
    """The backups of a data folder.

    Attributes:
        every_s: How often the server makes them; None if it makes none.
    """

    folder: Path
    every_s: float | None

    def problems(self, now: datetime) -> list[Problem]:
        """Return the failure of the backups, if any, without names of files and servers."""
        if not backup_problem(self.folder, self.every_s, now):
            return []
        state = read_backup_state(self.folder)
        return [Problem(kind="backup", at=None if state is None else state.started_at)]


async def find_problems(
    records: Records, project_id: int, now: datetime, backups: Backups
) -> list[Problem]:
    """Return the failures, most urgent kind first; of each kind the newest OF_A_KIND_MAX."""
    async with records.read() as connection:
        problems = await connection.run_sync(_find_problems, project_id, now - SPAN)
    return [*await asyncio.to_thread(backups.problems, now), *problems]


def _find_problems(connection: Connection, project_id: int, since: datetime) -> list[Problem]:
    return [
        *_dead_letters(connection, project_id),
        *_alerts(connection, project_id),
        *_rollbacks(connection, project_id),
        *_guarded_releases(connection, project_id),
        *_scheduled_changes(connection, project_id, since),
        *_webhooks(connection, project_id, since),
        *_cohorts(connection, project_id),
        *_batch_exports(connection, project_id),
    ]


def _dead_letters(connection: Connection, project_id: int) -> Iterable[Problem]:
    letter = dead_letters.c
    of_project = letter.project_id == project_id
    newest = connection.execute(
        select(letter.failed_at, letter.error).where(of_project).order_by(letter.id.desc()).limit(1)
    ).first()
    if newest is None:
        return
    count = connection.scalar(select(func.count()).select_from(dead_letters).where(of_project))
    yield Problem(kind="dead_letters", count=count or 1, detail=newest.error, at=newest.failed_at)


def _alerts(connection: Connection, project_id: int) -> Iterable[Problem]:
    """Yield the alerts that fire or cannot be checked, without those that are snoozed."""
    alert, insight = alerts.c, insights.c
    rows = connection.execute(
        select(alert.id, alert.insight_id, alert.name, alert.error, alert.value)
        .add_columns(alert.last_checked_at)
        .join_from(alerts, insights, insight.id == alert.insight_id)
        .where(alert.project_id == project_id, insight.deleted.is_(False))
        .where(alert.enabled.is_(True), alert.state.in_(("firing", "errored")))
        .where(alert.snoozed_until.is_(None))
        .order_by(alert.last_checked_at.desc(), alert.id.desc())
        .limit(OF_A_KIND_MAX)
    )
    for row in rows:
        yield Problem(
            kind="alert",
            item_id=row.insight_id,
            alert_id=row.id,
            name=row.name,
            detail=row.error,
            value=row.value,
            at=row.last_checked_at,
        )


def _rollbacks(connection: Connection, project_id: int) -> Iterable[Problem]:
    flag = feature_flags.c
    rows = connection.execute(
        select(flag.id, flag.key)
        .where(flag.project_id == project_id, flag.deleted.is_(False))
        .where(flag.performed_rollback.is_(True), flag.active.is_(False))
        .order_by(flag.id.desc())
        .limit(OF_A_KIND_MAX)
    )
    for row in rows:
        yield Problem(kind="rollback", item_id=row.id, name=row.key)


def _guarded_releases(connection: Connection, project_id: int) -> Iterable[Problem]:
    """Yield the last release of each flag that was rolled back, waits, or found harm."""
    release, flag = guarded_releases.c, feature_flags.c
    newest = (
        select(func.max(release.id))
        .where(release.project_id == project_id)
        .group_by(release.flag_id)
    )
    rows = connection.execute(
        select(release.flag_id, flag.key, release.state, release.reason, release.updated_at)
        .join_from(guarded_releases, feature_flags, flag.id == release.flag_id)
        .where(release.id.in_(newest), flag.deleted.is_(False))
        .where(release.reason.is_not(None), release.reason != "by_user")
        .where(release.state != "completed")
        .order_by(release.id.desc())
        .limit(OF_A_KIND_MAX)
    )
    for row in rows:
        yield Problem(
            kind="guarded_release",
            item_id=row.flag_id,
            name=row.key,
            detail=f"{row.state}: {row.reason}",
            at=row.updated_at,
        )


def _scheduled_changes(
    connection: Connection, project_id: int, since: datetime
) -> Iterable[Problem]:
    change, flag = scheduled_changes.c, feature_flags.c
    rows = connection.execute(
        select(change.flag_id, flag.key, change.failure_reason, change.created_at)
        .join_from(scheduled_changes, feature_flags, flag.id == change.flag_id)
        .where(change.project_id == project_id, change.failure_reason.is_not(None))
        .where(change.created_at >= since, flag.deleted.is_(False))
        .order_by(change.id.desc())
        .limit(OF_A_KIND_MAX)
    )
    for row in rows:
        yield Problem(
            kind="scheduled_change", item_id=row.flag_id, name=row.key, detail=row.failure_reason
        )


def _webhooks(connection: Connection, project_id: int, since: datetime) -> Iterable[Problem]:
    delivery, webhook = webhook_deliveries.c, webhooks.c
    failed = (
        select(
            delivery.webhook_id,
            func.count().label("number"),
            func.max(delivery.id).label("last"),
        )
        .where(delivery.project_id == project_id, delivery.status == "failed")
        .where(delivery.created_at >= since)
        .group_by(delivery.webhook_id)
        .subquery()
    )
    rows = connection.execute(
        select(webhook.id, webhook.url, failed.c.number, delivery.error, delivery.finished_at)
        .join_from(failed, webhooks, webhook.id == failed.c.webhook_id)
        .join(webhook_deliveries, delivery.id == failed.c.last)
        .order_by(failed.c.last.desc())
        .limit(OF_A_KIND_MAX)
    )
    for row in rows:
        yield Problem(
            kind="webhook",
            item_id=row.id,
            name=url_without_path(row.url),
            count=row.number,
            detail=row.error,
            at=row.finished_at,
        )


def _cohorts(connection: Connection, project_id: int) -> Iterable[Problem]:
    cohort = cohorts.c
    rows = connection.execute(
        select(cohort.id, cohort.name, cohort.errors_calculating, cohort.last_error_message)
        .where(cohort.project_id == project_id, cohort.deleted.is_(False))
        .where(cohort.last_error_message.is_not(None))
        .order_by(cohort.id.desc())
        .limit(OF_A_KIND_MAX)
    )
    for row in rows:
        yield Problem(
            kind="cohort",
            item_id=row.id,
            name=row.name or "",
            count=max(1, row.errors_calculating),
            detail=row.last_error_message,
        )


def _batch_exports(connection: Connection, project_id: int) -> Iterable[Problem]:
    """Yield the exports that cannot be written, without errors, which only administrators see."""
    export = batch_exports.c
    rows = connection.execute(
        select(export.id, export.name)
        .where(export.project_id == project_id, export.paused.is_(False))
        .where(export.latest_error.is_not(None))
        .order_by(export.id.desc())
        .limit(OF_A_KIND_MAX)
    )
    for row in rows:
        yield Problem(kind="batch_export", item_id=row.id, name=row.name)
