"""Transactional outbox of webhooks: deliveries are written in the transaction of the change.

Alerts for events of definitions with `post_to_chat` are counted as the events are stored. The first
event is announced at once, and those that follow within ANNOUNCE_EVERY together at its end, with
their number: at most one message a minute for each definition.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, Row, Select, case, delete, func, insert, select, update

from fanion.activity.model import ActivityRecord
from fanion.activity.store import record
from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.tables import event_definitions, users
from fanion.db.schema.webhooks import event_announcements, webhook_deliveries, webhooks
from fanion.webhooks.model import EventType, captured_body, change_body, type_of

# Deliveries of one webhook. Beyond that many, further ones are stored as failed.
PENDING_MAX = 1_000
ANNOUNCE_EVERY = timedelta(minutes=1)
ANNOUNCED_MAX = 100  # alerts in one transaction; the next transaction follows at once
_OVERFLOW = f"Not sent: {PENDING_MAX} deliveries were waiting."

_hook, _delivery = webhooks.c, webhook_deliveries.c
_alert, _definition = event_announcements.c, event_definitions.c


def record_and_enqueue(connection: Connection, entry: ActivityRecord) -> None:
    """Write an entry of the activity log, and the deliveries of webhooks that subscribe to it."""
    if not record(connection, entry):
        return
    author = entry.author
    active = _active(connection, author.project_id)
    kind = type_of(entry) if active else None
    receivers = [webhook_id for webhook_id, events in active if kind in events]
    if kind is not None and receivers:
        body = change_body(kind, entry, _user_names(connection, author.user_id))
        _enqueue(connection, author.project_id, receivers, kind, body, author.now)


def enqueue(
    connection: Connection,
    project_id: int,
    kind: EventType,
    body: Callable[[], bytes],
    now: datetime,
) -> None:
    """Write the deliveries of an event. body: called only if a webhook subscribes to it"""
    active = _active(connection, project_id)
    receivers = [webhook_id for webhook_id, events in active if kind in events]
    if receivers:
        _enqueue(connection, project_id, receivers, kind, body(), now)


def _enqueue(
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
    """Projects with an active webhook that subscribes to this type of event."""
    if not project_ids:
        return set()
    rows = connection.execute(
        select(_hook.project_id, _hook.events).where(
            _hook.project_id.in_(project_ids), _hook.active.is_(True)
        )
    )
    return {row.project_id for row in rows if kind in row.events}


def _active(connection: Connection, project_id: int) -> Sequence[tuple[int, Collection[EventType]]]:
    """Ids of the active webhooks with their event types. The rows are locked: a transaction that
    changes or deletes a webhook waits for this one, and then sees the deliveries it wrote."""
    rows = connection.execute(
        select(_hook.id, _hook.events)
        .where(_hook.project_id == project_id, _hook.active.is_(True))
        .order_by(_hook.id)
        .with_for_update(read=True)
    )
    return [(row.id, row.events) for row in rows]


def _pending_counts(connection: Connection, webhook_ids: Sequence[int]) -> Mapping[int, int]:
    """Number of pending deliveries by webhook."""
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


def count_captured(
    connection: Connection,
    project_ids: Collection[int],
    count: Callable[[], Mapping[tuple[int, str], int]],
    now: datetime,
) -> None:
    """Count alerts in the transaction that creates or refreshes the definitions.

    project_ids: of the events that are stored
    count:       number of events by project id and name; called only if a webhook subscribes
    """
    subscribed = subscribed_projects(connection, project_ids, "event.captured")
    if not subscribed:
        return
    counts = count()
    definitions = connection.execute(
        select(_definition.id, _definition.project_id, _definition.name)
        .where(_definition.project_id.in_(subscribed), _definition.post_to_chat.is_(True))
        # In a fixed order, so that two servers do not deadlock.
        .order_by(_definition.id)
    )
    for definition_id, project_id, name in definitions.all():
        number = counts.get((project_id, name))
        if number:
            _count_alert(connection, definition_id, project_id, number, now)


def _count_alert(
    connection: Connection, definition_id: UUID, project_id: int, number: int, now: datetime
) -> None:
    statement = upsert(connection.dialect, event_announcements).values(
        definition_id=definition_id,
        project_id=project_id,
        count=number,
        since=now,
        until=now,
        due_at=now,
    )
    added = {
        "count": _alert["count"] + number,
        "since": case((_alert["count"] == 0, now), else_=_alert.since),
        "until": now,
    }
    connection.execute(
        statement.on_conflict_do_update(index_elements=["definition_id"], set_=added)
    )


async def announce_due(records: Records, now: datetime) -> bool:
    """Enqueue the alerts that are due; whether there may be more."""
    if not await records.fetch(_due_alerts(now).limit(1)):
        return False  # without a write transaction, of which there is one at a time
    async with records.write() as connection:
        return await connection.run_sync(_announce_alerts, now)


def _announce_alerts(connection: Connection, now: datetime) -> bool:
    due = _due_alerts(now).limit(ANNOUNCED_MAX)
    rows = connection.execute(due.with_for_update(of=event_announcements, skip_locked=True)).all()
    for row in rows:
        one = _alert.definition_id == row.definition_id
        if row.number == 0:
            connection.execute(delete(event_announcements).where(one))
            continue
        enqueue(connection, row.project_id, "event.captured", partial(_alert_body, row), now)
        again = {"count": 0, "due_at": now + ANNOUNCE_EVERY}
        connection.execute(update(event_announcements).where(one).values(**again))
    return len(rows) == ANNOUNCED_MAX


def _alert_body(row: Row[Any]) -> bytes:
    span = row.since, row.until
    return captured_body(row.project_id, row.definition_id, row.name, row.number, span)


def _due_alerts(now: datetime) -> Select[Any]:
    return (
        select(
            _alert.definition_id,
            _alert.project_id,
            _alert["count"].label("number"),
            _alert.since,
            _alert.until,
            _definition.name,
        )
        .join(event_definitions, _definition.id == _alert.definition_id)
        .where(_alert.due_at <= now)
        .order_by(_alert.due_at, _alert.definition_id)
    )
