"""Checks of flags' rollback conditions: listed when due, claimed by one server, and completed.

A flag is watched from the moment it is switched on or given conditions. A check is claimed with a
lease, so only one of several servers does it, and a dead server holds it no longer than the lease
lasts.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, select

from fanion.activity.model import Author, Trigger
from fanion.db.due_work import DueRow, DueRows
from fanion.db.engine import Records
from fanion.db.schema.flags import flag_rollback_checks
from fanion.flags.definitions.changes_store import change_flag
from fanion.flags.definitions.store import lock_flag
from fanion.projects.model import Project

LEASE = timedelta(minutes=5)  # renewed for each condition

_check = flag_rollback_checks.c


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

    @property
    def checks(self) -> DueRows:
        """Return the checks as rows that are due."""
        return DueRows(self.records, flag_rollback_checks, _check.checked_at, LEASE, self.every)

    async def complete_check(self, row: DueRow, now: datetime) -> None:
        """Complete a check in which no condition holds."""
        async with self.records.write() as connection:
            await connection.run_sync(self.checks.finish, row, checked_at=now)

    async def roll_back(
        self, row: DueRow, project: Project, met: MetCondition, now: datetime
    ) -> bool:
        """Switch the flag off, if nothing has changed since the claim.

        Returns:
            False if the flag was switched or its conditions changed since the claim, or another
            server has claimed the check.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(self._roll_back, row, project, met, now)

    def _roll_back(
        self,
        connection: Connection,
        row: DueRow,
        project: Project,
        met: MetCondition,
        now: datetime,
    ) -> bool:
        flag = lock_flag(connection, row.project_id, row.id)
        unchanged = select(_check.flag_id).where(self.checks.is_unchanged(row)).with_for_update()
        if flag is None or connection.execute(unchanged).first() is None:
            return False
        payload = {"condition": met.condition, "average": met.average}
        trigger = Trigger(job_type="auto_rollback", job_id=str(row.id), payload=payload)
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
