"""Pages of the members of a cohort."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, or_

from fanion.cohorts.members_store import is_seen
from fanion.cohorts.model import StoredCohort
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_people
from fanion.db.schema.tables import persons
from fanion.persons.list_store import (
    Choose,
    PersonKey,
    PersonsPage,
    Place,
    choose_page,
    has_email,
    keys_of,
    newest_first,
    owns,
    place_of,
    read_keys,
    read_page,
)

# Of each member: ten are part of its body, and one of all may serve as its name.
DISTINCT_IDS_READ_MAX = 100

_member = cohort_people.c
_person = persons.c


@dataclass(frozen=True, slots=True)
class MemberQuery:
    """search: a whole distinct id or UUID, or part of the e-mail address

    chosen: selects some of those that are found; None selects all of them
    after:  the last person of the previous page; `offset` is ignored then
    """

    distinct_id: str | None = None
    email: str | None = None
    search: str | None = None
    chosen: Choose | None = None
    limit: int = 100
    offset: int = 0
    after: UUID | None = None


async def find_members(records: Records, cohort: StoredCohort, query: MemberQuery) -> PersonsPage:
    """One page, the newest person first."""
    keys = await find_keys(records, cohort, query)
    return await read_page(records, cohort.project_id, keys, DISTINCT_IDS_READ_MAX)


async def find_keys(
    records: Records, cohort: StoredCohort, query: MemberQuery
) -> Sequence[PersonKey]:
    """The persons of one page."""

    async def read(place: Place | None, limit: int, offset: int = 0) -> Sequence[PersonKey]:
        statement = (
            keys_of(cohort.project_id)
            .join(cohort_people, _member.person_id == _person.id)
            .where(_member.cohort_id == cohort.id, is_seen(cohort.version))
            .where(*_conditions(cohort.project_id, query))
        )
        statement = newest_first(statement, place).limit(limit).offset(offset)
        return await read_keys(records, statement)

    place = await place_of(records, cohort.project_id, query.after)
    offset = query.offset if place is None else 0
    if query.chosen is None:
        return await read(place, query.limit, offset)
    return await choose_page(read, query.chosen, place, query.limit, offset)


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
