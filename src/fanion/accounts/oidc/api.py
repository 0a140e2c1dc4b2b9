"""Signing in by OpenID Connect, over HTTP: a browser goes to the provider and comes back."""

from collections.abc import Awaitable, Callable
from html import escape
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from litestar import Controller, Response, get
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.enums import MediaType
from litestar.params import FromQuery, QueryParameter

from fanion.accounts.client_limits_cache import Rate, RateLimit, client_rates, take_tokens
from fanion.accounts.oidc.authorization import CALLBACK_PATH, Callback, local_path
from fanion.accounts.oidc.errors import OidcOff
from fanion.accounts.oidc.states_store import STATE_LASTS, BegunSignIn
from fanion.accounts.sessions.access import OPEN
from fanion.accounts.sessions.cookies import ShortCookie, read_cookie
from fanion.accounts.sign_in.api import begin_session
from fanion.accounts.sign_in.service import SignIn
from fanion.errors import AppError, NotAuthenticated
from fanion.projects.request_api import ManagementRequest
from fanion.server.forwarded import Client

if TYPE_CHECKING:
    from fanion.accounts.oidc.sign_in_service import OidcSignIn


CONTENT_SECURITY_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Not signed in</title>
<h1>You are not signed in</h1>
<p>{detail}</p>
<p><a href="{home}">Back to Fanion</a></p>
<p><small>{code}</small></p>
</html>
"""


def wants_page(accept: str) -> bool:
    """Return whether a browser shows the response, as opposed to a program that reads it."""
    kinds = [kind.partition(";")[0].strip().lower() for kind in accept.split(",")]
    return "text/html" in kinds


def failure_page(error: AppError, home: str) -> bytes:
    """Return the HTML page of an error.

    Args:
        home: The path of the start page.
    """
    page = _PAGE.format(detail=escape(error.detail), home=escape(home), code=escape(error.code))
    return page.encode()


# The cookie of the browser that has begun a sign-in.
BROWSER = ShortCookie("oidc", int(STATE_LASTS.total_seconds()))

# The rates at which strangers may begin or complete a sign-in: each writes to the store.
ADDRESS = Rate(burst=60, per_s=0.5)  # an office behind one address
PEER = Rate(burst=600, per_s=5)  # all clients that one untrusted peer claims to forward
ADDRESSES_MAX = 10_000  # counted at a time: 3 MB


class StartLimit:
    """The rate limit, by client, of the sign-ins that strangers begin or complete.

    Args:
        clock: Monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._limit = RateLimit(ADDRESSES_MAX, clock)

    def __len__(self) -> int:
        return len(self._limit)

    def count_request(self, client: Client) -> None:
        """Count a request. There is no limit if clients cannot be told apart.

        Raises:
            Throttled: The client has to wait.
        """
        take_tokens(self._limit.require_room(client_rates(client, ADDRESS, PEER)))


