"""The persons that a request merges, and what is stored about them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, func, select

from fanion.db.bulk import IDS_MAX
from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.db.schema.flags import flag_continuity
from fanion.db.schema.tables import person_distinct_ids, person_overrides, persons
from fanion.errors import Invalid, NotFound
from fanion.persons.merge import is_legal_id
from fanion.persons.state.store import STATE_COLUMNS, ids_by_uuid

# Persons that one request merges into another one. Their properties are read together.
PERSONS_MAX = 20
# Distinct ids of these persons together: one transaction of ingestion moves them, and the next
# batch waits for it.
DISTINCT_IDS_MAX = 10_000
# Distinct ids of one person that are searched for one that may be merged. Those that may not be
# merged have fewer forms.
LOOKED_AT_MAX = 1_000

_person = persons.c
_link = person_distinct_ids.c
_override = person_overrides.c
_cohort = cohorts.c
_member = cohort_people.c
_stored = flag_continuity.c

PersonId = UUID | int


@dataclass(frozen=True, slots=True)
class MergedPerson:
    """A person that takes part in a merge.

    Attributes:
        id: The id in the records store.
        distinct_id: A distinct id by which an event may merge the person.
    """

    id: int
    uuid: UUID
    distinct_id: str


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """A request to merge persons.

    Attributes:
        others: The persons to merge into `survivor`, in the order of the request; empty if all of
            them have become the survivor already.
    """

    survivor: MergedPerson
    others: Sequence[MergedPerson]

    @property
    def persons(self) -> Sequence[MergedPerson]:
        return (self.survivor, *self.others)


@dataclass(frozen=True, slots=True)
class StoredCohort:
    """A cohort of which some persons of a request are members.

    Attributes:
        persons: Ids of these persons.
    """

    id: int
    name: str
    is_static: bool
    persons: frozenset[int]


@dataclass(frozen=True, slots=True)
class StoredPersons:
    """The stored data of the persons of a request.

    Attributes:
        states: Rows of STATE_COLUMNS, in the order of the request.
        distinct_ids: The first distinct ids of all persons together.
        counts: The number of distinct ids by id of the person.
        identities: Flag key → id of the person → hash key.
    """

    request: MergeRequest
    states: Sequence[Row[Any]]
    distinct_ids: Sequence[str]
    counts: dict[int, int]
    cohorts: Sequence[StoredCohort]
    identities: dict[str, dict[int, str]]


@dataclass(frozen=True, slots=True)
class _Found:
    id: int
    uuid: UUID
    was_merged: bool


def read_request(
    connection: Connection, project_id: int, person: PersonId, ids: Sequence[PersonId]
) -> MergeRequest:
    """Read the persons of a request; one that was merged before stands for the person it became.

    Args:
        ids: Ids of the persons to merge into `person`.

    Raises:
        NotFound: `person` does not exist.
        Invalid: One of `ids` cannot be merged, and `attr` names it; or there are too many
            distinct ids.
    """
    survivor = _find_person(connection, project_id, person)
    if survivor is None:
        raise NotFound
    others: dict[int, tuple[_Found, str]] = {}
    for index, person_id in enumerate(ids):
        other = _find_person(connection, project_id, person_id)
        if other is None:
            raise Invalid("This project has no person with this id.", attr=f"ids__{index}")
        if other.id != survivor.id:
            others.setdefault(other.id, (other, f"ids__{index}"))
        elif not other.was_merged and not survivor.was_merged:
            raise Invalid("A person cannot be merged with itself.", attr=f"ids__{index}")
    _require_few(connection, list(others))
    return MergeRequest(
        _mergeable_person(connection, survivor, None),
        [_mergeable_person(connection, other, attr) for other, attr in others.values()],
    )


def read_persons(
    connection: Connection, project_id: int, request: MergeRequest, distinct_ids_max: int
) -> StoredPersons:
    """Read the data of the persons, from one snapshot if `connection` reads from one."""
    ids = [person.id for person in request.persons]
    rows = connection.execute(select(*STATE_COLUMNS).where(_person.id.in_(ids)))
    states = {row.id: row for row in rows}
    named = select(_link.distinct_id).where(_link.person_id.in_(ids)).order_by(_link.distinct_id)
    return StoredPersons(
        request,
        [states[person_id] for person_id in ids if person_id in states],
        connection.scalars(named.limit(distinct_ids_max)).all(),
        _count_distinct_ids(connection, ids),
        _cohorts_of(connection, project_id, ids),
        _identities_of(connection, ids),
    )


def are_merged(connection: Connection, project_id: int, uuids: Iterable[UUID]) -> bool:
    """Return whether the persons have all become one person, which exists."""
    survivors = {_find_person(connection, project_id, uuid) for uuid in uuids}
    return (
        None not in survivors
        and len({survivor.id for survivor in survivors if survivor is not None}) == 1
    )


def _find_person(connection: Connection, project_id: int, person: PersonId) -> _Found | None:
    became, condition = None, _person.id == person
    if isinstance(person, UUID):
        became = connection.scalar(
            select(_override.new_person).where(
                _override.project_id == project_id, _override.old_person == person
            )
        )
        condition = _person.id.in_(ids_by_uuid(project_id, [became or person]))
    row = connection.execute(
        select(_person.id, _person.uuid).where(_person.project_id == project_id, condition)
    ).first()
    return None if row is None else _Found(row.id, row.uuid, became is not None)


def _mergeable_person(connection: Connection, person: _Found, attr: str | None) -> MergedPerson:
    """Return the person with a distinct id by which it may be merged.

    Raises:
        Invalid: No distinct id of the person may be merged.

    Source: capture.md section 4, rule 2.
    """
    ids = connection.scalars(
        select(_link.distinct_id)
        .where(_link.person_id == person.id)
        .order_by(_link.distinct_id)
        .limit(LOOKED_AT_MAX)
    ).all()
    legal = next(filter(is_legal_id, ids), None)
    if legal is None:
        raise Invalid(
            "This person cannot be merged: clients send each of its distinct ids for many users.",
            attr=attr,
        )
    return MergedPerson(person.id, person.uuid, legal)


def _require_few(connection: Connection, ids: Sequence[int]) -> None:
    number = sum(_count_distinct_ids(connection, ids).values())
    if number > DISTINCT_IDS_MAX:
        raise Invalid(
            f"Ensure the persons to merge have no more than {DISTINCT_IDS_MAX} distinct ids "
            f"together (they have {number}).",
            attr="ids",
        )


def _count_distinct_ids(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    assert len(ids) <= IDS_MAX
    counted = select(_link.person_id, func.count().label("number")).where(_link.person_id.in_(ids))
    rows = connection.execute(counted.group_by(_link.person_id))
    return {row.person_id: row.number for row in rows}


def _cohorts_of(
    connection: Connection, project_id: int, ids: Sequence[int]
) -> Sequence[StoredCohort]:
    rows = connection.execute(
        select(_cohort.id, _cohort.name, _cohort.is_static, _member.person_id)
        .join(cohort_people, _member.cohort_id == _cohort.id)
        .where(_cohort.project_id == project_id, _cohort.deleted.is_(False))
        .where(_member.person_id.in_(ids))
        .where(_member.added <= _cohort.version, _member.removed > _cohort.version)
        .order_by(_cohort.id)
    )
    members: dict[tuple[int, str, bool], set[int]] = {}
    for row in rows:
        members.setdefault((row.id, row.name or "", row.is_static), set()).add(row.person_id)
    return [StoredCohort(*cohort, frozenset(some)) for cohort, some in members.items()]


def _identities_of(connection: Connection, ids: Sequence[int]) -> dict[str, dict[int, str]]:
    rows = connection.execute(
        select(_stored.flag_key, _stored.person_id, _stored.hash_key)
        .where(_stored.person_id.in_(ids))
        .order_by(_stored.flag_key)
    )
    identities: dict[str, dict[int, str]] = {}
    for row in rows:
        identities.setdefault(row.flag_key, {})[row.person_id] = row.hash_key
    return identities
