"""Saved insights in the records store, and their changes with the activity."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import asdict
from sqlalchemy import ColumnElement, Connection, Row, Select, func, insert, or_, select, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.insights import dashboard_tiles, dashboards, insights
from fanion.insights.saved.model import InsightRecord, PlainInsight, StoredInsight, TilePlace
from fanion.projects.organizations.store import read_user_summaries

# Fields whose changes are recorded in the activity log.
RECORDED = (*PlainInsight.__struct_fields__, "dashboards", "deleted")
SHORT_ID_CHARS = 8

_insight, _tile, _dashboard = insights.c, dashboard_tiles.c, dashboards.c
_SHORT_ID_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_NEW: Mapping[str, Any] = {**asdict(PlainInsight()), "is_sample": False, "deleted": False}
_COLUMNS = tuple(
    name
    for name in InsightRecord.__struct_fields__
    if name not in ("created_by", "last_modified_by")
)


@dataclass(frozen=True, slots=True)
class Creator:
    """The project, user and time of a creation.

    Attributes:
        user_id: None for the server itself.
    """

    project_id: int
    user_id: int | None
    now: datetime


@dataclass(frozen=True, slots=True)
class InsightSelection:
    """The insights to list; None stands for any.

    Attributes:
        search: Part of a name or description, regardless of the case of ASCII letters.
        deleted: Whether to list the deleted insights, and not the others.
    """

    short_id: str | None = None
    search: str | None = None
    saved: bool | None = None
    favorited: bool | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class InsightStore:
    records: Records

    async def list_insights(
        self, project_id: int, query: InsightSelection, limit: int, offset: int
    ) -> tuple[Sequence[StoredInsight], int]:
        """Return a page of insights, newest first, and the total number."""
        conditions = [_insight.project_id == project_id, *_conditions(query)]
        statement = (
            select(insights)
            .where(*conditions)
            .order_by(_insight.created_at.desc(), _insight.id.desc())
            .limit(limit)
            .offset(offset)
        )
        async with self.records.read() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(insights).where(*conditions)
            )
            rows = (await connection.execute(statement)).all()
            return await connection.run_sync(read_insights, rows), total or 0

    async def get_insight(self, project_id: int, insight_id: int) -> StoredInsight | None:
        """Return an insight, None if it is deleted or unknown."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_insight, project_id, insight_id)

    async def has_insight(self, project_id: int, insight_id: int) -> bool:
        """Return whether the project has or had this insight; a deleted one counts."""
        known = select(_insight.id).where(
            _insight.project_id == project_id, _insight.id == insight_id
        )
        return bool(await self.records.fetch(known))


def get_insight(connection: Connection, project_id: int, insight_id: int) -> StoredInsight | None:
    insight = _first_insight(connection, _insight_rows(project_id, insight_id))
    return None if insight is None or insight.deleted else insight


def add_insight(
    connection: Connection, creator: Author | Creator, values: Mapping[str, Any]
) -> int:
    """Insert an insight and return its id.

    Args:
        values: By column, with `filters`.
    """
    row = {
        "short_id": "".join(secrets.choice(_SHORT_ID_ALPHABET) for _ in range(SHORT_ID_CHARS)),
        "created_at": creator.now,
        "created_by_id": creator.user_id,
        **_modified_columns(creator),
        **_NEW,
        **values,
    }
    statement = insert(insights).values(project_id=creator.project_id, **row)
    added: int = connection.execute(statement.returning(_insight.id)).scalar_one()
    return added


def record_new_insight(connection: Connection, author: Author, insight_id: int) -> StoredInsight:
    """Record the creation of an insight, and return the insight."""
    created = get_insight(connection, author.project_id, insight_id)
    assert created is not None
    _record_change(connection, author, created, None)
    return created


