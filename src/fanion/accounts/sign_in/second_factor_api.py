"""The second factor over HTTP: set up and removed by its owner, and asked for at sign-in.

Source: PostHog's `/api/login/token/` and `/api/users/@me/two_factor_…/`.
"""

import secrets
from datetime import datetime
from typing import Annotated, Any, TypeVar

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import RequestBody
from msgspec import Meta, Struct

from fanion.accounts.second_factor.codes import (
    CODE_CHARS_MAX,
    RECOVERY_BYTES,
    RECOVERY_CODES,
    SECRET_BYTES,
    provisioning_uri,
    recovery_codes,
    totp_secret,
)
from fanion.accounts.second_factor.store import CheckedSignIn
from fanion.accounts.sessions.access import OF_SESSION, OPEN, WITHOUT_SECOND_FACTOR
from fanion.accounts.sessions.cookies import set_cookie
from fanion.accounts.sign_in.api import PENDING, SignedIn, begin_session
from fanion.accounts.sign_in.service import InvalidCode, SignIn
from fanion.errors import AppError, Invalid
from fanion.projects.auth.keys import KEY_CHARS_MAX, hash_key
from fanion.projects.request_api import ManagementRequest

V = TypeVar("V", bound=Struct)

# Options of handlers that change the caller's own account, which every level may do.
_FRESH: dict[str, Any] = {
    "own": True,
    "fresh_sign_in": True,
    **WITHOUT_SECOND_FACTOR,
    **OF_SESSION,
}


class SignInExpired(AppError):
    status, type, default_code = 401, "authentication_error", "two_factor_expired"
    default_detail = "This sign-in has expired. Begin again with your password."


class Code(Struct, kw_only=True, forbid_unknown_fields=True):
    token: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=CODE_CHARS_MAX,
            description="Six digits of the authenticator app, or a recovery code.",
        ),
    ]


class SecondFactorBody(Struct, kw_only=True):
    is_enabled: bool
    method: Annotated[str | None, Meta(description="`TOTP`, or null without a second factor.")]
    confirmed_at: datetime | None
    recovery_codes_left: int
    is_required: Annotated[bool, Meta(description="Whether an organization requires one.")]


class SetupBody(Struct, kw_only=True):
    secret: Annotated[str, Meta(description="In base32, for apps that cannot scan a QR code.")]
    provisioning_uri: Annotated[str, Meta(description="`otpauth://…`: the content of the QR code.")]
    expires_at: Annotated[
        datetime, Meta(description="A code has to confirm the secret before this time.")
    ]


class RecoveryCodesBody(Struct, kw_only=True):
    backup_codes: Annotated[
        list[str], Meta(description="Each signs in once. They cannot be read later.")
    ]


class SecondFactorLoginApi(Controller):
    path = "/api/login"
    tags = ("Sign-in",)

    @post("/token", summary="Complete a sign-in with a code", status_code=200, **OPEN)
    async def complete(
        self,
        request: ManagementRequest,
        data: RequestBody[Code],
        sign_in: NamedDependency[SignIn],
    ) -> Response[SignedIn]:
        """Complete a sign-in with a code, after `/api/login/` has answered `two_factor_required`.

        The cookie of that response is needed. The sign-in ends after ten minutes or ten wrong
        codes. A code is accepted once. After several wrong codes the account and the client's
        address have to wait.
        """
        token = PENDING.read(request.headers.get("cookie"), request.origin)
        if token is None or len(token) > KEY_CHARS_MAX:
            raise SignInExpired
        checked = await _check_code(request, sign_in, token, data.token)
        assert checked.user_id is not None
        return await begin_session(
            request, sign_in, checked.user_id, checked.method, checked.password
        )


async def _check_code(
    request: ManagementRequest, sign_in: SignIn, token: str, code: str
) -> CheckedSignIn:
    """Check the code of a sign-in that waits for one.

    Raises:
        SignInExpired: No sign-in waits under this token.
        InvalidCode: The code is wrong.
        Throttled: The account or the client has to wait.
    """
    client, now = request.remote_client, request.app.state.now()
    user_id = await sign_in.factors.waiting(token, now)
    account = f"code {user_id or hash_key(token)}"
    attempt = await sign_in.attempts.begin(account, client.address, client.claimed)
    checked = await sign_in.factors.complete(token, code, now, client.address)
    if checked.user_id is None:
        raise SignInExpired
    sign_in.require_valid(checked.user_id, checked.code, client.address)
    await sign_in.attempts.succeeded(attempt)
    return checked


