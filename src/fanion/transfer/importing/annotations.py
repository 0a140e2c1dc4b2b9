"""The import of the annotations of a document into a project."""

from collections import defaultdict
from datetime import datetime

from fanion.insights.annotations.store import add_annotation, get_annotation, write_annotation
from fanion.transfer.document import AnnotationEntry
from fanion.transfer.importing.target import ImportTarget
from fanion.transfer.snapshot import SnapshotAnnotation

# What an annotation says, and about when.
_Note = tuple[str, datetime]


def import_annotations(target: ImportTarget) -> None:
    """Import annotations, after the insights and dashboards that they are about.

    They are the same if they say the same about the same moment. Of several stored ones that do,
    the oldest matches the first.

    Raises:
        Invalid: The project would have too many annotations.
    """
    stored = _by_note(target)
    for entry in target.document.annotations:
        known = stored[entry.content, entry.date_marker]
        if not known:
            values = {"content": entry.content, "date_marker": entry.date_marker}
            add_annotation(target.connection, target.author, {**values, **_place(target, entry)})
            target.report.created("annotation", entry.key)
            continue
        fields = _change(known.pop(0), entry, target)
        target.report.compared("annotation", entry.key, fields)


def _by_note(target: ImportTarget) -> dict[_Note, list[SnapshotAnnotation]]:
    grouped: dict[_Note, list[SnapshotAnnotation]] = defaultdict(list)
    for annotation in sorted(target.stored.annotations, key=lambda annotation: annotation.id):
        grouped[annotation.content, annotation.date_marker].append(annotation)
    return grouped


def _change(stored: SnapshotAnnotation, entry: AnnotationEntry, target: ImportTarget) -> list[str]:
    """Set the fields that differ, and return their names."""
    place = _place(target, entry)
    fields = {name: value for name, value in place.items() if getattr(stored, name) != value}
    if fields:
        author = target.author
        reader = (author.project_id, author.organization_id)
        before = get_annotation(target.connection, reader, stored.id, for_update=True)
        write_annotation(target.connection, author, before, fields)
    return list(fields)


def _place(target: ImportTarget, entry: AnnotationEntry) -> dict[str, object]:
    """Return where an annotation is shown, and who made it."""
    return {
        "creation_type": entry.creation_type,
        "scope": entry.scope,
        "dashboard_item": None if entry.insight is None else target.insights[entry.insight],
        "dashboard_id": None if entry.dashboard is None else target.dashboards[entry.dashboard],
    }
