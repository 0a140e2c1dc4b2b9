"""Persons and merges as the event store keeps a copy of them, for cohorts and insights."""

from collections.abc import Iterable, Mapping
from uuid import UUID

import msgspec

from fanion.events.event import Override, PersonRow
from fanion.events.storage.encoder import Batch, EventEncoder
from fanion.ingest.pipeline.resolve import Resolved
from fanion.persons.merge import PersonState

_encode = msgspec.json.Encoder().encode


def mirrored(
    encoder: EventEncoder, parts: Iterable[tuple[Resolved, Mapping[UUID, UUID]]], version: int
) -> Batch:
    """What a run created, changed and merged away.

    parts:   of each project, with all its overrides: merged person → surviving person
    version: of the overrides
    raises:  EventRejected
    """
    persons: list[PersonRow] = []
    overrides: list[Override] = []
    for resolved, moved in parts:
        persons += _persons(resolved)
        overrides += [
            Override(resolved.project_id, old, new, version) for old, new in moved.items()
        ]
    return encoder.batch((), persons, overrides)


def _persons(resolved: Resolved) -> list[PersonRow]:
    changes = resolved.persons
    rows = [(person, False) for person in (*changes.created, *changes.updated)]
    rows += [(merged.person, True) for merged in changes.merged]
    return [_person_row(resolved.project_id, person, is_deleted) for person, is_deleted in rows]


def _person_row(project_id: int, person: PersonState, is_deleted: bool) -> PersonRow:
    return PersonRow(
        project_id,
        person.uuid,
        _encode(person.properties),
        person.created_at,
        person.version,
        is_deleted,
        person.properties,
    )
