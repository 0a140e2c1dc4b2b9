"""The import of the event and property definitions of a document into a project."""

from typing import Any
from uuid import UUID

from sqlalchemy import select

from fanion.db.schema.tables import event_definitions
from fanion.events.definitions.model import Marks, PlainEventDefinition
from fanion.events.definitions.properties import NewProperties, PropertyType
from fanion.events.definitions.property_store import record_properties
from fanion.events.definitions.store import (
    add_definition,
    put_marks,
    update_definition,
    update_marks,
)
from fanion.rest.validation import shared_fields
from fanion.transfer.document import (
    DocumentError,
    EventDefinitionEntry,
    PropertyDefinitionEntry,
)
from fanion.transfer.importing.target import ImportTarget, differing

_definition = event_definitions.c
_EVENT, _PROPERTY = "event definition", "property definition"


def import_event_definitions(target: ImportTarget) -> None:
    """Import event definitions; `created_at` and `last_seen_at` are only set for new ones."""
    stored = {definition.name: definition for definition in target.stored.event_definitions}
    ids = _definition_ids(target)
    for entry in target.document.event_definitions:
        known = stored.get(entry.name)
        if known is None:
            _insert_definition(target, entry)
            target.report.created(_EVENT, entry.name)
        else:
            fields = _update_event_definition(target, ids[entry.name], known, entry)
            target.report.compared(_EVENT, entry.name, fields)


def import_property_definitions(target: ImportTarget) -> None:
    """Import property definitions, keeping stored types as events do."""
    stored = {definition.name: definition for definition in target.stored.property_definitions}
    types: dict[str, PropertyType | None] = {}
    carried: dict[str, list[str]] = {}
    for entry in target.document.property_definitions:
        known = stored.get(entry.name, PropertyDefinitionEntry(name=entry.name))
        adds_type = known.property_type is None and entry.property_type is not None
        if entry.name not in stored or adds_type:
            types[entry.name] = entry.property_type
        new_events = sorted(set(entry.event_names) - set(known.event_names))
        for event in new_events:
            carried.setdefault(event, []).append(entry.name)
        _report_property(target, entry, stored.get(entry.name), adds_type, bool(new_events))
    new = NewProperties(types, carried)
    record_properties(target.connection, target.project_id, new, target.author.now)


def _report_property(
    target: ImportTarget,
    entry: PropertyDefinitionEntry,
    known: PropertyDefinitionEntry | None,
    adds_type: bool,
    has_new_events: bool,
) -> None:
    if known is None:
        target.report.created(_PROPERTY, entry.name)
    elif entry.property_type not in (None, known.property_type) and not adds_type:
        target.report.skipped(
            _PROPERTY, entry.name, f"its type in this project is {known.property_type}"
        )
    else:
        fields = {"property_type": adds_type, "event_names": has_new_events}
        differ = [name for name, differs in fields.items() if differs]
        target.report.compared(_PROPERTY, entry.name, differ)


def _definition_ids(target: ImportTarget) -> dict[str, UUID]:
    rows = target.connection.execute(
        select(_definition.name, _definition.id).where(_definition.project_id == target.project_id)
    )
    return {row.name: row.id for row in rows}


def _insert_definition(target: ImportTarget, entry: EventDefinitionEntry) -> None:
    values = shared_fields(entry, PlainEventDefinition)
    values["created_at"] = entry.created_at or target.author.now
    definition_id = add_definition(target.connection, target.project_id, values)
    if entry.hidden or entry.verified:
        marks = Marks(hidden=bool(entry.hidden), verified=bool(entry.verified))
        put_marks(target.connection, definition_id, marks)


def _update_event_definition(
    target: ImportTarget,
    definition_id: UUID,
    known: EventDefinitionEntry,
    entry: EventDefinitionEntry,
) -> list[str]:
    """Set the fields that differ, and return their names."""
    values = differing(known, entry, ("tags", "post_to_chat"))
    if values:
        update_definition(target.connection, target.author, definition_id, values)
    marks_given: dict[str, Any] = {
        name: value
        for name, value in differing(known, entry, ("hidden", "verified")).items()
        if value is not None
    }
    if marks_given:
        # Both are set in one update: one after the other it could be hidden and verified for a
        # moment.
        marks = {"hidden": known.hidden, "verified": known.verified, **marks_given}
        given = {name: bool(value) for name, value in marks.items()}
        if all(given.values()):
            raise DocumentError(
                f"event definition {entry.name}: cannot be both hidden and verified, and one of "
                "them is set in the project"
            )
        update_marks(target.connection, target.author, definition_id, given)
    return [*values, *marks_given]
