"""What webhooks are to be sent, written down in the transaction of the change that it tells of:
either both are there afterwards or neither is.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, func, insert, select

from fanion.activity.model import Entry
from fanion.activity.store import record
from fanion.db.schema.tables import users
from fanion.db.schema.webhooks import webhook_deliveries, webhooks
from fanion.webhooks.payloads import EventType, change_body, type_of

# Of one webhook. Whatever comes while so many wait is written down as given up.
PENDING_MAX = 1_000
_OVERFLOW = f"Not sent: {PENDING_MAX} deliveries were waiting."

_hook, _delivery = webhooks.c, webhook_deliveries.c


def tell(connection: Connection, entry: Entry) -> None:
    """Write an entry of the activity, and what webhooks are sent of it."""
    kind = type_of(entry)
    if not record(connection, entry) or kind is None:
        return
    author = entry.author

    def body() -> bytes:
        return change_body(kind, entry, _named(connection, author.user_id))

    put_out(connection, author.project_id, kind, body, author.now)


def put_out(
    connection: Connection,
    project_id: int,
    kind: EventType,
    body: Callable[[], bytes],
    now: datetime,
) -> None:
    """body: made only when somebody is to be sent it"""
    receivers = _subscribed(connection, project_id, kind)
    if not receivers:
        return
    waiting, content = _waiting(connection, receivers), body()
    rows = [
        _row(project_id, webhook_id, kind, now)
        | (_overflown(now) if waiting.get(webhook_id, 0) >= PENDING_MAX else _due(content, now))
        for webhook_id in receivers
    ]
    connection.execute(insert(webhook_deliveries), rows)


def subscribed_projects(
    connection: Connection, project_ids: Collection[int], kind: EventType
) -> Collection[int]:
    """Those with a webhook for this type of event."""
    if not project_ids:
        return set()
    rows = connection.execute(
        select(_hook.project_id, _hook.events).where(
            _hook.project_id.in_(project_ids), _hook.active.is_(True)
        )
    )
    return {row.project_id for row in rows if kind in row.events}


def _subscribed(connection: Connection, project_id: int, kind: EventType) -> Sequence[int]:
    """Whoever changes or removes one of them waits for this transaction, and then finds what it
    has written."""
    rows = connection.execute(
        select(_hook.id, _hook.events)
        .where(_hook.project_id == project_id, _hook.active.is_(True))
        .order_by(_hook.id)
        .with_for_update(read=True)
    )
    return [row.id for row in rows if kind in row.events]


def _waiting(connection: Connection, webhook_ids: Sequence[int]) -> Mapping[int, int]:
    """How many deliveries of each are still to be made."""
    rows = connection.execute(
        select(_delivery.webhook_id, func.count().label("waiting"))
        .where(_delivery.webhook_id.in_(webhook_ids), _delivery.due_at.is_not(None))
        .group_by(_delivery.webhook_id)
    )
    return {row.webhook_id: row.waiting for row in rows}


def _row(project_id: int, webhook_id: int, kind: EventType, now: datetime) -> dict[str, Any]:
    return {
        "project_id": project_id,
        "webhook_id": webhook_id,
        "uuid": uuid4(),
        "event": kind,
        "attempts": 0,
        "response_code": None,
        "created_at": now,
    }


def _due(body: bytes, now: datetime) -> dict[str, Any]:
    return {"body": body, "status": "pending", "error": None, "due_at": now, "finished_at": None}


def _overflown(now: datetime) -> dict[str, Any]:
    return {
        "body": b"",
        "status": "failed",
        "error": _OVERFLOW,
        "due_at": None,
        "finished_at": now,
    }


def _named(connection: Connection, user_id: int | None) -> Mapping[str, str] | None:
    user = users.c
    row = connection.execute(select(user.first_name, user.email).where(user.id == user_id)).first()
    return None if row is None else {"first_name": row.first_name, "email": row.email}
