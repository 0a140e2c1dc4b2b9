"""API of insights, and of trends that are calculated without being stored.

source: cohorts.md sections 22 and 23
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import msgspec
from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIType, Schema
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import Invalid, NotFound
from fanion.insights.dashboards_store import DashboardStore
from fanion.insights.flag_usage_template import NAME_CHARS_MAX
from fanion.insights.model import CachedResult, DashboardAccess, on_dashboard
from fanion.insights.result_cache import ResultCache
from fanion.insights.schemas import (
    Filters,
    InsightBody,
    TrendBody,
    Viewer,
    insight_body,
    trend_body,
)
from fanion.insights.store import InsightQuery, InsightStore, change_insight, create_insight
from fanion.insights.validation import (
    check_insight_filters,
    cohorts_of,
    is_trends,
)
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.model import Level, Project
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import no_such_cohort
from fanion.rest.endpoints import ObjectId, refused, takes
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_INSIGHT,
    UNSUPPORTED_OF_INSIGHT,
)
from fanion.rest.posthog_insight_fields import OF_FILTERS
from fanion.rest.unknown_fields import QUERY_NAMES, no_choice
from fanion.rest.validation import INTEGER_MAX, given_fields, normal_tags

Name = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
Refresh = Annotated[bool, Meta(description="Calculate now, whatever was calculated before.")]
DashboardId = Annotated[int | None, QueryParameter(ge=1, le=INTEGER_MAX)]
# What a query string can only carry as text. source: insights.md section 1a
_JSON_FIELDS = (
    *("events", "actions", "properties", "exclusions", "breakdowns", "formulas", "formulaNodes"),
    *("target_entity", "returning_entity", "path_groupings", "exclude_events"),
    "include_event_types",
)
# They select fields of the answer, or when it is calculated, and change no result.
_LIST_NAMES = frozenset({"basic", "refresh", "include_query_insights", "session_id"})
_DETAIL_NAMES = frozenset({"session_id", "client_query_id"})
_REFRESH_NAMES = _DETAIL_NAMES | {"refresh"}
# Parameters of a request for a trend that are no filters.
_NO_FILTERS = QUERY_NAMES | {"refresh"}
_REFRESH = frozenset({"true", "1", "force_blocking", "force_async"})
_NO_REFRESH = frozenset(
    {"", "false", "0", "blocking", "async", "async_except_on_cache_miss", "lazy_async"}
    | {"force_cache"}
)
NOT_YET = "This field can only be set after creation."


class NewInsight(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_INSIGHT
    unsupported: ClassVar[Mapping[str, str]] = {**UNSUPPORTED_OF_INSIGHT, "deleted": NOT_YET}

    name: Name | None = None
    derived_name: Name | None = None
    description: str | None = ""
    filters: Filters | None = None
    dashboards: list[int] | None = None
    tags: list[str] | None = None
    favorited: bool = False
    saved: bool = False


class InsightChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_INSIGHT
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_INSIGHT

    name: Name | UnsetType | None = UNSET
    derived_name: Name | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    filters: Filters | UnsetType = UNSET
    dashboards: list[int] | UnsetType | None = UNSET
    tags: list[str] | UnsetType | None = UNSET
    favorited: bool | UnsetType = UNSET
    saved: bool | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class InsightService:
    store: InsightStore
    dashboards: DashboardStore
    results: ResultCache

    async def check(self, project_id: int, filters: Mapping[str, Any], at: str = "") -> None:
        """raises: Invalid"""
        check_insight_filters(filters, at)
        named = cohorts_of(filters, at) if is_trends(filters) else {}
        for cohort_id in await self.store.missing_cohorts(project_id, named):
            raise no_such_cohort(cohort_id, named[cohort_id])

    async def check_change(self, project_id: int, insight_id: int, filters: dict[str, Any]) -> None:
        """Filters that equal the stored ones pass, so that an old insight can still be renamed.

        raises: Invalid
        """
        try:
            await self.check(project_id, filters, "filters")
        except Invalid:
            stored = await self.store.get(project_id, insight_id)
            if stored is None or stored.filters != filters:
                raise

    async def answer(
        self, request: ManagementRequest, filters: Mapping[str, Any], *, refresh: bool
    ) -> CachedResult:
        """The cached result, or with `refresh` a new one."""
        project, now = request.project, request.app.state.now()
        if refresh:
            return await self.results.calculate(project, filters, now)
        [known] = await self.results.cached(project, [filters], now)
        return known

    async def filters(
        self, project: Project, filters: Mapping[str, Any], dashboard_id: int | None
    ) -> dict[str, Any]:
        """The filters as the dashboard, if one is given, applies them. raises: NotFound"""
        if dashboard_id is None:
            return dict(filters)
        dashboard = await self.dashboards.get(project.id, dashboard_id)
        if dashboard is None:
            raise NotFound
        return on_dashboard(filters, dashboard.filters)


class InsightsApi(Controller):
    path = "/api/projects/{project_id:str}/insights"
    tags = ("Insights",)
    opt = scoped("insight")

    @get("/", summary="List insights", query_names=_LIST_NAMES)
    async def insights(
        self,
        request: ManagementRequest,
        insights: NamedDependency[InsightService],
        short_id: FromQuery[str | None] = None,
        search: FromQuery[str | None] = None,
        saved: FromQuery[bool | None] = None,
        favorited: FromQuery[bool | None] = None,
    ) -> Paged[InsightBody]:
        """The newest first, with cached results; deleted ones are left out."""
        page, project, viewer = request.page, request.project, viewer_of(request)
        query = InsightQuery(short_id, search, saved, favorited)
        found, count = await insights.store.page(project.id, query, page.limit, page.offset)
        answers = await insights.results.cached(
            project, [one.filters for one in found], request.app.state.now()
        )
        bodies = [
            insight_body(one, viewer, answer) for one, answer in zip(found, answers, strict=True)
        ]
        return page.of(bodies, count)

    @post("/", summary="Create an insight")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewInsight],
        insights: NamedDependency[InsightService],
    ) -> InsightBody:
        viewer = viewer_of(request)
        await insights.check(request.project.id, data.filters or {}, "filters")
        values = {
            "name": data.name,
            "derived_name": data.derived_name,
            "description": data.description or "",
            "filters": data.filters or {},
            "tags": normal_tags(data.tags or []),
            "favorited": data.favorited,
            "saved": data.saved,
            "created_at": request.app.state.now(),
            "created_by_id": request.principal.user.id,
        }
        async with insights.store.records.write() as connection:
            created = await connection.run_sync(
                create_insight, request.author, values, data.dashboards or [], viewer.access
            )
        return insight_body(created, viewer)

    @get("/trend", summary="Calculate a trend", query_names=OF_FILTERS)
    async def trend(
        self, request: ManagementRequest, insights: NamedDependency[InsightService]
    ) -> TrendBody:
        """The query string holds the fields of an insight's `filters`; `events` and `properties`
        are JSON. A recent result is reused, unless `refresh=true`."""
        return await _trend(request, insights, _from_query(request))

    @post(
        "/trend",
        status_code=200,
        summary="Calculate a trend",
        reads=True,
        query_names=_REFRESH_NAMES,
        reads_body=True,
        operation_class=takes("application/json", Schema(type=OpenAPIType.OBJECT)),
    )
    async def trend_of_body(
        self, request: ManagementRequest, insights: NamedDependency[InsightService]
    ) -> TrendBody:
        """The body is the `filters` of an insight."""
        body = await request.values()
        if body.form or not isinstance(body.values, dict):
            raise Invalid("The body must be a JSON object.")
        return await _trend(request, insights, body.values)

    @get("/{insight_id:str}", summary="Retrieve an insight", query_names=_DETAIL_NAMES)
    async def insight(
        self,
        request: ManagementRequest,
        insight_id: FromPath[ObjectId],
        insights: NamedDependency[InsightService],
        refresh: FromQuery[Refresh] = False,
        from_dashboard: DashboardId = None,
    ) -> InsightBody:
        """With the cached result. `from_dashboard`: with the date range of that dashboard."""
        project = request.project
        found = await insights.store.get(project.id, insight_id)
        if found is None:
            raise NotFound
        filters = await insights.filters(project, found.filters, from_dashboard)
        answer = await insights.answer(request, filters, refresh=refresh)
        return insight_body(found, viewer_of(request), answer, filters)

    @patch("/{insight_id:str}", summary="Update an insight")
    async def change(
        self,
        request: ManagementRequest,
        insight_id: FromPath[ObjectId],
        data: RequestBody[InsightChanges],
        insights: NamedDependency[InsightService],
    ) -> InsightBody:
        """`filters` and `dashboards` are replaced as a whole. `deleted` deletes and restores; a
        deleted insight accepts only `deleted: false`."""
        viewer = viewer_of(request)
        values = given_fields(data)
        dashboards = values.pop("dashboards", None)
        if "filters" in values:
            await insights.check_change(request.project.id, insight_id, values["filters"])
        if "tags" in values:
            values["tags"] = normal_tags(values["tags"] or [])
        if "description" in values:
            values["description"] = values["description"] or ""
        async with insights.store.records.write() as connection:
            changed = await connection.run_sync(
                change_insight, request.author, insight_id, values, dashboards, viewer.access
            )
        if changed is None:
            raise NotFound
        answer = await insights.answer(request, changed.filters, refresh=False)
        return insight_body(changed, viewer, answer)

    @get("/activity", summary="List the activity of all insights", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, insights: NamedDependency[InsightService]
    ) -> ActivityPage:
        """Newest first; `page` starts at 1, `limit` is 10 by default."""
        return await activity_page(request, insights.store.records, "Insight")

    @get(
        "/{insight_id:str}/activity",
        summary="List an insight's activity",
        scope="activity_log:read",
    )
    async def activity(
        self,
        request: ManagementRequest,
        insight_id: FromPath[ObjectId],
        insights: NamedDependency[InsightService],
    ) -> ActivityPage:
        """Newest first; `page` starts at 1, `limit` is 10 by default. Also for a
        deleted insight."""
        if not await insights.store.exists(request.project.id, insight_id):
            raise NotFound
        return await activity_page(request, insights.store.records, "Insight", str(insight_id))

    @delete("/{insight_id:str}", status_code=405, summary="Not supported: set `deleted` instead")
    async def remove(self, insight_id: FromPath[str]) -> ASGIResponse:
        return refused("GET, PATCH")


def viewer_of(request: ManagementRequest) -> Viewer:
    principal, project = request.principal, request.project
    level = principal.levels[project.organization_id]
    access = DashboardAccess(
        principal.user.id, is_admin=level >= Level.ADMIN, is_viewer=level < Level.MEMBER
    )
    return Viewer(project.timezone, access)


async def _trend(
    request: ManagementRequest, insights: InsightService, sent: Mapping[str, Any]
) -> TrendBody:
    filters = {name: value for name, value in sent.items() if name not in _NO_FILTERS}
    project, now = request.project, request.app.state.now()
    await insights.check(project.id, filters)
    if _is_refresh(sent.get("refresh", dict(request.page.query).get("refresh"))):
        answer = await insights.results.calculate(project, filters, now)
    else:
        answer = await insights.results.get_or_calculate(project, filters, now)
    return trend_body(answer, project.timezone)


def _is_refresh(wanted: object) -> bool:
    """Whether to calculate now; accepts the values of newer clients. raises: Invalid

    source: insights.md section 1b
    """
    word = "" if wanted is None else str(wanted).lower()
    if word not in _REFRESH | _NO_REFRESH:
        raise no_choice(word, _REFRESH | _NO_REFRESH, "refresh")
    return word in _REFRESH


def _from_query(request: ManagementRequest) -> dict[str, Any]:
    """raises: Invalid for text that is not JSON"""
    sent: dict[str, Any] = dict(request.page.query)
    for name in _JSON_FIELDS:
        if not sent.get(name):
            continue
        try:
            sent[name] = msgspec.json.decode(sent[name])
        except (msgspec.DecodeError, RecursionError):
            raise Invalid("This value must be valid JSON.", attr=name) from None
    return sent