class OidcLogin:
    """The sign-in by OpenID Connect, if a provider is set, with its rate limits.

    Args:
        oidc: None if no provider is set.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self, oidc: "OidcSignIn | None", sign_in: SignIn, clock: Callable[[], float]
    ) -> None:
        self._oidc = oidc
        self.sign_in = sign_in
        self.starts = StartLimit(clock)
        self.returns = StartLimit(clock)

    def require(self) -> "OidcSignIn":
        """Return the configured sign-in, or raise OidcOff."""
        if self._oidc is None:
            raise OidcOff
        return self._oidc


class OidcApi(Controller):
    path = "/api/login/oidc"
    tags = ("Sign-in",)

    @get("/", summary="Sign in by OpenID Connect", status_code=302, reads=False, **OPEN)
    async def begin(
        self,
        request: ManagementRequest,
        oidc_login: NamedDependency[OidcLogin],
        return_path: Annotated[
            str | None,
            QueryParameter(
                name="next", description="Path of this server that the browser comes back to."
            ),
        ] = None,
        reauthenticate: FromQuery[bool] = False,
    ) -> Response[Any]:
        """Redirect the browser to the provider, from which it comes back signed in.

        With `reauthenticate` the provider asks the user of the current session to sign in again,
        which counts as a fresh sign-in. A browser that shows pages gets errors as a page.
        """

        async def answer() -> Response[Any]:
            oidc = oidc_login.require()
            oidc_login.starts.count_request(request.remote_client)
            user_id = await _session_user(request, oidc_login) if reauthenticate else None
            begun = BegunSignIn(local_path(return_path, _home(request)), user_id)
            redirect = await oidc.begin(_redirect_uri(request), begun)
            cookie = BROWSER.set(redirect.browser_secret, request.origin)
            return _redirect(redirect.url, cookie)

        return await _or_failure_page(request, answer)

    @get(
        "/callback",
        summary="Come back from the OpenID Connect provider",
        status_code=302,
        reads=False,
        **OPEN,
    )
    async def callback(
        self,
        request: ManagementRequest,
        oidc_login: NamedDependency[OidcLogin],
        sent: Annotated[
            str, QueryParameter(name="state", description="As it was sent to the provider.")
        ] = "",
        code: Annotated[str, QueryParameter(description="Exchanged for an ID token.")] = "",
        error: Annotated[str, QueryParameter(description="An error, in place of a code.")] = "",
        iss: Annotated[str, QueryParameter(description="The provider's issuer (RFC 9207).")] = "",
    ) -> Response[Any]:
        """Set the session's cookie. This is the redirect address that the provider has to know.

        The provider's response is accepted once, within ten minutes, from the browser that began
        the sign-in.
        """

        async def answer() -> Response[Any]:
            oidc, browser = oidc_login.require(), _browser_secret(request)
            oidc_login.returns.count_request(request.remote_client)
            callback = Callback(sent, code, error, iss)
            user = await oidc.complete(callback, browser, _redirect_uri(request))
            begun = await begin_session(request, oidc_login.sign_in, user.user_id, "oidc")
            return _redirect(
                user.return_path, begun.headers["set-cookie"], _cleared_browser_cookie(request)
            )

        return await _or_failure_page(request, answer)


async def _session_user(request: ManagementRequest, oidc_login: OidcLogin) -> int:
    """Return the user of the current session.

    Raises:
        NotAuthenticated: There is no session cookie.
        SessionEnded: The session has ended.
        Throttled: The client has sent too many unknown cookies.
        RecordsUnavailable: The records store does not answer.
    """
    cookie = read_cookie(request.headers.get("cookie"), request.origin)
    if cookie is None:
        raise NotAuthenticated
    return (await oidc_login.sign_in.sessions.find_owner(cookie, request.caller)).user.id


def _browser_secret(request: ManagementRequest) -> str | None:
    return BROWSER.read(request.headers.get("cookie"), request.origin)


def _redirect_uri(request: ManagementRequest) -> str:
    return request.origin + CALLBACK_PATH


def _home(request: ManagementRequest) -> str:
    """Return the path of the start page, below a proxy's prefix."""
    return urlsplit(request.origin).path.rstrip("/") + "/"


def _redirect(url: str, cookie: str, *more: Cookie) -> Response[Any]:
    headers = {"location": url, "set-cookie": cookie, "cache-control": "no-store"}
    return Response(None, status_code=302, headers=headers, cookies=more)


def _cleared_browser_cookie(request: ManagementRequest) -> Cookie:
    origin = request.origin
    is_secure = origin.startswith("https://")
    return Cookie(key=BROWSER.name(origin), value="", max_age=0, secure=is_secure, httponly=True)


async def _or_failure_page(
    request: ManagementRequest, answer: Callable[[], Awaitable[Response[Any]]]
) -> Response[Any]:
    try:
        return await answer()
    except AppError as error:
        if not wants_page(request.headers.get("accept", "")):
            raise
        headers = {
            **dict(error.headers()),
            "content-security-policy": CONTENT_SECURITY_POLICY,
            "cache-control": "no-store",
        }
        page = failure_page(error, _home(request))
        return Response(page, status_code=error.status, headers=headers, media_type=MediaType.HTML)
