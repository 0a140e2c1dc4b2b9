"""Members of an organization over HTTP."""

from typing import ClassVar
from uuid import UUID

from litestar import Controller, delete, get, patch
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import Struct

from fanion.projects.members.service import MemberService
from fanion.projects.model import Level
from fanion.projects.organizations.api import OrganizationName
from fanion.projects.organizations.model import LevelNumber, OrganizationMember
from fanion.projects.organizations.service import OrganizationService
from fanion.projects.request_api import FRESH, ManagementRequest, scoped
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import MAINTAINED_OF_ORGANIZATION_MEMBER


class MemberChanges(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_ORGANIZATION_MEMBER

    level: LevelNumber


class MembersApi(Controller):
    """Member endpoints. Administrators manage members below them, owners manage everyone."""

    path = "/api/organizations/{organization:str}/members"
    tags = ("Organizations",)
    opt = scoped("organization")

    @get("/", summary="List the members of an organization")
    async def members(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        organizations: NamedDependency[OrganizationService],
        organization_members: NamedDependency[MemberService],
    ) -> Paged[OrganizationMember]:
        """Return the members, ordered by date of joining."""
        page, store = request.page, organization_members.store
        resolved = await organizations.find_organization(request.principal, organization)
        rows, count = await store.list_members(resolved.id, page.limit, page.offset)
        return page.with_results(list(rows), count)

    @patch("/{user_uuid:str}", summary="Change the level of a member", **FRESH)
    async def change(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        user_uuid: FromPath[UUID],
        data: RequestBody[MemberChanges],
        organizations: NamedDependency[OrganizationService],
        organization_members: NamedDependency[MemberService],
    ) -> OrganizationMember:
        """Change the level of a member, whose sessions end.

        Administrators change members below them, and give no higher level than their own. No user
        changes their own level, and the last owner stays an owner. A key with scopes or an expiry
        can only lower levels.
        """
        resolved = await organizations.find_organization(request.principal, organization)
        changed = await organization_members.change_level(
            request.author_in(resolved),
            user_uuid,
            Level(data.level),
            may_raise=request.principal.may_give_access,
        )
        organizations.rights_changed(changed.user_id)
        return await organization_members.store.get_member(resolved.id, changed.user_id)

    @delete("/{user_uuid:str}", summary="Remove a member", own=True, **FRESH)
    async def remove(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        user_uuid: FromPath[UUID],
        organizations: NamedDependency[OrganizationService],
        organization_members: NamedDependency[MemberService],
    ) -> None:
        """Remove a member from the organization and its roles. The member's sessions end.

        With the last organization the member's keys are deleted. Administrators remove members
        below them; every member may leave, except the last owner.
        """
        resolved = await organizations.find_organization(request.principal, organization)
        member = await organization_members.dismiss(request.author_in(resolved), user_uuid)
        organizations.rights_changed(member.user_id)
