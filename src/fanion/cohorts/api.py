"""API of cohorts.

Source: api.md, "Cohorts"; cohorts.md sections 11 to 13 and 15.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Annotated, Any, Protocol

from litestar import Controller, delete, get, patch, post, put
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from litestar.response.base import ASGIResponse

from fanion.cohorts.calculation.worker import Calculator
from fanion.cohorts.criteria.definition import UNSAVED, Criteria
from fanion.cohorts.import_store import ImportStore
from fanion.cohorts.member_management_store import MemberChangesStore
from fanion.cohorts.model import (
    CohortState,
    ImportQuery,
    MembersImport,
    StoredCohort,
    read_cohort_query,
)
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
from fanion.cohorts.store import CohortStore
from fanion.cohorts.validation import (
    changed_values,
    check_changed,
    check_created,
    check_sources,
    copy_name,
    created_values,
    filters_query_text,
    has_criteria_to_evaluate,
    read_actors_query,
    require_cohorts,
)
from fanion.errors import Invalid, NotFound
from fanion.events.storage.compiled_query import StatementResult
from fanion.events.storage.store import EventStore
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.model import Project
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.rest.unknown_fields import CREDENTIAL_NAMES, require_known
from fanion.rest.validation import given_fields
from fanion.runtime.change_bus import ChangeBus, Topic


class InsightActors(Protocol):
    """A reader of the query for the persons behind a number of an insight.

    It returns the text that is kept until the calculation. Every call raises Invalid for a query
    that cannot be used.
    """

    def pending_query(self, project: Project, sent: Mapping[str, str], now: datetime) -> str:
        """Return the text for the query parameters of a request."""

    def pending_actors_query(
        self, project: Project, query: Mapping[str, Any], now: datetime
    ) -> str:
        """Return the text for an ActorsQuery with a `source`."""


class AskPreview(Protocol):
    """A call that runs a statement, for which a client waits, when its turn comes.

    Raises:
        Unavailable: Too many statements wait.

    `EventStore.ask` may raise further errors.
    """

    def __call__(
        self, project_id: int, text: str, parameters: Mapping[str, Any], seconds_max: int, /
    ) -> Coroutine[Any, Any, StatementResult]: ...


@dataclass(frozen=True, slots=True)
class CohortService:
    store: CohortStore
    uploads: ImportStore
    members: MemberChangesStore
    events: EventStore
    ask: AskPreview
    calculator: Calculator
    insights: InsightActors
    bus: ChangeBus

    async def get_cohort(self, project_id: int, cohort_id: int) -> StoredCohort:
        """Return the cohort, even if it is deleted.

        Raises:
            NotFound: The project has no such cohort.
        """
        cohort = await self.store.get_cohort(project_id, cohort_id)
        if cohort is None:
            raise NotFound
        return cohort

    def notify(self, project_id: int) -> None:
        self.bus.publish(Topic.FLAGS, project_id)
        self.calculator.wake()


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
        basic: FromQuery[bool] = False,
    ) -> Paged[CohortBody]:
        """Return the project's cohorts, newest first, without deleted ones.

        Parameters are combined by AND. `type` is `static` or `dynamic`; `search` is part of the
        name, in any case. `hide_behavioral_cohorts=true` leaves out cohorts that depend on events,
        directly or through other cohorts. `basic=true` leaves out `filters` and `groups`.
        """
        query = read_cohort_query(
            kind, search, created_by_id, no_behavioral=hide_behavioral_cohorts
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
        sent, author = _sent_fields(data), request.author
        file = await _members_file(request)
        with_file = file is not None
        await asyncio.to_thread(check_created, sent, with_file=with_file)
        query = await _import_query(request, sent, with_file, cohorts)
        imports = with_file or query is not None
        values = created_values(sent, author.now, imports=imports)
        await _require_nested(request.project.id, values, query, cohorts)
        async with cohorts.uploads.store_upload(request.project.id, file) as uploaded:
            members = uploaded if query is None else MembersImport(query=query)
            created = await cohorts.store.create_cohort(author, values, members)
        cohorts.notify(request.project.id)
        return cohort_body(created)

    @get("/activity", summary="List the activity of all cohorts", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, cohorts: NamedDependency[CohortService]
    ) -> ActivityPage:
        return await activity_page(request, cohorts.store.records, "Cohort")

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
        return await activity_page(request, cohorts.store.records, "Cohort", str(cohort.id))

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
        original = await cohorts.get_cohort(request.project.id, cohort_id)
        if original.criteria.is_static:
            raise Invalid("Cannot duplicate a static cohort as a static cohort.")
        author = request.author
        sent = {"name": copy_name(original.criteria.name), "is_static": True}
        values = created_values(sent, author.now, imports=True)
        members = MembersImport(source_id=original.id)
        created = await cohorts.store.create_cohort(author, values, members, is_recorded=False)
        cohorts.notify(request.project.id)
        return cohort_body(created)


async def _update_cohort(
    request: ManagementRequest, cohort_id: int, data: CohortFields, cohorts: CohortService
) -> CohortBody:
    sent, author = _sent_fields(data), request.author
    if sent.pop("query", None):
        raise Invalid("query can only be set when a cohort is created.", attr="query")
    file = await _members_file(request)

    def decide(before: CohortState, others: Mapping[int, Criteria]) -> dict[str, Any]:
        return changed_values(sent, before, others, author.now, imports=file is not None)

    before = await cohorts.get_cohort(request.project.id, cohort_id)
    await asyncio.to_thread(check_changed, sent, before.criteria)
    async with cohorts.uploads.store_upload(request.project.id, file) as members:
        changed = await cohorts.store.change_cohort(author, cohort_id, decide, members)
    if changed is None:
        raise NotFound
    cohorts.notify(request.project.id)
    return cohort_body(changed)


async def _import_query(
    request: ManagementRequest, sent: Mapping[str, Any], file: bool, cohorts: CohortService
) -> ImportQuery | None:
    parameters = dict(request.page.query)
    _check_insight_parameters(parameters)
    check_sources(sent, insight=bool(parameters.get("insight")), file=file)
    if parameters.get("insight"):
        now = request.app.state.now()
        return ImportQuery(
            "insight", cohorts.insights.pending_query(request.project, parameters, now)
        )
    if sent.get("query") is None:
        if file or not has_criteria_to_evaluate(sent):
            return None
        return ImportQuery("query", filters_query_text(sent["filters"]))
    query = sent["query"]
    if isinstance(query, dict) and query.get("source") and query.get("kind") == "ActorsQuery":
        now = request.app.state.now()
        return ImportQuery(
            "insight", cohorts.insights.pending_actors_query(request.project, query, now)
        )
    others = await cohorts.store.load_criteria(request.project.id)
    return ImportQuery("query", read_actors_query(query, others))


def _check_insight_parameters(parameters: Mapping[str, str]) -> None:
    """Raise Invalid for insight parameters that would be ignored."""
    named = parameters.keys() & ACTOR_PARAMETERS
    if named and not parameters.get("insight"):
        raise Invalid("This field is required.", code="required", attr="insight")


async def _require_nested(
    project_id: int, values: Mapping[str, Any], query: ImportQuery | None, cohorts: CohortService
) -> None:
    """Raise Invalid if the criteria of a new cohort refer to cohorts outside the project."""
    criteria = Criteria(UNSAVED, None, values["is_static"], values["filters"], values["groups"])
    is_asked = query is not None and query.kind == "query"
    nested = criteria.nested_ids() if is_asked or not criteria.is_static else []
    if nested:
        require_cohorts(nested, await cohorts.store.load_criteria(project_id))


def _sent_fields(data: CohortFields) -> dict[str, Any]:
    """Return the fields that the body gives; empty `filters` count as absent.

    Raises:
        Invalid: A field would be ignored.
    """
    sent = given_fields(data)
    if sent.get("filters") == {}:
        del sent["filters"]
    if sent.pop("static_person_ids", None):
        raise Invalid(
            "Not supported. Use add_persons_to_static_cohort.", attr="_create_static_person_ids"
        )
    return sent


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
