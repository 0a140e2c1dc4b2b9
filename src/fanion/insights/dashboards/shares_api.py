"""API of shared dashboards: for users who share them, and for anyone with the link."""

from typing import Annotated

from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from msgspec import Meta, Struct

from fanion.accounts.sessions.access import OPEN
from fanion.insights.dashboards.schemas import SharedDashboardBody
from fanion.insights.dashboards.shared_service import SharedDashboards
from fanion.insights.saved.api import viewer_of
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId


class ShareBody(Struct, kw_only=True):
    token: Annotated[
        str, Meta(description="Part of the link; it is returned only here, and stored as a hash.")
    ]
    path: Annotated[str, Meta(description="Path of the page that shows the dashboard.")]


class DashboardSharesApi(Controller):
    path = "/api/projects/{project_id:str}/dashboards/{dashboard_id:str}/share"
    tags = ("Dashboards",)
    opt = scoped("dashboard")

    @post("/", summary="Share a dashboard by a link")
    async def share(
        self,
        request: ManagementRequest,
        dashboard_id: FromPath[ObjectId],
        shared_dashboards: NamedDependency[SharedDashboards],
    ) -> ShareBody:
        """Create a link that shows the tiles of the dashboard to anyone with the link.

        The link needs no account, and shows neither persons nor conditions. A new link replaces the
        previous one.
        """
        access = viewer_of(request).access
        token = await shared_dashboards.shares.share(request.author, dashboard_id, access)
        return ShareBody(token=token, path=f"/shared/{token}")

    @delete("/", summary="Withdraw the link to a dashboard")
    async def withdraw(
        self,
        request: ManagementRequest,
        dashboard_id: FromPath[ObjectId],
        shared_dashboards: NamedDependency[SharedDashboards],
    ) -> None:
        """Revoke the link, if there is one."""
        access = viewer_of(request).access
        await shared_dashboards.shares.withdraw(request.author, dashboard_id, access)


class SharedDashboardsApi(Controller):
    path = "/api/shared_dashboards/{token:str}"
    tags = ("Dashboards",)

    @get("/", summary="Show a shared dashboard", **OPEN)
    async def shared(
        self,
        request: ManagementRequest,
        token: FromPath[str],
        shared_dashboards: NamedDependency[SharedDashboards],
    ) -> SharedDashboardBody:
        """Return the tiles of a shared dashboard with their latest results.

        A result that has not been calculated yet is null; it is calculated in the background.
        """
        now = request.app.state.now()
        return await shared_dashboards.show(token, request.remote_client, now)
