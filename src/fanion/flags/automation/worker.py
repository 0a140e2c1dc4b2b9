"""Workers that execute scheduled changes and rollback checks of flags, each on one server."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Generic, Never, TypeVar

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.errors import Invalid
from fanion.events.event import EventStoreUnavailable
from fanion.flags.automation.rollback_store import DueCheck, MetCondition, RollbackStore
from fanion.flags.automation.scheduled_store import DueChange, ScheduledChangeStore
from fanion.flags.definitions.rollback_conditions import (
    RollbackCondition,
    averaged_span,
    listed_conditions,
    read_condition,
)
from fanion.flags.definitions.store import StoredFlag
from fanion.insights.trends.service import RollingAverage
from fanion.projects.model import Project
from fanion.runtime.background import run_loop
from fanion.runtime.change_bus import ChangeBus, Topic

T = TypeVar("T")

# Time between two polls for due items, each of which uses an index.
CHANGES_POLL_S = 1.0
CHECKS_POLL_S = 5.0


class _DueWorker(ABC, Generic[T]):
    """A loop that processes what is due; an item that fails is tried again at the next poll.

    Attributes:
        work_name: What one item is called in the log.
    """

    work_name: ClassVar[str]
    poll_s: ClassVar[float]
    _log: structlog.typing.FilteringBoundLogger

    async def run(self) -> Never:
        """Process what is due until cancelled, including what fell due while no server ran."""
        await run_loop(
            self.work_once, self.poll_s, f"{self.work_name}s_wait", (RecordsUnavailable,)
        )

    async def work_once(self) -> bool:
        """Process every due item once.

        Returns:
            Whether any item was processed.

        Raises:
            RecordsUnavailable: The list of due items cannot be read.
        """
        done = 0
        for item in await self._due_items():
            try:
                done += await self._execute(item)
            except Exception as error:
                known = isinstance(error, RecordsUnavailable)
                self._log.warning(
                    f"{self.work_name}_waits",
                    reason=str(error),
                    exc_info=None if known else error,
                    **self._log_fields(item),
                )
        return done > 0

    @abstractmethod
    async def _due_items(self) -> Sequence[T]:
        """Return what is due now, the longest overdue first."""

    @abstractmethod
    async def _execute(self, due: T) -> bool:
        """Process one item and return whether there was anything left to do."""

    @abstractmethod
    def _log_fields(self, due: T) -> Mapping[str, Any]:
        """Return the fields that identify the item in the log."""


class ScheduledChangeWorker(_DueWorker[DueChange]):
    """The worker that executes scheduled changes of flags when they are due.

    If several servers run it, the first one executes a change and the others find it done.
    """

    work_name, poll_s = "scheduled_change", CHANGES_POLL_S

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
        self._log = structlog.get_logger()

    async def _due_items(self) -> Sequence[DueChange]:
        return await self._changes.due_changes(self._now())

    def _log_fields(self, due: DueChange) -> Mapping[str, Any]:
        return {"change": due.id}

    async def _execute(self, due: DueChange) -> bool:
        project = await self._project_of(due.project_id)
        if project is None:
            return False
        outcome = await self._changes.execute_step(due, project, self._now())
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


class _NotAnswered(Exception):
    """The event store did not say whether a condition holds."""


class RollbackWorker(_DueWorker[DueCheck]):
    """The worker that switches off flags whose rollback conditions hold, checking one at a time.

    Source: flags.md section 17.
    """

    work_name, poll_s = "rollback_check", CHECKS_POLL_S

    def __init__(
        self,
        checks: RollbackStore,
        rolling: RollingAverage,
        project_of: Callable[[int], Awaitable[Project | None]],
        bus: ChangeBus,
        now: Callable[[], datetime],
    ) -> None:
        self._checks = checks
        self._rolling = rolling
        self._project_of = project_of
        self._bus = bus
        self._now = now
        self._log = structlog.get_logger()

    async def _due_items(self) -> Sequence[DueCheck]:
        return await self._checks.due_checks(self._now())

    def _log_fields(self, due: DueCheck) -> Mapping[str, Any]:
        return {"flag": due.flag_id}

    async def _execute(self, due: DueCheck) -> bool:
        project = await self._project_of(due.project_id)
        flag = await self._checks.claim_check(due, self._now())
        if project is None or flag is None:
            return False
        try:
            met = await self._met_condition(flag, project)
        except _NotAnswered:
            return True  # due again when the lease has expired
        if met is None:
            await self._checks.complete_check(due, self._now())
        elif await self._checks.roll_back(due, project, met, self._now()):
            self._bus.publish(Topic.FLAGS, due.project_id)
            self._log.warning(
                "flag_rolled_back", project=project.id, flag=due.flag_id, average=met.average
            )
        return True

    async def _met_condition(self, flag: StoredFlag, project: Project) -> MetCondition | None:
        """Return the first condition that holds.

        Raises:
            _NotAnswered: No condition is known to hold, and at least one got no answer.
        """
        unanswered = False
        for raw in listed_conditions(flag.rollback_conditions):
            try:
                condition = read_condition(raw)
                average = None if condition is None else await self._average(condition, project)
            except RecordsUnavailable:
                raise
            except Exception as error:
                unanswered = unanswered or isinstance(error, EventStoreUnavailable)
                self._log_failure(flag, error)
                continue
            if condition is not None and average is not None and condition.holds(average):
                return MetCondition(raw, average)
        if unanswered:
            raise _NotAnswered
        return None

    async def _average(self, condition: RollbackCondition, project: Project) -> float:
        span = averaged_span(self._now())
        return await self._rolling.daily_average(project, condition.metric, span)

    def _log_failure(self, flag: StoredFlag, error: Exception) -> None:
        """Log an expected error in one line, an unexpected one with its traceback."""
        expected = isinstance(error, EventStoreUnavailable | Invalid | ValueError)
        self._log.warning(
            "rollback_condition_failed",
            project=flag.project_id,
            flag=flag.definition.id,
            reason=str(error),
            exc_info=None if expected else error,
        )
