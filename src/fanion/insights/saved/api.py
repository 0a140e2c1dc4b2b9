"""API of saved insights.

Source: cohorts.md, section 22; insights.md, section 14.
"""

from typing import Annotated

from litestar import Controller, Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import Meta, structs

from fanion.errors import NotFound
from fanion.insights.questions.tables_api import Form, answer_response, read_form
from fanion.insights.saved.model import DashboardAccess
from fanion.insights.saved.schemas import (
    InsightBody,
    InsightChanges,
    NewInsight,
    Viewer,
    insight_body,
)
from fanion.insights.saved.service import InsightService
from fanion.insights.saved.store import InsightSelection
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.model import Level
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.rest.unknown_fields import FORMAT
from fanion.rest.validation import INTEGER_MAX, given_fields

Refresh = Annotated[bool, Meta(description="Calculate now, even if there is a recent result.")]
DashboardId = Annotated[int | None, QueryParameter(ge=1, le=INTEGER_MAX)]
# Parameters that do not change results.
_LIST_NAMES = frozenset({"refresh", "include_query_insights", "session_id"})
_DETAIL_NAMES = frozenset({"session_id", "client_query_id"})


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
        deleted: FromQuery[bool] = False,
        basic: FromQuery[bool] = False,
    ) -> Paged[InsightBody]:
        """Return the insights, newest first, with `deleted=true` only deleted ones.

        They include their cached results, unless `basic=true` leaves those out.
        """
        page, viewer = request.page, viewer_of(request)
        query = InsightSelection(short_id, search, saved, favorited, deleted)
        if basic:
            stored, count = await insights.store.list_insights(
                request.project.id, query, page.limit, page.offset
            )
            return page.with_results([insight_body(insight, viewer) for insight in stored], count)
        listed, count = await insights.list_insights(
            request.project, query, page.limit, page.offset, request.app.state.now()
        )
        bodies = [insight_body(insight, viewer, answer) for insight, answer in listed]
        return page.with_results(bodies, count)

    @post("/", summary="Create an insight")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewInsight],
        insights: NamedDependency[InsightService],
    ) -> InsightBody:
        viewer = viewer_of(request)
        created = await insights.create_insight(request.author, structs.asdict(data), viewer.access)
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
        form: Form = None,
    ) -> Response[InsightBody]:
        """Return an insight with its cached result.

        With `from_dashboard` the filters of that dashboard apply. With `format` the numbers are a
        table, as for a query; they are calculated if there is no result.
        """
        project, table_form = request.project, read_form(form)
        stored = await insights.get_insight(project.id, insight_id)
        question = await insights.question_on_dashboard(project.id, stored, from_dashboard)
        now, questions = request.app.state.now(), insights.questions
        if table_form != FORMAT:
            making = questions.saved_table(project, question, now, refresh=refresh)
            query, answer = await request.unless_client_left(
                questions.running.run_query(project.id, client_query_id, making)
            )
            body = {"results": answer.results, **answer.beside}
            return await answer_response(request, questions, table_form, query, body)
        answering = questions.saved_answer(project, question, now, refresh=refresh)
        answer = await request.unless_client_left(
            questions.running.run_query(project.id, client_query_id, answering)
        )
        return Response(insight_body(stored, viewer_of(request), answer, question))

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
        or a `query`. With `expected_modified_at`, as `last_modified_at` is returned, the change is
        made only if the insight was not changed since then; otherwise the response is 409.
        `deleted` deletes and restores; a deleted insight accepts only `deleted:
        false`.
        """
        viewer = viewer_of(request)
        changed = await insights.change_insight(
            request.author, insight_id, given_fields(data), viewer.access
        )
        answer = await insights.questions.saved_answer(
            request.project, changed.question, request.app.state.now(), refresh=False
        )
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


def viewer_of(request: ManagementRequest) -> Viewer:
    principal, project = request.principal, request.project
    level = principal.levels[project.organization_id]
    access = DashboardAccess(
        principal.user.id, is_admin=level >= Level.ADMIN, is_viewer=level < Level.MEMBER
    )
    return Viewer(project.timezone, access)
