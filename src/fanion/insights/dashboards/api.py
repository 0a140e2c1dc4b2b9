"""API of dashboards.

Source: cohorts.md, section 21.
"""

import asyncio

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import structs

from fanion.errors import NotFound
from fanion.insights.dashboards.model import StoredDashboard
from fanion.insights.dashboards.schemas import (
    DashboardBody,
    DashboardChanges,
    DashboardSummary,
    NewDashboard,
    dashboard_body,
    dashboard_summary,
    tile_change,
)
from fanion.insights.dashboards.service import DashboardService
from fanion.insights.model import without_people_urls
from fanion.insights.saved.api import Refresh, viewer_of
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.rest.validation import given_fields


class DashboardsApi(Controller):
    path = "/api/projects/{project_id:str}/dashboards"
    tags = ("Dashboards",)
    opt = scoped("dashboard")

    @get("/", summary="List dashboards")
    async def dashboards(
        self,
        request: ManagementRequest,
        dashboards: NamedDependency[DashboardService],
        deleted: FromQuery[bool] = False,
    ) -> Paged[DashboardSummary]:
        """Return the dashboards, pinned ones first, then by name.

        With `deleted=true` only deleted ones.
        """
        page, viewer = request.page, viewer_of(request)
        stored, count = await dashboards.store.list_dashboards(
            request.project.id, page.limit, page.offset, deleted=deleted
        )
        return page.with_results(
            [dashboard_summary(dashboard, viewer) for dashboard in stored], count
        )

    @post("/", summary="Create a dashboard")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewDashboard],
        dashboards: NamedDependency[DashboardService],
    ) -> DashboardBody:
        """Create a dashboard, empty or with the insights and texts of `use_template`.

        All of it is created, or nothing.
        """
        created = await dashboards.create_dashboard(request.author, structs.asdict(data))
        return await _build_body(request, created, dashboards, refresh=False)

    @get("/{dashboard_id:str}", summary="Retrieve a dashboard")
    async def dashboard(
        self,
        request: ManagementRequest,
        dashboard_id: FromPath[ObjectId],
        dashboards: NamedDependency[DashboardService],
        refresh: FromQuery[Refresh] = False,
        basic: FromQuery[bool] = False,
        own_questions: FromQuery[bool] = False,
    ) -> DashboardBody:
        """Return a dashboard with its tiles and their cached results.

        With `own_questions=true` tiles have the insights' own questions, without the filters of
        the dashboard; their results still have them, without the URLs of lists of persons. With
        `basic=true` tiles have own questions and no results.
        """
        now = request.app.state.now()
        stored = await dashboards.view_dashboard(request.project.id, dashboard_id, now)
        if basic:
            return dashboard_body(stored, viewer_of(request), None)
        return await _build_body(
            request, stored, dashboards, refresh=refresh, own_questions=own_questions
        )

    @patch("/{dashboard_id:str}", summary="Update a dashboard")
    async def change(
        self,
        request: ManagementRequest,
        dashboard_id: FromPath[ObjectId],
        data: RequestBody[DashboardChanges],
        dashboards: NamedDependency[DashboardService],
    ) -> DashboardBody:
        """Change a dashboard.

        `tiles` change the text, layout, colour or presence of tiles; tiles that are not listed
        stay, and one without an `id` is a new text. With the `restriction_level` 37 only its
        creator and administrators may change it. With `expected_modified_at`, as
        `last_modified_at` is returned for the dashboard and for each text, the change is made only
        if neither was changed since then; otherwise the response is 409. A deleted dashboard
        accepts only `deleted: false`.
        """
        sent, access = given_fields(data), viewer_of(request).access
        tiles = [tile_change(tile) for tile in sent.pop("tiles", None) or []]
        changed = await dashboards.change_dashboard(
            request.author, dashboard_id, sent, tiles, access
        )
        return await _build_body(request, changed, dashboards, refresh=False)

    @get("/activity", summary="List the activity of all dashboards", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, dashboards: NamedDependency[DashboardService]
    ) -> ActivityPage:
        """Return the changes, newest first; `page` starts at 1, `limit` is 10 by default."""
        return await activity_page(request, dashboards.store.records, "Dashboard")

    @get(
        "/{dashboard_id:str}/activity",
        summary="List a dashboard's activity",
        scope="activity_log:read",
    )
    async def activity(
        self,
        request: ManagementRequest,
        dashboard_id: FromPath[ObjectId],
        dashboards: NamedDependency[DashboardService],
    ) -> ActivityPage:
        """Return the changes, newest first; `page` starts at 1, `limit` is 10 by default.

        Deleted dashboards have their activity too.
        """
        if not await dashboards.store.has_dashboard(request.project.id, dashboard_id):
            raise NotFound
        records = dashboards.store.records
        return await activity_page(request, records, "Dashboard", str(dashboard_id))

    @delete("/{dashboard_id:str}", status_code=405, summary="Not supported: set `deleted` instead")
    async def remove(self, dashboard_id: FromPath[str]) -> ASGIResponse:
        return method_not_allowed("GET, PATCH")


async def _build_body(
    request: ManagementRequest,
    dashboard: StoredDashboard,
    dashboards: DashboardService,
    *,
    refresh: bool,
    own_questions: bool = False,
) -> DashboardBody:
    """Return a dashboard with the cached result of each tile, or with `refresh` new ones."""
    project, now = request.project, request.app.state.now()
    if refresh:
        calculation = dashboards.new_results(project, dashboard, now)
        results = await request.unless_client_left(calculation)
    else:
        results = await dashboards.cached_results(project, dashboard, now)
    if own_questions:
        results = await asyncio.to_thread(list, map(without_people_urls, results))
    return dashboard_body(dashboard, viewer_of(request), results, own_questions=own_questions)
