"""Executes scheduled changes of flags when their time has come."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Never

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.flags.scheduled_store import Due, ScheduledChanges
from fanion.projects.model import Project

LOOK_S = 1.0  # one read through an index


class Scheduler:
    """Of several servers the first executes a change; the others find it done.

    project_of: a project by its id
    changed:    is told the project whose flags have to be read again
    """

    def __init__(
        self,
        changes: ScheduledChanges,
        project_of: Callable[[int], Awaitable[Project | None]],
        changed: Callable[[int], None],
        now: Callable[[], datetime],
    ) -> None:
        self._changes = changes
        self._project_of = project_of
        self._changed = changed
        self._now = now
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def run(self) -> Never:
        """Do what is due, until cancelled. What came due while no server ran is done at once."""
        while True:
            try:
                while await self.work_once():
                    pass
            except RecordsUnavailable as error:
                self._log.warning("scheduled_changes_wait", reason=str(error))
            await asyncio.sleep(LOOK_S)

    async def work_once(self) -> bool:
        """One step of each change that is due, the longest due first; whether any was done.

        raises: RecordsUnavailable when it cannot be told what is due
        """
        done = 0
        for due in await self._changes.due(self._now()):
            try:
                done += await self._execute(due)
            except Exception as error:
                # Perhaps of this change alone, when somebody holds its flag: the others go on.
                known = isinstance(error, RecordsUnavailable)
                self._log.warning(
                    "scheduled_change_waits",
                    change=due.id,
                    reason=str(error),
                    exc_info=None if known else error,
                )
        return done > 0

    async def _execute(self, due: Due) -> bool:
        project = await self._project_of(due.project_id)
        if project is None:
            return False
        outcome = await self._changes.execute(due, project, self._now())
        if outcome is None:
            return False
        self._changed(due.project_id)
        told = {"project": due.project_id, "flag": due.flag_id, "change": due.id}
        if outcome.failure_reason is None:
            self._log.info("scheduled_change_executed", **told)
        else:
            reason = outcome.failure_reason
            self._log.error(
                "scheduled_change_failed", reason=reason, exc_info=outcome.error, **told
            )
        return True
