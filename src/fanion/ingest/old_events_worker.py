"""Background worker that deletes events older than projects keep them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Never

from sqlalchemy import select

from fanion.activity.model import ActivityRecord, Author, Change
from fanion.activity.store import record_activity
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.tables import projects
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.projects.retention.model import EXPIRED, kept_since
from fanion.runtime.background import run_loop

LOOK_EVERY_S: Final = 3600.0
_FAILURES: Final = (EventStoreUnavailable, RecordsUnavailable)

_KEPT: Final = (
    select(projects.c.id, projects.c.organization_id, projects.c.name, projects.c.events_kept_days)
    .where(projects.c.events_kept_days.is_not(None))
    .order_by(projects.c.id)
)


@dataclass(frozen=True, slots=True)
class OldEventsWorker:
    """The worker that deletes old events, project by project."""

    records: Records
    events: EventStore
    now: Callable[[], datetime]

    async def run(self) -> Never:
        """Delete old events at regular intervals, until cancelled."""
        await run_loop(self.work_once, LOOK_EVERY_S, "old_events_not_deleted", _FAILURES)

    async def work_once(self) -> None:
        """Delete all events that are too old. It may be interrupted anywhere, and repeated.

        Raises:
            RecordsUnavailable: The records store failed.
            EventStoreUnavailable: The event store failed.
        """
        for row in await self.records.fetch(_KEPT):
            before = kept_since(self.now(), row.events_kept_days)
            if number := await self.events.count_old(row.id, before):
                # First: the comparison of the ledger with what is stored looks for this entry.
                await self._record(row, before, number)
                await self.events.erase_old(row.id, before)

    async def _record(self, project: Any, before: datetime, events: int) -> None:
        entry = ActivityRecord(
            author=Author(
                project_id=project.id,
                organization_id=project.organization_id,
                user_id=None,
                now=self.now(),
            ),
            scope="Project",
            item_id=str(project.id),
            activity=EXPIRED,
            name=project.name,
            changes=[
                Change(type="Project", action="deleted", field="events", before=events, after=None),
                Change(
                    type="Project",
                    action="changed",
                    field="events_kept_since",
                    before=None,
                    after=before.date().isoformat(),
                ),
            ],
        )
        async with self.records.write() as connection:
            await connection.run_sync(record_activity, entry)
