"""The import of the insights, dashboards and alerts of a document into a project."""

from collections import defaultdict
from typing import Any

from sqlalchemy import select, update

from fanion.db.schema.insights import dashboard_tiles, dashboards, insights
from fanion.insights.alerts.model import PlainAlert
from fanion.insights.alerts.store import change_alert, create_alert
from fanion.insights.changes_store import add_insight, modified_columns, record_insight_change
from fanion.insights.dashboards.store import (
    Creator,
    get_dashboard,
    insert_dashboard,
    record_dashboard_change,
)
from fanion.insights.dashboards.tiles_store import add_tile
from fanion.insights.model import PlainDashboard, StoredDashboard, StoredInsight
from fanion.insights.store import read_insights
from fanion.rest.validation import shared_fields
from fanion.transfer.document import AlertEntry, DashboardEntry, InsightEntry
from fanion.transfer.importing.target import ImportTarget, differing
from fanion.transfer.references import replace_names
from fanion.transfer.snapshot import SnapshotAlert, alert_entry, dashboard_entry, insight_entry

_INSIGHT_FIELDS = (
    "name",
    "derived_name",
    "description",
    "filters",
    "query",
    "tags",
    "favorited",
    "saved",
)
_DASHBOARD_FIELDS = PlainDashboard.__struct_fields__
_ALERT_FIELDS = PlainAlert.__struct_fields__
_tile = dashboard_tiles.c


def import_insights(target: ImportTarget) -> None:
    """Import insights; a deleted insight with the same short id is restored."""
    stored = {insight.short_id: insight for insight in target.stored.insights}
    for entry in target.document.insights:
        known = stored.get(entry.short_id)
        name = entry.name or entry.short_id
        if known is None:
            made = _make_insight(target, entry)
            target.insights[entry.short_id] = made
            record_insight_change(target.connection, target.author, _insight(target, made), None)
            target.report.created("insight", name)
            continue
        target.insights[entry.short_id] = known.id
        fields = differing(insight_entry(known, target.names), entry, _INSIGHT_FIELDS)
        if known.deleted:
            fields["deleted"] = False
        if fields:
            before = _insight(target, known.id)
            values = {
                **_columns(target, fields),
                **modified_columns(target.author.user_id, target.author.now),
            }
            target.connection.execute(
                update(insights).where(insights.c.id == known.id).values(**values)
            )
            record_insight_change(
                target.connection, target.author, _insight(target, known.id), before
            )
        target.report.compared("insight", name, list(fields))


def import_dashboards(target: ImportTarget) -> None:
    known = {key: dashboard_id for dashboard_id, key in target.keys.dashboards.items()}
    stored = {dashboard.id: dashboard for dashboard in target.stored.own_dashboards}
    for entry in target.document.dashboards:
        dashboard_id = known.get(entry.key)
        if dashboard_id is None:
            dashboard_id = _make_dashboard(target, entry)
            target.report.created("dashboard", entry.key)
            _place_tiles(target, dashboard_id, entry)
            record_dashboard_change(
                target.connection, target.author, _dashboard_state(target, dashboard_id), None
            )
        else:
            former = _dashboard_state(target, dashboard_id)
            before = dashboard_entry(stored[dashboard_id], (), target.keys, target.names)
            fields = differing(before, entry, _DASHBOARD_FIELDS)
            if fields:
                target.connection.execute(
                    update(dashboards)
                    .where(dashboards.c.id == dashboard_id)
                    .values(**_columns(target, fields))
                )
            tiles = ["tiles"] if _place_tiles(target, dashboard_id, entry) else []
            after = _dashboard_state(target, dashboard_id)
            record_dashboard_change(target.connection, target.author, after, former)
            target.report.compared("dashboard", entry.key, [*fields, *tiles])
        target.dashboards[entry.key] = dashboard_id


def _insight(target: ImportTarget, insight_id: int) -> StoredInsight:
    """Return a stored insight, deleted or not."""
    statement = select(insights).where(insights.c.id == insight_id)
    [insight] = read_insights(target.connection, target.connection.execute(statement).all())
    return insight


def _dashboard_state(target: ImportTarget, dashboard_id: int) -> StoredDashboard:
    dashboard = get_dashboard(target.connection, target.project_id, dashboard_id, with_deleted=True)
    assert dashboard is not None
    return dashboard


def _make_insight(target: ImportTarget, entry: InsightEntry) -> int:
    fields = {name: getattr(entry, name) for name in ("short_id", *_INSIGHT_FIELDS)}
    made = {"created_at": target.author.now, "created_by_id": target.author.user_id}
    return add_insight(target.connection, target.project_id, {**_columns(target, fields), **made})


def _make_dashboard(target: ImportTarget, entry: DashboardEntry) -> int:
    maker = Creator(target.project_id, target.author.user_id, target.author.now)
    values = shared_fields(entry, PlainDashboard)
    return insert_dashboard(target.connection, maker, _columns(target, values))


def _place_tiles(target: ImportTarget, dashboard_id: int, entry: DashboardEntry) -> bool:
    """Place the tiles of a dashboard, and return whether any was added or changed.

    Tiles that are not in the document stay.
    """
    rows = target.connection.execute(
        select(dashboard_tiles).where(_tile.dashboard_id == dashboard_id)
    )
    placed = {row.insight_id: row for row in rows}
    has_changed = False
    for tile in entry.tiles:
        insight_id = target.insights[tile.insight]
        known = placed.get(insight_id)
        values: dict[str, Any] = {"color": tile.color, "layouts": tile.layouts}
        if known is None:
            add_tile(target.connection, target.project_id, dashboard_id, insight_id, **values)
        elif known.deleted or (known.color, known.layouts) != (tile.color, tile.layouts):
            statement = update(dashboard_tiles).where(_tile.id == known.id)
            target.connection.execute(statement.values(deleted=False, **values))
        else:
            continue
        has_changed = True
    return has_changed


def _columns(target: ImportTarget, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: replace_names(value, target.ids) if name in ("filters", "query") else value
        for name, value in fields.items()
    }


def import_alerts(target: ImportTarget) -> None:
    """Import alerts, after the insights.

    Of several stored alerts with one name on one insight, the oldest matches the first.

    Raises:
        Invalid: The project would have too many alerts.
    """
    stored = _alerts_by_insight_and_name(target)
    for entry in target.document.alerts:
        insight_id = target.insights[entry.insight]
        known = stored[insight_id, entry.name]
        if not known:
            values = shared_fields(entry, PlainAlert)
            create_alert(target.connection, target.author, {"insight_id": insight_id, **values})
            target.report.created("alert", entry.key)
            continue
        fields = _change_alert(known.pop(0), entry, target)
        target.report.compared("alert", entry.key, fields)


def _alerts_by_insight_and_name(target: ImportTarget) -> dict[tuple[int, str], list[SnapshotAlert]]:
    grouped: dict[tuple[int, str], list[SnapshotAlert]] = defaultdict(list)
    for alert in target.stored.alerts:
        grouped[alert.insight_id, alert.name].append(alert)
    return grouped


def _change_alert(stored: SnapshotAlert, entry: AlertEntry, target: ImportTarget) -> list[str]:
    """Set the fields that differ, and return their names."""
    before = alert_entry(stored, entry.key, entry.insight)
    fields = differing(before, entry, _ALERT_FIELDS)
    if fields:
        change_alert(target.connection, target.author, stored.id, fields)
    return list(fields)
