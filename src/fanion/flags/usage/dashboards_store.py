"""The usage dashboards of flags.

source: cohorts.md section 20
"""

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from fanion.db.schema.tables import feature_flags
from fanion.errors import NotFound
from fanion.insights.dashboards_store import (
    Creator,
    add_dashboard,
    add_tiles,
    get_dashboard,
    is_enriched,
)
from fanion.insights.flag_usage_template import enriched_tiles, usage_dashboard

_flag = feature_flags.c


@dataclass(frozen=True, slots=True)
class _Flag:
    key: str
    usage_dashboard: int | None
    has_enriched_analytics: bool


def ensure_dashboard(connection: Connection, maker: Creator, flag_id: int) -> None:
    """Make one, unless there is one that is not deleted. raises: NotFound"""
    flag = _get(connection, maker, flag_id)
    known = flag.usage_dashboard
    if known is not None and get_dashboard(connection, maker.project_id, known) is not None:
        return
    draft = usage_dashboard(flag.key, enriched=flag.has_enriched_analytics)
    dashboard_id = add_dashboard(connection, maker, draft)
    connection.execute(
        update(feature_flags).where(_flag.id == flag_id).values(usage_dashboard=dashboard_id)
    )


def enrich_dashboard(connection: Connection, maker: Creator, flag_id: int) -> str | None:
    """Add the tiles of what applications tell of a feature.

    returns: why that cannot be done, in the words of flags.md section 15; None when it was
    raises:  NotFound
    """
    flag = _get(connection, maker, flag_id)
    dashboard = None
    if flag.usage_dashboard is not None:
        dashboard = get_dashboard(connection, maker.project_id, flag.usage_dashboard)
    if dashboard is None:
        return "Usage dashboard not found"
    if is_enriched(dashboard):
        return "Usage dashboard already has enriched data"
    if not flag.has_enriched_analytics:
        return "No enriched analytics available for this feature flag"
    add_tiles(connection, maker, dashboard.id, enriched_tiles(flag.key))
    return None


def _get(connection: Connection, maker: Creator, flag_id: int) -> _Flag:
    """Locked, so that two callers make one after the other."""
    statement = (
        select(_flag.key, _flag.usage_dashboard, _flag.has_enriched_analytics)
        .where(_flag.project_id == maker.project_id, _flag.id == flag_id)
        .with_for_update()
    )
    row = connection.execute(statement).first()
    if row is None:
        raise NotFound
    return _Flag(*row)
