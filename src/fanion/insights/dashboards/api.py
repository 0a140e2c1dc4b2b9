"""API of dashboards.

Source: cohorts.md, section 21.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from fanion.errors import Invalid, NotFound
from fanion.insights.api import NOT_YET, Name, Refresh, viewer_of
from fanion.insights.dashboards.refresh_store import DashboardRefreshStore
from fanion.insights.dashboards.store import DashboardStore, TileChange
from fanion.insights.kinds.validation import check_dashboard_filters, cohort_places
from fanion.insights.model import (
    EVERYONE_EDITS,
    NO_RESULT,
    RESTRICTION_LEVELS,
    CachedResult,
    StoredDashboard,
)
from fanion.insights.parsing.fields import Fields
from fanion.insights.query import InsightQuery
from fanion.insights.questions.result_cache import ResultCache
from fanion.insights.questions.service import read_stored_question
from fanion.insights.schemas import (
    DashboardBody,
    DashboardSummary,
    Filters,
    dashboard_body,
    dashboard_summary,
)
from fanion.insights.store import InsightStore
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import no_such_cohort
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_DASHBOARD,
    MAINTAINED_OF_TILE,
    UNSUPPORTED_OF_DASHBOARD,
    UNSUPPORTED_OF_TILE,
)
from fanion.rest.unknown_fields import no_choice
from fanion.rest.validation import given_fields, normal_tags

TILES_AT_ONCE = 4  # calculated at a time, of one dashboard
Color = Annotated[str, Meta(max_length=400)]


class TileFields(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The changes of a tile.

    Attributes:
        id: The id of a tile that the dashboard has.
    """

    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_TILE
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_TILE

    id: int
    layouts: dict[str, Any] | UnsetType = UNSET
    color: Color | UnsetType | None = UNSET
    deleted: bool | UnsetType = UNSET


