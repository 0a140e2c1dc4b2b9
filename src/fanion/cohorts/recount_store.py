"""The recount of static cohorts whose members were deleted or merged.

A transaction that deletes or merges persons only notes the cohorts: it must not wait for other
changes of them.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select, update

from fanion.cohorts.members_store import is_seen
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_people, cohort_recounts, cohorts

COHORTS_MAX = 1_000  # counted one after another; the others follow in the next round

_cohort = cohorts.c
_member = cohort_people.c
_note = cohort_recounts.c

_NOTED = select(_note.cohort_id).distinct().limit(COHORTS_MAX)


@dataclass(frozen=True, slots=True)
class CohortRecountStore:
    """The cohorts that are noted for a recount.

    Each count is its own transaction, so that ingestion does not wait for several.
    """

    records: Records

    async def recount(self) -> None:
        """Count the members of the noted cohorts again, each cohort once."""
        for row in await self.records.fetch(_NOTED):
            async with self.records.write() as connection:
                await connection.run_sync(_recount, row.cohort_id)


def _recount(connection: Connection, cohort_id: int) -> None:
    # Wait for a calculation that publishes a version: it holds this row, and its members count.
    this_cohort = _cohort.id == cohort_id
    connection.execute(select(_cohort.id).where(this_cohort).with_for_update())
    # The notes are deleted before the count, which may miss what is noted later.
    connection.execute(delete(cohort_recounts).where(_note.cohort_id == cohort_id))
    members = (
        select(func.count())
        .select_from(cohort_people)
        .where(_member.cohort_id == _cohort.id, is_seen(_cohort.version))
    )
    known = _cohort.is_static & _cohort.count.is_not(None)
    connection.execute(
        update(cohorts).where(this_cohort, known).values(count=members.scalar_subquery())
    )
