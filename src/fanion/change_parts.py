"""Builds what changes flags on its own: at the time that somebody chose."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from fanion.db.engine import Records
from fanion.flags.scheduled_api import ScheduledChangesApi
from fanion.flags.scheduled_consumer import Scheduler
from fanion.flags.scheduled_store import ScheduledChanges
from fanion.projects.directory import Projects

CHANGE_CONTROLLERS = (ScheduledChangesApi,)


@dataclass(frozen=True, slots=True)
class ChangeParts:
    scheduler: Scheduler

    @property
    def followers(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        """Run beside the server for as long as it serves."""
        return (self.scheduler.run,)


def build_change_parts(
    records: Records,
    projects: Projects,
    changed: Callable[[int], None],
    now: Callable[[], datetime],
) -> ChangeParts:
    """changed: is told the project whose flags have to be read again"""
    scheduler = Scheduler(ScheduledChanges(records), projects.by_id, changed, now)
    return ChangeParts(scheduler)
