"""API of questions by `query`, as newer clients send them.

Source: insights.md, section 1b.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from litestar import Controller, Response, delete, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import Meta, Struct

from fanion.errors import Invalid
from fanion.insights.kinds.service import fields_of_query, has_filters
from fanion.insights.model import CachedResult
from fanion.insights.parsing.fields import Fields, with_request_place
from fanion.insights.parsing.translation import unwrap_query
from fanion.insights.query import InsightQuery
from fanion.insights.questions.result_cache import cache_key
from fanion.insights.questions.service import QuestionService, parse_refresh
from fanion.insights.questions.tables_api import Form, answer_response, read_form
from fanion.insights.schemas import (
    QueryAsSqlBody,
    QueryResultBody,
    RowsBody,
    SqlBody,
    SqlSchemaBody,
    with_more,
)
from fanion.projects.model import Project
from fanion.projects.request_api import ManagementRequest
from fanion.rest.unknown_fields import FORMAT

_SCOPE = "query:read"
ClientQueryId = Annotated[
    str, Meta(max_length=200, description="Any text; the query can be cancelled by it.")
]


class NewQuery(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = frozenset({"async", "name", "session_id"})
    unsupported: ClassVar[Mapping[str, str]] = {
        "filters_override": "Set it in the query.",
        "variables_override": "",
        "limit_context": "",
    }

    query: Annotated[
        dict[str, Any], Meta(description='The question; `kind` says which: "TrendsQuery", …')
    ]
    refresh: Annotated[
        Any,
        Meta(
            description="`true`, `force_blocking` and `force_async` calculate now, whatever was "
            "calculated before; `async`, `lazy_async` and `force_cache` show an older result with "
            "its time. Other words, and false, reuse a recent one."
        ),
    ] = None
    client_query_id: ClientQueryId | None = None
    as_sql: Annotated[
        bool,
        Meta(
            description="Returns the question as SQL, `hogql`, without calculating it. An option "
            "that SQL cannot say is refused by its name, with the code `not_sql`."
        ),
    ] = False


class QueryApi(Controller):
    path = "/api/projects/{project_id:str}/query"
    tags = ("Insights",)

    @post("/", status_code=200, summary="Answer a query", scope=_SCOPE)
    async def query(
        self,
        request: ManagementRequest,
        data: RequestBody[NewQuery],
        questions: NamedDependency[QuestionService],
        form: Form = None,
    ) -> Response[QueryResultBody | RowsBody | SqlBody | SqlSchemaBody | QueryAsSqlBody]:
        """Answer a query, also at `/api/environments/{id}/query/`.

        A recent result is reused, unless `refresh` asks for a new one. With `format` the numbers
        are a table: `csv`, in which text that a spreadsheet would read as a formula is prefixed
        with `'`, `jsonl` (JSON lines) or `parquet`.
        """
        table_form = read_form(form)
        sent, at = unwrap_query(data.query)
        other = questions.other_kinds.get(str(sent.get("kind")))
        project, now = request.project, request.app.state.now()
        if data.as_sql:
            if table_form != FORMAT:
                raise Invalid("The SQL of a question is no table. Leave it out.", attr="format")
            query = await questions.read_query(project.id, data.query)
            text = await questions.as_sql.text(project, query, str(sent.get("kind")), now)
            return Response(QueryAsSqlBody(hogql=text, timezone=project.timezone))
        if other is not None:
            fields, refresh = Fields(sent, at=at), parse_refresh(data.refresh)
            rows = other(project, fields, now, refresh)
            listing = questions.running.run_query(project.id, data.client_query_id, rows)
            listed = await request.unless_client_left(listing)
            return await answer_response(request, questions, table_form, str(sent["kind"]), listed)
        query = await questions.read_query(project.id, data.query)
        refresh = parse_refresh(data.refresh)
        try:
            answering = questions.answer_question(project, query, now, refresh)
            running = questions.running.run_query(project.id, data.client_query_id, answering)
            answer = await request.unless_client_left(running)
        except Invalid as error:
            raise _placed(error, data.query) from None
        unknown = await questions.unknown_names(project.id, query)
        body = with_more(_body(project, query, answer), answer, unknown)
        return await answer_response(request, questions, table_form, query, body)

    @delete("/{client_query_id:str}", status_code=204, summary="Cancel a query", scope=_SCOPE)
    async def cancel(
        self,
        request: ManagementRequest,
        client_query_id: FromPath[str],
        questions: NamedDependency[QuestionService],
    ) -> None:
        """Cancel the project's queries with this `client_query_id`, on whichever server they run.

        A result that others wait for too is calculated all the same.
        """
        await questions.cancellations.cancel_query(request.project.id, client_query_id)


def _body(project: Project, query: InsightQuery, answer: CachedResult) -> QueryResultBody:
    return QueryResultBody(
        results=answer.results,
        timezone=project.timezone,
        last_refresh=answer.calculated_at,
        is_cached=answer.is_cached,
        cache_key=cache_key(project, query),
    )


def _placed(error: Invalid, query: object) -> Invalid:
    """Return an error with its place in the query, as calculations name fields of `filters`."""
    places = fields_of_query(query).places if has_filters(query) else {}
    return with_request_place(error, places)
