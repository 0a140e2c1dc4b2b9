"""Creating and changing an insight, each in one transaction with its activity."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from fanion.activity.diff import changes
from fanion.activity.store import Author, Entry, record
from fanion.db.schema.insights import dashboard_tiles, dashboards, insights
from fanion.errors import Invalid, PermissionDenied
from fanion.insights.model import StoredInsight
from fanion.insights.permissions import MAY_EDIT, DashboardAccess
from fanion.insights.store import add_insight, add_tile, get_insight, read_insights

# What the activity tells of.
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

_insight, _tile = insights.c, dashboard_tiles.c


def create_insight(
    connection: Connection,
    author: Author,
    values: Mapping[str, Any],
    dashboard_ids: Sequence[int],
    access: DashboardAccess,
) -> StoredInsight:
    """raises: Invalid for a dashboard that does not exist; PermissionDenied"""
    project_id = author.project.id
    insight_id = add_insight(connection, project_id, values)
    _show_on(connection, project_id, insight_id, dashboard_ids, access)
    made = get_insight(connection, project_id, insight_id)
    assert made is not None
    tell_insight(connection, author, made, None)
    return made


def change_insight(
    connection: Connection,
    author: Author,
    insight_id: int,
    values: Mapping[str, Any],
    dashboard_ids: Sequence[int] | None,
    access: DashboardAccess,
) -> StoredInsight | None:
    """None when there is none. A deleted one is only ever changed by `deleted: false`.

    dashboard_ids: None leaves them
    raises:        Invalid for a dashboard that does not exist; PermissionDenied
    """
    wanted = (_insight.project_id == author.project.id, _insight.id == insight_id)
    row = connection.execute(select(insights).where(*wanted).with_for_update()).first()
    if row is None or (row.deleted and values.get("deleted") is not False):
        return None
    [before] = read_insights(connection, [row])
    access.require_insight_edit(before.tiles)
    if values:
        connection.execute(update(insights).where(*wanted).values(**values))
    if dashboard_ids is not None:
        _show_on(connection, author.project.id, insight_id, dashboard_ids, access)
    [after] = read_insights(connection, connection.execute(select(insights).where(*wanted)).all())
    if not tell_insight(connection, author, after, before):
        return after
    statement = update(insights).where(*wanted).values(**modified(author.user_id, author.now))
    connection.execute(statement)
    [changed] = read_insights(connection, connection.execute(select(insights).where(*wanted)).all())
    return changed


def tell_insight(
    connection: Connection, author: Author, after: StoredInsight, before: StoredInsight | None
) -> bool:
    """Whether there was something to tell. before: None for a new one"""
    differing = None
    if before is not None:
        differing = changes("Insight", _told(before), _told(after), COMPARED)
    entry = Entry(
        author=author,
        scope="Insight",
        item_id=str(after.id),
        activity="created" if before is None else "updated",
        name=after.name or after.derived_name or "",
        changes=differing,
        short_id=after.short_id,
    )
    return record(connection, entry)


def modified(user_id: int | None, now: datetime) -> dict[str, Any]:
    """Columns that every change of an insight sets."""
    return {"last_modified_at": now, "last_modified_by_id": user_id}


def _told(insight: StoredInsight) -> dict[str, Any]:
    return {
        **{name: getattr(insight, name) for name in COMPARED if name != "dashboards"},
        "dashboards": sorted(place.dashboard_id for place in insight.tiles),
    }


def _require_places(
    connection: Connection, ids: Sequence[int], verb: str, access: DashboardAccess
) -> None:
    """raises: PermissionDenied for a dashboard that the user may not edit"""
    board = dashboards.c
    rows = connection.execute(
        select(board.id, board.restriction_level, board.created_by_id)
        .where(board.id.in_(ids), board.deleted.is_(False))
        .order_by(board.id)
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
    """On these dashboards and no others; the place of a tile that was removed is kept."""
    known = select(dashboards.c.id).where(
        dashboards.c.project_id == project_id,
        dashboards.c.id.in_(dashboard_ids),
        dashboards.c.deleted.is_(False),
    )
    missing = set(dashboard_ids) - set(connection.execute(known).scalars())
    if missing:
        raise Invalid(
            f'Invalid pk "{min(missing)}" - object does not exist.',
            code="does_not_exist",
            attr="dashboards",
        )
    own = select(_tile.dashboard_id, _tile.deleted).where(_tile.insight_id == insight_id)
    placed = {row.dashboard_id: row.deleted for row in connection.execute(own)}
    shown = {one for one, is_gone in placed.items() if not is_gone}
    wanted = set(dashboard_ids)
    _require_places(connection, sorted(wanted - shown), "add insights to", access)
    _require_places(connection, sorted(shown - wanted), "remove insights from", access)
    connection.execute(
        update(dashboard_tiles)
        .where(_tile.insight_id == insight_id)
        .values(deleted=_tile.dashboard_id.not_in(dashboard_ids))
    )
    for dashboard_id in dict.fromkeys(dashboard_ids):
        if dashboard_id not in placed:
            add_tile(connection, project_id, dashboard_id, insight_id)
