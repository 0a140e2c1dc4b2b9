"""Workers that execute scheduled changes and rollback checks of flags, each on one server."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import structlog

from fanion.db.due_work import AHEAD, DueRow, DueWorker, LeasedWorker
from fanion.db.engine import RecordsUnavailable
from fanion.errors import Invalid
from fanion.events.event import EventStoreUnavailable
from fanion.flags.automation.rollback_store import MetCondition, RollbackStore
from fanion.flags.automation.scheduled_store import DueChange, ScheduledChangeStore
from fanion.flags.definitions.rollback_conditions import (
    RollbackCondition,
    averaged_span,
    listed_conditions,
    read_condition,
)
from fanion.flags.definitions.store import FlagStore, StoredFlag
from fanion.insights.trends.service import RollingAverage
from fanion.projects.model import Project
from fanion.runtime.change_bus import ChangeBus, Topic


class ScheduledChangeWorker(DueWorker[DueChange]):
    """The worker that executes scheduled changes of flags when they are due.

    If several servers run it, the first one executes a change and the others find it done.
    """

    waits, all_wait = "scheduled_change_waits", "scheduled_changes_wait"
    id_name = "change"

    def __init__(
        self,
        changes: ScheduledChangeStore,
        project_of: Callable[[int], Awaitable[Project | None]],
        bus: ChangeBus,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(changes.records, now)
        self._changes = changes
        self._project_of = project_of
        self._bus = bus
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def _due_items(self, now: datetime) -> Sequence[DueChange]:
        return await self._changes.due_changes(now)

    def _due_at(self, item: DueChange) -> datetime:
        return item.due_at

    async def _execute(self, item: DueChange) -> bool:
        project = await self._project_of(item.project_id)
        if project is None:
            return False
        outcome = await self._changes.execute_step(item, project, self._now())
        if outcome is None:
            return False
        self._bus.publish(Topic.FLAGS, item.project_id)
        log_fields = {"project": item.project_id, "flag": item.flag_id, "change": item.id}
        if outcome.failure_reason is None:
            self._log.info("scheduled_change_executed", **log_fields)
        else:
            reason = outcome.failure_reason
            self._log.error(
                "scheduled_change_failed", reason=reason, exc_info=outcome.error, **log_fields
            )
        return True


class RollbackWorker(LeasedWorker[Project]):
    """The worker that switches off flags whose rollback conditions hold, checking one at a time.

    Source: flags.md section 17.
    """

    waits, all_wait = "rollback_check_waits", "rollback_checks_wait"
    id_name = "flag"
    expected = (EventStoreUnavailable,)

    def __init__(
        self,
        checks: RollbackStore,
        rolling: RollingAverage,
        project_of: Callable[[int], Awaitable[Project | None]],
        bus: ChangeBus,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(checks.checks, project_of, now)
        self._checks = checks
        self._flags = FlagStore(checks.records)
        self._rolling = rolling
        self._bus = bus
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def _due_items(self, now: datetime) -> Sequence[DueRow]:
        return await self._rows.due_rows(now, ahead=AHEAD)

    async def _process(self, row: DueRow, project: Project) -> None:
        flag = await self._flags.get_flag(project.id, row.id)
        if flag is None:
            return
        met = await self._met_condition(flag, project, row)
        if met is None:
            await self._checks.complete_check(row, self._now())
        elif await self._checks.roll_back(row, project, met, self._now()):
            self._bus.publish(Topic.FLAGS, project.id)
            self._log.warning(
                "flag_rolled_back", project=project.id, flag=row.id, average=met.average
            )

    async def _met_condition(
        self, flag: StoredFlag, project: Project, row: DueRow
    ) -> MetCondition | None:
        """Return the first condition that holds.

        Raises:
            EventStoreUnavailable: No condition is known to hold, and at least one got no answer.
        """
        unanswered: EventStoreUnavailable | None = None
        for raw in listed_conditions(flag.rollback_conditions):
            await self._rows.renew(row, self._now())
            try:
                condition = read_condition(raw)
                average = None if condition is None else await self._average(condition, project)
            except RecordsUnavailable:
                raise
            except Exception as error:
                if isinstance(error, EventStoreUnavailable):
                    unanswered = error
                self._log_condition(flag, error)
                continue
            if condition is not None and average is not None and condition.holds(average):
                return MetCondition(raw, average)
        if unanswered is not None:
            raise unanswered
        return None

    async def _average(self, condition: RollbackCondition, project: Project) -> float:
        span = averaged_span(self._now())
        return await self._rolling.daily_average(project, condition.metric, span)

    def _log_condition(self, flag: StoredFlag, error: Exception) -> None:
        """Log an expected error in one line, an unexpected one with its traceback."""
        expected = isinstance(error, EventStoreUnavailable | Invalid | ValueError)
        self._log.warning(
            "rollback_condition_failed",
            project=flag.project_id,
            flag=flag.definition.id,
            reason=str(error),
            exc_info=None if expected else error,
        )
