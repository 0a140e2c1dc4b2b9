"""Builds what changes flags on its own: at the time that somebody chose, and when conditions for a
rollback hold."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from fanion.config import Settings
from fanion.db.engine import Records
from fanion.flags.automation.rollback_store import RollbackStore
from fanion.flags.automation.rollback_worker import Rollbacks
from fanion.flags.automation.scheduled_api import ScheduledChangesApi
from fanion.flags.automation.scheduled_store import ScheduledChanges
from fanion.flags.automation.scheduled_worker import Scheduler
from fanion.insights.trends.store import Trends
from fanion.projects.cache import Projects

CHANGE_CONTROLLERS = (ScheduledChangesApi,)


@dataclass(frozen=True, slots=True)
class ChangeParts:
    scheduler: Scheduler
    rollbacks: Rollbacks

    @property
    def followers(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        """Run beside the server for as long as it serves."""
        return self.scheduler.run, self.rollbacks.run


def build_change_parts(
    settings: Settings,
    records: Records,
    trends: Trends,
    projects: Projects,
    changed: Callable[[int], None],
    now: Callable[[], datetime],
) -> ChangeParts:
    """changed: is told the project whose flags have to be read again"""
    checks = RollbackStore(records, timedelta(seconds=settings.rollbacks_every_s))
    return ChangeParts(
        Scheduler(ScheduledChanges(records), projects.by_id, changed, now),
        Rollbacks(checks, trends, projects.by_id, changed, now),
    )
