"""API of saved insights.

Source: cohorts.md, section 22; insights.md, section 14.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import NotFound
from fanion.insights.changes_store import change_insight, create_insight
from fanion.insights.dashboards.store import DashboardStore
from fanion.insights.model import DashboardAccess, SavedQuestion, StoredInsight
from fanion.insights.questions.service import InsightService, read_stored_question
from fanion.insights.schemas import (
    NOT_YET,
    Filters,
    InsightBody,
    Name,
    Query,
    Viewer,
    insight_body,
)
from fanion.insights.store import InsightSelection
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.model import Level
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_INSIGHT,
    UNSUPPORTED_OF_INSIGHT,
)
from fanion.rest.validation import INTEGER_MAX, given_fields, normal_tags

Refresh = Annotated[bool, Meta(description="Calculate now, even if there is a recent result.")]
DashboardId = Annotated[int | None, QueryParameter(ge=1, le=INTEGER_MAX)]
# Names that select fields of the answer, or when it is calculated, and change no result.
_LIST_NAMES = frozenset({"basic", "refresh", "include_query_insights", "session_id"})
_DETAIL_NAMES = frozenset({"session_id", "client_query_id"})


class NewInsight(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_INSIGHT
    unsupported: ClassVar[Mapping[str, str]] = {**UNSUPPORTED_OF_INSIGHT, "deleted": NOT_YET}

    name: Name | None = None
    derived_name: Name | None = None
    description: str | None = ""
    filters: Filters | None = None
    query: Query | None = None
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
    query: Query | UnsetType | None = UNSET
    dashboards: list[int] | UnsetType | None = UNSET
    tags: list[str] | UnsetType | None = UNSET
    favorited: bool | UnsetType = UNSET
    saved: bool | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET


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
        """Return the insights without deleted ones, newest first, with their cached results."""
        page, project, viewer = request.page, request.project, viewer_of(request)
        query = InsightSelection(short_id, search, saved, favorited)
        stored, count = await insights.store.list_insights(
            project.id, query, page.limit, page.offset
        )
        answers = await insights.results.cached(
            project,
            [read_stored_question(insight.question) for insight in stored],
            request.app.state.now(),
        )
        bodies = [
            insight_body(insight, viewer, answer)
            for insight, answer in zip(stored, answers, strict=True)
        ]
        return page.with_results(bodies, count)

    @post("/", summary="Create an insight")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewInsight],
        insights: NamedDependency[InsightService],
    ) -> InsightBody:
        viewer = viewer_of(request)
        question = SavedQuestion(data.filters or {}, data.query or None)
        await insights.check_question(request.project.id, question)
        values = {
            "name": data.name,
            "derived_name": data.derived_name,
            "description": data.description or "",
            "filters": question.filters,
            "query": question.query,
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

    @get("/{insight_id:str}", summary="Retrieve an insight", query_names=_DETAIL_NAMES)
    async def insight(
        self,
        request: ManagementRequest,
        insight_id: FromPath[ObjectId],
        insights: NamedDependency[InsightService],
        refresh: FromQuery[Refresh] = False,
        from_dashboard: DashboardId = None,
        client_query_id: FromQuery[str | None] = None,
    ) -> InsightBody:
        """Return an insight with its cached result.

        With `from_dashboard` the filters of that dashboard apply.
        """
        project = request.project
        stored = await insights.store.get_insight(project.id, insight_id)
        if stored is None:
            raise NotFound
        question = await _question_of(insights, stored, project.id, from_dashboard)
        now = request.app.state.now()
        answering = insights.saved_answer(project, question, now, refresh=refresh)
        answer = await request.unless_client_left(
            insights.running.run_query(project.id, client_query_id, answering)
        )
        return insight_body(stored, viewer_of(request), answer, question)

    @patch("/{insight_id:str}", summary="Update an insight")
    async def change(
        self,
        request: ManagementRequest,
        insight_id: FromPath[ObjectId],
        data: RequestBody[InsightChanges],
        insights: NamedDependency[InsightService],
    ) -> InsightBody:
        """Change an insight.

        `filters`, `query` and `dashboards` are replaced as a whole. An insight has either `filters`
        or a `query`. `deleted` deletes and restores; a deleted insight accepts only `deleted:
        false`.
        """
        viewer = viewer_of(request)
        values = given_fields(data)
        dashboards = values.pop("dashboards", None)
        if "filters" in values or "query" in values:
            values |= _question_columns(values)
            await insights.check_changed_question(request.project.id, insight_id, values)
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
        now = request.app.state.now()
        question = changed.question
        answer = await insights.saved_answer(request.project, question, now, refresh=False)
        return insight_body(changed, viewer, answer)

    @get("/activity", summary="List the activity of all insights", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, insights: NamedDependency[InsightService]
    ) -> ActivityPage:
        """Return the changes, newest first; `page` starts at 1, `limit` is 10 by default."""
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
        """Return the changes, newest first; `page` starts at 1, `limit` is 10 by default.

        Deleted insights have their activity too.
        """
        if not await insights.store.has_insight(request.project.id, insight_id):
            raise NotFound
        return await activity_page(request, insights.store.records, "Insight", str(insight_id))

    @delete("/{insight_id:str}", status_code=405, summary="Not supported: set `deleted` instead")
    async def remove(self, insight_id: FromPath[str]) -> ASGIResponse:
        return method_not_allowed("GET, PATCH")


def _question_columns(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return both columns of a question: one that is not empty empties the other.

    Args:
        values: The fields of a change.
    """
    if values.get("query"):
        return {"filters": values.get("filters") or {}, "query": values["query"]}
    if values.get("filters"):
        return {"filters": values["filters"], "query": None}
    return {"query": None} if "query" in values else {}


def viewer_of(request: ManagementRequest) -> Viewer:
    principal, project = request.principal, request.project
    level = principal.levels[project.organization_id]
    access = DashboardAccess(
        principal.user.id, is_admin=level >= Level.ADMIN, is_viewer=level < Level.MEMBER
    )
    return Viewer(project.timezone, access)


async def _question_of(
    insights: InsightService, insight: StoredInsight, project_id: int, dashboard_id: int | None
) -> SavedQuestion:
    """Return an insight's question, with a dashboard's filters if one is given.

    Raises:
        NotFound: There is no such dashboard.
    """
    if dashboard_id is None:
        return insight.question
    dashboards = DashboardStore(insights.store.records)
    dashboard = await dashboards.get_dashboard(project_id, dashboard_id)
    if dashboard is None:
        raise NotFound
    return insight.question.on_dashboard(dashboard.filters)
