"""Invites to an organization over HTTP: links that are shown once, to be copied.

Source: PostHog's `/api/organizations/{id}/invites/`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIType, Schema
from litestar.params import FromPath, RequestBody
from msgspec import Meta, Struct

from fanion.errors import Invalid
from fanion.projects.invites.mail import InviteLink, MailSender, send_invite
from fanion.projects.invites.model import (
    INVITE_ROLES_MAX,
    INVITES_AT_ONCE_MAX,
    MESSAGE_CHARS_MAX,
    SIGNUP_PATH,
    Invite,
    NewInvite,
)
from fanion.projects.invites.store import InviteStore
from fanion.projects.model import (
    EMAIL_CHARS_MAX,
    FIRST_NAME_CHARS_MAX,
    LEVELS,
    Level,
    Organization,
    UserSummary,
    read_email,
)
from fanion.projects.organizations.api import LevelNumber, OrganizationName, Organizations
from fanion.projects.request_api import FRESH, ManagementRequest, scoped
from fanion.rest.endpoints import request_media_type
from fanion.rest.pagination import Paged
from fanion.rest.posthog_fields import MAINTAINED_OF_INVITE, UNSUPPORTED_OF_INVITE
from fanion.rest.validation import read_struct

_LIST = Schema(
    type=OpenAPIType.ARRAY,
    items=Schema(type=OpenAPIType.OBJECT, description="The fields of one invite."),
    max_items=INVITES_AT_ONCE_MAX,
)


@dataclass(frozen=True, slots=True)
class Invites:
    """The invites to organizations, and the way to mail them.

    Attributes:
        send_mail: None if the server sends no mails.
        mail_url: The base URL of links in mails, which never comes from the request.
    """

    store: InviteStore
    send_mail: MailSender | None = None
    mail_url: str = ""


class InviteRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_INVITE
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_INVITE

    target_email: Annotated[str, Meta(min_length=1, max_length=EMAIL_CHARS_MAX)]
    first_name: Annotated[str, Meta(max_length=FIRST_NAME_CHARS_MAX)] = ""
    level: LevelNumber = 1
    message: (
        Annotated[str, Meta(max_length=MESSAGE_CHARS_MAX, description="Quoted in the mail.")] | None
    ) = None
    roles: Annotated[
        list[UUID], Meta(max_length=INVITE_ROLES_MAX, description="Roles that the person gets.")
    ] = []
    send_email: Annotated[
        bool, Meta(description="Whether to mail the link, if the server sends mail.")
    ] = True


class InviteBody(Struct, kw_only=True):
    id: UUID
    target_email: str
    first_name: str
    level: Annotated[int, Meta(description=LEVELS)]
    message: str
    roles: list[UUID]
    emailing_attempt_made: bool
    is_expired: bool
    created_by: UserSummary
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    link: Annotated[
        str | None,
        Meta(description="Works once. Only in the response to the creation."),
    ]


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
        organizations: NamedDependency[Organizations],
        invites: NamedDependency[Invites],
    ) -> Paged[InviteBody]:
        """Return the invites that were not accepted, newest first."""
        page = request.page
        resolved = await organizations.find_organization(request.principal, organization)
        rows, count = await invites.store.page(resolved.id, page.limit, page.offset)
        now = request.app.state.now()
        return page.with_results([_invite_body(invite, now) for invite in rows], count)

    @post("/", summary="Invite a user", **FRESH)
    async def create(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        data: RequestBody[InviteRequest],
        organizations: NamedDependency[Organizations],
        invites: NamedDependency[Invites],
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
        organizations: NamedDependency[Organizations],
        invites: NamedDependency[Invites],
    ) -> list[InviteBody]:
        """Create all invites of the list in the body, at most 20, or none."""
        resolved = await organizations.find_administered(request.principal, organization)
        body = await request.values()
        invite_requests = _read_list(body.values, form=body.form)
        return await _create_invites(request, invites, resolved, invite_requests, is_list=True)

    @delete("/{invite_id:str}", summary="Delete an invite", **FRESH)
    async def remove(
        self,
        request: ManagementRequest,
        organization: FromPath[OrganizationName],
        invite_id: FromPath[UUID],
        organizations: NamedDependency[Organizations],
        invites: NamedDependency[Invites],
    ) -> None:
        """Delete an invite. Its link no longer works."""
        resolved = await organizations.find_administered(request.principal, organization)
        user, now = request.principal.user, request.app.state.now()
        await invites.store.remove_invite(resolved.id, invite_id, user.id, now)


def _read_list(values: object, *, form: bool) -> list[InviteRequest]:
    """Parse a list of invites.

    Raises:
        Invalid: Its `attr` begins with the position in the list.
    """
    if form or not isinstance(values, list):
        kind = "form" if form else type(values).__name__
        raise Invalid(f'Expected a list of items but got type "{kind}".', code="not_a_list")
    if len(values) > INVITES_AT_ONCE_MAX:
        raise Invalid(
            f"A maximum of {INVITES_AT_ONCE_MAX} invites can be sent in a single request.",
            code="max_length",
        )
    return [_read_invite(value, position) for position, value in enumerate(values)]


def _read_invite(value: object, position: int) -> InviteRequest:
    try:
        return read_struct(InviteRequest, value)
    except Invalid as problem:
        attr = f"{position}__{problem.attr}" if problem.attr else str(position)
        raise Invalid(problem.detail, code=problem.code, attr=attr) from None


async def _create_invites(
    request: ManagementRequest,
    invites: Invites,
    organization: Organization,
    invite_requests: Sequence[InviteRequest],
    *,
    is_list: bool,
) -> list[InviteBody]:
    request.principal.require_may_give_access()
    new = [
        _new_invite(sent, f"{position}__" if is_list else "")
        for position, sent in enumerate(invite_requests)
    ]
    _require_different_addresses(new)
    user, now = request.principal.user, request.app.state.now()
    created = await invites.store.create_invites(organization.id, user.id, new, now)
    links = [
        InviteLink(invite, organization.name, f"{invites.mail_url}{SIGNUP_PATH}{token}/")
        for invite, token in created
    ]
    mailed = await _send_mails(invites, links, [sent.send_email for sent in invite_requests])
    return [
        _invite_body(
            invite, now, f"{request.origin}{SIGNUP_PATH}{token}/", is_mailed=invite.id in mailed
        )
        for invite, token in created
    ]


def _new_invite(sent: InviteRequest, at: str) -> NewInvite:
    try:
        email = read_email(sent.target_email)
    except ValueError:
        raise Invalid("Enter a valid email address.", attr=f"{at}target_email") from None
    if len(sent.roles) > INVITE_ROLES_MAX:
        raise Invalid(
            f"Ensure this field has no more than {INVITE_ROLES_MAX} elements.",
            code="max_length",
            attr=f"{at}roles",
        )
    return NewInvite(
        target_email=email,
        level=Level(sent.level),
        first_name=sent.first_name,
        message=sent.message or "",
        roles=tuple(sent.roles),
        at=at,
    )


def _require_different_addresses(new: Sequence[NewInvite]) -> None:
    """Raise Invalid if two invites have the same address."""
    known = set()
    for invite in new:
        if invite.target_email in known:
            raise Invalid(
                "This e-mail address is in the list twice.",
                code="unique",
                attr=f"{invite.at}target_email",
            )
        known.add(invite.target_email)


async def _send_mails(
    invites: Invites, links: Sequence[InviteLink], is_requested: Sequence[bool]
) -> set[UUID]:
    """Send the mails of the invites, and return the ids of those that are going to be sent."""
    send = invites.send_mail
    if send is None:
        return set()
    mailed = {
        link.invite.id
        for link, should_send in zip(links, is_requested, strict=True)
        if should_send and send_invite(send, link)
    }
    if mailed:
        await invites.store.note_mailed(list(mailed))
    return mailed


def _invite_body(
    invite: Invite, now: datetime, link: str | None = None, *, is_mailed: bool = False
) -> InviteBody:
    return InviteBody(
        id=invite.id,
        target_email=invite.target_email,
        first_name=invite.first_name,
        level=invite.level,
        message=invite.message,
        roles=list(invite.roles),
        emailing_attempt_made=invite.emailing_attempt_made or is_mailed,
        is_expired=invite.has_expired(now),
        created_by=invite.created_by,
        created_at=invite.created_at,
        updated_at=invite.created_at,
        expires_at=invite.expires_at,
        link=link,
    )
