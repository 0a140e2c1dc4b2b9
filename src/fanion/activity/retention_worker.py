"""Background worker that deletes entries of the activity log older than organizations keep them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Never

from sqlalchemy import delete, select

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.activity import activity_log
from fanion.db.schema.tables import organizations, projects
from fanion.runtime.background import run_loop

LOOK_EVERY_S: Final = 3600.0
# Entries deleted in one transaction, for which other writers of SQLite wait.
ENTRIES_MAX: Final = 1_000

_entry = activity_log.c
_KEPT: Final = (
    select(projects.c.id, organizations.c.activity_kept_days)
    .join(organizations, organizations.c.id == projects.c.organization_id)
    .where(organizations.c.activity_kept_days.is_not(None))
    .order_by(projects.c.id)
)


@dataclass(frozen=True, slots=True)
class ActivityRetention:
    """The worker that deletes old entries, project by project."""

    records: Records
    now: Callable[[], datetime]

    async def run(self) -> Never:
        """Delete old entries at regular intervals, until cancelled."""
        failures = (RecordsUnavailable,)
        await run_loop(self.work_once, LOOK_EVERY_S, "old_activity_not_deleted", failures)

    async def work_once(self) -> None:
        """Delete all entries that are too old, some at a time.

        Raises:
            RecordsUnavailable: The records store failed.
        """
        for row in await self.records.fetch(_KEPT):
            before = self.now() - timedelta(days=row.activity_kept_days)
            while await self._delete_some(row.id, before):
                pass

    async def _delete_some(self, project_id: int, before: datetime) -> bool:
        old = (
            select(_entry.id)
            .where(_entry.project_id == project_id, _entry.created_at < before)
            .order_by(_entry.created_at)
            .limit(ENTRIES_MAX)
        )
        async with self.records.write() as connection:
            deleted = await connection.execute(delete(activity_log).where(_entry.id.in_(old)))
        return deleted.rowcount == ENTRIES_MAX
