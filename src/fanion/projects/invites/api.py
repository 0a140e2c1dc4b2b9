"""Invites to an organization over HTTP: links that are shown once, to be copied.

Source: PostHog's `/api/organizations/{id}/invites/`.
"""

from collections.abc import Sequence
from uuid import UUID

from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIType, Reference, Schema
from litestar.params import FromPath, RequestBody

from fanion.projects.invites.model import INVITES_AT_ONCE_MAX, SIGNUP_PATH
from fanion.projects.invites.schemas import (
    InviteBody,
    InviteRequest,
    invite_body,
    new_invites,
    read_list,
)
from fanion.projects.invites.service import InviteService
from fanion.projects.model import Organization
from fanion.projects.organizations.api import OrganizationName
from fanion.projects.organizations.service import OrganizationService
from fanion.projects.request_api import FRESH, ManagementRequest, scoped
from fanion.rest.endpoints import request_media_type
from fanion.rest.pagination import Paged

_LIST = Schema(
    type=OpenAPIType.ARRAY,
    items=Reference(ref="#/components/schemas/InviteRequest"),
    max_items=INVITES_AT_ONCE_MAX,
)


class InvitesApi(Controller):
    """Invite endpoints. All members may read, only administrators may create and delete."""

    path = "/api/organizations/{organization:str}/invites"
    tags = ("Organizations",)
    opt = scoped("organization")

    @get("/", summary="List invites")
    async def invites(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        organizations: NamedDependency[OrganizationService],
        invites: NamedDependency[InviteService],
    ) -> Paged[InviteBody]:
        """Return the invites that were not accepted, newest first."""
        page = request.page
        resolved = await organizations.find_organization(request.principal, organization)
        rows, count = await invites.store.list_invites(resolved.id, page.limit, page.offset)
        now = request.app.state.now()
        return page.with_results([invite_body(invite, now) for invite in rows], count)

    @post("/", summary="Invite a user", **FRESH)
    async def create(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        data: RequestBody[InviteRequest],
        organizations: NamedDependency[OrganizationService],
        invites: NamedDependency[InviteService],
    ) -> InviteBody:
        """Create an invite. `link` joins the organization, once and within seven days.

        The link is not shown again. A former invite to the same address ends. No user gives a
        higher level than their own, and no key with scopes or an expiry invites: the new user could
        do more than the key.
        """
        resolved = await organizations.find_administered(request.principal, organization)
        [invite] = await _create_invites(request, invites, resolved, [data], is_list=False)
        return invite

    @post(
        "/bulk",
        summary="Invite several people",
        **FRESH,
        reads_body=True,
        operation_class=request_media_type("application/json", _LIST),
    )
    async def create_several(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        organizations: NamedDependency[OrganizationService],
        invites: NamedDependency[InviteService],
    ) -> list[InviteBody]:
        """Create all invites of the list in the body, at most 20, or none."""
        resolved = await organizations.find_administered(request.principal, organization)
        body = await request.values()
        invite_requests = read_list(body.values, form=body.form)
        return await _create_invites(request, invites, resolved, invite_requests, is_list=True)

    @delete("/{invite_id:str}", summary="Delete an invite", **FRESH)
    async def remove(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        invite_id: FromPath[UUID],
        organizations: NamedDependency[OrganizationService],
        invites: NamedDependency[InviteService],
    ) -> None:
        """Delete an invite. Its link no longer works."""
        resolved = await organizations.find_administered(request.principal, organization)
        await invites.remove_invite(request.author_in(resolved), invite_id)


async def _create_invites(
    request: ManagementRequest,
    invites: InviteService,
    organization: Organization,
    invite_requests: Sequence[InviteRequest],
    *,
    is_list: bool,
) -> list[InviteBody]:
    request.principal.require_may_give_access()
    new, by = new_invites(invite_requests, is_list=is_list), request.author_in(organization)
    created = await invites.create_invites(by, organization, new)
    return [
        invite_body(invite, by.now, f"{request.origin}{SIGNUP_PATH}{token}/")
        for invite, token in created
    ]
