"""Who is in a cohort: its persons, by page."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, or_
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.cohorts.store import StoredCohort
from fanion.cohorts.work_store import is_seen
from fanion.db.cohort_tables import cohort_people
from fanion.db.engine import Records
from fanion.db.tables import persons
from fanion.persons.listing_store import (
    Choose,
    Place,
    choose_page,
    has_email,
    newest_first,
    owns,
    place_of,
)
from fanion.persons.store import Person, person_rows, with_distinct_ids

_member = cohort_people.c
_person = persons.c


@dataclass(frozen=True, slots=True)
class MemberQuery:
    """search: a whole distinct id or UUID, or part of the e-mail address

    chosen: of those that are found, in their order; None for all of them
    after:  the last person of the page before, from where `offset` need not be counted again
    """

    distinct_id: str | None = None
    email: str | None = None
    search: str | None = None
    chosen: Choose | None = None
    limit: int = 100
    offset: int = 0
    after: UUID | None = None


async def find_members(records: Records, cohort: StoredCohort, query: MemberQuery) -> list[Person]:
    """One page, the newest person first."""

    async def read(place: Place | None, limit: int, offset: int = 0) -> list[Person]:
        async with records.read() as connection:
            return await _page(connection, cohort, query, place, limit, offset)

    async with records.read() as connection:
        place = await place_of(connection, cohort.project_id, query.after)
    offset = query.offset if place is None else 0
    if query.chosen is None:
        return await read(place, query.limit, offset)
    return await choose_page(read, query.chosen, place, query.limit, offset)


async def _page(
    connection: AsyncConnection,
    cohort: StoredCohort,
    query: MemberQuery,
    place: Place | None,
    limit: int,
    offset: int,
) -> list[Person]:
    statement = (
        person_rows(cohort.project_id)
        .join(cohort_people, _member.person_id == _person.id)
        .where(_member.cohort_id == cohort.id, is_seen(cohort.version))
        .where(*_conditions(cohort.project_id, query))
    )
    statement = newest_first(statement, place).limit(limit).offset(offset)
    rows = (await connection.execute(statement)).all()
    return await with_distinct_ids(connection, cohort.project_id, rows)


def _conditions(project_id: int, query: MemberQuery) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if query.distinct_id is not None:
        conditions.append(owns(project_id, query.distinct_id))
    if query.email is not None:
        conditions.append(has_email(query.email, whole=True))
    if query.search:
        text = query.search
        either = [owns(project_id, text), has_email(text, whole=False)]
        uuid = _uuid(text)
        conditions.append(or_(*either) if uuid is None else or_(*either, _person.uuid == uuid))
    return conditions


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
