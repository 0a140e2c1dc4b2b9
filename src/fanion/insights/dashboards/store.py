"""Dashboards and their tiles in the records store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Connection, Row, func, insert, select, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.insights import dashboard_shares, dashboards
from fanion.insights.dashboards.flag_usage_template import ENRICHED_NAME, DashboardDraft, TileDraft
from fanion.insights.dashboards.model import (
    PlainDashboard,
    StoredDashboard,
    StoredTile,
    TileChange,
)
from fanion.insights.dashboards.templates import TemplateTile
from fanion.insights.dashboards.tiles_store import read_tiles, write_tiles
from fanion.insights.saved.model import EVERYONE_EDITS
from fanion.insights.saved.store import (
    Creator,
    add_insight,
    record_new_insight,
)
from fanion.insights.saved.tiles_store import add_tile
from fanion.insights.segments.conditions import named_segments
from fanion.projects.model import UserSummary
from fanion.projects.organizations.store import read_user_summaries

# Fields whose changes are recorded in the activity log.
RECORDED = (*PlainDashboard.__struct_fields__, "tiles", "deleted")
_COLUMNS = tuple(
    name
    for name in StoredDashboard.__struct_fields__
    if name not in ("created_by", "last_modified_at", "is_shared", "tiles")
)

_dashboard = dashboards.c


def dashboards_with_segment(
    connection: Connection, project_id: int, segment_id: int
) -> Sequence[str]:
    """Return the dashboards of a project whose filters name a segment, as `dashboard "Sales"`."""
    rows = connection.execute(
        select(_dashboard.id, _dashboard.name, _dashboard.filters)
        .where(_dashboard.project_id == project_id, _dashboard.deleted.is_(False))
        .order_by(_dashboard.id)
    )
    return [
        f'dashboard "{row.name or row.id}"'
        for row in rows
        if segment_id in named_segments(row.filters)
    ]


@dataclass(frozen=True, slots=True)
class DashboardStore:
    records: Records

    async def list_dashboards(
        self, project_id: int, limit: int, offset: int, *, deleted: bool = False
    ) -> tuple[Sequence[StoredDashboard], int]:
        """Return a page of dashboards without their tiles, and the total number.

        Pinned ones come first, then all are by name.

        Args:
            deleted: Whether to list the deleted dashboards, and not the others.
        """
        conditions = (_dashboard.project_id == project_id, _dashboard.deleted.is_(deleted))
        statement = (
            select(dashboards)
            .where(*conditions)
            .order_by(_dashboard.pinned.desc(), _dashboard.name, _dashboard.id)
            .limit(limit)
            .offset(offset)
        )
        async with self.records.read() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(dashboards).where(*conditions)
            )
            rows = (await connection.execute(statement)).all()
            return await connection.run_sync(_read_dashboards, rows), total or 0

    async def get_dashboard(self, project_id: int, dashboard_id: int) -> StoredDashboard | None:
        """Return a dashboard with its tiles, None if it is deleted or unknown."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_dashboard, project_id, dashboard_id)

    async def has_dashboard(self, project_id: int, dashboard_id: int) -> bool:
        """Return whether the project has or had this dashboard; a deleted one counts."""
        known = select(_dashboard.id).where(
            _dashboard.project_id == project_id, _dashboard.id == dashboard_id
        )
        return bool(await self.records.fetch(known))


def get_dashboard(
    connection: Connection, project_id: int, dashboard_id: int, *, with_deleted: bool = False
) -> StoredDashboard | None:
    statement = select(dashboards).where(
        _dashboard.project_id == project_id, _dashboard.id == dashboard_id
    )
    row = connection.execute(statement).first()
    if row is None or (row.deleted and not with_deleted):
        return None
    [dashboard] = _read_dashboards(connection, [row])
    return replace(dashboard, tiles=read_tiles(connection, dashboard_id))


def add_dashboard(connection: Connection, creator: Creator, draft: DashboardDraft) -> int:
    """Add a dashboard with its tiles in the caller's transaction, and return its id."""
    values = {
        "name": draft.name,
        "description": draft.description,
        "filters": draft.filters,
        "tags": list(draft.tags),
    }
    added = insert_dashboard(connection, creator, values)
    add_tiles(connection, creator, added, draft.tiles)
    return added


def add_tiles(
    connection: Connection, creator: Creator, dashboard_id: int, drafts: Sequence[TileDraft]
) -> None:
    for draft in drafts:
        values = {
            "name": draft.name,
            "description": draft.description,
            "filters": draft.filters,
            "is_sample": True,
        }
        insight_id = add_insight(connection, creator, values)
        add_tile(
            connection,
            creator.project_id,
            dashboard_id,
            insight_id,
            layouts=draft.layouts,
            color=draft.color,
        )