class NewDashboard(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_DASHBOARD
    unsupported: ClassVar[Mapping[str, str]] = {
        **UNSUPPORTED_OF_DASHBOARD,
        "deleted": NOT_YET,
        "tiles": "Create insights on this dashboard.",
    }

    name: Name = ""
    description: str = ""
    pinned: bool = False
    filters: Filters | None = None
    tags: list[str] | None = None
    restriction_level: int = EVERYONE_EDITS


class DashboardChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_DASHBOARD
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_DASHBOARD

    name: Name | UnsetType = UNSET
    description: str | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    filters: Filters | UnsetType = UNSET
    tags: list[str] | UnsetType | None = UNSET
    restriction_level: int | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET
    tiles: list[TileFields] | UnsetType | None = UNSET


@dataclass(frozen=True, slots=True)
class DashboardService:
    store: DashboardStore
    results: ResultCache
    refreshes: DashboardRefreshStore

    async def build_body(
        self, request: ManagementRequest, dashboard: StoredDashboard, *, refresh: bool
    ) -> DashboardBody:
        """Return a dashboard with the cached result of each tile, or with `refresh` new ones."""
        project, now = request.project, request.app.state.now()
        queries = [
            read_stored_question(tile.insight.question.on_dashboard(dashboard.filters))
            for tile in dashboard.tiles
        ]
        answers: Sequence[CachedResult]
        if refresh:
            answers = await request.unless_client_left(self._all_recalculated(request, queries))
        else:
            answers = await self.results.cached_and_renewed(project, queries, now)
        return dashboard_body(dashboard, viewer_of(request), answers)

    async def check_values(self, project_id: int, values: dict[str, Any]) -> None:
        """Raise Invalid for values that a dashboard cannot have."""
        _check_values(values)
        named = cohort_places(Fields(values.get("filters") or {}, at="filters"))
        insights = InsightStore(self.store.records)
        for cohort_id in await insights.missing_cohorts(project_id, named):
            raise no_such_cohort(cohort_id, named[cohort_id])

    async def check_changed_values(
        self, project_id: int, dashboard_id: int, values: Filters
    ) -> None:
        """Raise Invalid for values that a dashboard cannot have, except its stored filters."""
        try:
            await self.check_values(project_id, values)
        except Invalid as error:
            stored = await self.store.get_dashboard(project_id, dashboard_id)
            of_filters = str(error.attr).startswith("filters")
            if stored is None or not of_filters or stored.filters != values["filters"]:
                raise

    async def _all_recalculated(
        self, request: ManagementRequest, queries: Sequence[InsightQuery | None]
    ) -> Sequence[CachedResult]:
        """Return new results, a few at a time: a large dashboard must not fill the queue."""
        turns = asyncio.Semaphore(TILES_AT_ONCE)

        async def recalculate(query: InsightQuery | None) -> CachedResult:
            async with turns:
                return await self._recalculated(request, query)

        return await asyncio.gather(*map(recalculate, queries))

    async def _recalculated(
        self, request: ManagementRequest, query: InsightQuery | None
    ) -> CachedResult:
        """Return a new result, or none if the tile cannot be calculated."""
        if query is None:
            return NO_RESULT
        try:
            return await self.results.calculate(request.project, query, request.app.state.now())
        except Invalid:
            return NO_RESULT


class DashboardsApi(Controller):
    path = "/api/projects/{project_id:str}/dashboards"
    tags = ("Dashboards",)
    opt = scoped("dashboard")

    @get("/", summary="List dashboards")
    async def dashboards(
        self, request: ManagementRequest, dashboards: NamedDependency[DashboardService]
    ) -> Paged[DashboardSummary]:
        """Return the dashboards without deleted ones: pinned ones first, then by name."""
        page, viewer = request.page, viewer_of(request)
        stored, count = await dashboards.store.list_dashboards(
            request.project.id, page.limit, page.offset
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
        values = structs.asdict(data) | {
            "filters": data.filters or {},
            "tags": normal_tags(data.tags or []),
        }
        await dashboards.check_values(request.project.id, values)
        created = await dashboards.store.create_dashboard(request.author, values)
        return await dashboards.build_body(request, created, refresh=False)

    @get("/{dashboard_id:str}", summary="Retrieve a dashboard")
    async def dashboard(
        self,
        request: ManagementRequest,
        dashboard_id: FromPath[ObjectId],
        dashboards: NamedDependency[DashboardService],
        refresh: FromQuery[Refresh] = False,
    ) -> DashboardBody:
        """Return a dashboard with its tiles and their cached results."""
        stored = await dashboards.store.get_dashboard(request.project.id, dashboard_id)
        if stored is None:
            raise NotFound
        now = request.app.state.now()
        await dashboards.refreshes.note_view(request.project.id, dashboard_id, now)
        return await dashboards.build_body(request, stored, refresh=refresh)

    @patch("/{dashboard_id:str}", summary="Update a dashboard")
    async def change(
        self,
        request: ManagementRequest,
        dashboard_id: FromPath[ObjectId],
        data: RequestBody[DashboardChanges],
        dashboards: NamedDependency[DashboardService],
    ) -> DashboardBody:
        """Change a dashboard.

        `tiles` change the layout, colour or presence of tiles; tiles that are not listed stay. With
        the `restriction_level` 37 only its creator and administrators may change it. A deleted
        dashboard accepts only `deleted: false`.
        """
        values = given_fields(data)
        tiles = values.pop("tiles", None) or []
        await dashboards.check_changed_values(request.project.id, dashboard_id, values)
        if "tags" in values:
            values["tags"] = normal_tags(values["tags"] or [])
        changes = [change for change in map(_tile_change, tiles) if change.values]
        changed = await dashboards.store.change_dashboard(
            request.author, dashboard_id, values, changes, viewer_of(request).access
        )
        if changed is None:
            raise NotFound
        return await dashboards.build_body(request, changed, refresh=False)

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


def _tile_change(tile: TileFields) -> TileChange:
    values = given_fields(tile)
    return TileChange(values.pop("id"), values)


def _check_values(values: dict[str, Any]) -> None:
    level = values.get("restriction_level", EVERYONE_EDITS)
    if level not in RESTRICTION_LEVELS:
        raise no_choice(
            level, [str(allowed) for allowed in RESTRICTION_LEVELS], "restriction_level"
        )
    check_dashboard_filters(values.get("filters") or {})
