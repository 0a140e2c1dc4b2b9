"""The states of persons that ingestion reads, and the changes that it writes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    Executable,
    Select,
    TableValuedAlias,
    Text,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    text,
    true,
    type_coerce,
)

from fanion.db.bulk import IDS_MAX, as_bound, in_chunks, insert_rows, put_rows, update_rows
from fanion.db.schema.persons import person_keys
from fanion.db.schema.tables import person_distinct_ids, person_overrides, persons
from fanion.events.event import Override
from fanion.persons.merge import Changes, Merged, PersonState
from fanion.persons.state.conflicts_store import require_unchanged
from fanion.persons.state.merge_store import move_continuity_identities, move_memberships
from fanion.properties.size import ByteBudget, text_bytes

# Persons read by distinct id at a time; the largest ones take 64 MB.
PORTION_IDS = 128
PORTION_CHARS = 16 * 2**20

_person = persons.c
_link = person_distinct_ids.c
_override = person_overrides.c
_key = person_keys.c
_decode = msgspec.json.Decoder().decode

# The properties as text, whose length is their size; decoded once for all distinct ids of a person.
PROPERTIES_TEXT = type_coerce(_person.properties, Text).label("text")
STATE_COLUMNS = (
    _person.id,
    _person.uuid,
    PROPERTIES_TEXT,
    _person.is_identified,
    _person.created_at,
    _person.version,
)
# As a parameter it would make PostgreSQL plan each execution again.
_ONE = literal_column("1", BigInteger)


def of_distinct_ids(*columns: ColumnElement[Any]) -> Mapping[str, Select[Any]]:
    """Return, by dialect, the statement for a distinct id and these columns of its person.

    It binds `project_id` and `distinct_ids`, a list without repetitions.
    """
    in_project = _link.project_id == bindparam("project_id")
    listed = _link.distinct_id.in_(bindparam("distinct_ids", expanding=True))
    listed_ids = _rows_of_list("distinct_ids", Text)
    person = select(*columns).where(_person.id == _link.person_id).limit(_ONE).lateral("person")
    return {
        "sqlite": (
            select(_link.distinct_id, *columns)
            .select_from(person_distinct_ids.join(persons, _person.id == _link.person_id))
            .where(in_project, listed)
        ),
        "postgresql": (
            select(_link.distinct_id, *person.c)
            .select_from(
                listed_ids.join(person_distinct_ids, _link.distinct_id == listed_ids.c.value)
            )
            .join(person, true())
            .where(in_project)
        ),
    }


def of_ids(*columns: ColumnElement[Any]) -> Mapping[str, Select[Any]]:
    """Return, by dialect, the statement for these columns of persons of a project.

    It binds `project_id` and `ids`, a list.
    """
    mine = select(*columns).where(_person.project_id == bindparam("project_id"))
    listed_ids = _rows_of_list("ids", BigInteger)
    person = mine.where(_person.id == listed_ids.c.value).limit(_ONE).lateral("person")
    return {
        "sqlite": mine.where(_person.id.in_(bindparam("ids", expanding=True))),
        "postgresql": select(*person.c).select_from(listed_ids.join(person, true())),
    }


def _rows_of_list(name: str, kind: type[Any]) -> TableValuedAlias:
    """Return the rows of a bound list, for PostgreSQL, where `persons` has partitions.

    What is joined to these rows LATERAL looks, for each of them, into its one partition. A list
    that is not bound in its own SELECT would be planned again by each execution, for all
    partitions.
    """
    given = select(bindparam(name, type_=ARRAY(kind))).scalar_subquery()
    return func.unnest(given).table_valued("value", name="wanted").render_derived()


def ids_by_uuid(project_id: int, uuids: Any) -> Select[Any]:
    """Select the ids of the persons with these UUIDs.

    Args:
        uuids: A sequence, a parameter or a SELECT.
    """
    return select(_key.person_id).where(_key.project_id == project_id, _key.uuid.in_(uuids))


STATES = of_distinct_ids(*STATE_COLUMNS)
_OVERRIDDEN = (
    select(_override.old_person, _override.new_person, _override.version)
    .where(_override.project_id == bindparam("project_id"))
    .where(_override.new_person.in_(bindparam("persons", expanding=True)))
)
_OVERRIDES = (
    select(_override.old_person, _override.new_person, _override.version)
    .where(_override.project_id == bindparam("project_id"))
    .where(_override.old_person.in_(bindparam("persons", expanding=True)))
)
_BY_UUID = (
    select(*STATE_COLUMNS)
    .where(_person.project_id == bindparam("project_id"))
    .where(
        _person.id.in_(
            select(_key.person_id)
            .where(_key.project_id == bindparam("project_id"))
            .where(_key.uuid.in_(bindparam("persons", expanding=True)))
        )
    )
)
_CREATED = ("project_id", "uuid", "properties", "is_identified", "created_at", "version", "email")
_UPDATED = ("id", "properties", "is_identified", "created_at", "version", "email")
_ATTACHED = ("project_id", "distinct_id", "person_id")
_OVERRIDE, _OVERRIDING = ("project_id", "old_person"), ("new_person", "version")
# The limit lets PostgreSQL expect few rows, and find each by the index of its partition.
_REMOVE: Mapping[str, Executable] = {
    "postgresql": text(
        """
  DELETE FROM persons
        USING (SELECT id FROM UNNEST((SELECT CAST(:gone AS bigint[]))) AS given (id)
                LIMIT CARDINALITY(CAST(:gone AS bigint[]))) AS gone
        WHERE persons.id = gone.id
