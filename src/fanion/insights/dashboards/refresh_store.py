"""The dashboards that were viewed lately, and when their tiles were calculated on schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, select

from fanion.db.bulk import upsert
from fanion.db.due_work import AHEAD, DueRow, DueRows
from fanion.db.engine import Records
from fanion.db.schema.insights import dashboard_refreshes

# A dashboard that was not opened for so long is not calculated on schedule.
VIEWED_WITHIN = timedelta(days=1)
# Views of a dashboard are stored at most this often.
NOTED_EVERY = timedelta(minutes=10)
LEASE = timedelta(minutes=10)  # renewed for each tile

_refresh = dashboard_refreshes.c


@dataclass(frozen=True, slots=True)
class DashboardRefreshStore:
    """The scheduled refreshes of dashboards.

    Attributes:
        every: The time from one refresh of a dashboard to the next.
    """

    records: Records
    every: timedelta

    async def note_view(self, project_id: int, dashboard_id: int, now: datetime) -> None:
        recent = select(_refresh.dashboard_id).where(
            _refresh.dashboard_id == dashboard_id, _refresh.viewed_at > now - NOTED_EVERY
        )
        if await self.records.fetch(recent):
            return
        async with self.records.write() as connection:
            await connection.run_sync(_note_view, project_id, dashboard_id, now)

    @property
    def refreshes(self) -> DueRows:
        """Return the refreshes as rows that are due."""
        return DueRows(self.records, dashboard_refreshes, _refresh.refreshed_at, LEASE, self.every)

    async def due_dashboards(self, now: datetime) -> Sequence[DueRow]:
        """Return dashboards that fall due within AHEAD and were viewed lately."""
        is_viewed = _refresh.viewed_at > now - VIEWED_WITHIN
        return await self.refreshes.due_rows(now, is_viewed, ahead=AHEAD)

    async def finish_refresh(self, row: DueRow, now: datetime) -> None:
        """Store that a dashboard was refreshed, and forget those that nobody opens any more."""
        async with self.records.write() as connection:
            await connection.run_sync(self.refreshes.finish, row, refreshed_at=now)
            await connection.execute(
                delete(dashboard_refreshes).where(_refresh.viewed_at <= now - VIEWED_WITHIN)
            )


def _note_view(connection: Connection, project_id: int, dashboard_id: int, now: datetime) -> None:
    statement = upsert(connection.dialect, dashboard_refreshes).values(
        dashboard_id=dashboard_id, project_id=project_id, viewed_at=now, refreshed_at=now
    )
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["dashboard_id"], set_={"viewed_at": statement.excluded.viewed_at}
        )
    )
