"""The members of a cohort for the management API: pages of members, and changes of single ones.

Source: cohorts.md sections 14 and 17.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, func, select, update

from fanion.activity.model import Author
from fanion.cohorts.members.store import is_seen, next_version
from fanion.cohorts.model import StoredCohort, read_runs
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.db.schema.persons import person_keys
from fanion.db.schema.tables import person_overrides, persons
from fanion.persons.list_store import (
    Choose,
    PersonKey,
    PersonsPage,
    Position,
    choose_page,
    keys_of,
    newest_first,
    position_of,
    read_keys,
    read_page,
)
from fanion.persons.search_store import has_email, is_found, owns
from fanion.persons.timeline.model import EnteredCohort

# Distinct ids read of each member: ten are part of its body, and any may serve as its name.
DISTINCT_IDS_READ_MAX = 100
# Persons that one request adds, in one transaction.
PERSONS_MAX = 1_000

# The newest cohorts of a person; each row includes the history of the cohort.
COHORTS_MAX = 1_000

_cohort = cohorts.c
_member = cohort_people.c
_person = persons.c
_key = person_keys.c
_override = person_overrides.c

# Maps the UUIDs of a request to the ids of the persons.
Persons = Mapping[UUID, int]


@dataclass(frozen=True, slots=True)
class MemberQuery:
    """Conditions on members, combined by AND, and the page to return.

    Attributes:
        search: Read as by `is_found`.
        chosen: Selects some of the persons found; None selects all of them.
        after: The last person of the previous page; `offset` is ignored then.
    """

    distinct_id: str | None = None
    email: str | None = None
    search: str | None = None
    chosen: Choose | None = None
    limit: int = 100
    offset: int = 0
    after: UUID | None = None


async def find_members(records: Records, cohort: StoredCohort, query: MemberQuery) -> PersonsPage:
    """Return one page of members, newest person first."""
    keys = await find_keys(records, cohort, query)
    return await read_page(records, cohort.project_id, keys, DISTINCT_IDS_READ_MAX)


async def find_keys(
    records: Records, cohort: StoredCohort, query: MemberQuery
) -> Sequence[PersonKey]:
    """Return the keys of one page of members, newest person first."""

    async def read(position: Position | None, limit: int, offset: int = 0) -> Sequence[PersonKey]:
        statement = (
            keys_of(cohort.project_id)
            .join(cohort_people, _member.person_id == _person.id)
            .where(_member.cohort_id == cohort.id, is_seen(cohort.version))
            .where(*_conditions(cohort.project_id, query))
        )
        statement = newest_first(statement, position).limit(limit).offset(offset)
        return await read_keys(records, statement)

    position = await position_of(records, cohort.project_id, query.after)
    offset = query.offset if position is None else 0
    if query.chosen is None:
        return await read(position, query.limit, offset)
    return await choose_page(read, query.chosen, position, query.limit, offset)


def _conditions(project_id: int, query: MemberQuery) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if query.distinct_id is not None:
        conditions.append(owns(project_id, query.distinct_id))
    if query.email is not None:
        conditions.append(has_email(query.email, whole=True))
    if query.search:
        conditions.append(is_found(project_id, query.search))
    return conditions


def publish_members(
    connection: Connection, author: Author, cohort: StoredCohort, difference: int
) -> None:
    """Make the next version the current one.

    Args:
        difference: How much the number of members changes.
    """
    version = next_version(cohort).version
    connection.execute(
        update(cohorts)
        .where(_cohort.id == cohort.id)
        .values(
            version=version,
            requested=version,
            count=func.coalesce(_cohort.count, 0) + difference,
            last_calculation=author.now,
        )
    )


def persons_by_uuid(connection: Connection, project_id: int, uuids: Sequence[UUID]) -> Persons:
    """Return the persons by UUID; a merged person stands for the one it was merged into."""
    mine = _override.project_id == project_id
    overrides = select(_override.old_person, _override.new_person).where(
        mine, _override.old_person.in_(uuids)
    )
    became = {row.old_person: row.new_person for row in connection.execute(overrides)}
    survivors = {uuid: became.get(uuid, uuid) for uuid in uuids}
    rows = connection.execute(
        select(_key.uuid, _key.person_id).where(
            _key.project_id == project_id, _key.uuid.in_(set(survivors.values()))
        )
    )
    numbers = {row.uuid: row.person_id for row in rows}
    return {sent_uuid: numbers[uuid] for sent_uuid, uuid in survivors.items() if uuid in numbers}


def count_members(connection: Connection, cohort: StoredCohort, person_ids: Sequence[int]) -> int:
    """Return how many of the persons are members."""
    seen = is_seen(cohort.version)
    statement = select(func.count()).where(
        _member.cohort_id == cohort.id, _member.person_id.in_(person_ids), seen
    )
    return connection.scalar(statement) or 0


async def cohorts_entered(
    records: Records, project_id: int, person_id: int
) -> Sequence[EnteredCohort]:
    """Return the cohorts that the person is in now, with the time at which the person joined.

    A member has the number of the version with which it joined. The time is that of the calculation
    with this number in the history, or of the last change. Cohorts without a time are left out.
    """
    statement = (
        select(
            _cohort.id,
            _cohort.name,
            _cohort.is_static,
            _cohort.version,
            _cohort.last_calculation,
            _cohort.last_run,
            _member.added,
        )
        .join(cohort_people, _member.cohort_id == _cohort.id)
        .where(_cohort.project_id == project_id, _cohort.deleted.is_(False))
        .where(_member.person_id == person_id, is_seen(_cohort.version))
        .order_by(_cohort.id.desc())
        .limit(COHORTS_MAX)
    )
    rows = await records.fetch(statement)
    return list(_entered(rows))


def _entered(rows: Sequence[Row[Any]]) -> Iterator[EnteredCohort]:
    for row in rows:
        at = _time_of(row)
        if at is not None:
            yield EnteredCohort(at, row.id, row.name or "", row.is_static)


def _time_of(row: Row[Any]) -> datetime | None:
    if row.added == row.version:
        at: datetime | None = row.last_calculation
        return at
    for run in read_runs(row.last_run):
        if run.number == row.added and run.error is None:
            return run.started_at + timedelta(seconds=run.seconds)
    return None
