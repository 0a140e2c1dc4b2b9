"""Checks of the rollback conditions of flags: due, claimed by one server, and done.

A flag is watched from the moment when it is switched on or given conditions. A check is claimed
by a lease, so that of several servers one does it, and a dead server holds it no longer than the
lease lasts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, select, update

from fanion.activity.model import Author, Trigger
from fanion.db.engine import Records
from fanion.db.lease import Lease
from fanion.db.schema.flags import flag_rollback_checks
from fanion.flags.storage.changes import change_flag
from fanion.flags.storage.store import StoredFlag, get_flag, lock_flag
from fanion.projects.model import Project

# A check takes seconds. One that the event store did not answer is repeated after this.
LEASE = timedelta(minutes=5)
# Of one poll; the next one follows at once when there were so many.
DUE_MAX = 100

_check = flag_rollback_checks.c
# By `checked_at` a former holder notices that another server has finished the check.
_LEASE = Lease(_check.lease_until)


@dataclass(frozen=True, slots=True)
class DueCheck:
    """A flag whose conditions were checked last, or began to be watched, long enough ago."""

    flag_id: int
    project_id: int
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class MetCondition:
    """condition: as it is stored; average: what was found"""

    condition: Any
    average: float


@dataclass(frozen=True, slots=True)
class RollbackStore:
    """every: how much later the next check is due"""

    records: Records
    every: timedelta

    async def due(self, now: datetime) -> Sequence[DueCheck]:
        """DUE_MAX at most, those checked longest ago first."""
        statement = (
            select(_check.flag_id, _check.project_id, _check.checked_at)
            .where(self._is_due(now))
            .order_by(_check.checked_at, _check.flag_id)
            .limit(DUE_MAX)
        )
        rows: Sequence[Any] = await self.records.fetch(statement)
        return [DueCheck(*row) for row in rows]

    async def claim(self, due: DueCheck, now: datetime) -> StoredFlag | None:
        """The flag, for the first server that claims it; None for the others."""
        claimed = (
            update(flag_rollback_checks)
            .where(_is_same(due), self._is_due(now))
            .values(**_LEASE.taken(now + LEASE))
        )
        async with self.records.write() as connection:
            if (await connection.execute(claimed)).rowcount != 1:
                return None
            return await connection.run_sync(get_flag, due.project_id, due.flag_id)

    async def passed(self, due: DueCheck, now: datetime) -> None:
        """No condition holds."""
        done = update(flag_rollback_checks).where(_is_same(due))
        async with self.records.write() as connection:
            await connection.execute(done.values(checked_at=now, **_LEASE.released()))

    async def roll_back(
        self, due: DueCheck, project: Project, met: MetCondition, now: datetime
    ) -> bool:
        """Switch the flag off; False when it was switched or given other conditions since the
        claim, or another server has finished the check."""
        async with self.records.write() as connection:
            return await connection.run_sync(_roll_back, due, project, met, now)

    def _is_due(self, now: datetime) -> ColumnElement[bool]:
        return (_check.checked_at <= now - self.every) & _LEASE.is_free(now)


def _roll_back(
    connection: Connection, due: DueCheck, project: Project, met: MetCondition, now: datetime
) -> bool:
    flag = lock_flag(connection, due.project_id, due.flag_id)
    unchanged = select(_check.flag_id).where(_is_same(due)).with_for_update()
    if flag is None or connection.execute(unchanged).first() is None:
        return False
    payload = {"condition": met.condition, "average": met.average}
    trigger = Trigger(job_type="auto_rollback", job_id=str(due.flag_id), payload=payload)
    author = Author(
        project_id=project.id,
        organization_id=project.organization_id,
        user_id=None,
        now=now,
        trigger=trigger,
    )
    off = {"active": False, "performed_rollback": True}
    change_flag(connection, author, flag, off)
    return True


def _is_same(due: DueCheck) -> ColumnElement[bool]:
    """Not of a flag that was switched off and on again since."""
    return (_check.flag_id == due.flag_id) & (_check.checked_at == due.checked_at)
