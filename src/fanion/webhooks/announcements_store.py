"""Alerts for events of definitions with `post_to_chat`, counted as the events are stored.

The first event is announced at once. Those that follow within ANNOUNCE_EVERY are announced
together at its end, with their number, so there is at most one message a minute for each
definition. Each server that ingests counts in its own rows, so that batches do not wait for
each other.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CompoundSelect,
    Connection,
    Row,
    Select,
    delete,
    exists,
    select,
    tuple_,
    union,
    update,
)

from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.tables import event_definitions
from fanion.db.schema.webhooks import event_announcement_counts, event_announcements
from fanion.webhooks.model import captured_body
from fanion.webhooks.outbox_store import enqueue, subscribed_projects

ANNOUNCE_EVERY = timedelta(minutes=1)
ANNOUNCED_MAX = 100  # definitions per transaction; the next transaction follows at once

_announced, _definition = event_announcements.c, event_definitions.c
_counted = event_announcement_counts.c
_KEY = tuple_(_counted.definition_id, _counted.slot)


def count_captured(
    connection: Connection,
    project_ids: Collection[int],
    count: Callable[[], Mapping[tuple[int, str], int]],
    now: datetime,
    slot: int,
) -> None:
    """Count alerts in the transaction that creates or refreshes the definitions.

    Args:
        project_ids: The projects of the events that are stored.
        count: Returns the number of events by project id and name. It is called only if a webhook
            subscribes to them.
        slot: A partition that only this server holds.
    """
    subscribed = subscribed_projects(connection, project_ids, "event.captured")
    if not subscribed:
        return
    counts = count()
    definitions = connection.execute(
        select(_definition.id, _definition.project_id, _definition.name)
        .where(_definition.project_id.in_(subscribed), _definition.post_to_chat.is_(True))
        # Counting and announcing lock definitions in the same order, so that they do not deadlock.
        .order_by(_definition.id)
    )
    for definition_id, project_id, name in definitions.all():
        if number := counts.get((project_id, name)):
            _add_count(connection, definition_id, number, now, slot)


def _add_count(
    connection: Connection, definition_id: UUID, number: int, now: datetime, slot: int
) -> None:
    statement = upsert(connection.dialect, event_announcement_counts).values(
        definition_id=definition_id, slot=slot, count=number, since=now, until=now
    )
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["definition_id", "slot"],
            set_={"count": _counted["count"] + number, "until": now},
        )
    )


async def announce_due(records: Records, now: datetime) -> bool:
    """Enqueue the alerts that are due.

    Returns:
        Whether there may be more of them.
    """
    if not await records.fetch(_select_due(now).limit(1)):
        return False  # and open no write transaction: only one runs at a time
    async with records.write() as connection:
        return await connection.run_sync(_announce_due, now)


def _announce_due(connection: Connection, now: datetime) -> bool:
    ids = connection.scalars(_select_due(now).limit(ANNOUNCED_MAX)).all()
    definitions: Select[Any] = (
        select(_definition.id, _definition.project_id, _definition.name)
        .where(_definition.id.in_(ids))
        .order_by(_definition.id)
    )
    due = connection.execute(definitions).all()
    locked = _lock_announcements(connection, due, now)
    counted: dict[UUID, list[Row[Any]]] = {definition_id: [] for definition_id in locked}
    for row in _take_counts(connection, locked):
        counted[row.definition_id].append(row)
    for definition in due:
        if definition.id in counted:
            _announce_events(connection, definition, counted[definition.id], now)
    return len(locked) == ANNOUNCED_MAX


def _select_due(now: datetime) -> CompoundSelect[Any]:
    """Select the definitions whose announcement is due, and those with events but none yet."""
    is_old = select(_announced.definition_id).where(_announced.due_at <= now)
    is_new = select(_counted.definition_id).where(
        ~exists().where(_announced.definition_id == _counted.definition_id)
    )
    return union(is_old, is_new)


def _lock_announcements(
    connection: Connection, due: Sequence[Row[Any]], now: datetime
) -> Sequence[UUID]:
    """Lock the due announcements that no other server is writing.

    Returns:
        The ids of their definitions.
    """
    if not due:
        return ()
    new = {"count": 0, "since": now, "until": now, "due_at": now}  # only `due_at` is used
    connection.execute(
        upsert(connection.dialect, event_announcements).on_conflict_do_nothing(),
        [
            {"definition_id": definition.id, "project_id": definition.project_id, **new}
            for definition in due
        ],
    )
    statement: Select[Any] = (
        select(_announced.definition_id)
        .where(
            _announced.definition_id.in_([definition.id for definition in due]),
            _announced.due_at <= now,
        )
        .order_by(_announced.definition_id)
        .with_for_update(skip_locked=True)
    )
    return connection.scalars(statement).all()


def _take_counts(connection: Connection, definitions: Collection[UUID]) -> Sequence[Row[Any]]:
    """Delete and return what has been counted until now."""
    statement: Select[Any] = (
        select(
            _counted.definition_id,
            _counted.slot,
            _counted["count"].label("number"),
            _counted.since,
            _counted.until,
        )
        .where(_counted.definition_id.in_(definitions))
        .order_by(_counted.definition_id, _counted.slot)
        .with_for_update()
    )
    rows = connection.execute(statement).all()
    if rows:  # delete by key, so that a slot added meanwhile is kept
        keys = [(row.definition_id, row.slot) for row in rows]
        connection.execute(delete(event_announcement_counts).where(_KEY.in_(keys)))
    return rows


def _announce_events(
    connection: Connection, definition: Row[Any], counted: Sequence[Row[Any]], now: datetime
) -> None:
    """Enqueue one message for all counted events.

    If there are none, the definition's next event will be announced at once.
    """
    is_definition = _announced.definition_id == definition.id
    if not counted:
        connection.execute(delete(event_announcements).where(is_definition))
        return
    body = partial(_body, definition, counted)
    enqueue(connection, definition.project_id, "event.captured", body, now)
    next_at = update(event_announcements).where(is_definition).values(due_at=now + ANNOUNCE_EVERY)
    connection.execute(next_at)


def _body(definition: Row[Any], counted: Sequence[Row[Any]]) -> bytes:
    span = min(row.since for row in counted), max(row.until for row in counted)
    number = sum(row.number for row in counted)
    return captured_body(definition.project_id, definition.id, definition.name, number, span)
