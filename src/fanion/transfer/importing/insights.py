"""The import of the segments, insights, dashboards and alerts of a document into a project."""

from collections import defaultdict
from typing import Any

from fanion.insights.alerts.model import PlainAlert
from fanion.insights.alerts.store import change_alert, create_alert
from fanion.insights.dashboards.model import PlainDashboard
from fanion.insights.dashboards.store import create_dashboard, lock_dashboard, write_dashboard
from fanion.insights.dashboards.tiles_store import write_tiles
from fanion.insights.saved.model import PlainInsight
from fanion.insights.saved.store import (
    add_insight,
    lock_insight,
    record_new_insight,
    write_insight,
)
from fanion.insights.segments.model import PlainSegment
from fanion.insights.segments.store import SEGMENTS
from fanion.rest.validation import shared_fields
from fanion.transfer.document import AlertEntry, DashboardEntry, InsightEntry
from fanion.transfer.importing.target import ImportTarget, differing
from fanion.transfer.importing.tiles import tile_changes
from fanion.transfer.references import replace_names
from fanion.transfer.snapshot import (
    SnapshotAlert,
    SnapshotDashboard,
    SnapshotInsight,
    alert_entry,
    dashboard_entry,
    insight_entry,
    segment_entry,
)

# Fields whose objects may name others by their ids.
_WITH_IDS = frozenset({"filters", "query", "properties"})
_SEGMENT_FIELDS = PlainSegment.__struct_fields__
_INSIGHT_FIELDS = PlainInsight.__struct_fields__
_DASHBOARD_FIELDS = PlainDashboard.__struct_fields__
_ALERT_FIELDS = PlainAlert.__struct_fields__


def import_segments(target: ImportTarget) -> None:
    """Import segments, which are the same if they have the same name.

    Raises:
        Invalid: The project would have too many of them.
    """
    stored = {segment.name: segment for segment in target.stored.segments}
    for entry in target.document.segments:
        known = stored.get(entry.name)
        if known is None:
            values = _columns(target, shared_fields(entry, PlainSegment))
            created = SEGMENTS.create(target.connection, target.author, values)
            target.segments[entry.name] = created.id
            target.report.created("segment", entry.name)
            continue
        target.segments[entry.name] = known.id
        fields = differing(segment_entry(known, target.names), entry, _SEGMENT_FIELDS)
        target.report.compared("segment", entry.name, list(fields))
        before = SEGMENTS.get(target.connection, target.project_id, known.id, for_update=True)
        SEGMENTS.write(target.connection, target.author, before, _columns(target, fields))


def import_insights(target: ImportTarget) -> None:
    """Import insights; a deleted insight with the same short id is restored."""
    stored = {insight.short_id: insight for insight in target.stored.insights}
    for entry in target.document.insights:
        known = stored.get(entry.short_id)
        name = entry.name or entry.short_id
        if known is None:
            target.insights[entry.short_id] = _make_insight(target, entry)
            target.report.created("insight", name)
        else:
            target.insights[entry.short_id] = known.id
            target.report.compared("insight", name, _change_insight(known, entry, target))


def import_dashboards(target: ImportTarget) -> None:
    known = {key: dashboard_id for dashboard_id, key in target.keys.dashboards.items()}
    stored = {dashboard.id: dashboard for dashboard in target.stored.own_dashboards}
    for entry in target.document.dashboards:
        dashboard_id = known.get(entry.key)
        if dashboard_id is None:
            target.dashboards[entry.key] = _make_dashboard(target, entry)
            target.report.created("dashboard", entry.key)
        else:
            target.dashboards[entry.key] = dashboard_id
            fields = _change_dashboard(stored[dashboard_id], entry, target)
            target.report.compared("dashboard", entry.key, fields)


def _make_insight(target: ImportTarget, entry: InsightEntry) -> int:
    values = {"short_id": entry.short_id, **shared_fields(entry, PlainInsight)}
    made = add_insight(target.connection, target.author, _columns(target, values))
    record_new_insight(target.connection, target.author, made)
    return made


def _change_insight(
    stored: SnapshotInsight, entry: InsightEntry, target: ImportTarget
) -> list[str]:
    """Set the fields that differ, and return their names."""
    fields = differing(insight_entry(stored, target.names), entry, _INSIGHT_FIELDS)
    if stored.deleted:
        fields["deleted"] = False
    if fields:
        before = lock_insight(target.connection, target.project_id, stored.id)
        assert before is not None
        write_insight(target.connection, target.author, before, _columns(target, fields))
    return list(fields)


def _make_dashboard(target: ImportTarget, entry: DashboardEntry) -> int:
    values = _columns(target, shared_fields(entry, PlainDashboard))
    created = create_dashboard(target.connection, target.author, values)
    write_tiles(
        target.connection, target.author, created.id, tile_changes(target, created.id, entry)
    )
    return created.id


def _change_dashboard(
    stored: SnapshotDashboard, entry: DashboardEntry, target: ImportTarget
) -> list[str]:
    """Set the fields that differ, and return their names; `tiles` stands for any tile."""
    before = lock_dashboard(target.connection, target.project_id, stored.id)
    assert before is not None
    former = dashboard_entry(stored, (), target.keys, target.names)
    fields = differing(former, entry, _DASHBOARD_FIELDS)
    tiles = tile_changes(target, stored.id, entry)
    write_dashboard(target.connection, target.author, before, _columns(target, fields), tiles)
    return [*fields, *(["tiles"] if tiles else [])]


def _columns(target: ImportTarget, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: replace_names(value, target.ids) if name in _WITH_IDS else value
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
