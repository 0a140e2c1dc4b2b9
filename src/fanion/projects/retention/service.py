"""The preview of what a project deletes when it keeps its events for some days only."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from fanion.projects.retention.model import OldEvents, kept_since


@dataclass(frozen=True, slots=True)
class EventRetention:
    """A counter of old events.

    Attributes:
        count_old: Counts the stored events of a project from before a time.
        count_events: Counts all of them.
    """

    count_old: Callable[[int, datetime], Awaitable[int]]
    count_events: Callable[[int], Awaitable[int]]

    async def old_events(self, project_id: int, days: int, now: datetime) -> OldEvents:
        """Count what is deleted if events are kept for so many days.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        before = kept_since(now, days)
        return OldEvents(
            before=before,
            events=await self.count_old(project_id, before),
            stored=await self.count_events(project_id),
        )
