"""API of cohorts.

Source: api.md, "Cohorts"; cohorts.md sections 11 to 13 and 15.
"""

from typing import IO, Annotated

from litestar import Controller, delete, get, patch, post, put
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from litestar.response.base import ASGIResponse

from fanion.cohorts.model import read_cohort_query
from fanion.cohorts.schemas import (
    ACTOR_PARAMETERS,
    CREATED_FROM_ACTORS,
    FILE_FIELD,
    FORM_FIELDS,
    WITH_FILE,
    CohortBody,
    CohortFields,
    NewCohort,
    cohort_body,
)
from fanion.cohorts.service import CohortService
from fanion.errors import Invalid
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.rest.unknown_fields import CREDENTIAL_NAMES, require_known
from fanion.rest.validation import given_fields


class CohortsApi(Controller):
    path = "/api/projects/{project_id:str}/cohorts"
    tags = ("Cohorts",)
    opt = scoped("cohort")

    @get("/", summary="List cohorts")
    async def list_cohorts(
        self,
        request: ManagementRequest,
        cohorts: NamedDependency[CohortService],
        kind: Annotated[str | None, QueryParameter(name="type")] = None,
        search: FromQuery[str | None] = None,
        created_by_id: FromQuery[int | None] = None,
        hide_behavioral_cohorts: FromQuery[bool] = False,
        deleted: FromQuery[bool] = False,
        basic: FromQuery[bool] = False,
    ) -> Paged[CohortBody]:
        """Return the project's cohorts, newest first, with `deleted=true` only deleted ones.

        Parameters are combined by AND. `type` is `static` or `dynamic`; `search` is part of the
        name, in any case. `hide_behavioral_cohorts=true` leaves out cohorts that depend on events,
        directly or through other cohorts. `basic=true` leaves out `filters` and `groups`.
        """
        query = read_cohort_query(
            kind,
            search,
            created_by_id,
            no_behavioral=hide_behavioral_cohorts,
            deleted=deleted,
        )
        page = request.page
        matching, count = await cohorts.store.find_cohorts(
            request.project.id, query, page.limit, page.offset
        )
        return page.with_results([cohort_body(cohort, basic=basic) for cohort in matching], count)

    @post(
        "/",
        summary="Create a cohort",
        operation_class=CREATED_FROM_ACTORS,
        takes_files=True,
        query_names=ACTOR_PARAMETERS,
    )
    async def create_cohort(
        self,
        request: ManagementRequest,
        data: RequestBody[NewCohort],
        cohorts: NamedDependency[CohortService],
    ) -> CohortBody:
        """Create a cohort, whose members are calculated in the background.

        A static cohort may be created from a file as `csv`, from a `query`, from `filters`, which
        are evaluated once, or with `insight` from the actors of a point of an insight, which the
        query string describes. Lists in the query string are JSON.
        """
        sent, parameters = given_fields(data), dict(request.page.query)
        file = await _members_file(request)
        return cohort_body(
            await cohorts.create_cohort(request.project, request.author, sent, parameters, file)
        )

    @get("/activity", summary="List the activity of all cohorts", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, cohorts: NamedDependency[CohortService]
    ) -> ActivityPage:
        return await activity_page(request, cohorts.records, "Cohort")

    @get("/{cohort_id:str}", summary="Retrieve a cohort")
    async def retrieve_cohort(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        cohorts: NamedDependency[CohortService],
    ) -> CohortBody:
        """Return the cohort, even if it is deleted."""
        return cohort_body(await cohorts.get_cohort(request.project.id, cohort_id))

    @patch(
        "/{cohort_id:str}",
        summary="Update a cohort",
        operation_class=WITH_FILE,
        takes_files=True,
    )
    async def update_cohort(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        data: RequestBody[CohortFields],
        cohorts: NamedDependency[CohortService],
    ) -> CohortBody:
        """Update a cohort and start a calculation, unless the cohort is deleted.

        Without fields, a dynamic cohort is calculated as it is.

        A file as `csv` adds members to a static cohort. Only users who may edit the flags that use
        the cohort may change its members.
        """
        return await _update_cohort(request, cohort_id, data, cohorts)

    @put(
        "/{cohort_id:str}",
        summary="Update a cohort",
        operation_class=WITH_FILE,
        takes_files=True,
    )
    async def replace_cohort(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        data: RequestBody[CohortFields],
        cohorts: NamedDependency[CohortService],
    ) -> CohortBody:
        """Update a cohort as PATCH does: omitted fields keep their values."""
        return await _update_cohort(request, cohort_id, data, cohorts)

    @delete("/{cohort_id:str}", status_code=405, summary="Not supported: set `deleted` instead")
    async def refuse_deletion(self, cohort_id: FromPath[str]) -> ASGIResponse:
        return method_not_allowed("GET, PATCH, PUT")

    @get("/{cohort_id:str}/activity", summary="List a cohort's activity", scope="activity_log:read")
    async def cohort_activity(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        cohorts: NamedDependency[CohortService],
    ) -> ActivityPage:
        cohort = await cohorts.get_cohort(request.project.id, cohort_id)
        return await activity_page(request, cohorts.records, "Cohort", str(cohort.id))

    @get(
        "/{cohort_id:str}/duplicate_as_static_cohort",
        summary="Copy as a static cohort",
        reads=False,
    )
    async def duplicate_cohort(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        cohorts: NamedDependency[CohortService],
    ) -> CohortBody:
        """Create a static cohort with the members of the last calculation.

        A restricted key needs `cohort:write`; a session needs what it needs for other changes.
        """
        return cohort_body(await cohorts.duplicate_cohort(request.author, cohort_id))


async def _update_cohort(
    request: ManagementRequest, cohort_id: int, data: CohortFields, cohorts: CohortService
) -> CohortBody:
    sent, file = given_fields(data), await _members_file(request)
    return cohort_body(await cohorts.update_cohort(request.author, cohort_id, sent, file))


async def _members_file(request: ManagementRequest) -> IO[bytes] | None:
    """Return the uploaded file of members, or None.

    Raises:
        Invalid: A form field is unknown, or the file was not sent as multipart/form-data.
    """
    body = await request.values()
    require_known(body.files, FORM_FIELDS | CREDENTIAL_NAMES)
    file = body.files.get(FILE_FIELD)
    if file is None and isinstance(body.values, dict) and body.values.get(FILE_FIELD):
        raise Invalid("Upload the file as multipart/form-data.", attr=FILE_FIELD)
    return file
