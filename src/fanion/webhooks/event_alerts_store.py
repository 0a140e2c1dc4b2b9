"""Alerts for events of definitions with `post_to_chat`, counted as they are stored.

The first event is announced at once, and those that follow within ANNOUNCE_EVERY together at its
end, with their number: at most one message a minute for each definition.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, Select, case, delete, select, update

from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.tables import event_definitions
from fanion.db.schema.webhooks import event_announcements
from fanion.webhooks.outbox_store import enqueue, subscribed_projects
from fanion.webhooks.payloads import captured_body

ANNOUNCE_EVERY = timedelta(minutes=1)
# In one transaction; the next one follows at once.
ANNOUNCED_MAX = 100

_row, _definition = event_announcements.c, event_definitions.c


def count_captured(
    connection: Connection,
    project_ids: Collection[int],
    count: Callable[[], Mapping[tuple[int, str], int]],
    now: datetime,
) -> None:
    """In the transaction that creates or refreshes the definitions.

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
        # Always in one order, so that two servers cannot wait for each other's rows.
        .order_by(_definition.id)
    )
    for definition_id, project_id, name in definitions.all():
        number = counts.get((project_id, name))
        if number:
            _add(connection, definition_id, project_id, number, now)


def _add(
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
        "count": _row["count"] + number,
        "since": case((_row["count"] == 0, now), else_=_row.since),
        "until": now,
    }
    connection.execute(
        statement.on_conflict_do_update(index_elements=["definition_id"], set_=added)
    )


async def announce_due(records: Records, now: datetime) -> bool:
    """Enqueue the alerts that are due; whether there may be more."""
    if not await records.fetch(_due(now).limit(1)):
        return False  # without a write transaction, of which there is one at a time
    async with records.write() as connection:
        return await connection.run_sync(_announce, now)


def _announce(connection: Connection, now: datetime) -> bool:
    due = _due(now).limit(ANNOUNCED_MAX)
    rows = connection.execute(due.with_for_update(of=event_announcements, skip_locked=True)).all()
    for row in rows:
        one = _row.definition_id == row.definition_id
        if row.number == 0:
            connection.execute(delete(event_announcements).where(one))
            continue
        enqueue(connection, row.project_id, "event.captured", partial(_body, row), now)
        again = {"count": 0, "due_at": now + ANNOUNCE_EVERY}
        connection.execute(update(event_announcements).where(one).values(**again))
    return len(rows) == ANNOUNCED_MAX


def _body(row: Row[Any]) -> bytes:
    span = row.since, row.until
    return captured_body(row.project_id, row.definition_id, row.name, row.number, span)


def _due(now: datetime) -> Select[Any]:
    return (
        select(
            _row.definition_id,
            _row.project_id,
            _row["count"].label("number"),
            _row.since,
            _row.until,
            _definition.name,
        )
        .join(event_definitions, _definition.id == _row.definition_id)
        .where(_row.due_at <= now)
        .order_by(_row.due_at, _row.definition_id)
    )
