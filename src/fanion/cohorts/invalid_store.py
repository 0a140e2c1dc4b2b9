"""Finds stored cohorts that the current validation would refuse, for `fanion doctor`. They are
still calculated.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from sqlalchemy import select

from fanion.cohorts.criteria.definition import Criteria
from fanion.cohorts.store import CRITERIA
from fanion.cohorts.validation import check_created, require_cohorts
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohorts
from fanion.errors import Invalid

READ_ROWS = 100  # criteria are long

_cohort = cohorts.c


@dataclass(frozen=True, slots=True)
class InvalidCohort:
    """why: the first error, with its place"""

    project_id: int
    id: int
    name: str
    why: str


async def find_invalid_cohorts(records: Records) -> Sequence[InvalidCohort]:
    """Of every project; criteria of deleted and static cohorts are unused and not checked."""
    known: dict[int, set[int]] = {}
    statement = (
        select(_cohort.project_id, *CRITERIA)
        .where(_cohort.deleted.is_(False), _cohort.is_static.is_(False))
        .order_by(_cohort.project_id, _cohort.id)
    )
    found: list[InvalidCohort] = []
    async with records.read() as connection:
        for row in await connection.execute(select(_cohort.project_id, _cohort.id)):
            known.setdefault(row.project_id, set()).add(row.id)
        for part in (await connection.execute(statement)).partitions(READ_ROWS):
            for project_id, *columns in part:
                criteria = Criteria(*columns)
                why = _why_refused(criteria, known[project_id])
                if why is not None:
                    name = criteria.name or ""
                    found.append(InvalidCohort(project_id, criteria.id, name, why))
    return found


def _why_refused(criteria: Criteria, known: Container[int]) -> str | None:
    sent = {
        "filters": criteria.filters or None,
        "groups": list(criteria.groups),
    }
    try:
        check_created(sent, with_file=False)
        require_cohorts(criteria.nested_ids(), known)
    except Invalid as error:
        return f"{error.attr}: {error.detail}" if error.attr else error.detail
    return None
