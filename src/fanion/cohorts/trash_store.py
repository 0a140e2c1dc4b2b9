"""Deletes members and pending imports of soft-deleted cohorts after the retention time.

source: cohorts.md section 13, "Soft delete"
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, delete, or_, select, update

from fanion.cohorts.import_store import drop_imports
from fanion.cohorts.members_store import MEMBERS_MAX
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_imports, cohort_people, cohorts

_cohort = cohorts.c
_member = cohort_people.c
_import = cohort_imports.c


@dataclass(frozen=True, slots=True)
class CohortTrashStore:
    """retention: how long after its deletion a cohort can be restored with its members

    members_max: removed in one transaction
    """

    records: Records
    retention: timedelta
    members_max: int = MEMBERS_MAX

    async def purge(self, now: datetime) -> bool:
        """Delete some members of one cohort; True when there may be more."""
        if not await self.records.fetch(_purgeable(now - self.retention, now)):
            return False  # without waiting for the one write transaction
        async with self.records.write() as connection:
            return await connection.run_sync(_purge, now - self.retention, now, self.members_max)


def _purgeable(until: datetime, now: datetime) -> Select[Any]:
    """A cohort deleted before `until` that still has rows and is not being calculated."""
    left = or_(
        select(_member.person_id).where(_member.cohort_id == _cohort.id).exists(),
        select(_import.id).where(_import.cohort_id == _cohort.id).exists(),
    )
    idle = _cohort.due_at.is_(None) & (_cohort.lease_until.is_(None) | (_cohort.lease_until <= now))
    return select(_cohort.id).where(_cohort.deleted_at <= until, idle, left).limit(1)


def _purge(connection: Connection, until: datetime, now: datetime, members_max: int) -> bool:
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
