"""The console's page and assets, and the scripts for PostHog's snippet: endpoints and routes."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from fanion.accounts.sessions.cookies import read_cookie
from fanion.console.build import Build, File
from fanion.console.content_coding import preferred_coding
from fanion.console.page import console_headers, render_page
from fanion.console.sdk_script import with_configuration
from fanion.errors import NotFound
from fanion.flags.sdk.browser_config_endpoints import BrowserConfig
from fanion.server.forwarded import BaseUrl
from fanion.server.request import Endpoint, Request
from fanion.server.response import Response, is_known_version
from fanion.web.landing_page import prefers_html
from fanion.web.routes import Route, Routes
from fanion.web.security_headers import COMMON_HEADERS, NO_SNIFFING, NOT_STORED, Header

ASSETS, SDK = "/console/assets/", "/static/"
# Addresses of screens, each with everything below it. Only the console knows which of them exist.
SCREENS = ("/login", "/reset", "/project", "/account", "/organization", "/shared")
OF_STRANGERS = ("/login", "/reset", "/shared")
_READ = ("GET",)
HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
_NONCE_BYTES = 18
_FOR_EVER: Header = ("cache-control", "public, max-age=31536000, immutable")
_FOR_AN_HOUR: Header = ("cache-control", "public, max-age=3600")
_FOR_MINUTES: Header = ("cache-control", "public, max-age=300")
# Pages of any origin load these scripts, including pages that isolate themselves.
_OF_SDK = (NO_SNIFFING, ("cross-origin-resource-policy", "cross-origin"))
NO_SDK = (
    "posthog-js is not part of this server: it comes with the web console, which has not been "
    "built. `make console` builds it in a checkout of the sources; start the server again after "
    "that. Until then load posthog-js from npm, or from another address.\n"
)


@dataclass(frozen=True, slots=True)
class ConsoleEndpoints:
    """The endpoints of the console.

    Attributes:
        base_url: The address at which browsers reach this server.
        summary: Answers clients other than browsers at `/`.
        has_docs: Returns whether the documentation is built.
    """

    build: Build
    base_url: BaseUrl
    summary: Endpoint
    has_docs: Callable[[], bool]

    async def root(self, request: Request) -> Response:
        if not prefers_html(request.headers.get("accept") or ""):
            return await self.summary(request)
        response = await self.page(request)
        response.headers += (("vary", "Accept"),)
        return response

    async def page(self, request: Request) -> Response:
        """Answer with the page. The console reads its path by itself.

        Only the frame of screens depends on the path and on whether there may be a session.
        """
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        address = self.base_url.of(request.peer, request.headers)
        cookie = read_cookie(request.headers.get("cookie"), address)
        is_own = not request.path.startswith(OF_STRANGERS)
        body = render_page(
            self.build.index,
            nonce,
            urlsplit(address).path,
            has_docs=self.has_docs(),
            has_frame=is_own and cookie is not None,
        )
        return Response(200, body, console_headers(nonce), HTML)

    async def asset(self, request: Request) -> Response:
        file = self.build.assets.get(request.path.removeprefix(ASSETS))
        if file is None:  # of another build, which the next start may serve
            return Response(404, NotFound().body(), (NOT_STORED, *COMMON_HEADERS))
        return file_response(request, file, _FOR_EVER, *COMMON_HEADERS)


@dataclass(frozen=True, slots=True)
class SdkScripts:
    """The endpoints of posthog-js, for pages of any origin."""

    build: Build
    configuration: BrowserConfig

    async def static(self, request: Request) -> Response:
        """Answer GET /static/array.js, and /static/{version}/surveys.js of the served version.

        Raises:
            NotFound: There is no such script or version.
        """
        if not self.build.sdk:
            return _no_sdk()
        version, _, name = request.path.removeprefix(SDK).rpartition("/")
        file = self.build.sdk.get(name)
        if file is None or version not in ("", self.build.sdk_version):
            raise NotFound
        return file_response(request, file, _FOR_EVER if version else _FOR_AN_HOUR, *_OF_SDK)

    async def array(self, request: Request) -> Response:
        """Answer GET /array/{token}/array.js.

        Raises:
            NotFound: The token is unknown, as for its config.js.
        """
        configuration = await self.configuration.config_script(request)
        script = self.build.sdk.get("array.js")
        if script is None:
            return _no_sdk()
        file = with_configuration(configuration, script)
        return file_response(request, file, _FOR_MINUTES, *_OF_SDK)


def file_response(request: Request, file: File, *more: Header) -> Response:
    coding = preferred_coding(request.headers.get("accept-encoding") or "", file.bodies)
    etag = file.etag(coding)
    lines = (("etag", etag), ("vary", "Accept-Encoding, Origin"), *more)
    if is_known_version(request.headers.get("if-none-match"), etag):
        return Response(304, b"", lines, file.content_type)
    if coding != "identity":
        lines = (*lines, ("content-encoding", coding))
    return Response(200, file.bodies[coding], lines, file.content_type)


def _no_sdk() -> Response:
    return Response(404, NO_SDK.encode(), (NOT_STORED, *_OF_SDK), TEXT)


def console_routes(console: ConsoleEndpoints) -> Routes:
    page = Route("console", console.page, _READ, cors=False, is_management=True)
    root = Route("console", console.root, _READ, cors=False, is_management=True)
    asset = Route("console_asset", console.asset, _READ, cors=False, is_management=True)
    return Routes(
        {"/": root, **dict.fromkeys(SCREENS, page)},
        [(ASSETS, "", asset), *((f"{screen}/", "", page) for screen in SCREENS)],
    )


def sdk_routes(scripts: SdkScripts) -> Routes:
    return Routes(
        {},
        [
            (SDK, "", Route("sdk_script", scripts.static, _READ)),
            ("/array/", "/array.js", Route("sdk_script", scripts.array, _READ)),
        ],
    )
