"""The records of a person that its timeline needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, or_, select

from fanion.db.schema.activity import activity_log
from fanion.db.schema.tables import person_distinct_ids, person_overrides, persons
from fanion.persons.state.store import PROPERTIES_TEXT, ids_by_uuid

# The events of a person with more distinct ids, or with longer ones, are found by person.
DISTINCT_IDS_MAX = 300
DISTINCT_IDS_CHARS_MAX = 20_000
# Limits of persons merged into one, and of changes that are not events: beyond them nothing is
# known about former values.
# former values.
MERGED_MAX = 1_000
EDITS_MAX = 1_000

_person = persons.c
_link = person_distinct_ids.c
_override = person_overrides.c
_entry = activity_log.c


@dataclass(frozen=True, slots=True)
class TimelinePerson:
    """A person with the facts that its timeline needs.

    Attributes:
        distinct_ids: All of them; empty if there are many.
        properties_chars: The length of the JSON of its properties.
    """

    id: int
    uuid: UUID
    distinct_ids: tuple[str, ...]
    properties_chars: int


def find_person(
    connection: Connection, project_id: int, person: UUID | int
) -> TimelinePerson | None:
    """Return a person by UUID or id, or None; a merged person is replaced by its survivor."""
    condition = _person.id == person
    if isinstance(person, UUID):
        became = connection.scalar(
            select(_override.new_person).where(
                _override.project_id == project_id, _override.old_person == person
            )
        )
        condition = _person.id.in_(ids_by_uuid(project_id, [became or person]))
    row = connection.execute(
        select(_person.id, _person.uuid, PROPERTIES_TEXT).where(
            _person.project_id == project_id, condition
        )
    ).first()
    if row is None:
        return None
    return TimelinePerson(row.id, row.uuid, _few_ids(connection, row.id), len(row.text))


def edited_at(
    connection: Connection, project_id: int, person: UUID, since: datetime, until: datetime
) -> Sequence[datetime] | None:
    """Return the times at which properties of a person may have changed without an event.

    They count for the person and for persons merged into it. Properties change by the API, and when
    any person of the project is deleted, since that one may have had the same distinct ids.

    Returns:
        The times in order; None if there are too many.
    """
    merged = connection.scalars(
        select(_override.old_person)
        .where(_override.project_id == project_id, _override.new_person == person)
        .limit(MERGED_MAX + 1)
    ).all()
    if len(merged) > MERGED_MAX:
        return None
    ids = [str(uuid) for uuid in (person, *merged)]
    is_change = or_(
        _entry.activity == "deleted", (_entry.activity == "updated") & _entry.item_id.in_(ids)
    )
    times = connection.scalars(
        select(_entry.created_at)
        .where(_entry.project_id == project_id, _entry.scope == "Person", is_change)
        .where(_entry.created_at >= since, _entry.created_at <= until)
        .order_by(_entry.created_at)
        .limit(EDITS_MAX + 1)
    ).all()
    return None if len(times) > EDITS_MAX else times


def _few_ids(connection: Connection, person_id: int) -> tuple[str, ...]:
    ids = connection.scalars(
        select(_link.distinct_id).where(_link.person_id == person_id).limit(DISTINCT_IDS_MAX + 1)
    ).all()
    is_few = len(ids) <= DISTINCT_IDS_MAX and sum(map(len, ids)) <= DISTINCT_IDS_CHARS_MAX
    return tuple(ids) if is_few else ()
