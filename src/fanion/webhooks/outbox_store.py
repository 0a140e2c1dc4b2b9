"""The transactional outbox of webhooks: deliveries are written in the transaction of the change."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, func, insert, select

from fanion.activity.model import ActivityRecord
from fanion.activity.store import record_activity
from fanion.db.schema.tables import users
from fanion.db.schema.webhooks import webhook_deliveries, webhooks
from fanion.webhooks.model import EventType, change_body, event_type_of

# Pending deliveries of one webhook. Once it has that many, further ones are stored as failed.
PENDING_MAX = 1_000
_OVERFLOW = f"Not sent: {PENDING_MAX} deliveries were waiting."

_hook, _delivery = webhooks.c, webhook_deliveries.c


def record_and_enqueue(connection: Connection, entry: ActivityRecord) -> None:
    """Write an entry of the activity log, and its deliveries for the webhooks that subscribe."""
    if not record_activity(connection, entry):
        return
    author = entry.author
    active = _lock_active_webhooks(connection, author.project_id)
    kind = event_type_of(entry) if active else None
    receivers = [webhook_id for webhook_id, events in active if kind in events]
    if kind is not None and receivers:
        body = change_body(kind, entry, _user_names(connection, author.user_id))
        _insert_deliveries(connection, author.project_id, receivers, kind, body, author.now)


def enqueue(
    connection: Connection,
    project_id: int,
    kind: EventType,
    body: Callable[[], bytes],
    now: datetime,
) -> int:
    """Write the deliveries of an event, and return their number.

    Args:
        body: Called only if a webhook subscribes to the event.
    """
    active = _lock_active_webhooks(connection, project_id)
    receivers = [webhook_id for webhook_id, events in active if kind in events]
    if receivers:
        _insert_deliveries(connection, project_id, receivers, kind, body(), now)
    return len(receivers)


def _insert_deliveries(
    connection: Connection,
    project_id: int,
    receivers: Sequence[int],
    kind: EventType,
    content: bytes,
    now: datetime,
) -> None:
    waiting = _pending_counts(connection, receivers)
    rows = [
        _delivery_row(project_id, webhook_id, kind, now)
        | (
            _overflowed(now)
            if waiting.get(webhook_id, 0) >= PENDING_MAX
            else _pending(content, now)
        )
        for webhook_id in receivers
    ]
    connection.execute(insert(webhook_deliveries), rows)


def subscribed_projects(
    connection: Connection, project_ids: Collection[int], kind: EventType
) -> Collection[int]:
    """Return the projects with an active webhook that subscribes to this type of event."""
    if not project_ids:
        return set()
    rows = connection.execute(
        select(_hook.project_id, _hook.events).where(
            _hook.project_id.in_(project_ids), _hook.active.is_(True)
        )
    )
    return {row.project_id for row in rows if kind in row.events}


def _lock_active_webhooks(
    connection: Connection, project_id: int
) -> Sequence[tuple[int, Collection[EventType]]]:
    """Return the ids of the active webhooks with their event types, and lock the webhooks.

    A transaction that changes or deletes a webhook waits for this one, and then sees the deliveries
    that it wrote.
    """
    rows = connection.execute(
        select(_hook.id, _hook.events)
        .where(_hook.project_id == project_id, _hook.active.is_(True))
        .order_by(_hook.id)
        .with_for_update(read=True)
    )
    return [(row.id, row.events) for row in rows]


def _pending_counts(connection: Connection, webhook_ids: Sequence[int]) -> Mapping[int, int]:
    rows = connection.execute(
        select(_delivery.webhook_id, func.count().label("waiting"))
        .where(_delivery.webhook_id.in_(webhook_ids), _delivery.due_at.is_not(None))
        .group_by(_delivery.webhook_id)
    )
    return {row.webhook_id: row.waiting for row in rows}


def _delivery_row(
    project_id: int, webhook_id: int, kind: EventType, now: datetime
) -> dict[str, Any]:
    return {
        "project_id": project_id,
        "webhook_id": webhook_id,
        "uuid": uuid4(),
        "event": kind,
        "attempts": 0,
        "response_code": None,
        "created_at": now,
    }


def _pending(body: bytes, now: datetime) -> dict[str, Any]:
    return {"body": body, "status": "pending", "error": None, "due_at": now, "finished_at": None}


def _overflowed(now: datetime) -> dict[str, Any]:
    return {
        "body": b"",
        "status": "failed",
        "error": _OVERFLOW,
        "due_at": None,
        "finished_at": now,
    }


def _user_names(connection: Connection, user_id: int | None) -> Mapping[str, str] | None:
    user = users.c
    row = connection.execute(select(user.first_name, user.email).where(user.id == user_id)).first()
    return None if row is None else {"first_name": row.first_name, "email": row.email}
