"""The caller's organizations over HTTP, and settings for access to resources.

Source: flags.md, section 16.
"""

from typing import Annotated, ClassVar, Literal
from uuid import UUID

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.projects.model import LEVELS, Organization
from fanion.projects.organizations.model import AccessLevel, ResourceAccess
from fanion.projects.organizations.service import OrganizationService
from fanion.projects.request_api import FRESH, ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_RESOURCE_ACCESS,
)
from fanion.rest.validation import given_fields

NAME_CHARS_MAX = 200  # as of a project
# With fewer days, traces of what an administrator does could be removed too soon.
ACTIVITY_KEPT_DAYS_MIN, ACTIVITY_KEPT_DAYS_MAX = 30, 36_500

OrganizationName = Annotated[
    str, Meta(description="An organization's id, or `@current` for the caller's own.")
]
Access = Annotated[Literal[21, 37], Meta(description="21: only view; 37: edit.")]


KeptDays = Annotated[
    int,
    Meta(
        ge=ACTIVITY_KEPT_DAYS_MIN,
        le=ACTIVITY_KEPT_DAYS_MAX,
        description="How many days entries of the activity log are kept; null for ever.",
    ),
]


class OrganizationChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)] | UnsetType = UNSET
    enforce_2fa: Annotated[
        bool | UnsetType,
        Meta(description="Whether members who sign in with a password need a second factor."),
    ] = UNSET
    activity_kept_days: KeptDays | UnsetType | None = UNSET


class OrganizationSummary(Struct, kw_only=True):
    id: UUID
    name: str
    membership_level: Annotated[int, Meta(description=LEVELS)]
    enforce_2fa: Annotated[bool, Meta(description="Whether members need a second factor.")]
    activity_kept_days: KeptDays | None


class ResourceAccessCreation(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_RESOURCE_ACCESS

    resource: Literal["feature flags"]
    access_level: Access


class ResourceAccessChange(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_RESOURCE_ACCESS

    resource: Literal["feature flags"] | UnsetType = UNSET
    access_level: Access


class OrganizationsApi(Controller):
    path = "/api/organizations/{organization:str}"
    tags = ("Organizations",)
    opt = scoped("organization")

    @get("/", summary="Retrieve an organization")
    async def organization(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        organizations: NamedDependency[OrganizationService],
    ) -> OrganizationSummary:
        return _organization_summary(
            await organizations.find_organization(request.principal, organization), request
        )

    @patch("/", summary="Update an organization", **FRESH)
    async def change(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        data: RequestBody[OrganizationChanges],
        organizations: NamedDependency[OrganizationService],
    ) -> OrganizationSummary:
        """Update an organization. Requires an administrator.

        With `enforce_2fa`, members who sign in with a password and have no second factor can only
        set one up, until they have it. The caller needs one first: `own_second_factor_missing`.
        Personal API keys stay valid, and users who sign in by
        OpenID Connect use the factors of the provider.

        Entries of the activity log older than `activity_kept_days` are deleted within an hour, in
        all projects of the organization.
        """
        resolved = await organizations.find_administered(request.principal, organization)
        if changes := given_fields(data):
            by = request.author_in(resolved)
            resolved = await organizations.change_organization(by, changes)
        return _organization_summary(resolved, request)

    @get("/resource_access", summary="List the default access levels of an organization")
    async def settings(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        organizations: NamedDependency[OrganizationService],
    ) -> Paged[ResourceAccess]:
        """Return one entry for each resource. Without an entry, all members may edit."""
        page = request.page
        resolved = await organizations.find_organization(request.principal, organization)
        settings = await organizations.store.all_settings(resolved.id)
        part = settings[page.offset : page.offset + page.limit]
        return page.with_results(list(part), len(settings))

    @post("/resource_access", summary="Set a default access level")
    async def add_setting(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        data: RequestBody[ResourceAccessCreation],
        organizations: NamedDependency[OrganizationService],
    ) -> ResourceAccess:
        """Set the default access level of a resource. Requires an administrator.

        With 21, members may edit their own flags, and others only through a role.
        """
        resolved = await organizations.find_administered(request.principal, organization)
        by = request.author_in(resolved)
        return await organizations.create_setting(by, data.access_level)

    @get("/resource_access/{setting_id:str}", summary="Retrieve a default access level")
    async def setting(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        setting_id: FromPath[ObjectId],
        organizations: NamedDependency[OrganizationService],
    ) -> ResourceAccess:
        resolved = await organizations.find_organization(request.principal, organization)
        return await organizations.store.get_setting(resolved.id, setting_id)

    @patch("/resource_access/{setting_id:str}", summary="Update a default access level")
    async def change_setting(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        setting_id: FromPath[ObjectId],
        data: RequestBody[ResourceAccessChange],
        organizations: NamedDependency[OrganizationService],
    ) -> ResourceAccess:
        """Update a default access level. Requires an administrator.

        To set 37, a key with scopes also needs `feature_flag:write`.
        """
        resolved = await organizations.find_administered(request.principal, organization)
        if data.access_level == int(AccessLevel.EDIT):
            request.principal.require_may_let_edit_flags()
        by = request.author_in(resolved)
        return await organizations.change_setting(by, setting_id, data.access_level)

    @delete("/resource_access/{setting_id:str}", summary="Remove a default access level")
    async def remove_setting(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        setting_id: FromPath[ObjectId],
        organizations: NamedDependency[OrganizationService],
    ) -> None:
        """Remove a default access level, so that all members may edit. Requires an administrator.

        A key with scopes also needs `feature_flag:write`.
        """
        resolved = await organizations.find_administered(request.principal, organization)
        request.principal.require_may_let_edit_flags()
        await organizations.remove_setting(request.author_in(resolved), setting_id)


def _organization_summary(
    organization: Organization, request: ManagementRequest
) -> OrganizationSummary:
    return OrganizationSummary(
        id=organization.id,
        name=organization.name,
        membership_level=request.principal.levels[organization.id],
        enforce_2fa=organization.enforce_2fa,
        activity_kept_days=organization.activity_kept_days,
    )
