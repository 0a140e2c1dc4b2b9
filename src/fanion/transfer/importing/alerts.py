"""The import of the alerts of a document into a project."""

from collections import defaultdict

from fanion.insights.alerts.store import change_alert, create_alert
from fanion.transfer.document import AlertEntry
from fanion.transfer.importing.target import ImportTarget, differing
from fanion.transfer.snapshot import SnapshotAlert, alert_entry

_FIELDS = ("condition", "threshold", "series_index", "breakdown_value", "enabled")


def import_alerts(target: ImportTarget) -> None:
    """Import alerts, after the insights.

    Of several stored alerts with one name on one insight, the oldest matches the first.

    Raises:
        Invalid: The project would have too many alerts.
    """
    stored = _by_insight_and_name(target)
    for entry in target.document.alerts:
        insight_id = target.insights[entry.insight]
        known = stored[insight_id, entry.name]
        if not known:
            values = {name: getattr(entry, name) for name in ("name", *_FIELDS)}
            create_alert(target.connection, target.author, {"insight_id": insight_id, **values})
            target.report.created("alert", entry.key)
            continue
        fields = _differing(known.pop(0), entry, target)
        target.report.compared("alert", entry.key, fields)


def _by_insight_and_name(target: ImportTarget) -> dict[tuple[int, str], list[SnapshotAlert]]:
    grouped: dict[tuple[int, str], list[SnapshotAlert]] = defaultdict(list)
    for alert in target.stored.alerts:
        grouped[alert.insight_id, alert.name].append(alert)
    return grouped


def _differing(stored: SnapshotAlert, entry: AlertEntry, target: ImportTarget) -> list[str]:
    """Set the fields that differ, and return their names."""
    before = alert_entry(stored, entry.key, entry.insight)
    fields = differing(before, entry, _FIELDS)
    if fields:
        change_alert(target.connection, target.author, stored.id, fields)
    return list(fields)