def is_enriched(dashboard: StoredDashboard) -> bool:
    insights = (tile.insight for tile in dashboard.tiles)
    return any(ENRICHED_NAME in (insight.name or "") for insight in insights if insight)


def insert_dashboard(
    connection: Connection, creator: Author | Creator, values: Mapping[str, Any]
) -> int:
    """Insert a dashboard and return its id.

    Args:
        values: By column.
    """
    row = {
        "description": "",
        "pinned": False,
        "filters": {},
        "tags": [],
        "deleted": False,
        "restriction_level": EVERYONE_EDITS,
        **values,
    }
    statement = insert(dashboards).values(
        project_id=creator.project_id, created_by_id=creator.user_id, created_at=creator.now, **row
    )
    added: int = connection.execute(statement.returning(_dashboard.id)).scalar_one()
    return added


def create_dashboard(
    connection: Connection,
    author: Author,
    values: Mapping[str, Any],
    tiles: Sequence[TemplateTile] = (),
) -> StoredDashboard:
    """Create a dashboard with the tiles of a template, and record it with their insights.

    The caller's transaction makes all of them or nothing.

    Args:
        values: By column.
    """
    added = insert_dashboard(connection, author, values)
    write_tiles(connection, author, added, [_new_tile(connection, author, tile) for tile in tiles])
    created = get_dashboard(connection, author.project_id, added)
    assert created is not None
    _record_change(connection, author, created, None)
    return created


def _new_tile(connection: Connection, author: Author, tile: TemplateTile) -> TileChange:
    """Return a new tile of a template, whose insight is added and recorded."""
    if tile.source is None:
        return TileChange(None, {"body": tile.name, "layouts": tile.layouts})
    query = {"kind": "InsightVizNode", "source": tile.source}
    values = {"name": tile.name, "query": query, "saved": True}
    insight_id = add_insight(connection, author, values)
    record_new_insight(connection, author, insight_id)
    return TileChange(None, {"insight_id": insight_id, "layouts": tile.layouts})


def lock_dashboard(
    connection: Connection, project_id: int, dashboard_id: int
) -> StoredDashboard | None:
    """Lock a dashboard, deleted or not, for the rest of the caller's transaction."""
    conditions = (_dashboard.project_id == project_id, _dashboard.id == dashboard_id)
    connection.execute(select(_dashboard.id).where(*conditions).with_for_update())
    return get_dashboard(connection, project_id, dashboard_id, with_deleted=True)


def write_dashboard(
    connection: Connection,
    author: Author,
    before: StoredDashboard,
    values: Mapping[str, Any],
    tiles: Sequence[TileChange],
) -> StoredDashboard:
    """Change a dashboard and its tiles, and record it, in the caller's transaction.

    Args:
        values: By column.
    """
    if any(getattr(before, name) != value for name, value in values.items()):
        changed = {**values, "last_modified_at": author.now}
        connection.execute(update(dashboards).where(_dashboard.id == before.id).values(**changed))
    write_tiles(connection, author, before.id, tiles)
    after = get_dashboard(connection, author.project_id, before.id, with_deleted=True)
    assert after is not None
    _record_change(connection, author, after, before)
    return after


def _record_change(
    connection: Connection, author: Author, after: StoredDashboard, before: StoredDashboard | None
) -> None:
    former = None if before is None else _state(before)
    record_activity(connection, item_record(author, "Dashboard", former, _state(after)))


def _state(dashboard: StoredDashboard) -> ItemState:
    tiles = [_tile_state(tile) for tile in dashboard.tiles]
    fields = {name: tiles if name == "tiles" else getattr(dashboard, name) for name in RECORDED}
    return ItemState(str(dashboard.id), dashboard.name, fields)


def _tile_state(tile: StoredTile) -> dict[str, Any]:
    shown: dict[str, Any] = {"layouts": tile.layouts, "color": tile.color}
    if tile.insight is not None:
        shown["insight"] = tile.insight.id
    if tile.text is not None:
        shown["text"] = tile.text.body
    return {"id": tile.id, **shown}


def _read_dashboards(connection: Connection, rows: Sequence[Row[Any]]) -> list[StoredDashboard]:
    users = read_user_summaries(connection, (row.created_by_id for row in rows))
    ids = [row.id for row in rows]
    links = select(dashboard_shares.c.dashboard_id).where(dashboard_shares.c.dashboard_id.in_(ids))
    shared = set(connection.execute(links).scalars())
    return [_stored(row, users, is_shared=row.id in shared) for row in rows]


def _stored(row: Row[Any], users: Mapping[int, UserSummary], *, is_shared: bool) -> StoredDashboard:
    return StoredDashboard(
        created_by=users.get(row.created_by_id),
        last_modified_at=row.last_modified_at or row.created_at,
        is_shared=is_shared,
        **{name: getattr(row, name) for name in _COLUMNS},
    )