def lock_insight(connection: Connection, project_id: int, insight_id: int) -> StoredInsight | None:
    """Lock an insight, deleted or not, for the rest of the caller's transaction."""
    return _first_insight(connection, _insight_rows(project_id, insight_id).with_for_update())


def write_insight(
    connection: Connection, author: Author, before: StoredInsight, values: Mapping[str, Any]
) -> StoredInsight:
    """Change an insight and record it, in the caller's transaction.

    Args:
        before: The insight before this change, and before a change of its tiles.
        values: By column.
    """
    this, rows = _insight.id == before.id, _insight_rows(author.project_id, before.id)
    if values:
        connection.execute(update(insights).where(this).values(**values))
    [after] = read_insights(connection, connection.execute(rows).all())
    if not _record_change(connection, author, after, before):
        return after
    connection.execute(update(insights).where(this).values(**_modified_columns(author)))
    [modified] = read_insights(connection, connection.execute(rows).all())
    return modified


def read_insights(connection: Connection, rows: Sequence[Row[Any]]) -> list[StoredInsight]:
    """Return insights with the dashboards that show them.

    Args:
        rows: Rows with all columns of the table.
    """
    user_summaries = read_user_summaries(
        connection, (n for row in rows for n in (row.created_by_id, row.last_modified_by_id))
    )
    tiles = (
        select(
            _tile.insight_id,
            _tile.id,
            _tile.dashboard_id,
            _dashboard.restriction_level,
            _dashboard.created_by_id,
        )
        .join(dashboards, _dashboard.id == _tile.dashboard_id)
        .where(_tile.insight_id.in_([row.id for row in rows]), _tile.deleted.is_(False))
        .where(_dashboard.deleted.is_(False))
        .order_by(_tile.id)
    )
    places: dict[int, list[TilePlace]] = {}
    for insight_id, *values in connection.execute(tiles):
        places.setdefault(insight_id, []).append(TilePlace(*values))
    return [
        StoredInsight(
            **{name: getattr(row, name) for name in _COLUMNS},
            created_by=user_summaries.get(row.created_by_id),
            last_modified_by=user_summaries.get(row.last_modified_by_id),
            tiles=places.get(row.id, ()),
        )
        for row in rows
    ]


def _insight_rows(project_id: int, insight_id: int) -> Select[Any]:
    return select(insights).where(_insight.project_id == project_id, _insight.id == insight_id)


def _first_insight(connection: Connection, statement: Select[Any]) -> StoredInsight | None:
    return next(iter(read_insights(connection, connection.execute(statement).all())), None)


def _modified_columns(author: Author | Creator) -> Mapping[str, Any]:
    """Return the columns that every change of an insight sets."""
    return {"last_modified_at": author.now, "last_modified_by_id": author.user_id}


def _record_change(
    connection: Connection, author: Author, after: StoredInsight, before: StoredInsight | None
) -> bool:
    """Record a change in the activity; return False if nothing differs."""
    former = None if before is None else _state(before)
    return record_activity(
        connection, item_record(author, "Insight", former, _state(after), after.short_id)
    )


def _state(insight: StoredInsight) -> ItemState:
    shown_on = sorted(tile.dashboard_id for tile in insight.tiles)
    fields = {
        name: shown_on if name == "dashboards" else getattr(insight, name) for name in RECORDED
    }
    return ItemState(str(insight.id), insight.name or insight.derived_name or "", fields)


def _conditions(query: InsightSelection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [_insight.deleted.is_(query.deleted)]
    if query.short_id is not None:
        conditions.append(_insight.short_id == query.short_id)
    if query.saved is not None:
        conditions.append(_insight.saved.is_(query.saved))
    if query.favorited is not None:
        conditions.append(_insight.favorited.is_(query.favorited))
    if query.search:
        text = query.search.lower()
        columns = (_insight.name, _insight.derived_name, _insight.description)
        conditions.append(
            or_(*(func.lower(column).contains(text, autoescape=True) for column in columns))
        )
    return conditions
