"""Switches flags off whose rollback conditions hold.

source: flags.md section 17
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.errors import Invalid
from fanion.events.event import EventStoreUnavailable
from fanion.flags.automation.rollback import (
    RollbackCondition,
    averaged_span,
    listed_conditions,
    read_condition,
)
from fanion.flags.automation.rollback_store import DueCheck, MetCondition, RollbackStore
from fanion.flags.automation.worker import DueWork
from fanion.flags.storage.rows import StoredFlag
from fanion.insights.trends.store import Trends
from fanion.projects.model import Project
from fanion.runtime.change_bus import ChangeBus, Topic

LOOK_S = 5.0  # one read through an index


class _NotAnswered(Exception):
    """The event store did not say whether a condition holds."""


class RollbackWorker:
    """Checks one flag after another; what is wrong with one does not stop the others.

    project_of: a project by its id
    """

    def __init__(
        self,
        checks: RollbackStore,
        trends: Trends,
        project_of: Callable[[int], Awaitable[Project | None]],
        bus: ChangeBus,
        now: Callable[[], datetime],
    ) -> None:
        self._checks = checks
        self._trends = trends
        self._project_of = project_of
        self._bus = bus
        self._now = now
        self._work = DueWork(
            "rollback_check",
            lambda: checks.due(now()),
            self._check,
            lambda due: {"flag": due.flag_id},
            LOOK_S,
        )
        self.run, self.work_once = self._work.run, self._work.work_once
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def _check(self, due: DueCheck) -> bool:
        project = await self._project_of(due.project_id)
        flag = await self._checks.claim(due, self._now())
        if project is None or flag is None:
            return False
        try:
            met = await self._met(flag, project)
        except _NotAnswered:
            return True  # once the lease is over it is due again
        if met is None:
            await self._checks.passed(due, self._now())
        elif await self._checks.roll_back(due, project, met, self._now()):
            self._bus.publish(Topic.FLAGS, due.project_id)
            self._log.warning(
                "flag_rolled_back", project=project.id, flag=due.flag_id, average=met.average
            )
        return True

    async def _met(self, flag: StoredFlag, project: Project) -> MetCondition | None:
        """The first condition that holds. raises: _NotAnswered when none does and one may"""
        unanswered = False
        for raw in listed_conditions(flag.rollback_conditions):
            try:
                condition = read_condition(raw)
                average = None if condition is None else await self._average(condition, project)
            except RecordsUnavailable:
                raise
            except Exception as error:
                unanswered = unanswered or isinstance(error, EventStoreUnavailable)
                self._failed(flag, error)
                continue
            if condition is not None and average is not None and condition.holds(average):
                return MetCondition(raw, average)
        if unanswered:
            raise _NotAnswered
        return None

    async def _average(self, condition: RollbackCondition, project: Project) -> float:
        span = averaged_span(self._now())
        return await self._trends.rolling_average(project, condition.metric, span)

    def _failed(self, flag: StoredFlag, error: Exception) -> None:
        """An expected error is logged in one line, an unexpected one with its traceback."""
        expected = isinstance(error, EventStoreUnavailable | Invalid | ValueError)
        self._log.warning(
            "rollback_condition_failed",
            project=flag.project_id,
            flag=flag.definition.id,
            reason=str(error),
            exc_info=None if expected else error,
        )
