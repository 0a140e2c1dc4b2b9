"""Projects over HTTP.

Source: capture.md, section 9; api.md, "Authentication".
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, ClassVar
from uuid import UUID
from zoneinfo import available_timezones

import msgspec
from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromQuery, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import Invalid
from fanion.projects.account_filters import check_account_filters
from fanion.projects.cache import Projects
from fanion.projects.deletion.model import DeletedProject, ProjectContents
from fanion.projects.deletion.service import ProjectDeletions
from fanion.projects.model import (
    FORMER_VALID_S,
    Level,
    Project,
)
from fanion.projects.path_cleaning import check_path_cleaning
from fanion.projects.request_api import FRESH, FormerValidS, ManagementRequest, scoped
from fanion.projects.retention.model import EventsKept, EventsKeptDays, OldEvents
from fanion.projects.retention.service import EventRetention
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_PROJECT,
    UNSUPPORTED_OF_PROJECT,
)
from fanion.rest.unknown_fields import no_choice
from fanion.rest.validation import given_fields, read_struct

ProjectName = Annotated[str, Meta(min_length=1, max_length=200)]
Timezone = Annotated[str, Meta(description="IANA name, for example `Europe/Berlin`.")]


Rate = Annotated[float, Meta(ge=0.1, le=1e12, description="For each server; null for no limit.")]
WORDS_MAX = 100  # every event is compared with each word
Words = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=200)]], Meta(max_length=WORDS_MAX)
]


AccountFilters = Annotated[
    list[dict[str, Any]],
    Meta(
        description="Conditions on events, persons, groups and cohorts. With "
        "`filter_test_accounts` a question counts only events that fulfil all of them."
    ),
]


WeekStartDay = Annotated[int, Meta(ge=0, le=1, description="When weeks begin: 0 Sunday, 1 Monday.")]


PathCleaningFilters = Annotated[
    list[dict[str, Any]],
    Meta(
        description="Rules that give many paths of pages one name: `regex` and `alias`, applied "
        "one after the other."
    ),
]


PrimaryDashboard = Annotated[
    int,
    Meta(
        description="Id of the dashboard on the home page of the project. If it is deleted, the id "
        "stays."
    ),
]
# What members may change; everything else is up to administrators.
_OF_MEMBERS = frozenset({"primary_dashboard"})


class IngestionBody(Struct, kw_only=True):
    """Rules that apply to captured events before they are stored."""

    anonymize_ips: Annotated[bool, Meta(description="Whether to discard client addresses.")]
    dropped_user_agents: Annotated[
        list[str], Meta(description="Events whose user agent contains one of these are dropped.")
    ]
    removed_properties: Annotated[
        list[str], Meta(description="Removed from events and person updates.")
    ]
    items_per_second: float | None
    bytes_per_second: float | None
    burst_seconds: Annotated[
        float, Meta(description="Seconds of the rate that may arrive at once after a pause.")
    ]


class IngestionChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    anonymize_ips: bool | UnsetType = UNSET
    dropped_user_agents: Words | UnsetType = UNSET
    removed_properties: Words | UnsetType = UNSET
    items_per_second: Rate | UnsetType | None = UNSET
    bytes_per_second: Rate | UnsetType | None = UNSET
    burst_seconds: Annotated[float, Meta(ge=1, le=3600)] | UnsetType = UNSET


class NewProject(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_PROJECT
    unsupported: ClassVar[Mapping[str, str]] = {
        **UNSUPPORTED_OF_PROJECT,
        "ingestion": "Change it once the project is created.",
        "test_account_filters": "Change them once the project is created.",
        "week_start_day": "Change it once the project is created.",
        "path_cleaning_filters": "Change them once the project is created.",
        "primary_dashboard": "Set it once the project has dashboards.",
        "events_kept_days": "Change it once the project is created.",
    }

    name: ProjectName
    timezone: Timezone = "UTC"


class ProjectChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_PROJECT
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_PROJECT

    name: ProjectName | UnsetType = UNSET
    timezone: Timezone | UnsetType = UNSET
    ingestion: IngestionChanges | UnsetType = UNSET
    test_account_filters: AccountFilters | UnsetType = UNSET
    week_start_day: WeekStartDay | UnsetType | None = UNSET
    path_cleaning_filters: PathCleaningFilters | UnsetType = UNSET
    primary_dashboard: PrimaryDashboard | UnsetType | None = UNSET
    events_kept_days: EventsKeptDays | UnsetType | None = UNSET


class TokenReset(Struct, kw_only=True, forbid_unknown_fields=True):
    former_valid_s: FormerValidS = FORMER_VALID_S


class FormerTokenBody(Struct, kw_only=True):
    api_token: str
    valid_until: datetime


class ProjectBody(Struct, kw_only=True):
    id: int
    uuid: UUID
    name: str
    api_token: Annotated[str, Meta(description="Public; sent with every captured event.")]
    created_at: datetime
    timezone: str
    organization: UUID
    ingestion: IngestionBody
    test_account_filters: AccountFilters
    week_start_day: WeekStartDay
    path_cleaning_filters: PathCleaningFilters
    primary_dashboard: PrimaryDashboard | None
    events_kept_days: EventsKeptDays | None
    former_api_tokens: Annotated[
        list[FormerTokenBody], Meta(description="Replaced keys that are still valid.")
    ]


class ProjectsApi(Controller):
    path = "/api/projects"
    tags = ("Projects",)
    opt = scoped("project")

    @get("/", summary="List projects")
    async def projects(
        self, request: ManagementRequest, projects: NamedDependency[Projects]
    ) -> Paged[ProjectBody]:
        """Return the projects of all organizations of the caller, oldest first."""
        page = request.page
        rows, count = await projects.page(request.principal, page.limit, page.offset)
        now = request.app.state.now()
        return page.with_results([project_body(project, now) for project in rows], count)

    @post("/", summary="Create a project")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewProject],
        projects: NamedDependency[Projects],
    ) -> ProjectBody:
        """Create a project in the organization of the caller's current project.

        The project's token is valid at once.
        """
        organization = await projects.organization(request.principal)
        request.principal.require_level(organization.id, Level.ADMIN)
        _require_timezone(data.timezone)
        now, user = request.app.state.now(), request.principal.user
        project = await projects.create_project(
            organization.id, data.name, data.timezone, now, user.id
        )
        return project_body(project, now)

    @get("/{project_id:str}", summary="Retrieve a project")
    async def project(self, request: ManagementRequest) -> ProjectBody:
        """Return a project. `@current` is the current project of the caller."""
        return project_body(request.project, request.app.state.now())

    @patch("/{project_id:str}", summary="Update a project")
    async def change(
        self,
        request: ManagementRequest,
        data: RequestBody[ProjectChanges],
        projects: NamedDependency[Projects],
    ) -> ProjectBody:
        """Update the given fields, and within `ingestion` only the given settings.

        Requires an administrator, or for `primary_dashboard` alone a member. Events older than
        `events_kept_days` are deleted within an hour, by whole months; `old_events` counts them.
        """
        changes = given_fields(data)
        level = Level.MEMBER if changes and changes.keys() <= _OF_MEMBERS else Level.ADMIN
        request.principal.require_level(request.project.organization_id, level)
        if isinstance(data.ingestion, IngestionChanges):
            changes["ingestion"] = _ingestion_changes(data.ingestion)
        if "timezone" in changes:
            _require_timezone(changes["timezone"])
        check_account_filters(changes.get("test_account_filters", ()))
        check_path_cleaning(changes.get("path_cleaning_filters", ()))
        now, user = request.app.state.now(), request.principal.user
        return project_body(
            await projects.change_project(request.project.id, changes, now, user.id), now
        )

    @get("/{project_id:str}/contents", summary="Count what a project holds")
    async def contents(
        self, request: ManagementRequest, deletions: NamedDependency[ProjectDeletions]
    ) -> ProjectContents:
        """Return the counts of what is deleted with a project."""
        return await deletions.count_contents(request.project.id)

    @get("/{project_id:str}/old_events", summary="Count old events")
    async def old_events(
        self,
        request: ManagementRequest,
        retention: NamedDependency[EventRetention],
        events_kept_days: FromQuery[int | None] = None,
    ) -> OldEvents:
        """Return what is deleted if events are kept for `events_kept_days`.

        Without it, the project's own setting counts.
        """
        own = request.project.events_kept_days
        days = own if events_kept_days is None else events_kept_days
        kept = read_struct(EventsKept, {} if days is None else {"events_kept_days": days})
        now = request.app.state.now()
        return await retention.old_events(request.project.id, kept.events_kept_days, now)

    @delete("/{project_id:str}", status_code=202, summary="Delete a project", **FRESH)
    async def delete_project(
        self, request: ManagementRequest, deletions: NamedDependency[ProjectDeletions]
    ) -> DeletedProject:
        """Delete a project permanently, with everything in it. Requires an administrator.

        The project is gone when this is answered, and its keys are refused. What it held is deleted
        in the background, also after a restart. The only project of an organization cannot be
        deleted: `last_project`.
        """
        project = request.project
        request.principal.require_level(project.organization_id, Level.ADMIN)
        contents = await deletions.delete_project(request.author)
        return DeletedProject(id=project.id, name=project.name, deleted=contents)

    @patch("/{project_id:str}/reset_token", summary="Rotate the project API key", **FRESH)
    async def reset_token(
        self,
        request: ManagementRequest,
        data: RequestBody[TokenReset],
        projects: NamedDependency[Projects],
    ) -> ProjectBody:
        """Replace the project API key. Requires an administrator of the organization.

        The former key stays valid for a day, or for `former_valid_s`.
        """
        request.principal.require_level(request.project.organization_id, Level.ADMIN)
        now, user = request.app.state.now(), request.principal.user
        changed = await projects.reset_token(request.project.id, data.former_valid_s, now, user.id)
        return project_body(changed, now)


@cache
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones())


def _require_timezone(name: str) -> None:
    if name not in _timezones():
        raise no_choice(name, _timezones(), "timezone")


def _ingestion_changes(changes: IngestionChanges) -> dict[str, Any]:
    given = given_fields(changes)
    for name, value in given.items():
        if isinstance(value, list) and len(value) > WORDS_MAX:
            raise Invalid(
                f"Ensure this field has no more than {WORDS_MAX} elements.",
                code="max_length",
                attr=f"ingestion__{name}",
            )
    return given


def project_body(project: Project, now: datetime) -> ProjectBody:
    return ProjectBody(
        id=project.id,
        uuid=project.uuid,
        name=project.name,
        api_token=project.api_token,
        former_api_tokens=[
            FormerTokenBody(api_token=entry.token, valid_until=entry.valid_until)
            for entry in project.former_tokens
            if entry.valid_until > now
        ],
        created_at=project.created_at,
        timezone=project.timezone,
        organization=project.organization_id,
        ingestion=msgspec.convert(project.ingestion, IngestionBody, from_attributes=True),
        test_account_filters=[dict(entry) for entry in project.test_account_filters],
        week_start_day=project.week_start_day,
        path_cleaning_filters=[dict(entry) for entry in project.path_cleaning_filters],
        primary_dashboard=project.primary_dashboard,
        events_kept_days=project.events_kept_days,
    )
