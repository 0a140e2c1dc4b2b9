"""Who is in a cohort: its persons, by page."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.cohorts.store import StoredCohort
from fanion.cohorts.work_store import is_seen
from fanion.db.cohort_tables import cohort_people
from fanion.db.engine import Records
from fanion.db.tables import person_distinct_ids, persons
from fanion.persons.store import Person, person_rows, with_distinct_ids

_member = cohort_people.c
_person = persons.c
_link = person_distinct_ids.c

# Persons read at a time where they are chosen by their properties.
SCAN_MAX = 1_000


@dataclass(frozen=True, slots=True)
class MemberQuery:
    """search: a whole distinct id or UUID, or part of the e-mail address

    chosen: of those that are found; None for all of them
    """

    distinct_id: str | None = None
    email: str | None = None
    search: str | None = None
    chosen: Callable[[Person], bool] | None = None
    limit: int = 100
    offset: int = 0


async def find_members(records: Records, cohort: StoredCohort, query: MemberQuery) -> list[Person]:
    """One page, the newest person first."""
    async with records.read() as connection:
        if query.chosen is None:
            return await _page(connection, cohort, query, query.limit, query.offset)
        wanted, end = query.offset + query.limit, 0
        found: list[Person] = []
        async for person in _scan(connection, cohort, query):
            if query.chosen(person):
                end += 1
                if end > query.offset:
                    found.append(person)
            if end == wanted:
                break
        return found


async def _scan(
    connection: AsyncConnection, cohort: StoredCohort, query: MemberQuery
) -> AsyncGenerator[Person]:
    offset = 0
    while some := await _page(connection, cohort, query, SCAN_MAX, offset):
        for person in some:
            yield person
        offset += SCAN_MAX


async def _page(
    connection: AsyncConnection, cohort: StoredCohort, query: MemberQuery, limit: int, offset: int
) -> list[Person]:
    statement = (
        person_rows(cohort.project_id)
        .join(cohort_people, _member.person_id == _person.id)
        .where(_member.cohort_id == cohort.id, is_seen(cohort.version))
        .where(*_conditions(cohort.project_id, query))
        .order_by(_person.created_at.desc(), _person.uuid)
        .limit(limit)
        .offset(offset)
    )
    rows = (await connection.execute(statement)).all()
    return await with_distinct_ids(connection, cohort.project_id, rows)


def _conditions(project_id: int, query: MemberQuery) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if query.distinct_id is not None:
        conditions.append(_owns(project_id, query.distinct_id))
    if query.email is not None:
        conditions.append(_person.email == query.email.lower())
    if query.search:
        text = query.search
        either = [_owns(project_id, text), _person.email.contains(text.lower(), autoescape=True)]
        uuid = _uuid(text)
        conditions.append(or_(*either) if uuid is None else or_(*either, _person.uuid == uuid))
    return conditions


def _owns(project_id: int, distinct_id: str) -> ColumnElement[bool]:
    owner = select(_link.person_id).where(
        _link.project_id == project_id, _link.distinct_id == distinct_id
    )
    return _person.id.in_(owner)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
