"""Event definitions: one for each event name that a project has stored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, Dialect, Row, Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.db.tables import event_definitions
from fanion.db.upsert import upsert


@dataclass(frozen=True, slots=True)
class EventDefinition:
    id: UUID
    project_id: int
    name: str
    created_at: datetime | None
    last_seen_at: datetime | None
    last_updated_at: datetime | None
    tags: list[str]
    post_to_chat: bool


def record_seen(connection: Connection, names: Iterable[tuple[int, str]], now: datetime) -> None:
    """Make a definition for each new (project id, name) and refresh the others' last_seen_at.

    now:    the server's clock, not the events' own times
    source: capture.md section 6
    """
    rows: list[dict[str, Any]] = [
        {
            "id": uuid4(),
            "project_id": project_id,
            "name": name,
            "created_at": now,
            "last_seen_at": now,
            "last_updated_at": None,
            "tags": [],
            "post_to_chat": False,
        }
        # Always in one order, so that two consumers cannot wait for each other's rows.
        for project_id, name in sorted(set(names))
    ]
    if rows:
        connection.execute(_upsert(connection.dialect), rows)


def _upsert(dialect: Dialect) -> Any:
    statement = upsert(dialect, event_definitions)
    return statement.on_conflict_do_update(
        index_elements=["project_id", "name"],
        set_={"last_seen_at": statement.excluded.last_seen_at},
    )


async def definitions(
    connection: AsyncConnection, project_id: int, limit: int, offset: int
) -> tuple[int, Sequence[EventDefinition]]:
    """The total and one page: seen most recently first by day, then by name."""
    of_project = event_definitions.c.project_id == project_id
    total = await connection.scalar(
        select(func.count()).select_from(event_definitions).where(of_project)
    )
    day = func.date(event_definitions.c.last_seen_at)
    page = (
        _definition_rows()
        .where(of_project)
        .order_by(day.desc().nulls_last(), event_definitions.c.name)
        .limit(limit)
        .offset(offset)
    )
    return total or 0, [_definition(row) for row in await connection.execute(page)]


async def definition(
    connection: AsyncConnection, project_id: int, definition_id: UUID
) -> EventDefinition | None:
    statement = _definition_rows().where(
        event_definitions.c.project_id == project_id, event_definitions.c.id == definition_id
    )
    row = (await connection.execute(statement)).first()
    return None if row is None else _definition(row)


def _definition_rows() -> Select[Any]:
    columns = event_definitions.c
    return select(
        columns.id,
        columns.project_id,
        columns.name,
        columns.created_at,
        columns.last_seen_at,
        columns.last_updated_at,
        columns.tags,
        columns.post_to_chat,
    )


def _definition(row: Row[Any]) -> EventDefinition:
    return EventDefinition(
        row.id,
        row.project_id,
        row.name,
        row.created_at,
        row.last_seen_at,
        row.last_updated_at,
        row.tags,
        row.post_to_chat,
    )
