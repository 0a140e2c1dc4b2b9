"""Roles of an organization and their members, over HTTP.

Source: flags.md, section 16.
"""

from typing import Annotated, ClassVar
from uuid import UUID

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.db.schema.organizations import ROLE_NAME_CHARS_MAX
from fanion.errors import NotFound
from fanion.projects.organizations.api import Access, OrganizationName
from fanion.projects.organizations.model import AccessLevel
from fanion.projects.organizations.service import OrganizationService
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.projects.roles.model import Role, RoleMember
from fanion.projects.roles.service import RoleService
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_ROLE,
    MAINTAINED_OF_ROLE_MEMBER,
)
from fanion.rest.validation import given_fields

RoleName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=ROLE_NAME_CHARS_MAX,
        description="Unique in the organization, in any case.",
    ),
]


class RoleCreation(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_ROLE

    name: RoleName
    feature_flags_access_level: Access | UnsetType = UNSET


class RoleChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_ROLE

    name: RoleName | UnsetType = UNSET
    feature_flags_access_level: Access | UnsetType = UNSET


class RoleMemberCreation(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_ROLE_MEMBER

    user_uuid: Annotated[UUID, Meta(description="A user in the organization.")]


class RolesApi(Controller):
    """Role endpoints. All members of the organization may read, only administrators may write."""

    path = "/api/organizations/{organization:str}/roles"
    tags = ("Roles",)
    opt = scoped("organization")

    @get("/", summary="List roles")
    async def roles(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        organizations: NamedDependency[OrganizationService],
        roles: NamedDependency[RoleService],
    ) -> Paged[Role]:
        """Return the roles, ordered by name."""
        page = request.page
        resolved = await organizations.find_organization(request.principal, organization)
        rows, count = await roles.store.list_roles(resolved.id, page.limit, page.offset)
        return page.with_results(list(rows), count)

    @post("/", summary="Create a role")
    async def create(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        data: RequestBody[RoleCreation],
        organizations: NamedDependency[OrganizationService],
        roles: NamedDependency[RoleService],
    ) -> Role:
        """Create a role. Without an access level, it gets the organization's default."""
        resolved = await organizations.find_administered(request.principal, organization)
        level = data.feature_flags_access_level
        return await roles.create_role(
            request.author_in(resolved),
            data.name,
            None if isinstance(level, UnsetType) else AccessLevel(level),
        )

    @get("/{role_id:str}", summary="Retrieve a role")
    async def role(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        role_id: FromPath[UUID],
        organizations: NamedDependency[OrganizationService],
        roles: NamedDependency[RoleService],
    ) -> Role:
        resolved = await organizations.find_organization(request.principal, organization)
        return await roles.store.get_role(resolved.id, role_id)

    @patch("/{role_id:str}", summary="Update a role")
    async def change(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        role_id: FromPath[UUID],
        data: RequestBody[RoleChanges],
        organizations: NamedDependency[OrganizationService],
        roles: NamedDependency[RoleService],
    ) -> Role:
        """Update a role.

        To let its members edit all flags, a key with scopes also needs `feature_flag:write`.
        """
        resolved = await organizations.find_administered(request.principal, organization)
        if data.feature_flags_access_level == int(AccessLevel.EDIT):
            request.principal.require_may_let_edit_flags()
        return await roles.change_role(request.author_in(resolved), role_id, given_fields(data))

    @delete("/{role_id:str}", summary="Delete a role")
    async def remove(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        role_id: FromPath[UUID],
        organizations: NamedDependency[OrganizationService],
        roles: NamedDependency[RoleService],
    ) -> None:
        """Delete a role with its memberships and its permissions to edit flags."""
        resolved = await organizations.find_administered(request.principal, organization)
        await roles.remove_role(request.author_in(resolved), role_id)


class RoleMembershipsApi(Controller):
    path = "/api/organizations/{organization:str}/roles/{role_id:str}/role_memberships"
    tags = ("Roles",)
    opt = scoped("organization")

    @get("/", summary="List the members of a role")
    async def members(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        role_id: FromPath[UUID],
        organizations: NamedDependency[OrganizationService],
        roles: NamedDependency[RoleService],
    ) -> Paged[RoleMember]:
        """Return the members of the role, ordered by date of joining."""
        page = request.page
        resolved = await organizations.find_organization(request.principal, organization)
        members = (await roles.store.get_role(resolved.id, role_id)).members
        return page.with_results(members[page.offset : page.offset + page.limit], len(members))

    @post("/", summary="Add a member to a role")
    async def add(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        role_id: FromPath[UUID],
        data: RequestBody[RoleMemberCreation],
        organizations: NamedDependency[OrganizationService],
        roles: NamedDependency[RoleService],
    ) -> RoleMember:
        """Add a member to a role.

        A key with scopes also needs `feature_flag:write`, because the role may give that right.
        """
        resolved = await organizations.find_administered(request.principal, organization)
        request.principal.require_may_let_edit_flags()
        return await roles.add_member(request.author_in(resolved), role_id, data.user_uuid)

    @get("/{member_id:str}", summary="Retrieve a membership of a role")
    async def member(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        role_id: FromPath[UUID],
        member_id: FromPath[UUID],
        organizations: NamedDependency[OrganizationService],
        roles: NamedDependency[RoleService],
    ) -> RoleMember:
        resolved = await organizations.find_organization(request.principal, organization)
        for member in (await roles.store.get_role(resolved.id, role_id)).members:
            if member.id == member_id:
                return member
        raise NotFound

    @delete("/{member_id:str}", summary="Remove a member from a role")
    async def remove(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        role_id: FromPath[UUID],
        member_id: FromPath[UUID],
        organizations: NamedDependency[OrganizationService],
        roles: NamedDependency[RoleService],
    ) -> None:
        resolved = await organizations.find_administered(request.principal, organization)
        await roles.remove_member(request.author_in(resolved), role_id, member_id)
