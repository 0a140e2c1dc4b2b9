"""Executes scheduled changes of flags when their time has come."""

from collections.abc import Awaitable, Callable
from datetime import datetime

import structlog

from fanion.flags.automation.scheduled_store import DueChange, ScheduledChangeStore
from fanion.flags.automation.worker import DueWork
from fanion.projects.model import Project
from fanion.runtime.change_bus import ChangeBus, Topic

LOOK_S = 1.0  # one read through an index


class ScheduledChangeWorker:
    """Of several servers the first executes a change; the others find it done.

    project_of: a project by its id
    """

    def __init__(
        self,
        changes: ScheduledChangeStore,
        project_of: Callable[[int], Awaitable[Project | None]],
        bus: ChangeBus,
        now: Callable[[], datetime],
    ) -> None:
        self._changes = changes
        self._project_of = project_of
        self._bus = bus
        self._now = now
        self._work = DueWork(
            "scheduled_change",
            lambda: changes.due(now()),
            self._execute,
            lambda due: {"change": due.id},
            LOOK_S,
        )
        self.run, self.work_once = self._work.run, self._work.work_once
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def _execute(self, due: DueChange) -> bool:
        project = await self._project_of(due.project_id)
        if project is None:
            return False
        outcome = await self._changes.execute(due, project, self._now())
        if outcome is None:
            return False
        self._bus.publish(Topic.FLAGS, due.project_id)
        log_fields = {"project": due.project_id, "flag": due.flag_id, "change": due.id}
        if outcome.failure_reason is None:
            self._log.info("scheduled_change_executed", **log_fields)
        else:
            reason = outcome.failure_reason
            self._log.error(
                "scheduled_change_failed", reason=reason, exc_info=outcome.error, **log_fields
            )
        return True
