"""API of the members of a cohort: as JSON, as CSV, and changes of a static cohort.

It also lists the cohorts that a person is in.

Source: cohorts.md section 14; PostHog's `/persons/cohorts/?person_id=`.
"""

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from litestar import Controller, Response, get, patch
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.cohorts.members.pages_store import (
    PERSONS_MAX,
    MemberQuery,
)
from fanion.cohorts.members_service import CohortMembers
from fanion.cohorts.schemas import CohortBody, MemberPage, cohort_body, member_body
from fanion.cohorts.service import CohortService
from fanion.errors import Invalid, NotFound
from fanion.persons.api import read_person_id
from fanion.persons.store import get_person
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, Streamed, response_media_type
from fanion.rest.pagination import ROWS_MAX
from fanion.rest.unknown_fields import shortened

_PLACES = frozenset({"limit", "offset", "after"})
FORMATS = ("csv", "json")
CSV = "text/csv"


class CohortMembersApi(Controller):
    path = "/api/projects/{project_id:str}/cohorts/{cohort_id:str}/persons"
    tags = ("Cohorts",)
    opt = scoped("cohort")

    @get(
        "/", summary="List the members of a cohort", operation_class=response_media_type("text/csv")
    )
    async def list_members(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        members: NamedDependency[CohortMembers],
        format: FromQuery[str | None] = None,  # noqa: A002  the name is the API's
        search: FromQuery[str | None] = None,
        distinct_id: FromQuery[str | None] = None,
        email: FromQuery[str | None] = None,
        properties: FromQuery[str | None] = None,
        after: FromQuery[UUID | None] = None,
    ) -> Response[MemberPage]:
        """Return the members as of the last calculation, newest first.

        `format=csv` returns a table of 10,000 rows and 1,000 columns at most. When there are more
        columns, the last one is `columns_left_out`, the number of values omitted from the row. Text
        that a spreadsheet would read as a formula is prefixed with `'`.

        `search` is a part of the name or the e-mail address, a whole distinct id, or the UUID;
        `properties` is a JSON list of further conditions, compared as everywhere. `after` is a part
        of `next`: the last person of the previous page, which is faster than a large offset.
        """
        if format not in (None, "", *FORMATS):
            detail = f'"{shortened(format)}" is not a valid choice. Allowed are: csv, json.'
            raise Invalid(detail, code="invalid_choice", attr="format")
        project_id, page, now = request.project.id, request.page, request.app.state.now()
        cohort = await members.cohorts.get_cohort(project_id, cohort_id)
        chosen = members.having_properties(project_id, properties, now)
        query = MemberQuery(distinct_id, email, search, chosen, page.limit, page.offset, after)
        if format == "csv":
            if "limit" not in dict(page.query):
                query = replace(query, limit=ROWS_MAX, offset=0, after=None)
            return _csv_response(await members.csv_table(cohort, query))
        persons = await members.members_page(cohort, query)
        goes_on = persons.is_cut or (persons.seen == page.limit and persons.seen > 0)
        body = MemberPage(
            results=[member_body(person) for person in persons.persons],
            next=_page_url(request, page.offset + persons.seen, persons.last) if goes_on else None,
            previous=_page_url(request, page.offset - page.limit) if page.offset else None,
        )
        return Response(body)


def _csv_response(table: AsyncGenerator[bytes] | None) -> Response[Any]:
    return Response(b"", media_type=CSV) if table is None else Streamed(table, CSV)


def _page_url(request: ManagementRequest, offset: int, after: UUID | None = None) -> str:
    """Return the URL of this request at another offset; the first page is at 0."""
    page = request.page
    others = [(name, value) for name, value in page.query if name not in _PLACES]
    paging = [("limit", str(page.limit)), ("offset", str(max(offset, 0)))]
    if after is not None:
        paging.append(("after", str(after)))
    return f"{request.address}?{urlencode(sorted(others + paging))}"


class AddedPersons(Struct, kw_only=True, forbid_unknown_fields=True):
    person_ids: Annotated[list[UUID], Meta(description=f"At most {PERSONS_MAX:,}.")]


class RemovedPerson(Struct, kw_only=True, forbid_unknown_fields=True):
    person_id: UUID


class Added(Struct, kw_only=True):
    success: bool
    unmatched: Annotated[
        list[UUID] | UnsetType, Meta(description="Ids without a person in this project, if any.")
    ] = UNSET


class Removed(Struct, kw_only=True):
    success: bool


class CohortMemberChangesApi(Controller):
    path = "/api/projects/{project_id:str}/cohorts/{cohort_id:str}"
    tags = ("Cohorts",)
    opt = scoped("cohort")

    @patch("/add_persons_to_static_cohort", summary="Add persons to a static cohort")
    async def add_persons(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        data: RequestBody[AddedPersons],
        members: NamedDependency[CohortMembers],
    ) -> Added:
        """Add persons, with effect at once.

        A merged person counts as the person it was merged into. The response is 503 while a file is
        being imported.
        """
        unmatched = await members.add_members(request.author, cohort_id, data.person_ids)
        return Added(success=True, unmatched=list(unmatched) or UNSET)

    @patch("/remove_person_from_static_cohort", summary="Remove a person from a static cohort")
    async def remove_person(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        data: RequestBody[RemovedPerson],
        members: NamedDependency[CohortMembers],
    ) -> Removed:
        """Remove a person, with effect at once.

        The response is 404 for a person who is not a member, and 503 while a file is being
        imported.
        """
        await members.remove_member(request.author, cohort_id, data.person_id)
        return Removed(success=True)


class CohortsOfPerson(Struct, kw_only=True):
    results: Annotated[list[CohortBody], Meta(description="The newest first.")]


class PersonCohortsApi(Controller):
    path = "/api/projects/{project_id:str}/persons/cohorts"
    tags = ("Persons",)
    opt = scoped("person")

    @get("/", summary="List the cohorts of a person")
    async def of_person(
        self,
        request: ManagementRequest,
        cohorts: NamedDependency[CohortService],
        person_id: Annotated[str, QueryParameter()],
    ) -> CohortsOfPerson:
        """Return the cohorts that had the person at their last calculation.

        `person_id` is a UUID or a numeric id. A key also needs the scope `cohort:read`.
        """
        request.principal.require_access(request.project, "cohort:read")
        store, project_id = cohorts.store, request.project.id
        person = await get_person(store.records, project_id, read_person_id(person_id))
        if person is None:
            raise NotFound
        matching = await store.cohorts_of_person(project_id, person.id)
        return CohortsOfPerson(results=[cohort_body(cohort) for cohort in matching])
