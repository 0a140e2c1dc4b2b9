"""The recount of static cohorts that have lost members, and the deletion of unused members.

A transaction that deletes or merges persons only notes the cohorts: it must not wait for other
changes of them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, delete, func, or_, select, update

from fanion.cohorts.imports.store import drop_imports
from fanion.cohorts.members.store import MEMBERS_MAX, is_seen
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_imports, cohort_people, cohort_recounts, cohorts

COHORTS_MAX = 1_000  # counted one after another; the others follow in the next round

_cohort = cohorts.c
_member = cohort_people.c
_note = cohort_recounts.c
_import = cohort_imports.c

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


@dataclass(frozen=True, slots=True)
class CohortTrashStore:
    """The members of deleted cohorts.

    Attributes:
        retention: How long after its deletion a cohort can be restored with its members.
        members_max: How many members are removed in one transaction.
    """

    records: Records
    retention: timedelta
    members_max: int = MEMBERS_MAX

    async def purge_members(self, now: datetime) -> bool:
        """Delete some members of one deleted cohort.

        Returns:
            Whether there may be more.
        """
        if not await self.records.fetch(_purgeable(now - self.retention, now)):
            return False  # without waiting for the only write transaction
        async with self.records.write() as connection:
            return await connection.run_sync(
                _purge_members, now - self.retention, now, self.members_max
            )


def _purgeable(until: datetime, now: datetime) -> Select[Any]:
    """Select a cohort that was deleted before `until`, still has rows and is not calculating."""
    left = or_(
        select(_member.person_id).where(_member.cohort_id == _cohort.id).exists(),
        select(_import.id).where(_import.cohort_id == _cohort.id).exists(),
    )
    idle = _cohort.due_at.is_(None) & (_cohort.lease_until.is_(None) | (_cohort.lease_until <= now))
    return select(_cohort.id).where(_cohort.deleted_at <= until, idle, left).limit(1)


def _purge_members(
    connection: Connection, until: datetime, now: datetime, members_max: int
) -> bool:
    chosen = _purgeable(until, now).with_for_update(skip_locked=True)
    cohort_id = connection.scalar(chosen)
    if cohort_id is None:
        return False
    # No reader sees half of the members if the cohort is restored before the last ones are deleted.
    connection.execute(
        update(cohorts).where(_cohort.id == cohort_id).values(version=0, count=None, lease=None)
    )
    drop_imports(connection, _import.cohort_id == cohort_id)
    some = select(_member.person_id).where(_member.cohort_id == cohort_id).limit(members_max)
    connection.execute(
        delete(cohort_people).where(_member.cohort_id == cohort_id, _member.person_id.in_(some))
    )
    return True
