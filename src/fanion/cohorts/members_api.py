"""The members of a cohort over HTTP, as JSON or as a table.

source: cohorts.md section 14
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import msgspec
from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from fanion.cohorts.api import Cohorts
from fanion.cohorts.bodies import MemberPage, member_body
from fanion.cohorts.members_store import MemberQuery, find_members
from fanion.cohorts.table import members_table
from fanion.errors import Invalid
from fanion.persons.store import Person
from fanion.projects.request import ManagementRequest, scoped
from fanion.properties.filters import Property, parse_leaf
from fanion.properties.match import all_of, property_test
from fanion.rest.ids import ObjectId
from fanion.rest.operations import answers

# Rows of a table unless the request limits them.
TABLE_ROWS = 10_000


class CohortMembersApi(Controller):
    path = "/api/projects/{project_id:str}/cohorts/{cohort_id:str}/persons"
    tags = ("Cohorts",)
    opt = scoped("cohort")

    @get("/", summary="List the members of a cohort", operation_class=answers("text/csv"))
    async def persons(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        cohorts: NamedDependency[Cohorts],
        format: FromQuery[str | None] = None,  # noqa: A002  the name is the API's
        search: FromQuery[str | None] = None,
        distinct_id: FromQuery[str | None] = None,
        email: FromQuery[str | None] = None,
        properties: FromQuery[str | None] = None,
    ) -> Response[MemberPage]:
        """As found by the last calculation, the newest first; `format=csv` gives a table.

        `search` is a whole distinct id or UUID, or part of the e-mail address; `properties` a
        JSON list of further conditions.
        """
        cohort = await cohorts.get(request.project.id, cohort_id)
        chosen = _chosen(properties, request) if properties else None
        page = request.page
        query = MemberQuery(distinct_id, email, search, chosen, page.limit, page.offset)
        if format == "csv":
            if "limit" not in dict(page.query):
                query = replace(query, limit=TABLE_ROWS, offset=0)
            found = await find_members(cohorts.store.records, cohort, query)
            return _table(found)
        found = await find_members(cohorts.store.records, cohort, query)
        shown = MemberPage(
            results=[member_body(person) for person in found],
            next=_link(request, page.offset + page.limit) if len(found) == page.limit else None,
            previous=_link(request, page.offset - page.limit) if page.offset else None,
        )
        return Response(shown)


def _table(members: Sequence[Person]) -> Response[Any]:
    rows = [msgspec.to_builtins(member_body(person)) for person in members]
    return Response(members_table(rows), media_type="text/csv")


def _chosen(text: str, request: ManagementRequest) -> Callable[[Person], bool]:
    """All of the conditions hold. raises: Invalid for a list that cannot be read"""
    try:
        raw: Any = msgspec.json.decode(text)
        leaves = [parse_leaf(one) for one in raw]
    except (ValueError, TypeError) as error:
        raise Invalid(f"Properties cannot be read: {error}.", attr="properties") from None
    tests = [property_test(leaf) for leaf in leaves if isinstance(leaf, Property)]
    if len(tests) < len(leaves):
        raise Invalid("Only properties of persons can be asked for.", attr="properties")
    test, moment = all_of(tests), _Moment(request.app.state.now())
    return lambda person: test(person.properties, moment)


class _Moment:
    def __init__(self, now: Any) -> None:
        self.now = now


def _link(request: ManagementRequest, offset: int) -> str:
    """This request again at another offset; the first page is at 0."""
    page = request.page
    kept = [(name, value) for name, value in page.query if name not in {"limit", "offset"}]
    places = [("limit", str(page.limit)), ("offset", str(max(offset, 0)))]
    return f"{request.address}?{urlencode(sorted(kept + places))}"
