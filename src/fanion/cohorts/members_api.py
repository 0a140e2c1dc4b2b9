"""The members of a cohort over HTTP, as JSON or as a table.

source: cohorts.md section 14
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from fanion.cohorts.api import Cohorts
from fanion.cohorts.bodies import MemberPage, member_body
from fanion.cohorts.members_store import MemberQuery, find_members
from fanion.cohorts.table import members_table
from fanion.persons.listing_store import having
from fanion.persons.store import Person
from fanion.projects.request import ManagementRequest, scoped
from fanion.properties.query import read_conditions
from fanion.rest.ids import ObjectId
from fanion.rest.operations import answers

_PLACES = frozenset({"limit", "offset", "after"})
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
        after: FromQuery[UUID | None] = None,
    ) -> Response[MemberPage]:
        """As found by the last calculation, the newest first; `format=csv` gives a table.

        `search` is a whole distinct id or UUID, or part of the e-mail address; `properties` a
        JSON list of further conditions, compared as the calculation compares. `after` is a part
        of `next`: the last person of the page before, so that nobody counts up to the offset.
        """
        cohort = await cohorts.get(request.project.id, cohort_id)
        conditions = read_conditions(properties, "persons")
        chosen = having(conditions, cohorts.events, cohort.project_id) if conditions else None
        page = request.page
        query = MemberQuery(distinct_id, email, search, chosen, page.limit, page.offset, after)
        if format == "csv":
            if "limit" not in dict(page.query):
                query = replace(query, limit=TABLE_ROWS, offset=0, after=None)
            found = await find_members(cohorts.store.records, cohort, query)
            return _table(found)
        found = await find_members(cohorts.store.records, cohort, query)
        following = page.offset + page.limit
        is_full = len(found) == page.limit and found
        shown = MemberPage(
            results=[member_body(person) for person in found],
            next=_link(request, following, found[-1].uuid) if is_full else None,
            previous=_link(request, page.offset - page.limit) if page.offset else None,
        )
        return Response(shown)


def _table(members: Sequence[Person]) -> Response[Any]:
    rows = [msgspec.to_builtins(member_body(person)) for person in members]
    return Response(members_table(rows), media_type="text/csv")


def _link(request: ManagementRequest, offset: int, after: UUID | None = None) -> str:
    """This request again at another offset; the first page is at 0."""
    page = request.page
    kept = [(name, value) for name, value in page.query if name not in _PLACES]
    places = [("limit", str(page.limit)), ("offset", str(max(offset, 0)))]
    if after is not None:
        places.append(("after", str(after)))
    return f"{request.address}?{urlencode(sorted(kept + places))}"
