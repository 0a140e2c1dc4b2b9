"""The cohorts that a person has entered, as far as the time is stored."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, select

from fanion.cohorts.members_store import is_seen
from fanion.cohorts.model import read_runs
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.persons.timeline.model import EnteredCohort

# The newest cohorts of a person; each row includes the history of the cohort.
COHORTS_MAX = 1_000

_cohort = cohorts.c
_member = cohort_people.c


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
