"""The saved insights that use an action or a segment."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, select

from fanion.actions.references import named_actions
from fanion.db.schema.insights import insights
from fanion.insights.segments.conditions import named_segments

_insight = insights.c


def insights_using(connection: Connection, project_id: int, action_id: int) -> Sequence[str]:
    """Return the insights of a project that name an action, as `insight "Sign-ups"`."""
    return _insights_naming(connection, project_id, action_id, named_actions)


def insights_with_segment(
    connection: Connection, project_id: int, segment_id: int
) -> Sequence[str]:
    """Return the insights of a project that name a segment, as `insight "Sign-ups"`."""
    return _insights_naming(connection, project_id, segment_id, named_segments)


def _insights_naming(
    connection: Connection,
    project_id: int,
    named_id: int,
    ids_in: Callable[[Any], Iterable[int]],
) -> Sequence[str]:
    rows = connection.execute(
        select(_insight.id, _insight.name, _insight.derived_name, _insight.filters, _insight.query)
        .where(_insight.project_id == project_id, _insight.deleted.is_(False))
        .order_by(_insight.id)
    )
    return [
        f'insight "{row.name or row.derived_name or row.id}"'
        for row in rows
        if named_id in ids_in([row.filters, row.query])
    ]
