"""Checks of flags' rollback conditions: listed when due, claimed by one server, and completed.

A flag is watched from the moment it is switched on or given conditions. A check is claimed with a
lease, so only one of several servers does it, and a dead server holds it no longer than the lease
lasts.
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
from fanion.flags.definitions.changes_store import change_flag
from fanion.flags.definitions.store import StoredFlag, get_flag, lock_flag
from fanion.projects.model import Project

# A check takes seconds. A check that the event store did not answer is repeated after the lease.
LEASE = timedelta(minutes=5)
# Checks per poll; after a full poll the next one follows at once.
DUE_MAX = 100

_check = flag_rollback_checks.c
# A former holder sees from `checked_at` that another server has completed the check.
_LEASE = Lease(_check.lease_until)


@dataclass(frozen=True, slots=True)
class DueCheck:
    """A flag whose last check, or the start of its watch, is long enough ago."""

    flag_id: int
    project_id: int
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class MetCondition:
    """A rollback condition that holds.

    Attributes:
        condition: The condition as stored.
        average: The measured average.
    """

    condition: Any
    average: float


@dataclass(frozen=True, slots=True)
class RollbackStore:
    """The rollback checks of all flags.

    Attributes:
        every: The interval between two checks of a flag.
    """

    records: Records
    every: timedelta

    async def due_checks(self, now: datetime) -> Sequence[DueCheck]:
        """Return due checks, the longest overdue first, at most DUE_MAX."""
        statement = (
            select(_check.flag_id, _check.project_id, _check.checked_at)
            .where(self._is_due(now))
            .order_by(_check.checked_at, _check.flag_id)
            .limit(DUE_MAX)
        )
        rows: Sequence[Any] = await self.records.fetch(statement)
        return [DueCheck(*row) for row in rows]

    async def claim_check(self, due: DueCheck, now: datetime) -> StoredFlag | None:
        """Claim a check and return its flag, or None if another server has claimed it."""
        claimed = (
            update(flag_rollback_checks)
            .where(_is_same(due), self._is_due(now))
            .values(**_LEASE.taken(now + LEASE))
        )
        async with self.records.write() as connection:
            if (await connection.execute(claimed)).rowcount != 1:
                return None
            return await connection.run_sync(get_flag, due.project_id, due.flag_id)

    async def complete_check(self, due: DueCheck, now: datetime) -> None:
        """Complete a check in which no condition holds."""
        done = update(flag_rollback_checks).where(_is_same(due))
        async with self.records.write() as connection:
            await connection.execute(done.values(checked_at=now, **_LEASE.released()))

    async def roll_back(
        self, due: DueCheck, project: Project, met: MetCondition, now: datetime
    ) -> bool:
        """Switch the flag off, if nothing has changed since the claim.

        Returns:
            False if the flag was switched or its conditions changed since the claim, or another
            server has completed the check.
        """
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
    """Match the check if it is unchanged; switching the flag off and on starts a new one."""
    return (_check.flag_id == due.flag_id) & (_check.checked_at == due.checked_at)
