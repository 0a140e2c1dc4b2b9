"""Insights in the records store: reading them, and changing them with their activity."""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, insert, or_, select, update

from fanion.activity.model import ActivityRecord, Author, changes
from fanion.activity.store import record
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.insights import dashboard_tiles, dashboards, insights
from fanion.db.schema.tables import users
from fanion.errors import Invalid, PermissionDenied
from fanion.insights.model import MAY_EDIT, DashboardAccess, StoredInsight, TilePlace
from fanion.projects.model import UserSummary
from fanion.projects.organizations_store import USER_SUMMARY

# Fields whose changes are recorded in the activity.
COMPARED = (
    "name",
    "derived_name",
    "description",
    "filters",
    "dashboards",
    "tags",
    "favorited",
    "saved",
    "deleted",
)
SHORT_ID_CHARS = 8
TILES_MAX = 100  # of one dashboard

_insight, _tile, _dashboard = insights.c, dashboard_tiles.c, dashboards.c
_SHORT_ID_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


@dataclass(frozen=True, slots=True)
class InsightQuery:
    """search: part of a name or description, in any case of ASCII letters; None is any"""

    short_id: str | None = None
    search: str | None = None
    saved: bool | None = None
    favorited: bool | None = None


@dataclass(frozen=True, slots=True)
class InsightStore:
    records: Records

    async def page(
        self, project_id: int, query: InsightQuery, limit: int, offset: int
    ) -> tuple[Sequence[StoredInsight], int]:
        """Insights that are not deleted, the newest first, and their total."""
        wanted = [_insight.project_id == project_id, _insight.deleted.is_(False)]
        wanted += _conditions(query)
        rows = (
            select(insights)
            .where(*wanted)
            .order_by(_insight.created_at.desc(), _insight.id.desc())
            .limit(limit)
            .offset(offset)
        )
        async with self.records.read() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(insights).where(*wanted)
            )
            found = (await connection.execute(rows)).all()
            return await connection.run_sync(read_insights, found), total or 0

    async def missing_cohorts(self, project_id: int, ids: Collection[int]) -> Sequence[int]:
        """The ids without a cohort in the project, or of a deleted one, in the given order."""
        if not ids:
            return ()
        known = select(cohorts.c.id).where(
            cohorts.c.project_id == project_id,
            cohorts.c.deleted.is_(False),
            cohorts.c.id.in_(ids),
        )
        found = {row.id for row in await self.records.fetch(known)}
        return [one for one in ids if one not in found]

    async def get(self, project_id: int, insight_id: int) -> StoredInsight | None:
        """Not a deleted one."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_insight, project_id, insight_id)

    async def exists(self, project_id: int, insight_id: int) -> bool:
        """Also a deleted one."""
        known = select(_insight.id).where(
            _insight.project_id == project_id, _insight.id == insight_id
        )
        return bool(await self.records.fetch(known))


def get_insight(connection: Connection, project_id: int, insight_id: int) -> StoredInsight | None:
    statement = select(insights).where(
        _insight.project_id == project_id,
        _insight.id == insight_id,
        _insight.deleted.is_(False),
    )
    rows = connection.execute(statement).all()
    return next(iter(read_insights(connection, rows)), None)


def add_insight(connection: Connection, project_id: int, values: Mapping[str, Any]) -> int:
    """values: by column, without the project; `created_at` and `created_by_id` among them"""
    row = {
        "short_id": "".join(secrets.choice(_SHORT_ID_ALPHABET) for _ in range(SHORT_ID_CHARS)),
        "name": None,
        "derived_name": None,
        "description": "",
        "tags": [],
        "favorited": False,
        "saved": False,
        "is_sample": False,
        "deleted": False,
        "last_modified_at": values["created_at"],
        "last_modified_by_id": values["created_by_id"],
        **values,
    }
    statement = insert(insights).values(project_id=project_id, **row)
    added: int = connection.execute(statement.returning(_insight.id)).scalar_one()
    return added


def read_insights(connection: Connection, rows: Sequence[Row[Any]]) -> list[StoredInsight]:
    """rows: of the whole table; with the dashboards that show each."""
    user_summaries = summaries(
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
    for insight_id, *place in connection.execute(tiles):
        places.setdefault(insight_id, []).append(TilePlace(*place))
    return [replace(_stored(row, user_summaries), tiles=places.get(row.id, ())) for row in rows]


def summaries(connection: Connection, ids: Iterable[int | None]) -> Mapping[int, UserSummary]:
    """Of users, by id."""
    wanted = {one for one in ids if one is not None}
    if not wanted:
        return {}
    statement = select(
        *USER_SUMMARY,
    ).where(users.c.id.in_(wanted))
    return {row.by_id: UserSummary(*row) for row in connection.execute(statement)}


def _stored(row: Row[Any], user_summaries: Mapping[int, UserSummary]) -> StoredInsight:
    return StoredInsight(
        id=row.id,
        short_id=row.short_id,
        name=row.name,
        derived_name=row.derived_name,
        description=row.description,
        filters=row.filters,
        tags=row.tags,
        favorited=row.favorited,
        saved=row.saved,
        is_sample=row.is_sample,
        deleted=row.deleted,
        created_at=row.created_at,
        created_by=user_summaries.get(row.created_by_id),
        last_modified_at=row.last_modified_at,
        last_modified_by=user_summaries.get(row.last_modified_by_id),
    )


def _conditions(query: InsightQuery) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if query.short_id is not None:
        found.append(_insight.short_id == query.short_id)
    if query.saved is not None:
        found.append(_insight.saved.is_(query.saved))
    if query.favorited is not None:
        found.append(_insight.favorited.is_(query.favorited))
    if query.search:
        text = query.search.lower()
        columns = (_insight.name, _insight.derived_name, _insight.description)
        found.append(or_(*(func.lower(one).contains(text, autoescape=True) for one in columns)))
    return found


def add_tile(
    connection: Connection, project_id: int, dashboard_id: int, insight_id: int, **values: Any
) -> None:
    """raises: Invalid for more than TILES_MAX"""
    tiles = select(func.count()).select_from(dashboard_tiles)
    if (connection.scalar(tiles.where(_tile.dashboard_id == dashboard_id)) or 0) >= TILES_MAX:
        raise Invalid(f"A dashboard can have at most {TILES_MAX} tiles.", attr="dashboards")
    row = {"layouts": {}, "color": None, "deleted": False, **values}
    connection.execute(
        insert(dashboard_tiles).values(
            project_id=project_id, dashboard_id=dashboard_id, insight_id=insight_id, **row
        )
    )


def known_dashboards(connection: Connection, project_id: int, ids: Sequence[int]) -> set[int]:
    """Those of the ids that are dashboards of the project, and not deleted."""
    statement = select(_dashboard.id).where(
        _dashboard.project_id == project_id,
        _dashboard.id.in_(ids),
        _dashboard.deleted.is_(False),
    )
    return set(connection.execute(statement).scalars())


def create_insight(
    connection: Connection,
    author: Author,
    values: Mapping[str, Any],
    dashboard_ids: Sequence[int],
    access: DashboardAccess,
) -> StoredInsight:
    """raises: Invalid for a dashboard that does not exist; PermissionDenied"""
    project_id = author.project_id
    insight_id = add_insight(connection, project_id, values)
    _show_on(connection, project_id, insight_id, dashboard_ids, access)
    made = get_insight(connection, project_id, insight_id)
    assert made is not None
    record_insight_change(connection, author, made, None)
    return made


def change_insight(
    connection: Connection,
    author: Author,
    insight_id: int,
    values: Mapping[str, Any],
    dashboard_ids: Sequence[int] | None,
    access: DashboardAccess,
) -> StoredInsight | None:
    """None when there is none. A deleted one accepts only `deleted: false`.

    dashboard_ids: None leaves them
    raises:        Invalid for a dashboard that does not exist; PermissionDenied
    """
    wanted = (_insight.project_id == author.project_id, _insight.id == insight_id)
    row = connection.execute(select(insights).where(*wanted).with_for_update()).first()
    if row is None or (row.deleted and values.get("deleted") is not False):
        return None
    [before] = read_insights(connection, [row])
    access.require_insight_edit(before.tiles)
    if values:
        connection.execute(update(insights).where(*wanted).values(**values))
    if dashboard_ids is not None:
        _show_on(connection, author.project_id, insight_id, dashboard_ids, access)
    [after] = read_insights(connection, connection.execute(select(insights).where(*wanted)).all())
    if not record_insight_change(connection, author, after, before):
        return after
    statement = (
        update(insights).where(*wanted).values(**modified_columns(author.user_id, author.now))
    )
    connection.execute(statement)
    [changed] = read_insights(connection, connection.execute(select(insights).where(*wanted)).all())
    return changed


def record_insight_change(
    connection: Connection, author: Author, after: StoredInsight, before: StoredInsight | None
) -> bool:
    """Record it in the activity; False when nothing differs. before: None for a new one"""
    differing = None
    if before is not None:
        differing = changes("Insight", _compared(before), _compared(after), COMPARED)
    entry = ActivityRecord(
        author=author,
        scope="Insight",
        item_id=str(after.id),
        activity="created" if before is None else "updated",
        name=after.name or after.derived_name or "",
        changes=differing,
        short_id=after.short_id,
    )
    return record(connection, entry)


def modified_columns(user_id: int | None, now: datetime) -> dict[str, Any]:
    """Columns that every change of an insight sets."""
    return {"last_modified_at": now, "last_modified_by_id": user_id}


def _compared(insight: StoredInsight) -> dict[str, Any]:
    return {
        **{name: getattr(insight, name) for name in COMPARED if name != "dashboards"},
        "dashboards": sorted(place.dashboard_id for place in insight.tiles),
    }


def _require_places(
    connection: Connection, ids: Sequence[int], verb: str, access: DashboardAccess
) -> None:
    """raises: PermissionDenied for a dashboard that the user may not edit"""
    rows = connection.execute(
        select(_dashboard.id, _dashboard.restriction_level, _dashboard.created_by_id)
        .where(_dashboard.id.in_(ids), _dashboard.deleted.is_(False))
        .order_by(_dashboard.id)
    )
    for row in rows:
        if access.privilege(row.restriction_level, row.created_by_id) != MAY_EDIT:
            raise PermissionDenied(f"You don't have permission to {verb} dashboard: {row.id}")


def _show_on(
    connection: Connection,
    project_id: int,
    insight_id: int,
    dashboard_ids: Sequence[int],
    access: DashboardAccess,
) -> None:
    """Show the insight on exactly these dashboards; a removed tile keeps its layout."""
    missing = set(dashboard_ids) - known_dashboards(connection, project_id, dashboard_ids)
    if missing:
        raise Invalid(
            f'Invalid pk "{min(missing)}" - object does not exist.',
            code="does_not_exist",
            attr="dashboards",
        )
    own = select(_tile.dashboard_id, _tile.deleted).where(_tile.insight_id == insight_id)
    placed = {row.dashboard_id: row.deleted for row in connection.execute(own)}
    present = {one for one, is_gone in placed.items() if not is_gone}
    wanted = set(dashboard_ids)
    _require_places(connection, sorted(wanted - present), "add insights to", access)
    _require_places(connection, sorted(present - wanted), "remove insights from", access)
    connection.execute(
        update(dashboard_tiles)
        .where(_tile.insight_id == insight_id)
        .values(deleted=_tile.dashboard_id.not_in(dashboard_ids))
    )
    for dashboard_id in dict.fromkeys(dashboard_ids):
        if dashboard_id not in placed:
            add_tile(connection, project_id, dashboard_id, insight_id)
