"""The tiles of a dashboard in the records store."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select, update

from fanion.activity.model import Author
from fanion.db.schema.insights import dashboard_tiles, insights
from fanion.errors import Invalid
from fanion.insights.dashboards.model import StaleDashboard, StoredText, StoredTile, TileChange
from fanion.insights.saved.store import read_insights
from fanion.insights.saved.tiles_store import add_tile
from fanion.projects.organizations.store import read_user_summaries

_tile = dashboard_tiles.c


def read_tiles(connection: Connection, dashboard_id: int) -> list[StoredTile]:
    """Return the tiles in the order in which they were added, without those of deleted insights."""
    statement = (
        select(dashboard_tiles)
        .outerjoin(insights, insights.c.id == _tile.insight_id)
        .where(_tile.dashboard_id == dashboard_id, _tile.deleted.is_(False))
        .where(_tile.insight_id.is_(None) | insights.c.deleted.is_(False))
        .order_by(_tile.id)
    )
    placed = connection.execute(statement).all()
    selected = select(insights).where(insights.c.id.in_([row.insight_id for row in placed]))
    by_id = {
        insight.id: insight
        for insight in read_insights(connection, connection.execute(selected).all())
    }
    authors = read_user_summaries(connection, (row.last_modified_by_id for row in placed))
    return [
        StoredTile(
            row.id,
            by_id.get(row.insight_id),
            None
            if row.body is None
            else StoredText(row.body, row.last_modified_at, authors.get(row.last_modified_by_id)),
            row.layouts,
            row.color,
        )
        for row in placed
    ]


def write_tiles(
    connection: Connection, author: Author, dashboard_id: int, changes: Sequence[TileChange]
) -> None:
    """Change tiles and add those without an id. Unknown tiles without a text are passed over.

    Raises:
        Invalid: A new tile has no text, a text was sent for a tile that has none, or the dashboard
            has too many tiles.
        StaleDashboard: A text was changed in the meantime.
    """
    stored = _tile_rows(connection, dashboard_id, changes)
    for number, change in enumerate(changes):
        row = stored.get(change.tile_id)
        _check_text(change, row, f"tiles__{number}")
        columns = _columns(author, change, row)
        if change.tile_id is None:
            insight_id = columns.pop("insight_id", None)
            add_tile(
                connection, author.project_id, dashboard_id, insight_id, attr="tiles", **columns
            )
        elif row is not None and columns:
            connection.execute(update(dashboard_tiles).where(_tile.id == row.id).values(**columns))


def _tile_rows(
    connection: Connection, dashboard_id: int, changes: Sequence[TileChange]
) -> dict[int | None, Row[Any]]:
    """Return the tiles of the dashboard that are changed, by id, with removed ones."""
    ids = [change.tile_id for change in changes if change.tile_id is not None]
    statement = select(dashboard_tiles).where(_tile.dashboard_id == dashboard_id, _tile.id.in_(ids))
    return {row.id: row for row in connection.execute(statement)}


def _columns(author: Author, change: TileChange, row: Row[Any] | None) -> dict[str, Any]:
    """Return the columns to set, with those of the last change if the text differs."""
    columns = dict(change.columns)
    if "body" in columns and (row is None or row.body != columns["body"]):
        columns |= {"last_modified_at": author.now, "last_modified_by_id": author.user_id}
    return columns


def _check_text(change: TileChange, row: Row[Any] | None, at: str) -> None:
    """Raise an error unless a tile may have the text of a change, and a new tile has one.

    Args:
        row: The tile; None for a new or an unknown one.
        at: The place of the tile in the request.
    """
    if "body" not in change.columns:
        if change.tile_id is None and "insight_id" not in change.columns:
            raise Invalid(
                "A tile without an id needs a text. Add an insight by its dashboards.",
                code="required",
                attr=f"{at}__text",
            )
    elif change.tile_id is not None:
        _check_stored_text(change, row, at)


def _check_stored_text(change: TileChange, row: Row[Any] | None, at: str) -> None:
    if row is None or (row.deleted and change.columns.get("deleted") is not False):
        raise Invalid(
            f'Invalid pk "{change.tile_id}" - object does not exist.',
            code="does_not_exist",
            attr=f"{at}__id",
        )
    if row.body is None:
        raise Invalid("This tile shows an insight, and has no text.", attr=f"{at}__text")
    expected = change.expected_modified_at
    if expected is not None and row.last_modified_at != expected:
        raise StaleDashboard(
            "The text was changed since you read it. Review the current version and try again.",
            attr=f"{at}__text__expected_modified_at",
        )
