"""API of the actors behind a number of an insight: persons or groups, as JSON or CSV.

Source: insights.md, section 13.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIType, Schema

from fanion.cohorts.members.csv_export import CsvColumns, header_line, table_rows
from fanion.errors import Invalid
from fanion.insights.actors.people_store import load_people, load_people_in_portions
from fanion.insights.actors.result import ActorBody, ActorList, ActorsBody
from fanion.insights.actors.service import Actor, ActorFinder, ActorsQuery, read_actors
from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.kinds.service import KINDS_BY_INSIGHT
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.query_string import decode_parameters
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import Streamed, request_media_type, response_media_type
from fanion.rest.pagination import OFFSET_MAX, ROWS
from fanion.rest.posthog_insight_fields import OF_FILTERS, OF_LINKS, OF_PLACES
from fanion.rest.unknown_fields import QUERY_NAMES, require_known, shortened
from fanion.rest.validation import INTEGER_MAX

CSV: Final = "text/csv"
CSV_ROWS: Final = 500  # persons read at a time
ROWS_MAX: Final = 1_000
_FORMATS: Final = frozenset({"csv", "json"})
# Parameters of the list, which belong neither to the question nor to the place.
_LIST_NAMES: Final = frozenset({"limit", "offset", "search", "format", "refresh"})
_ACCEPTED: Final = OF_LINKS | {"session_id", "client_query_id"}
_KNOWN: Final = OF_FILTERS | OF_PLACES | _LIST_NAMES | _ACCEPTED
# Maps the last part of an address to `insight` of the filters.
_INSIGHTS: Final = {
    kind.actors.path: insight
    for insight, kind in KINDS_BY_INSIGHT.items()
    if kind.actors is not None
}
_PATHS: Final = [f"/{path}" for path in _INSIGHTS]


@dataclass(frozen=True, slots=True)
class _ActorsRequest:
    """A parsed request.

    Attributes:
        path: The last part of the address.
        sent: The question and the place as they were sent.
        form: `csv` or `json`.
    """

    limit: int
    offset: int

    path: str
    sent: Mapping[str, Any]
    query: ActorsQuery
    search: str
    form: str


class InsightActorsApi(Controller):
    path = "/api/projects/{project_id:str}/persons"
    tags = ("Insights",)
    opt = scoped("person")

    @get(
        _PATHS,
        summary="List the actors behind a number of an insight",
        query_names=_KNOWN,
        operation_class=response_media_type(CSV),
    )
    async def actors(
        self, request: ManagementRequest, actors: NamedDependency[ActorFinder]
    ) -> Response[ActorsBody]:
        """Return the persons or groups behind a number of an insight.

        The query string holds the insight's `filters`, with lists and objects as JSON, and the
        place of the number. `search` matches part of a person's name or e-mail address, a whole
        distinct id, or the UUID; for groups, part of the key or the name. With `format=csv` or
        `Accept: text/csv` the answer is a table of all of them, in which text that a spreadsheet
        would read as a formula is prefixed with `'`.
        """
        sent = decode_parameters(dict(request.page.query))
        return await _answer(request, actors, _parse_request(request, sent))

    @post(
        _PATHS,
        status_code=200,
        summary="List the actors behind a number of an insight",
        reads=True,
        query_names=_LIST_NAMES | _ACCEPTED,
        reads_body=True,
        operation_class=request_media_type("application/json", Schema(type=OpenAPIType.OBJECT)),
    )
    async def actors_of_body(
        self, request: ManagementRequest, actors: NamedDependency[ActorFinder]
    ) -> Response[ActorsBody]:
        """Return the persons or groups behind a number of an insight.

        The body holds the insight's `filters` and the place of the number.
        """
        body = await request.values()
        if body.form or not isinstance(body.values, dict):
            raise Invalid("The body must be a JSON object.")
        require_known(body.values, _KNOWN | QUERY_NAMES)
        sent = {**body.values, **dict(request.page.query)}
        return await _answer(request, actors, _parse_request(request, sent))


def _parse_request(request: ManagementRequest, sent: Mapping[str, Any]) -> _ActorsRequest:
    path = request.scope["path"].rstrip("/").rpartition("/persons/")[2]
    left_out = _LIST_NAMES | _ACCEPTED | QUERY_NAMES
    question = {name: value for name, value in sent.items() if name not in left_out}
    query = read_actors({**question, "insight": _INSIGHTS[path], **_kind_override(path)})
    search = sent.get("search") or ""
    if not isinstance(search, str):
        raise Invalid("Not a valid string.", attr="search")
    limit, offset = (Fields(sent).whole(name, 0, INTEGER_MAX) for name in ("limit", "offset"))
    return _ActorsRequest(
        min(limit or ROWS, ROWS_MAX),
        min(offset or 0, OFFSET_MAX),
        path,
        question,
        query,
        search.strip(),
        _format(request, sent.get("format")),
    )


def _kind_override(path: str) -> Mapping[str, Any]:
    """Return values that override the question: the address says which kind it is of."""
    return {} if path == "trends" else {"shown_as": None}


def _format(request: ManagementRequest, given: object) -> str:
    if given in (None, ""):
        return "csv" if CSV in request.headers.get("accept", "") else "json"
    if given not in _FORMATS:
        detail = f'"{shortened(given)}" is not a valid choice. Allowed are: csv, json.'
        raise Invalid(detail, code="invalid_choice", attr="format")
    return str(given)


async def _answer(
    request: ManagementRequest, actors: ActorFinder, parsed: _ActorsRequest
) -> Response[ActorsBody]:
    if parsed.form == "csv":
        return await _table(request, actors, parsed)
    return Response(await request.unless_client_left(_page(request, actors, parsed)))


async def _page(
    request: ManagementRequest, actors: ActorFinder, parsed: _ActorsRequest
) -> ActorsBody:
    project, now, offset = request.project, request.app.state.now(), parsed.offset
    page = await actors.find_page(project, parsed.query, now, parsed.limit, offset, parsed.search)
    index = parsed.query.group_type_index
    people = await load_people(actors.records, project.id, page.actors, index)
    has_more = page.has_more or people.seen < len(page.actors)
    address = _Address(request, parsed)
    return ActorsBody(
        results=[ActorList(people=people.bodies, count=len(people.bodies))],
        next=address.at(offset + people.seen) if has_more else None,
        initial=address.at(0),
        missing_persons=people.seen - len(people.bodies),
        is_cached=False,
        last_refresh=now,
    )


@dataclass(frozen=True, slots=True)
class _Address:
    """The addresses of the pages of a list, whether or not the question came in a body."""

    request: ManagementRequest
    parsed: _ActorsRequest

    def at(self, offset: int) -> str:
        urls = PeopleUrls(self.request.project.id, self.parsed.path, self.parsed.sent)
        limit = self.parsed.limit if self.parsed.limit != ROWS else None
        path = urls.url(limit=limit, offset=offset or None, search=self.parsed.search)
        return f"{self.request.origin}{path}"


async def _table(
    request: ManagementRequest, actors: ActorFinder, parsed: _ActorsRequest
) -> Response[Any]:
    """Return all actors as CSV; they are read twice, first for the names of the columns."""
    columns = CsvColumns()
    project, now = request.project, request.app.state.now()

    async def bodies() -> AsyncGenerator[list[ActorBody]]:
        index = parsed.query.group_type_index
        async with aclosing(actors.find_batches(project, parsed.query, now, CSV_ROWS)) as batches:
            while some := await request.unless_client_left(_next(batches)):
                async for portion, _, _ in load_people_in_portions(
                    actors.records, project.id, some, index
                ):
                    yield portion

    async for some in bodies():
        for body in some:
            columns.add_row(_row(body))
    names = columns.names()
    if not names:
        return Response(b"", media_type=CSV)

    async def pieces() -> AsyncGenerator[bytes]:
        yield header_line(names).encode()
        async for some in bodies():
            yield table_rows(map(_row, some), names).encode()

    return Streamed(pieces(), CSV)


async def _next(batches: AsyncGenerator[Sequence[Actor]]) -> Sequence[Actor]:
    """Return the next batch, empty after the last."""
    async for some in batches:
        return some
    return ()


def _row(body: ActorBody) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(body)
    value = row.pop("value_at_data_point", None)
    return row if value is None else {**row, "value": value}
