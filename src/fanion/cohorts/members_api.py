"""API of the members of a cohort: as JSON, as CSV, and changes of a static cohort.

It also lists the cohorts that a person is in.

Source: cohorts.md section 14; PostHog's `/persons/cohorts/?person_id=`.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from litestar import Controller, Response, get, patch
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.cohorts.api import CohortService
from fanion.cohorts.csv_export import CsvColumns, header_line, table_rows
from fanion.cohorts.member_management_store import (
    DISTINCT_IDS_READ_MAX,
    PERSONS_MAX,
    MemberQuery,
    find_keys,
    find_members,
)
from fanion.cohorts.model import StoredCohort
from fanion.cohorts.schemas import CohortBody, MemberPage, cohort_body, member_body
from fanion.db.engine import Records
from fanion.errors import Invalid, NotFound
from fanion.persons.api import read_person_id
from fanion.persons.list_store import PersonKey, having_properties, in_portions
from fanion.persons.store import Person, get_person
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import read_conditions
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
        cohorts: NamedDependency[CohortService],
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
        cohort = await cohorts.get_cohort(request.project.id, cohort_id)
        conditions, now = read_conditions(properties, "persons"), request.app.state.now()
        chosen = (
            having_properties(conditions, cohorts.events, cohort.project_id, now)
            if conditions
            else None
        )
        page = request.page
        query = MemberQuery(distinct_id, email, search, chosen, page.limit, page.offset, after)
        if format == "csv":
            if "limit" not in dict(page.query):
                query = replace(query, limit=ROWS_MAX, offset=0, after=None)
            async with cohorts.events.turn(cohort.project_id):
                return await _csv_response(cohorts.store.records, cohort, query)
        async with cohorts.events.turn(cohort.project_id):
            members = await find_members(cohorts.store.records, cohort, query)
        goes_on = members.is_cut or (members.seen == page.limit and members.seen > 0)
        body = MemberPage(
            results=[member_body(person) for person in members.persons],
            next=_page_url(request, page.offset + members.seen, members.last) if goes_on else None,
            previous=_page_url(request, page.offset - page.limit) if page.offset else None,
        )
        return Response(body)


async def _csv_response(
    records: Records, cohort: StoredCohort, query: MemberQuery
) -> Response[Any]:
    keys = await find_keys(records, cohort, query)
    columns = CsvColumns()
    async for persons in _portions(records, cohort, keys):
        await asyncio.to_thread(_add_columns, columns, persons)
    names = columns.names()
    if not names:
        return Response(b"", media_type=CSV)

    async def pieces() -> AsyncGenerator[bytes]:
        yield header_line(names).encode()
        async for persons in _portions(records, cohort, keys):
            yield await asyncio.to_thread(_csv_rows, persons, names)

    return Streamed(pieces(), CSV)


async def _portions(
    records: Records, cohort: StoredCohort, keys: Sequence[PersonKey]
) -> AsyncGenerator[list[Person]]:
    portions = in_portions(records, cohort.project_id, keys, DISTINCT_IDS_READ_MAX)
    async with aclosing(portions):
        async for persons, _ in portions:
            yield persons


def _add_columns(columns: CsvColumns, persons: Sequence[Person]) -> None:
    for person in persons:
        columns.add_row(_member_json(person))


def _csv_rows(persons: Sequence[Person], names: list[str]) -> bytes:
    return table_rows(map(_member_json, persons), names).encode()


def _member_json(person: Person) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.to_builtins(member_body(person))
    return body


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
        cohorts: NamedDependency[CohortService],
    ) -> Added:
        """Add persons, with effect at once.

        A merged person counts as the person it was merged into. The response is 503 while a file is
        being imported.
        """
        person_ids = list(dict.fromkeys(data.person_ids))
        if not person_ids:
            raise Invalid("person_ids cannot be empty", attr="person_ids")
        if len(person_ids) > PERSONS_MAX:
            raise Invalid(
                f"List size exceeds limit: {len(person_ids)} persons, at most {PERSONS_MAX}.",
                attr="person_ids",
            )
        unmatched = await cohorts.members.add_members(request.author, cohort_id, person_ids)
        cohorts.notify(request.project.id)
        return Added(success=True, unmatched=list(unmatched) or UNSET)

    @patch("/remove_person_from_static_cohort", summary="Remove a person from a static cohort")
    async def remove_person(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        data: RequestBody[RemovedPerson],
        cohorts: NamedDependency[CohortService],
    ) -> Removed:
        """Remove a person, with effect at once.

        The response is 404 for a person who is not a member, and 503 while a file is being
        imported.
        """
        await cohorts.members.remove_member(request.author, cohort_id, data.person_id)
        cohorts.notify(request.project.id)
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
