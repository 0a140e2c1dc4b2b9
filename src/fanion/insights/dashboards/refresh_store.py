"""The dashboards that were viewed lately, and when their tiles were calculated on schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, select, update

from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.lease import Lease
from fanion.db.schema.insights import dashboard_refreshes
from fanion.insights.dashboards.model import StoredDashboard
from fanion.insights.dashboards.store import get_dashboard

# A dashboard that was not opened for so long is not calculated on schedule.
VIEWED_WITHIN = timedelta(days=1)
# Views of a dashboard are stored at most this often.
NOTED_EVERY = timedelta(minutes=10)
LEASE = timedelta(minutes=10)
DUE_MAX = 100

_refresh = dashboard_refreshes.c
# A former holder notices by `refreshed_at` that another server has refreshed the dashboard.
_LEASE = Lease(_refresh.lease_until)


@dataclass(frozen=True, slots=True)
class DueDashboard:
    dashboard_id: int
    project_id: int
    refreshed_at: datetime


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

    async def due_dashboards(self, now: datetime) -> Sequence[DueDashboard]:
        """Return up to DUE_MAX dashboards that are due, the longest due first."""
        statement = (
            select(_refresh.dashboard_id, _refresh.project_id, _refresh.refreshed_at)
            .where(self._is_due(now))
            .order_by(_refresh.refreshed_at, _refresh.dashboard_id)
            .limit(DUE_MAX)
        )
        rows: Sequence[Any] = await self.records.fetch(statement)
        return [DueDashboard(*row) for row in rows]

    async def claim_dashboard(self, due: DueDashboard, now: datetime) -> StoredDashboard | None:
        """Return the dashboard if this server is the first to claim it, else None."""
        async with self.records.write() as connection:
            return await connection.run_sync(self._claim_dashboard, due, now)

    async def finish_refresh(self, due: DueDashboard, now: datetime) -> None:
        """Store that a dashboard was refreshed, and forget those that nobody opens any more."""
        values = {"refreshed_at": now, **_LEASE.released()}
        async with self.records.write() as connection:
            await connection.execute(
                update(dashboard_refreshes).where(_is_same(due)).values(**values)
            )
            await connection.execute(
                delete(dashboard_refreshes).where(_refresh.viewed_at <= now - VIEWED_WITHIN)
            )

    def _claim_dashboard(
        self, connection: Connection, due: DueDashboard, now: datetime
    ) -> StoredDashboard | None:
        claimed = (
            update(dashboard_refreshes)
            .where(_is_same(due), self._is_due(now))
            .values(**_LEASE.taken(now + LEASE))
        )
        if connection.execute(claimed).rowcount != 1:
            return None
        dashboard = get_dashboard(connection, due.project_id, due.dashboard_id)
        if dashboard is None:  # deleted
            connection.execute(delete(dashboard_refreshes).where(_is_same(due)))
        return dashboard

    def _is_due(self, now: datetime) -> ColumnElement[bool]:
        is_old = _refresh.refreshed_at <= now - self.every
        return is_old & (_refresh.viewed_at > now - VIEWED_WITHIN) & _LEASE.is_free(now)


def _note_view(connection: Connection, project_id: int, dashboard_id: int, now: datetime) -> None:
    statement = upsert(connection.dialect, dashboard_refreshes).values(
        dashboard_id=dashboard_id, project_id=project_id, viewed_at=now, refreshed_at=now
    )
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["dashboard_id"], set_={"viewed_at": statement.excluded.viewed_at}
        )
    )


def _is_same(due: DueDashboard) -> ColumnElement[bool]:
    return (_refresh.dashboard_id == due.dashboard_id) & (_refresh.refreshed_at == due.refreshed_at)
