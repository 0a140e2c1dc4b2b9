"""Changes of insights in the records store, with their activity."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.schema.insights import insights
from fanion.insights.dashboards.tiles_store import show_on_dashboards
from fanion.insights.model import DashboardAccess, StoredInsight
from fanion.insights.store import get_insight, read_insights

# Fields whose changes are recorded in the activity.
COMPARED = (
    "name",
    "derived_name",
    "description",
    "filters",
    "query",
    "dashboards",
    "tags",
    "favorited",
    "saved",
    "deleted",
)
SHORT_ID_CHARS = 8

_insight = insights.c
_SHORT_ID_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


def create_insight(
    connection: Connection,
    author: Author,
    values: Mapping[str, Any],
    dashboard_ids: Sequence[int],
    access: DashboardAccess,
) -> StoredInsight:
    """Create an insight and show it on dashboards.

    Raises:
        Invalid: A dashboard does not exist.
        PermissionDenied: The user may not edit one of the dashboards.
    """
    project_id = author.project_id
    insight_id = add_insight(connection, project_id, values)
    show_on_dashboards(connection, project_id, insight_id, dashboard_ids, access)
    created = get_insight(connection, project_id, insight_id)
    assert created is not None
    record_insight_change(connection, author, created, None)
    return created


def change_insight(
    connection: Connection,
    author: Author,
    insight_id: int,
    values: Mapping[str, Any],
    dashboard_ids: Sequence[int] | None,
    access: DashboardAccess,
) -> StoredInsight | None:
    """Change an insight; return None if there is none.

    A deleted insight accepts only `deleted: false`.

    Args:
        dashboard_ids: None leaves the insight on its dashboards.

    Raises:
        Invalid: A dashboard does not exist.
        PermissionDenied: The user may not edit the insight, or one of the dashboards.
    """
    conditions = (_insight.project_id == author.project_id, _insight.id == insight_id)
    row = connection.execute(select(insights).where(*conditions).with_for_update()).first()
    if row is None or (row.deleted and values.get("deleted") is not False):
        return None
    [before] = read_insights(connection, [row])
    access.require_insight_edit(before.tiles)
    if values:
        connection.execute(update(insights).where(*conditions).values(**values))
    if dashboard_ids is not None:
        show_on_dashboards(connection, author.project_id, insight_id, dashboard_ids, access)
    [after] = read_insights(
        connection, connection.execute(select(insights).where(*conditions)).all()
    )
    if not record_insight_change(connection, author, after, before):
        return after
    statement = (
        update(insights).where(*conditions).values(**modified_columns(author.user_id, author.now))
    )
    connection.execute(statement)
    [changed] = read_insights(
        connection, connection.execute(select(insights).where(*conditions)).all()
    )
    return changed


def add_insight(connection: Connection, project_id: int, values: Mapping[str, Any]) -> int:
    """Insert an insight and return its id.

    Args:
        values: By column, with `created_at` and `created_by_id`, but without the project.
    """
    row = {
        "short_id": "".join(secrets.choice(_SHORT_ID_ALPHABET) for _ in range(SHORT_ID_CHARS)),
        "name": None,
        "derived_name": None,
        "description": "",
        "query": None,
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


def record_insight_change(
    connection: Connection, author: Author, after: StoredInsight, before: StoredInsight | None
) -> bool:
    """Record a change in the activity; return False if nothing differs.

    Args:
        before: None for a new insight.
    """
    former = None if before is None else _state(before)
    return record_activity(
        connection, item_record(author, "Insight", former, _state(after), after.short_id)
    )


def modified_columns(user_id: int | None, now: datetime) -> dict[str, Any]:
    """Return the columns that every change of an insight sets."""
    return {"last_modified_at": now, "last_modified_by_id": user_id}


def _state(insight: StoredInsight) -> ItemState:
    shown_on = sorted(tile.dashboard_id for tile in insight.tiles)
    fields = {
        name: shown_on if name == "dashboards" else getattr(insight, name) for name in COMPARED
    }
    return ItemState(str(insight.id), insight.name or insight.derived_name or "", fields)
