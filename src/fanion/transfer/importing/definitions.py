"""The import of the event and property definitions of a document into a project."""

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Select, Table, select

from fanion.db.schema.events import property_definitions
from fanion.db.schema.tables import event_definitions, memberships, users
from fanion.events.definitions.details import NO_DETAILS, changed_columns
from fanion.events.definitions.model import PlainEventDefinition
from fanion.events.definitions.properties import NewProperties, PropertyType
from fanion.events.definitions.property_store import (
    put_property_details,
    record_properties,
    update_property,
)
from fanion.events.definitions.store import add_definition, put_details, update_definition
from fanion.rest.validation import shared_fields
from fanion.transfer.document import (
    DocumentError,
    EventDefinitionEntry,
    PropertyDefinitionEntry,
)
from fanion.transfer.importing.target import ImportTarget, differing

_EVENT, _PROPERTY = "event definition", "property definition"
_DETAILS: Final = ("description", "owner", "tags", "hidden", "verified")
_UNSET: Final[Mapping[str, Any]] = {
    "description": "",
    "tags": [],
    "hidden": False,
    "verified": False,
}
DetailedEntry = EventDefinitionEntry | PropertyDefinitionEntry


def import_event_definitions(target: ImportTarget) -> None:
    """Import event definitions; `created_at` and `last_seen_at` are only set for new ones."""
    stored = {definition.name: definition for definition in target.stored.event_definitions}
    ids = _ids(target, event_definitions)
    owners = _Owners(target)
    for entry in target.document.event_definitions:
        known = stored.get(entry.name)
        if known is None:
            _insert_definition(target, entry, owners)
            target.report.created(_EVENT, entry.name)
        else:
            given = owners.given(_EVENT, known, entry)
            values = {**differing(known, entry, ("post_to_chat",)), **given}
            update_definition(target.connection, target.author, ids[entry.name], values)
            target.report.compared(_EVENT, entry.name, list(values))


def import_property_definitions(target: ImportTarget) -> None:
    """Import property definitions, keeping stored types as events do."""
    stored = {definition.name: definition for definition in target.stored.property_definitions}
    types: dict[str, PropertyType | None] = {}
    carried: dict[str, list[str]] = {}
    changes: dict[str, Mapping[str, Any]] = {}
    owners = _Owners(target)
    for entry in target.document.property_definitions:
        known = stored.get(entry.name, PropertyDefinitionEntry(name=entry.name, **_UNSET))
        adds_type = known.property_type is None and entry.property_type is not None
        if entry.name not in stored or adds_type:
            types[entry.name] = entry.property_type
        new_events = sorted(set(entry.event_names) - set(known.event_names))
        for event in new_events:
            carried.setdefault(event, []).append(entry.name)
        changes[entry.name] = owners.given(_PROPERTY, known, entry)
        added = {"property_type": adds_type, "event_names": bool(new_events)}
        fields = [name for name, is_added in added.items() if is_added]
        _report_property(target, entry, stored.get(entry.name), [*fields, *changes[entry.name]])
    new = NewProperties(types, carried)
    record_properties(target.connection, target.project_id, new, target.author.now)
    _write_properties(target, changes, stored)


def _write_properties(
    target: ImportTarget, changes: Mapping[str, Mapping[str, Any]], stored: Container[str]
) -> None:
    """Write the details that differ; those of new definitions leave no entry in the activity."""
    ids = _ids(target, property_definitions)
    for name, sent in changes.items():
        if name in stored:
            update_property(target.connection, target.author, ids[name], sent)
        elif values := changed_columns(NO_DETAILS, sent, target.author):
            values["updated_at"] = target.author.now
            put_property_details(target.connection, target.project_id, ids[name], values)


def _report_property(
    target: ImportTarget,
    entry: PropertyDefinitionEntry,
    known: PropertyDefinitionEntry | None,
    fields: Sequence[str],
) -> None:
    if known is None:
        target.report.created(_PROPERTY, entry.name)
        return
    other_type = known.property_type is not None and entry.property_type not in (
        None,
        known.property_type,
    )
    if other_type:
        why = f"its type in this project is {known.property_type}"
        target.report.skipped(_PROPERTY, entry.name, why)
    if fields or not other_type:
        target.report.compared(_PROPERTY, entry.name, fields)


def _ids(target: ImportTarget, table: Table) -> dict[str, UUID]:
    rows = target.connection.execute(
        select(table.c.name, table.c.id).where(table.c.project_id == target.project_id)
    )
    return {row.name: row.id for row in rows}


def _insert_definition(
    target: ImportTarget, entry: EventDefinitionEntry, owners: "_Owners"
) -> None:
    values = shared_fields(entry, PlainEventDefinition)
    values["created_at"] = entry.created_at or target.author.now
    definition_id = add_definition(
        target.connection, target.project_id, {**values, "tags": entry.tags}
    )
    blank = EventDefinitionEntry(name=entry.name, **_UNSET)
    details = changed_columns(NO_DETAILS, owners.given(_EVENT, blank, entry), target.author)
    details.pop("tags", None)
    if details:
        put_details(target.connection, definition_id, details)


class _Owners:
    """The details to set, with owners looked up among the members of the organization."""

    def __init__(self, target: ImportTarget) -> None:
        self._target = target
        self._ids = {row.email: row.id for row in target.connection.execute(_members(target))}

    def given(self, kind: str, known: DetailedEntry, entry: DetailedEntry) -> dict[str, Any]:
        """Return the details that differ, by name; those that are null in the document stay.

        Raises:
            DocumentError: The definition would be both hidden and verified.
        """
        values = {
            name: value
            for name, value in differing(known, entry, _DETAILS).items()
            if value is not None
        }
        _require_one_mark(kind, known, entry.name, values)
        email = values.get("owner")
        if email is not None and email.lower() not in self._ids:
            del values["owner"]
            why = "no member of this organization has the e-mail address"
            self._target.report.skipped("owner", f"{email} of {entry.name}", why)
        elif email is not None:
            values["owner"] = self._ids[email.lower()]
        return values


def _members(target: ImportTarget) -> Select[Any]:
    return (
        select(users.c.email, users.c.id)
        .join(memberships, memberships.c.user_id == users.c.id)
        .where(memberships.c.organization_id == target.author.organization_id)
    )


def _require_one_mark(
    kind: str, known: DetailedEntry, name: str, values: Mapping[str, Any]
) -> None:
    if values.get("hidden", known.hidden) and values.get("verified", known.verified):
        raise DocumentError(
            f"{kind} {name}: cannot be both hidden and verified, and one of them is set in the "
            "project"
        )
