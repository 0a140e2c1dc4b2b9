"""Signing in and out, over HTTP.

Source: PostHog's `/api/login` and `/logout`.
"""

import secrets
from typing import Annotated, Any

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import RequestBody
from msgspec import Meta, Struct

from fanion.accounts.model import SESSION_BYTES, Device, Method, device
from fanion.accounts.passwords.rules import PASSWORD_CHARS_MAX
from fanion.accounts.second_factor.store import PENDING_LASTS
from fanion.accounts.security_events_store import SecurityActivity, by_owner, write_security_events
from fanion.accounts.sessions.access import (
    OF_SESSION,
    OPEN,
    SIGN_IN_BYTES_MAX,
    WITHOUT_SECOND_FACTOR,
)
from fanion.accounts.sessions.cookies import ShortCookie, clear_cookie, read_cookie, set_cookie
from fanion.accounts.sign_in.service import InvalidCredentials, SignIn
from fanion.errors import SecondFactorRequired
from fanion.projects.model import EMAIL_CHARS_MAX
from fanion.projects.request_api import ManagementRequest

# The cookie of a browser whose sign-in waits for a code.
PENDING = ShortCookie("second-factor", int(PENDING_LASTS.total_seconds()))


Password = Annotated[str, Meta(min_length=1, max_length=PASSWORD_CHARS_MAX)]


class Credentials(Struct, kw_only=True, forbid_unknown_fields=True):
    email: Annotated[str, Meta(min_length=1, max_length=EMAIL_CHARS_MAX)]
    password: Password


class Confirmation(Struct, kw_only=True, forbid_unknown_fields=True):
    password: Password


class SignedIn(Struct, kw_only=True):
    success: bool


class LoginApi(Controller):
    path = "/api"
    tags = ("Sign-in",)

    @post("/login", summary="Sign in", status_code=200, **OPEN)
    async def login(
        self,
        request: ManagementRequest,
        data: RequestBody[Credentials],
        sign_in: NamedDependency[SignIn],
    ) -> Response[SignedIn]:
        """Sign in with a password and set the session's cookie.

        If the account has a second factor, the response is 401 with the code `two_factor_required`,
        and the sign-in is completed with `/api/login/token/`. After several failures the account
        and the client's address have to wait between attempts: 429 with `Retry-After`.
        """
        client = request.remote_client
        account = await sign_in.check_password(
            data.email, data.password, client.address, client.claimed
        )
        return await finish_first_factor(
            request, sign_in, account.user_id, password=account.password_hash
        )

    @post(
        "/login/reauthenticate",
        summary="Confirm the password",
        status_code=200,
        body_bytes_max=SIGN_IN_BYTES_MAX,
        **OF_SESSION,
        **WITHOUT_SECOND_FACTOR,
    )
    async def reauthenticate(
        self,
        request: ManagementRequest,
        data: RequestBody[Confirmation],
        sign_in: NamedDependency[SignIn],
    ) -> Response[SignedIn]:
        """Confirm the password, as requests that need a fresh sign-in require it.

        Such requests are allowed for ten minutes, and otherwise answered 403 with the code
        `fresh_sign_in_required`. The session gets a new cookie. A user with a second factor is
        asked for a code, as at sign-in.
        """
        user, client = request.principal.user, request.remote_client
        account = await sign_in.check_password(
            user.email, data.password, client.address, client.claimed
        )
        if account.user_id != user.id:  # the address has changed hands meanwhile
            raise InvalidCredentials
        return await finish_first_factor(request, sign_in, user.id, password=account.password_hash)

    @post("/logout", summary="Sign out", status_code=204, **OF_SESSION, **WITHOUT_SECOND_FACTOR)
    async def logout(
        self, request: ManagementRequest, sign_in: NamedDependency[SignIn]
    ) -> Response[None]:
        """End the session on every server, and remove the cookie."""
        session_id = request.principal.session_id
        assert session_id is not None
        user_id = request.principal.user.id
        await sign_in.sessions.end_session(user_id, session_id)
        await record_own_activity(request, sign_in, "logged_out", user_id)
        return Response(None, headers={"set-cookie": clear_cookie(request.origin)})


async def finish_first_factor(
    request: ManagementRequest,
    sign_in: SignIn,
    user_id: int,
    method: Method = "password",
    password: str | None = None,
) -> Response[SignedIn]:
    """Begin a session, unless the account has a second factor and a code is needed.

    Args:
        password: The stored hash that was checked; None for a sign-in by other means.

    Raises:
        SecondFactorRequired: The account has a second factor. No session has begun.
    """
    if await sign_in.factors.is_enabled(user_id):
        token = secrets.token_urlsafe(SESSION_BYTES)
        now = request.app.state.now()
        await sign_in.factors.wait_for_code(user_id, token, method, now, password)
        raise SecondFactorRequired(PENDING.set(token, request.origin))
    return await begin_session(request, sign_in, user_id, method, password)


async def begin_session(
    request: ManagementRequest,
    sign_in: SignIn,
    user_id: int,
    method: Method,
    password: str | None = None,
) -> Response[SignedIn]:
    """Begin a session, end the one that the browser had, and return the response with the cookie.

    Args:
        password: The stored hash that was checked; None for a sign-in by other means.
    """
    former = read_cookie(request.headers.get("cookie"), request.origin)
    if former is not None:
        await sign_in.sessions.end_by_cookie(former)
    value = await sign_in.sessions.start_session(user_id, method, device_of(request), password)
    await record_own_activity(request, sign_in, "logged_in", user_id, method=method)
    headers = {"set-cookie": set_cookie(value, request.origin), "cache-control": "no-store"}
    return Response(SignedIn(success=True), headers=headers)


async def record_own_activity(
    request: ManagementRequest,
    sign_in: SignIn,
    activity: SecurityActivity,
    user_id: int,
    **details: Any,
) -> None:
    """Record in the activity log what the owner of an account did.

    Raises:
        RecordsUnavailable: The records store does not answer.
    """
    address = request.client_address
    event = by_owner(activity, user_id, request.app.state.now(), **details, address=address)
    await write_security_events(sign_in.accounts.records, event)


def device_of(request: ManagementRequest) -> Device:
    return device(request.client_address, request.headers.get("user-agent", ""))


REALM = "hosted-clickhouse"  # as in every PostHog outside its cloud


class PreflightBody(Struct, kw_only=True):
    initiated: Annotated[bool, Meta(description="Whether there is an organization.")] = True
    realm: str = REALM
    cloud: bool = False
    demo: bool = False
    can_create_org: bool = False
    email_service_available: Annotated[bool, Meta(description="Whether links can be mailed.")]
    available_social_auth_providers: dict[str, bool]
    password_sign_in: bool
    capture_url: Annotated[
        str | None,
        Meta(description="Where SDKs reach the server; null for the address of this response."),
    ]


class PreflightApi(Controller):
    path = "/_preflight"
    tags = ("Sign-in",)

    @get("/", summary="Read how people can sign in", public=True, security=[{}])
    async def preflight(self, sign_in: NamedDependency[SignIn]) -> PreflightBody:
        """Return the options for signing in, which are the same with and without a session."""
        options = sign_in.options
        return PreflightBody(
            email_service_available=options.mail,
            available_social_auth_providers=dict.fromkeys(options.providers, True),
            password_sign_in=options.password,
            capture_url=options.capture_url or None,
        )
