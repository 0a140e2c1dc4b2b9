"""API of questions by `filters`, which are answered without being stored.

Source: insights.md, section 1a; cohorts.md, section 23.
"""

from collections.abc import Mapping
from typing import Any, Final

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIType, Schema

from fanion.errors import Invalid
from fanion.insights.kinds.service import KINDS_BY_INSIGHT, kind_name
from fanion.insights.kinds.validation import check_filter_names
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.query_string import decode_parameters
from fanion.insights.questions.service import QuestionService, parse_refresh
from fanion.insights.questions.tables_api import Form, answer_response, read_form
from fanion.insights.schemas import ResultBody, with_more
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import request_media_type
from fanion.rest.posthog_insight_fields import OF_FILTERS
from fanion.rest.unknown_fields import QUERY_NAMES, no_choice

_REFRESH_NAMES = frozenset({"session_id", "client_query_id", "refresh"})
# Parameters of a request that are not filters.
_NO_FILTERS = QUERY_NAMES | {"refresh"}
# Maps the last part of an address to `insight` of the kinds that are answered there.
_INSIGHTS: Final = {
    f"/{path}": [insight for insight, kind in KINDS_BY_INSIGHT.items() if kind.path == path]
    for path in dict.fromkeys(kind.path for kind in KINDS_BY_INSIGHT.values())
}


class QuestionsApi(Controller):
    path = "/api/projects/{project_id:str}/insights"
    tags = ("Insights",)
    opt = scoped("insight")

    @get(list(_INSIGHTS), summary="Calculate an insight", query_names=OF_FILTERS)
    async def answer(
        self,
        request: ManagementRequest,
        questions: NamedDependency[QuestionService],
        form: Form = None,
    ) -> Response[ResultBody]:
        """Answer the question in the query string.

        It holds the fields of an insight's `filters`; lists and objects are JSON. A recent result
        is reused, unless `refresh=true`. With `format` the numbers are a table, as for a query.
        """
        sent = decode_parameters(dict(request.page.query))
        return await _answer(request, questions, sent, read_form(form))

    @post(
        list(_INSIGHTS),
        status_code=200,
        summary="Calculate an insight",
        reads=True,
        query_names=_REFRESH_NAMES,
        reads_body=True,
        operation_class=request_media_type("application/json", Schema(type=OpenAPIType.OBJECT)),
    )
    async def answer_to_body(
        self,
        request: ManagementRequest,
        questions: NamedDependency[QuestionService],
        form: Form = None,
    ) -> Response[ResultBody]:
        """Answer the question in the body, which is the `filters` of an insight."""
        body = await request.values()
        if body.form or not isinstance(body.values, dict):
            raise Invalid("The body must be a JSON object.")
        return await _answer(request, questions, body.values, read_form(form))


async def _answer(
    request: ManagementRequest, questions: QuestionService, sent: Mapping[str, Any], form: str
) -> Response[ResultBody]:
    filters = {name: value for name, value in sent.items() if name not in _NO_FILTERS}
    check_filter_names(filters)
    project, now = request.project, request.app.state.now()
    fields = Fields(_of_address(request.scope["path"], filters))
    query = await questions.read_filters(project.id, fields)
    refresh = parse_refresh(sent.get("refresh", dict(request.page.query).get("refresh")))
    answering = questions.answer_question(project, query, now, refresh)
    running = questions.running.run_query(project.id, _query_id(sent), answering)
    answer = await request.unless_client_left(running)
    body = ResultBody(
        result=answer.results,
        timezone=project.timezone,
        last_refresh=answer.calculated_at,
        is_cached=answer.is_cached,
    )
    more = with_more(body, answer, await questions.unknown_names(project.id, query))
    return await answer_response(request, questions, form, query, more)


def _query_id(sent: Mapping[str, Any]) -> str | None:
    """Return the name by which `DELETE /query/{client_query_id}/` cancels the question."""
    query_id = sent.get("client_query_id")
    return query_id if isinstance(query_id, str) and query_id else None


def _of_address(path: str, filters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the filters with the kind that the address says."""
    insights = _INSIGHTS[path.rstrip("/").rpartition("/insights")[2]]
    if len(insights) == 1:
        return {**filters, "insight": insights[0]}
    if kind_name(filters) not in insights:
        raise no_choice(filters.get("insight"), insights, "insight")
    return filters
