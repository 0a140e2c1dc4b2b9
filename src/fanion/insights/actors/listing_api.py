"""The answer to a request for the actors behind a number: a page as JSON, or all of them as CSV.

Source: insights.md, section 13.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from litestar import Response

from fanion.cohorts.members.csv_export import CsvColumns, header_line, table_rows
from fanion.errors import Invalid
from fanion.insights.actors.people_store import load_people, load_people_in_portions
from fanion.insights.actors.result import ActorBody, ActorList, ActorsBody
from fanion.insights.actors.service import Actor, ActorFinder, ActorsQuery
from fanion.projects.request_api import ManagementRequest
from fanion.rest.endpoints import Streamed
from fanion.rest.unknown_fields import shortened

CSV: Final = "text/csv"
CSV_ROWS: Final = 500  # persons read at a time
ROWS_MAX: Final = 1_000
_FORMATS: Final = frozenset({"csv", "json"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorsListing:
    """A parsed request for the actors behind a number.

    Attributes:
        form: `csv` or `json`.
        address: Returns the address of the page with this offset.
    """

    query: ActorsQuery
    limit: int
    offset: int
    search: str
    form: str
    address: Callable[[int], str]


def csv_or_json(request: ManagementRequest, given: object) -> str:
    """Return the form of the answer: the given one, else what the client accepts."""
    if given in (None, ""):
        return "csv" if CSV in request.headers.get("accept", "") else "json"
    if given not in _FORMATS:
        detail = f'"{shortened(given)}" is not a valid choice. Allowed are: csv, json.'
        raise Invalid(detail, code="invalid_choice", attr="format")
    return str(given)


async def list_actors(
    request: ManagementRequest, actors: ActorFinder, listing: ActorsListing
) -> Response[ActorsBody]:
    if listing.form == "csv":
        return await _table(request, actors, listing)
    return Response(await request.unless_client_left(_page(request, actors, listing)))


async def _page(
    request: ManagementRequest, actors: ActorFinder, listing: ActorsListing
) -> ActorsBody:
    project, now, offset = request.project, request.app.state.now(), listing.offset
    page = await actors.find_page(
        project, listing.query, now, listing.limit, offset, listing.search
    )
    index = listing.query.group_type_index
    people = await load_people(actors.records, project.id, page.actors, index)
    has_more = page.has_more or people.seen < len(page.actors)
    return ActorsBody(
        results=[ActorList(people=people.bodies, count=len(people.bodies))],
        next=listing.address(offset + people.seen) if has_more else None,
        initial=listing.address(0),
        missing_persons=people.seen - len(people.bodies),
        is_cached=False,
        last_refresh=now,
    )


async def _table(
    request: ManagementRequest, actors: ActorFinder, listing: ActorsListing
) -> Response[Any]:
    """Return all actors as CSV; they are read twice, first for the names of the columns."""
    columns = CsvColumns()
    project, now = request.project, request.app.state.now()

    async def bodies() -> AsyncGenerator[list[ActorBody]]:
        index = listing.query.group_type_index
        async with aclosing(actors.find_batches(project, listing.query, now, CSV_ROWS)) as batches:
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
