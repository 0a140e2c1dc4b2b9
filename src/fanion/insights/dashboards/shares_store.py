"""Links that show a dashboard to anyone with the link, each with a random token, stored hashed."""

import secrets
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, delete, insert, select

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.insights import dashboard_shares, dashboards
from fanion.errors import NotFound
from fanion.insights.dashboards.model import StoredDashboard
from fanion.insights.dashboards.store import get_dashboard, lock_dashboard
from fanion.insights.saved.model import DashboardAccess
from fanion.projects.auth.keys import hash_key

TOKEN_BYTES: Final = 32
TOKEN_CHARS_MAX: Final = 64  # longer text cannot be a token

_share = dashboard_shares.c


@dataclass(frozen=True, slots=True)
class ShareStore:
    records: Records

    async def share(self, author: Author, dashboard_id: int, access: DashboardAccess) -> str:
        """Create a dashboard's link and return its token, which cannot be retrieved later.

        A new link replaces the previous one.

        Raises:
            NotFound: There is no such dashboard.
            PermissionDenied: The user may not edit the dashboard.
        """
        token = secrets.token_urlsafe(TOKEN_BYTES)
        async with self.records.write() as connection:
            await connection.run_sync(_share_dashboard, author, dashboard_id, access, token)
        return token

    async def withdraw(self, author: Author, dashboard_id: int, access: DashboardAccess) -> None:
        """Revoke the link of a dashboard, if it has one.

        Raises:
            NotFound: There is no such dashboard.
            PermissionDenied: The user may not edit the dashboard.
        """
        async with self.records.write() as connection:
            await connection.run_sync(_withdraw, author, dashboard_id, access)

    async def find_dashboard(self, token: str) -> tuple[int, StoredDashboard]:
        """Return the dashboard of a link, with the id of its project.

        Raises:
            NotFound: The link was withdrawn or never existed, or the dashboard is deleted.
        """
        if len(token) > TOKEN_CHARS_MAX:
            raise NotFound
        async with self.records.read() as connection:
            found = await connection.run_sync(_find_dashboard, token)
        if found is None:
            raise NotFound
        return found


def _find_dashboard(connection: Connection, token: str) -> tuple[int, StoredDashboard] | None:
    statement = (
        select(_share.dashboard_id, dashboards.c.project_id)
        .join(dashboards, dashboards.c.id == _share.dashboard_id)
        .where(_share.token_hash == hash_key(token))
    )
    row = connection.execute(statement).first()
    if row is None:
        return None
    dashboard = get_dashboard(connection, row.project_id, row.dashboard_id)
    return None if dashboard is None else (row.project_id, dashboard)


def _share_dashboard(
    connection: Connection, author: Author, dashboard_id: int, access: DashboardAccess, token: str
) -> None:
    dashboard = _withdraw(connection, author, dashboard_id, access)
    connection.execute(
        insert(dashboard_shares).values(
            dashboard_id=dashboard_id,
            token_hash=hash_key(token),
            created_by_id=author.user_id,
            created_at=author.now,
        )
    )
    _record(connection, author, dashboard, is_shared=True)


def _withdraw(
    connection: Connection, author: Author, dashboard_id: int, access: DashboardAccess
) -> StoredDashboard:
    dashboard = lock_dashboard(connection, author.project_id, dashboard_id)
    if dashboard is None or dashboard.deleted:
        raise NotFound
    access.require_edit(dashboard.restriction_level, dashboard.creator_id)
    if dashboard.is_shared:
        connection.execute(delete(dashboard_shares).where(_share.dashboard_id == dashboard_id))
        _record(connection, author, dashboard, is_shared=False)
    return dashboard


def _record(
    connection: Connection, author: Author, dashboard: StoredDashboard, *, is_shared: bool
) -> None:
    before, after = (
        ItemState(str(dashboard.id), dashboard.name, {"is_shared": value})
        for value in (not is_shared, is_shared)
    )
    record_activity(connection, item_record(author, "Dashboard", before, after))
