"""The saved insights that use an action."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from fanion.actions.references import named_actions
from fanion.db.schema.insights import insights

_insight = insights.c


def insights_using(connection: Connection, project_id: int, action_id: int) -> Sequence[str]:
    """Return the insights of a project that name an action, as `insight "Sign-ups"`."""
    rows = connection.execute(
        select(_insight.id, _insight.name, _insight.derived_name, _insight.filters, _insight.query)
        .where(_insight.project_id == project_id, _insight.deleted.is_(False))
        .order_by(_insight.id)
    )
    return [
        f'insight "{row.name or row.derived_name or row.id}"'
        for row in rows
        if action_id in named_actions([row.filters, row.query])
    ]