"""
    ),
    "sqlite": delete(persons).where(_person.id.in_(bindparam("gone", expanding=True))),
}
# Rows of other tables refer to the key, and are written under a shared lock on it.
_LOCK_KEYS = (
    select(_key.person_id)
    .where(_key.person_id.in_(bindparam("gone", expanding=True)))
    .order_by(_key.person_id)
    .with_for_update()
)


def load_states(
    connection: Connection, project_id: int, distinct_ids: Sequence[str], allowance: ByteBudget
) -> dict[str, PersonState]:
    """Return the persons of distinct ids; ids of one person share its state.

    They are read in portions of about PORTION_CHARS, estimated from the previous portion.

    Raises:
        ByteBudgetExceeded: The properties exceed the allowance.
    """
    known: dict[int, PersonState] = {}
    states: dict[str, PersonState] = {}
    start, ids = 0, PORTION_IDS
    while start < len(distinct_ids):
        some = distinct_ids[start : start + ids]
        chars = 0
        rows = connection.execute(
            STATES[connection.dialect.name], {"project_id": project_id, "distinct_ids": some}
        )
        for distinct_id, *columns in rows:
            person = known.get(columns[0])
            if person is None:
                person = known[columns[0]] = read_state(*columns)
                allowance.spend(person.properties_bytes)
            states[distinct_id] = person
            chars += len(columns[2])  # counted for each row, even if a person has many
        start += len(some)
        ids = next_portion(len(some), chars)
    return states


def read_state(
    number: int, uuid: UUID, text: str, is_identified: bool, created_at: datetime, version: int
) -> PersonState:
    """Return the state in a row of STATE_COLUMNS."""
    person = PersonState(number, uuid, _decode(text), is_identified, created_at, version)
    person.properties_bytes = text_bytes(text)
    return person


def overridden(
    connection: Connection, project_id: int, vanished: Sequence[UUID]
) -> dict[UUID, tuple[UUID, int]]:
    """Return the persons that were merged earlier into persons that are merged now.

    Returns:
        The survivor and the version of the override, by merged person.
    """
    survivors: dict[UUID, tuple[UUID, int]] = {}
    for uuids in in_chunks(vanished):
        rows = connection.execute(_OVERRIDDEN, {"project_id": project_id, "persons": uuids})
        survivors.update({row.old_person: (row.new_person, row.version) for row in rows})
    return survivors


def load_overrides(
    connection: Connection, project_id: int, merged: Sequence[UUID]
) -> list[Override]:
    """Return the overrides of these persons, for persons that were merged."""
    overrides: list[Override] = []
    for uuids in in_chunks(merged):
        rows = connection.execute(_OVERRIDES, {"project_id": project_id, "persons": uuids})
        overrides += [Override(project_id, *row) for row in rows]
    return overrides


def load_by_uuid(
    connection: Connection, project_id: int, uuids: Sequence[UUID], allowance: ByteBudget
) -> list[PersonState]:
    """Return the states of the persons that are stored.

    Raises:
        ByteBudgetExceeded: The properties exceed the allowance.
    """
    states: list[PersonState] = []
    for some in in_chunks(uuids):
        for row in connection.execute(_BY_UUID, {"project_id": project_id, "persons": some}):
            person = read_state(*row)
            allowance.spend(person.properties_bytes)
            states.append(person)
    return states


def write_changes(
    connection: Connection,
    project_id: int,
    changes: Changes,
    overrides: Mapping[UUID, UUID],
    version: int,
) -> None:
    """Write the changes of a batch, and give created persons their id.

    Args:
        overrides: Merged person → surviving person, including earlier ones that this batch changes.
        version: The version of the overrides; higher with every batch.

    Raises:
        PersonsChanged: Another writer has changed persons that the changes are based on.
    """
    require_unchanged(connection, changes.expected)
    if changes.created:
        _create_persons(connection, project_id, changes.created)
    if changes.updated:
        update_rows(connection, persons, _UPDATED, [_updated_row(p) for p in changes.updated])
    if changes.attached:
        attached = [(project_id, name, person.id) for name, person in changes.attached.items()]
        insert_rows(connection, person_distinct_ids, _ATTACHED, attached)
    if changes.merged:
        _merge_persons(connection, changes.merged)
    if overrides:
        rows = [(project_id, old, new, version) for old, new in overrides.items()]
        put_rows(connection, person_overrides, _OVERRIDE, _OVERRIDING, rows)


def _create_persons(
    connection: Connection, project_id: int, created: Sequence[PersonState]
) -> None:
    rows = [_created_row(project_id, person) for person in created]
    numbers = dict(insert_rows(connection, persons, _CREATED, rows, returning=("uuid", "id")))
    uuids = as_bound(connection, persons, "uuid", [person.uuid for person in created])
    for person, uuid in zip(created, uuids, strict=True):
        person.id = numbers[uuid]


def _merge_persons(connection: Connection, merged: Sequence[Merged]) -> None:
    # The moves lead to the survivors of the whole batch.
    moves = [(merge.person.id, merge.into.id) for merge in merged]
    for some in in_chunks(moves):
        connection.execute(_LOCK_KEYS, {"gone": [gone for gone, _ in some]})
    update_rows(connection, person_distinct_ids, ("person_id", "person_id"), moves)
    named = [{"gone": gone, "survivor": survivor} for gone, survivor in moves]
    move_continuity_identities(connection, named)
    move_memberships(connection, named)
    for some in in_chunks(moves):
        connection.execute(_REMOVE[connection.dialect.name], {"gone": [gone for gone, _ in some]})


def _created_row(project_id: int, person: PersonState) -> tuple[Any, ...]:
    return (
        project_id,
        person.uuid,
        person.properties,
        person.is_identified,
        person.created_at,
        person.version,
        email_of(person.properties),
    )


def _updated_row(person: PersonState) -> tuple[Any, ...]:
    return (
        person.id,
        person.properties,
        person.is_identified,
        person.created_at,
        person.version,
        email_of(person.properties),
    )


def email_of(properties: Mapping[str, Any]) -> str | None:
    """Return the e-mail address as it is stored for searching."""
    email = properties.get("email")
    return email.lower().replace("\0", "\ufffd") if isinstance(email, str) else None


def next_portion(ids: int, chars: int) -> int:
    """Return the number of distinct ids to read after `ids` that had `chars` of text."""
    return min(max(PORTION_CHARS * ids // (chars + 1), PORTION_IDS), IDS_MAX)
