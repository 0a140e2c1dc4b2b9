"""Accepting an invite, over HTTP.

A GET never uses up the link, because mail scanners and previews fetch links.

Source: PostHog's `/api/signup/{invite_id}/`.
"""

from datetime import datetime
from typing import Annotated, Any, Protocol, runtime_checkable
from uuid import UUID

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.accounts.passwords.rules import PASSWORD_CHARS_MIN
from fanion.accounts.sessions.access import OPEN
from fanion.accounts.sign_in.api import SignedIn, begin_session, finish_first_factor
from fanion.accounts.signup_service import Signup
from fanion.errors import AppError, Invalid
from fanion.projects.invites.model import OpenInvite, masked_email
from fanion.projects.model import FIRST_NAME_CHARS_MAX, LEVELS
from fanion.projects.request_api import ManagementRequest
from fanion.rest.endpoints import response_media_type


@runtime_checkable  # the framework checks the type of what it injects
class InvitePages(Protocol):
    """HTML for browsers that open a link on a server without a console."""

    def is_wanted(self, accept: str) -> bool: ...

    def form(
        self, open_invite: OpenInvite, first_name: str, problem: str, status: int
    ) -> Response[Any]:
        """Return the page that asks for name and password.

        Args:
            first_name: The name in the form, from the invite or as it was sent.
            problem: What is wrong with the values that were sent; "" for none.
        """

    def signed_in(self, open_invite: OpenInvite, email: str, base_url: str) -> Response[Any]:
        """Return the page for a user who is signed in already.

        Args:
            email: The address of the user who is signed in.
        """

    def refusal(self, error: AppError, base_url: str) -> Response[Any]: ...

    def done(self, response: Response[Any], base_url: str) -> Response[Any]:
        """Return a page that leads on, with the headers of the response that begins a session."""


class SignupRequest(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fields of a new account. A user who is signed in needs neither."""

    first_name: Annotated[str, Meta(min_length=1, max_length=FIRST_NAME_CHARS_MAX)] | UnsetType = (
        UNSET
    )
    password: (
        Annotated[str, Meta(description=f"{PASSWORD_CHARS_MIN} characters or more.")] | UnsetType
    ) = UNSET


class InviteShown(Struct, kw_only=True):
    id: UUID
    target_email: Annotated[str, Meta(description="Partly hidden.")]
    first_name: str
    organization_name: str
    level: Annotated[int, Meta(description=LEVELS)]
    expires_at: datetime


class SignupApi(Controller):
    path = "/api/signup/{token:str}"
    tags = ("Sign-in",)

    @get(
        "/",
        summary="Read an invite",
        session_if_any=True,
        **OPEN,
        operation_class=response_media_type("text/html"),
    )
    async def invite(
        self,
        request: ManagementRequest,
        token: FromPath[str],
        signup: NamedDependency[Signup],
        invite_pages: NamedDependency[InvitePages],
    ) -> Response[InviteShown]:
        """Return the invite of the link's token. The link stays usable.

        The response is 400 `invalid_invite` for an invite that was used or deleted, or whose author
        may not invite any more, and 400 `expired` for an expired one.
        """
        wants_page = invite_pages.is_wanted(request.headers.get("accept", ""))
        try:
            open_invite = await signup.find(token, request.caller)
        except AppError as error:
            if not wants_page:
                raise
            return invite_pages.refusal(error, request.origin)
        if not wants_page:
            return Response(_invite_response(open_invite), headers={"cache-control": "no-store"})
        if request.signed_in_as is not None:
            email = request.signed_in_as.user.email
            return invite_pages.signed_in(open_invite, email, request.origin)
        return invite_pages.form(open_invite, open_invite.invite.first_name, "", 200)

    @post("/", summary="Accept an invite", session_if_any=True, **OPEN)
    async def accept(
        self,
        request: ManagementRequest,
        token: FromPath[str],
        data: RequestBody[SignupRequest],
        signup: NamedDependency[Signup],
        invite_pages: NamedDependency[InvitePages],
    ) -> Response[SignedIn]:
        """Accept an invite and set the cookie of a new session. The link cannot be used again.

        Without a session, an account is created for the invited address. With a session, which
        needs a fresh sign-in, its user joins if the invite is for that user's address.
        """
        wants_page = invite_pages.is_wanted(request.headers.get("accept", ""))
        try:
            response = await _accept_invite(request, token, data, signup)
        except AppError as error:
            if not wants_page:
                raise
            if error.attr is None:
                return invite_pages.refusal(error, request.origin)
            open_invite = await signup.find(token, request.caller)
            sent = "" if data.first_name is UNSET else data.first_name
            return invite_pages.form(open_invite, sent, error.detail, error.status)
        return invite_pages.done(response, request.origin) if wants_page else response


async def _accept_invite(
    request: ManagementRequest, token: str, data: SignupRequest, signup: Signup
) -> Response[SignedIn]:
    principal = request.signed_in_as
    if principal is not None:
        await signup.join(token, principal, request.caller)
        return await begin_session(request, signup.sign_in, principal.user.id, "link")
    first_name, password = _required_fields(data)
    account = await signup.create_account(token, first_name, password, request.caller)
    return await finish_first_factor(
        request, signup.sign_in, account.user_id, "link", account.password_hash
    )


def _required_fields(data: SignupRequest) -> tuple[str, str]:
    for name in ("first_name", "password"):
        if getattr(data, name) is UNSET:
            raise Invalid("This field is required.", code="required", attr=name)
    assert isinstance(data.first_name, str)
    assert isinstance(data.password, str)
    return data.first_name, data.password


def _invite_response(open_invite: OpenInvite) -> InviteShown:
    return InviteShown(
        id=open_invite.invite.id,
        target_email=masked_email(open_invite.invite.target_email),
        first_name=open_invite.invite.first_name,
        organization_name=open_invite.organization.name,
        level=open_invite.invite.level,
        expires_at=open_invite.invite.expires_at,
    )