class SecondFactorApi(Controller):
    """Session-only endpoints: a leaked API key must not be able to add a sign-in method."""

    path = "/api/users/@me"
    tags = ("Sign-in",)

    @get(
        "/two_factor_status",
        summary="Retrieve the caller's second factor",
        **OF_SESSION,
        **WITHOUT_SECOND_FACTOR,
    )
    async def status(
        self, request: ManagementRequest, sign_in: NamedDependency[SignIn]
    ) -> SecondFactorBody:
        user_id = request.principal.user.id
        factor = await sign_in.factors.status(user_id)
        is_enabled = factor.confirmed_at is not None
        return SecondFactorBody(
            is_enabled=is_enabled,
            method="TOTP" if is_enabled else None,
            confirmed_at=factor.confirmed_at,
            recovery_codes_left=factor.recovery_codes,
            is_required=await sign_in.factors.is_required(user_id),
        )

    @post("/two_factor_start_setup", summary="Set up a second factor", status_code=200, **_FRESH)
    async def start_setup(
        self, request: ManagementRequest, sign_in: NamedDependency[SignIn]
    ) -> Response[SetupBody]:
        """Return a new secret, which a code has to confirm.

        Each call starts the setup again. A second factor that the user already has stays valid
        until the new one is confirmed.
        """
        user, secret = request.principal.user, totp_secret(secrets.token_bytes(SECRET_BYTES))
        now = request.app.state.now()
        until = await sign_in.factors.begin_setup(user.id, secret, now)
        uri = provisioning_uri(secret, user.email)
        return _uncached_response(SetupBody(secret=secret, provisioning_uri=uri, expires_at=until))

    @post(
        "/two_factor_validate",
        summary="Confirm the second factor that is being set up",
        status_code=200,
        **_FRESH,
    )
    async def validate(
        self,
        request: ManagementRequest,
        data: RequestBody[Code],
        sign_in: NamedDependency[SignIn],
    ) -> Response[RecoveryCodesBody]:
        """Confirm the new second factor with a code of the app. Returns ten recovery codes.

        The session gets a new cookie; all other sessions of the user end.
        """
        user, now, codes = request.principal.user, request.app.state.now(), _new_codes()
        address = request.client_address
        if not await sign_in.factors.confirm(user.id, data.token, codes, now, address):
            raise InvalidCode
        response = _uncached_response(RecoveryCodesBody(backup_codes=codes))
        return await _with_new_cookie(request, sign_in, response)

    @post(
        "/two_factor_backup_codes",
        summary="Replace the recovery codes",
        status_code=200,
        **_FRESH,
    )
    async def replace_codes(
        self, request: ManagementRequest, sign_in: NamedDependency[SignIn]
    ) -> Response[RecoveryCodesBody]:
        """Return new recovery codes. The former ones are no longer valid."""
        user, now, codes = request.principal.user, request.app.state.now(), _new_codes()
        address = request.client_address
        if not await sign_in.factors.replace_recovery_codes(user.id, codes, now, address):
            raise _no_second_factor()
        return _uncached_response(RecoveryCodesBody(backup_codes=codes))

    @post("/two_factor_disable", summary="Remove the second factor", status_code=200, **_FRESH)
    async def disable(
        self, request: ManagementRequest, sign_in: NamedDependency[SignIn]
    ) -> Response[SignedIn]:
        """Remove the second factor with its recovery codes, unless an organization requires one.

        The session gets a new cookie; all other sessions of the user end.
        """
        user, now = request.principal.user, request.app.state.now()
        if await sign_in.factors.is_required(user.id):
            raise Invalid(
                "Your organization requires a second factor. You can replace it with another one.",
                code="two_factor_required_by_organization",
            )
        if not await sign_in.factors.remove(user.id, user.id, now, request.client_address):
            raise _no_second_factor()
        return await _with_new_cookie(request, sign_in, _uncached_response(SignedIn(success=True)))


def _new_codes() -> list[str]:
    return list(recovery_codes(secrets.token_bytes(RECOVERY_CODES * RECOVERY_BYTES)))


def _no_second_factor() -> Invalid:
    return Invalid("You have no second factor.", code="two_factor_off")


def _uncached_response(body: V) -> Response[V]:
    """Build a response that holds secrets and is therefore not cached."""
    return Response(body, headers={"cache-control": "no-store"})


async def _with_new_cookie(
    request: ManagementRequest, sign_in: SignIn, response: Response[V]
) -> Response[V]:
    session_id = request.principal.session_id
    assert session_id is not None
    value = await sign_in.sessions.renew_session(request.principal.user.id, session_id)
    response.headers["set-cookie"] = set_cookie(value, request.origin)
    return response
