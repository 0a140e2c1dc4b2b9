"""Tiles of dashboards in the records store, and on which dashboards an insight is shown."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from fanion.db.schema.insights import dashboard_tiles, dashboards
from fanion.errors import Invalid, PermissionDenied
from fanion.insights.saved.model import MAY_EDIT, DashboardAccess

TILES_MAX = 100  # on one dashboard

_tile, _dashboard = dashboard_tiles.c, dashboards.c


def add_tile(
    connection: Connection,
    project_id: int,
    dashboard_id: int,
    insight_id: int | None,
    *,
    attr: str = "dashboards",
    **values: Any,
) -> None:
    """Add a tile to a dashboard.

    Args:
        insight_id: None for a text.
        attr: The field that the error names.
        values: By column.

    Raises:
        Invalid: The dashboard has TILES_MAX tiles.
    """
    if not _has_room(connection, dashboard_id):
        raise Invalid(f"A dashboard can have at most {TILES_MAX} tiles.", attr=attr)
    row = {"layouts": {}, "color": None, "deleted": False, **values}
    connection.execute(
        insert(dashboard_tiles).values(
            project_id=project_id, dashboard_id=dashboard_id, insight_id=insight_id, **row
        )
    )


def _has_room(connection: Connection, dashboard_id: int) -> bool:
    """Return whether a tile can be added. Removed tiles are kept until their room is needed."""
    own = _tile.dashboard_id == dashboard_id
    count = select(func.count()).select_from(dashboard_tiles).where(own)
    if (connection.scalar(count) or 0) < TILES_MAX:
        return True
    connection.execute(delete(dashboard_tiles).where(own, _tile.deleted.is_(True)))
    return (connection.scalar(count) or 0) < TILES_MAX


def known_dashboards(connection: Connection, project_id: int, ids: Sequence[int]) -> set[int]:
    """Return those of the ids that are dashboards of the project, without deleted ones."""
    statement = select(_dashboard.id).where(
        _dashboard.project_id == project_id,
        _dashboard.id.in_(ids),
        _dashboard.deleted.is_(False),
    )
    return set(connection.execute(statement).scalars())


def filters_of_dashboard(
    connection: Connection, project_id: int, dashboard_id: int
) -> dict[str, Any] | None:
    """Return the filters of a dashboard, None if it is deleted or unknown."""
    this = (_dashboard.project_id == project_id, _dashboard.id == dashboard_id)
    filters: dict[str, Any] | None = connection.scalar(
        select(_dashboard.filters).where(*this, _dashboard.deleted.is_(False))
    )
    return filters


def show_on_dashboards(
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
    present = {shown_id for shown_id, is_gone in placed.items() if not is_gone}
    requested = set(dashboard_ids)
    _require_places(connection, sorted(requested - present), "add insights to", access)
    _require_places(connection, sorted(present - requested), "remove insights from", access)
    connection.execute(
        update(dashboard_tiles)
        .where(_tile.insight_id == insight_id)
        .values(deleted=_tile.dashboard_id.not_in(dashboard_ids))
    )
    for dashboard_id in dict.fromkeys(dashboard_ids):
        if dashboard_id not in placed:
            add_tile(connection, project_id, dashboard_id, insight_id)


def _require_places(
    connection: Connection, ids: Sequence[int], verb: str, access: DashboardAccess
) -> None:
    """Raise PermissionDenied for a dashboard that the user may not edit."""
    rows = connection.execute(
        select(_dashboard.id, _dashboard.restriction_level, _dashboard.created_by_id)
        .where(_dashboard.id.in_(ids), _dashboard.deleted.is_(False))
        .order_by(_dashboard.id)
    )
    for row in rows:
        if access.privilege(row.restriction_level, row.created_by_id) != MAY_EDIT:
            raise PermissionDenied(f"You don't have permission to {verb} dashboard: {row.id}")
