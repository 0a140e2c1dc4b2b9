"""Links that set a password, and requests for one, over HTTP.

A GET never uses up a link, because mail scanners and previews fetch links.

Source: PostHog's `/api/reset/`.
"""

from typing import Annotated, Any, Protocol, runtime_checkable

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import Meta, Struct

from fanion.accounts.model import Purpose
from fanion.accounts.password_links.reset_worker import PasswordResets
from fanion.accounts.password_links.service import PasswordLinks
from fanion.accounts.passwords.rules import PASSWORD_CHARS_MIN
from fanion.accounts.sessions.access import OPEN
from fanion.accounts.sign_in.api import SignedIn, finish_first_factor
from fanion.accounts.sign_in.service import PasswordsOff, SignIn
from fanion.errors import AppError, Invalid
from fanion.projects.model import EMAIL_CHARS_MAX, read_email
from fanion.projects.request_api import ManagementRequest
from fanion.rest.endpoints import response_media_type

HTML = "text/html"


@runtime_checkable  # the framework checks the type of what it injects
class LinkPages(Protocol):
    """HTML for browsers that open a link on a server without a console."""

    def is_wanted(self, accept: str) -> bool: ...

    def form(self, email: str, problem: str, status: int) -> Response[Any]:
        """Return the page that asks for a new password.

        Args:
            problem: What is wrong with the password that was sent; "" for none.
        """

    def refusal(self, error: AppError, base_url: str) -> Response[Any]: ...

    def unfinished(self, error: AppError, base_url: str) -> Response[Any]:
        """Return the page for a password that is set, when signing in needs more than the link."""

    def done(self, response: Response[Any], base_url: str) -> Response[Any]:
        """Return a page that leads on, with the headers of the response that begins a session."""


class ResetRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    email: Annotated[str, Meta(min_length=1, max_length=EMAIL_CHARS_MAX)]


class NewPassword(Struct, kw_only=True, forbid_unknown_fields=True):
    password: Annotated[
        str, Meta(description=f"{PASSWORD_CHARS_MIN} characters or more, and not a common one.")
    ]


class LinkBody(Struct, kw_only=True):
    email: Annotated[str, Meta(description="The address of the account whose password is set.")]


class ResetApi(Controller):
    path = "/api/reset"
    tags = ("Sign-in",)

    @post(
        "/", summary="Request a link for a new password", status_code=204, opt=OPEN, security=[{}]
    )
    async def ask(
        self,
        request: ManagementRequest,
        data: RequestBody[ResetRequest],
        sign_in: NamedDependency[SignIn],
        password_resets: NamedDependency[PasswordResets],
    ) -> Response[None]:
        """Mail a link for a new password within a minute, if there is such an account.

        The response is the same if there is no account. The link works once, for an hour. The
        response is 400 `email_not_available` if the server sends no mail: then the operator can
        create a link.
        """
        if not sign_in.options.password:
            raise PasswordsOff
        try:
            email = read_email(data.email)
        except ValueError:
            raise Invalid("Enter a valid email address.", attr="email") from None
        password_resets.ask(email, request.remote_client)
        return Response(None, headers={"cache-control": "no-store"})

    @get(
        "/{token:str}",
        summary="Check a link for a new password",
        **OPEN,
        operation_class=response_media_type(HTML),
    )
    async def link(
        self,
        request: ManagementRequest,
        token: FromPath[str],
        password_links: NamedDependency[PasswordLinks],
        link_pages: NamedDependency[LinkPages],
    ) -> Response[LinkBody]:
        """Return the account of the link, which can still be used afterwards.

        The response is 400 `invalid_token` for a link that was used or has expired.
        """
        return await _show_link(request, token, Purpose.RESET, password_links, link_pages)

    @post(
        "/{token:str}",
        summary="Set a new password with a link",
        status_code=200,
        **OPEN,
    )
    async def use(
        self,
        request: ManagementRequest,
        token: FromPath[str],
        data: RequestBody[NewPassword],
        password_links: NamedDependency[PasswordLinks],
        link_pages: NamedDependency[LinkPages],
    ) -> Response[SignedIn]:
        """Set a new password, end all sessions of the account, and set the cookie of a new one.

        The link cannot be used again.
        """
        password = data.password
        return await _use_link(request, token, Purpose.RESET, password, password_links, link_pages)


class SignInLinksApi(Controller):
    path = "/api/sign_in_links/{token:str}"
    tags = ("Sign-in",)

    @get(
        "/",
        summary="Check the link of the first start",
        **OPEN,
        operation_class=response_media_type(HTML),
    )
    async def link(
        self,
        request: ManagementRequest,
        token: FromPath[str],
        password_links: NamedDependency[PasswordLinks],
        link_pages: NamedDependency[LinkPages],
    ) -> Response[LinkBody]:
        """Return the account of the link, which can still be used afterwards.

        The response is 400 `invalid_token` for a link that was used or has expired.
        """
        return await _show_link(request, token, Purpose.FIRST_START, password_links, link_pages)

    @post(
        "/",
        summary="Sign in with the link of the first start",
        status_code=200,
        **OPEN,
    )
    async def use(
        self,
        request: ManagementRequest,
        token: FromPath[str],
        data: RequestBody[NewPassword],
        password_links: NamedDependency[PasswordLinks],
        link_pages: NamedDependency[LinkPages],
    ) -> Response[SignedIn]:
        """Set the password of the first owner, once, and set the cookie of a new session."""
        password = data.password
        return await _use_link(
            request, token, Purpose.FIRST_START, password, password_links, link_pages
        )


async def _show_link(
    request: ManagementRequest, token: str, purpose: Purpose, links: PasswordLinks, pages: LinkPages
) -> Response[LinkBody]:
    wants_page = pages.is_wanted(request.headers.get("accept", ""))
    try:
        account = await links.account(token, purpose, request.caller)
    except AppError as error:
        if not wants_page:
            raise
        return pages.refusal(error, request.origin)
    if wants_page:
        return pages.form(account.email, "", 200)
    return Response(LinkBody(email=account.email), headers={"cache-control": "no-store"})


async def _use_link(
    request: ManagementRequest,
    token: str,
    purpose: Purpose,
    password: str,
    links: PasswordLinks,
    pages: LinkPages,
) -> Response[SignedIn]:
    wants_page = pages.is_wanted(request.headers.get("accept", ""))
    caller, address = request.caller, request.client_address
    try:
        account = await links.set_password(token, purpose, password, caller, address)
    except AppError as error:
        if not wants_page:
            raise
        if error.attr != "password":
            return pages.refusal(error, request.origin)
        account = await links.account(token, purpose, caller)
        return pages.form(account.email, error.detail, error.status)
    try:
        sign_in, hashed = links.own_accounts.sign_in, account.password_hash
        response = await finish_first_factor(request, sign_in, account.user_id, "link", hashed)
    except AppError as error:
        if not wants_page:
            raise
        return pages.unfinished(error, request.origin)
    return pages.done(response, request.origin) if wants_page else response
