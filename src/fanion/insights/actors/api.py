"""API of the actors behind a number of an insight: persons or groups, as JSON or CSV.

Source: insights.md, section 13.
"""

from collections.abc import Mapping
from typing import Any, Final

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIType, Schema

from fanion.errors import Invalid
from fanion.insights.actors.listing_api import (
    CSV,
    ROWS_MAX,
    ActorsListing,
    csv_or_json,
    list_actors,
)
from fanion.insights.actors.result import ActorsBody
from fanion.insights.actors.service import ActorFinder, read_actors
from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.kinds.service import KINDS_BY_INSIGHT
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.query_string import decode_parameters
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import request_media_type, response_media_type
from fanion.rest.pagination import OFFSET_MAX, ROWS
from fanion.rest.posthog_insight_fields import OF_FILTERS, OF_LINKS, OF_PLACES
from fanion.rest.unknown_fields import QUERY_NAMES, require_known
from fanion.rest.validation import INTEGER_MAX

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
        return await list_actors(request, actors, _parse_request(request, sent))

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
        return await list_actors(request, actors, _parse_request(request, sent))


def _parse_request(request: ManagementRequest, sent: Mapping[str, Any]) -> ActorsListing:
    path = request.scope["path"].rstrip("/").rpartition("/persons/")[2]
    left_out = _LIST_NAMES | _ACCEPTED | QUERY_NAMES
    question = {name: value for name, value in sent.items() if name not in left_out}
    query = read_actors({**question, "insight": _INSIGHTS[path], **_kind_override(path)})
    search = sent.get("search") or ""
    if not isinstance(search, str):
        raise Invalid("Not a valid string.", attr="search")
    limit, offset = (Fields(sent).whole(name, 0, INTEGER_MAX) for name in ("limit", "offset"))
    rows = min(limit or ROWS, ROWS_MAX)
    urls = PeopleUrls(request.project.id, path, question)

    def address(offset: int) -> str:
        shown = rows if rows != ROWS else None
        own = urls.url(limit=shown, offset=offset or None, search=search.strip())
        return f"{request.origin}{own}"

    return ActorsListing(
        query=query,
        limit=rows,
        offset=min(offset or 0, OFFSET_MAX),
        search=search.strip(),
        form=csv_or_json(request, sent.get("format")),
        address=address,
    )


def _kind_override(path: str) -> Mapping[str, Any]:
    """Return values that override the question: the address says which kind it is of."""
    return {} if path == "trends" else {"shown_as": None}
