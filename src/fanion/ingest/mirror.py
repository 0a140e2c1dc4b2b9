"""Persons and merges as the event store keeps a copy of them, for cohorts and insights."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from fanion.events.event import Override, PersonRow
from fanion.ingest.resolve import Resolved
from fanion.persons.merge import PersonState

_encode = msgspec.json.Encoder().encode


def mirrored_persons(resolved: Resolved) -> list[PersonRow]:
    """What a run created, changed and merged away."""
    changes = resolved.persons
    rows = [(person, False) for person in (*changes.created, *changes.updated)]
    rows += [(merged.person, True) for merged in changes.merged]
    return [_person_row(resolved.project_id, person, is_deleted) for person, is_deleted in rows]


def mirrored_overrides(
    project_id: int, overrides: Mapping[UUID, UUID], version: int
) -> list[Override]:
    """overrides: merged person → surviving person"""
    return [Override(project_id, old, new, version) for old, new in overrides.items()]


def _person_row(project_id: int, person: PersonState, is_deleted: bool) -> PersonRow:
    return PersonRow(
        project_id,
        person.uuid,
        _encode(person.properties),
        person.created_at,
        person.version,
        is_deleted,
    )
