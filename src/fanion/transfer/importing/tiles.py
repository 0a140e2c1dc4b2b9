"""The tiles that an import adds to a dashboard and changes on it."""

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Row, select

from fanion.db.schema.insights import dashboard_tiles
from fanion.insights.dashboards.model import TileChange
from fanion.transfer.document import DashboardEntry, TileEntry
from fanion.transfer.importing.target import ImportTarget

_tile = dashboard_tiles.c


def tile_changes(
    target: ImportTarget, dashboard_id: int, entry: DashboardEntry
) -> list[TileChange]:
    """Return the changes that give a dashboard the tiles of the document; its other tiles stay."""
    own = select(dashboard_tiles).where(_tile.dashboard_id == dashboard_id)
    rows = target.connection.execute(own.order_by(_tile.deleted, _tile.id)).all()
    return [
        *_insight_changes(target, rows, entry.tiles),
        *_text_changes([row for row in rows if row.body is not None], entry.tiles),
    ]


def _insight_changes(
    target: ImportTarget, rows: Iterable[Row[Any]], tiles: Iterable[TileEntry]
) -> list[TileChange]:
    placed = {row.insight_id: row for row in rows}
    changes = []
    for tile in tiles:
        if tile.insight is None:
            continue
        insight_id = target.insights[tile.insight]
        change = _change(placed.get(insight_id), {"insight_id": insight_id, **_columns(tile)})
        changes += [] if change is None else [change]
    return changes


def _text_changes(rows: list[Row[Any]], tiles: Iterable[TileEntry]) -> list[TileChange]:
    """Return the changes of texts.

    A text of the document is the stored one with the same words; without one, it is the one that
    stands in the same place and has the words of no other text of the document.
    """
    texts = [tile for tile in tiles if tile.text is not None]
    left, found = list(rows), {}
    for is_it in (_has_words, _has_place):
        for number, tile in enumerate(texts):
            if number not in found and (row := _first(left, tile, is_it)) is not None:
                left.remove(row)
                found[number] = row
    changes = (
        _change(found.get(number), {"body": tile.text, **_columns(tile)})
        for number, tile in enumerate(texts)
    )
    return [change for change in changes if change is not None]


def _first(
    rows: Iterable[Row[Any]], tile: TileEntry, is_it: Callable[[Row[Any], TileEntry], bool]
) -> Row[Any] | None:
    return next((row for row in rows if is_it(row, tile)), None)


def _has_words(row: Row[Any], tile: TileEntry) -> bool:
    return bool(row.body == tile.text)


def _has_place(row: Row[Any], tile: TileEntry) -> bool:
    return bool(tile.layouts) and not row.deleted and bool(row.layouts == tile.layouts)


def _columns(tile: TileEntry) -> dict[str, Any]:
    return {"color": tile.color, "layouts": tile.layouts, "deleted": False}


def _change(row: Row[Any] | None, columns: dict[str, Any]) -> TileChange | None:
    """Return the change that gives a tile the columns, None if it has them.

    Args:
        row: The tile; None to add it.
    """
    if row is None:
        return TileChange(None, columns)
    if all(getattr(row, name) == value for name, value in columns.items()):
        return None
    return TileChange(row.id, columns)
