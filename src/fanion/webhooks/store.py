"""Webhooks and their deliveries in the records store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    delete,
    func,
    insert,
    select,
    update,
)

from fanion.activity.model import ActivityRecord, Author, Change, changed_fields, url_without_path
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.tables import projects, users
from fanion.db.schema.webhooks import webhook_deliveries, webhooks
from fanion.errors import Invalid, NotFound
from fanion.projects.auth.keys import mask
from fanion.projects.model import user_summary
from fanion.projects.organizations.store import USER_SUMMARY
from fanion.webhooks.model import (
    Delivery,
    FormerSecret,
    Webhook,
    read_former,
    write_former,
)

WEBHOOKS_MAX = 20  # per project
_INACTIVE = "Not sent: the webhook was deactivated."
# Only scheme and host of `url` are logged: its path may contain a secret of the receiver.
RECORDED = ("url", "events", "active")
_COLUMNS = tuple(
    name for name in Webhook.__struct_fields__ if name not in ("created_by", "former_until")
)

_hook, _delivery = webhooks.c, webhook_deliveries.c
_DELIVERY = (
    _delivery.uuid,
    _delivery.event,
    _delivery.status,
    _delivery.attempts,
    _delivery.response_code,
    _delivery.error,
    _delivery.created_at,
    _delivery.due_at,
    _delivery.finished_at,
)


@dataclass(frozen=True, slots=True)
class WebhookStore:
    records: Records

    async def page(self, project_id: int, limit: int, offset: int) -> tuple[Sequence[Webhook], int]:
        """Return one page of a project's webhooks, oldest first, and the number of all."""
        of_project = _hook.project_id == project_id
        count = select(func.count()).select_from(webhooks).where(of_project)
        rows = _select_webhooks().where(of_project).order_by(_hook.id).limit(limit).offset(offset)
        async with self.records.read() as connection:
            total = (await connection.execute(count)).scalar_one()
            return [_webhook_of_row(row) for row in await connection.execute(rows)], total

    async def get_webhook(self, project_id: int, webhook_id: int) -> Webhook:
        """Return a webhook of the project, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(_get_webhook, project_id, webhook_id)

    async def deliveries(
        self, project_id: int, webhook_id: int, limit: int, offset: int
    ) -> tuple[Sequence[Delivery], int]:
        """Return one page of a webhook's deliveries, newest first, and the number of all.

        Raises:
            NotFound: There is no such webhook.
        """
        of_webhook = _delivery.webhook_id == webhook_id
        count = select(func.count()).select_from(webhook_deliveries).where(of_webhook)
        rows = select(*_DELIVERY).where(of_webhook).order_by(_delivery.id.desc())
        async with self.records.read() as connection:
            await connection.run_sync(_get_webhook, project_id, webhook_id)
            total = (await connection.execute(count)).scalar_one()
            page = await connection.execute(rows.limit(limit).offset(offset))
            return [Delivery(*row) for row in page], total


def create_webhook(connection: Connection, author: Author, values: Mapping[str, Any]) -> Webhook:
    """Create a webhook within a transaction.

    Args:
        values: By column, without project and times.

    Raises:
        Invalid: The project has WEBHOOKS_MAX webhooks.
    """
    project_id = author.project_id
    _lock_project(connection, project_id)
    count = select(func.count()).select_from(webhooks).where(_hook.project_id == project_id)
    if (connection.scalar(count) or 0) >= WEBHOOKS_MAX:
        raise Invalid(f"A project can have at most {WEBHOOKS_MAX} webhooks.")
    statement = insert(webhooks).values(
        project_id=project_id,
        created_by_id=author.user_id,
        created_at=author.now,
        updated_at=author.now,
        **values,
    )
    webhook_id = connection.execute(statement.returning(_hook.id)).scalar_one()
    webhook = _get_webhook(connection, project_id, webhook_id)
    _record_change(connection, author, webhook, "created")
    return webhook


def _lock_project(connection: Connection, project_id: int) -> None:
    """Let concurrent creations wait for each other, so that the limit holds."""
    connection.execute(select(projects.c.id).where(projects.c.id == project_id).with_for_update())


def change_webhook(
    connection: Connection, author: Author, webhook_id: int, values: Mapping[str, Any]
) -> Webhook:
    """Set the given columns within a transaction, or raise NotFound.

    Pending deliveries fail if `active` is set to False.
    """
    before = lock_webhook(connection, author.project_id, webhook_id)
    if not values:
        return before
    is_webhook = _is_webhook(author.project_id, webhook_id)
    connection.execute(update(webhooks).where(is_webhook).values(**values, updated_at=author.now))
    if values.get("active") is False:
        connection.execute(
            update(webhook_deliveries)
            .where(_delivery.webhook_id == webhook_id, _delivery.due_at.is_not(None))
            .values(status="failed", body=b"", error=_INACTIVE, due_at=None, finished_at=author.now)
        )
    after = _get_webhook(connection, author.project_id, webhook_id)
    _record_change(connection, author, after, "updated", before)
    return after


def read_secrets(connection: Connection, webhook: Webhook) -> tuple[str, list[FormerSecret]]:
    """Return the secret of a webhook, and its former ones, expired ones included."""
    present, stored = connection.execute(
        select(_hook.secret, _hook.former_secrets).where(_hook.id == webhook.id)
    ).one()
    return present, read_former(stored)


def write_secret(
    connection: Connection,
    author: Author,
    before: Webhook,
    secret: str,
    present: str,
    former: Sequence[FormerSecret],
) -> Webhook:
    """Replace the secret `present` of a webhook within a transaction, and record it.

    Args:
        former: The secrets that sign as well from now on.
    """
    values = {"secret": secret, "former_secrets": write_former(former) or None}
    connection.execute(
        update(webhooks).where(_hook.id == before.id).values(**values, updated_at=author.now)
    )
    after = _get_webhook(connection, author.project_id, before.id)
    differing = changed_fields(
        "Webhook", {"secret": mask(present)}, {"secret": mask(secret)}, ["secret"]
    )
    _record_fields(connection, author, before, "updated", differing)
    return after


def remove_webhook(connection: Connection, author: Author, webhook_id: int) -> None:
    """Delete a webhook with its deliveries within a transaction, or raise NotFound."""
    webhook = lock_webhook(connection, author.project_id, webhook_id)
    connection.execute(delete(webhooks).where(_is_webhook(author.project_id, webhook_id)))
    _record_change(connection, author, webhook, "deleted")


def _record_change(
    connection: Connection,
    author: Author,
    webhook: Webhook,
    activity: str,
    before: Webhook | None = None,
) -> None:
    compared = None
    if before is not None:
        compared = changed_fields(
            "Webhook", _logged_values(before), _logged_values(webhook), RECORDED
        )
    _record_fields(connection, author, webhook, activity, compared)


def _record_fields(
    connection: Connection,
    author: Author,
    webhook: Webhook,
    activity: str,
    compared: Sequence[Change] | None,
) -> None:
    entry = ActivityRecord(
        author=author,
        scope="Webhook",
        item_id=str(webhook.id),
        activity=activity,
        name=url_without_path(webhook.url),
        changes=compared,
    )
    record_activity(connection, entry)


def _logged_values(webhook: Webhook) -> Mapping[str, Any]:
    values = {name: getattr(webhook, name) for name in RECORDED}
    return values | {"url": url_without_path(webhook.url)}


def _is_webhook(project_id: int, webhook_id: int) -> ColumnElement[bool]:
    return (_hook.project_id == project_id) & (_hook.id == webhook_id)


def lock_webhook(connection: Connection, project_id: int, webhook_id: int) -> Webhook:
    """Return the webhook, locked, after transactions that write its deliveries have ended.

    Raises:
        NotFound: There is no such webhook.
    """
    is_webhook = _is_webhook(project_id, webhook_id)
    connection.execute(select(_hook.id).where(is_webhook).with_for_update())
    return _get_webhook(connection, project_id, webhook_id)


def _get_webhook(connection: Connection, project_id: int, webhook_id: int) -> Webhook:
    row = connection.execute(_select_webhooks().where(_is_webhook(project_id, webhook_id))).first()
    if row is None:
        raise NotFound
    return _webhook_of_row(row)


def _select_webhooks() -> Select[Any]:
    columns = (_hook[name] for name in _COLUMNS)
    return select(*columns, _hook.former_secrets, *USER_SUMMARY).select_from(
        webhooks.outerjoin(users, users.c.id == _hook.created_by_id)
    )


def _webhook_of_row(row: Row[Any]) -> Webhook:
    return Webhook(
        created_by=user_summary(row),
        former_until=[secret.valid_until for secret in read_former(row.former_secrets)],
        **{name: getattr(row, name) for name in _COLUMNS},
    )
