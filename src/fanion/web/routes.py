"""The routes that are answered without the web framework, with their cross-origin headers.

Source: capture.md section 1.1; sdk-wire.md sections 8 and 12.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from fanion.errors import with_head
from fanion.flags.evaluation.endpoints import DecideEndpoints
from fanion.flags.sdk.browser_config_endpoints import EMPTY_LISTS, BrowserConfig
from fanion.flags.sdk.endpoints import DefinitionEndpoints
from fanion.flags.sdk.ofrep_endpoints import PREFIX as OFREP
from fanion.flags.sdk.ofrep_endpoints import OfrepEndpoints
from fanion.ingest.capture.endpoints import CaptureEndpoints
from fanion.server.forwarded import Headers
from fanion.server.request import Endpoint, FindFastEndpoint
from fanion.server.response import Response
from fanion.web.landing_page import LandingPage

CAPTURE_PATHS = ("/capture", "/batch", "/e", "/i/v0/e", "/track", "/i/v0/ai/batch")
# Paths of products that Fanion does not include: the answer is success, and nothing is stored.
DISCARDED_PATHS = ("/s", "/i/v1/logs", "/i/v1/metrics")
_PROJECT_PREFIX = "/api/projects/"
_MANAGEMENT_PREFIXES = ("/api/", "/_")
# With credentials `*` is no wildcard, so the response repeats the headers that the browser asked
# for.
_CORS_DEFAULT_HEADERS = "X-Requested-With,Content-Type"
_CORS_MAX_AGE_S = "86400"


class AnsweredBy(Enum):
    """The process of a server with web workers that answers a request."""

    SERVER = "server"  # only the main process
    WORKER = "worker"  # web workers, and the main process while none of them is ready
    HERE = "here"  # the process that has the connection, unless responses on it are costly


@dataclass(frozen=True, slots=True)
class Route:
    """A public route.

    Attributes:
        name: The label in metrics and logs.
        methods: Those besides OPTIONS.
        cors: Whether pages of other origins may read the responses.
        credentials: Whether they may send cookies along; False if the credential is a personal or
            a secret key.
        find_fast_endpoint: Finds an endpoint that needs no task, for POST.
        is_body_read: Whether the body is read before the endpoint is called. False if the key is
            in the head, so that nothing is read for a caller without one, or if the body does not
            matter.
        is_management: Whether it is kept off a public listener, like metrics and pages that lead
            to the management API.
    """

    name: str
    endpoint: Endpoint
    methods: tuple[str, ...] = ("POST",)
    cors: bool = True
    credentials: bool = True
    find_fast_endpoint: FindFastEndpoint | None = None
    answered_by: AnsweredBy = AnsweredBy.SERVER
    is_body_read: bool = True
    is_management: bool = False


class Routes:
    """The routes of a listener, by path.

    Paths are served with and without a trailing slash, never by a redirect: some clients turn a
    redirected POST into a GET.
    """

    def __init__(
        self, exact: Mapping[str, Route], patterns: Sequence[tuple[str, str, Route]] = ()
    ) -> None:
        """Create the table.

        Args:
            patterns: Prefix, suffix and route of paths with a parameter in between.
        """
        self._exact = {
            variant: route
            for path, route in exact.items()
            for variant in {path.rstrip("/") or "/", path.rstrip("/") + "/"}
        }
        self._patterns = tuple(patterns)

    def only(self, keep: Callable[[str, Route], bool]) -> "Routes":
        """Return the routes for which `keep` is true.

        Args:
            keep: Called with a path, or a pattern's prefix, and the route.
        """
        return Routes(
            {path: route for path, route in self._exact.items() if keep(path, route)},
            [pattern for pattern in self._patterns if keep(pattern[0], pattern[2])],
        )

    def merged_with(self, more: "Routes") -> "Routes":
        """Merge two route tables; `more` wins."""
        return Routes({**self._exact, **more._exact}, [*more._patterns, *self._patterns])

    def find(self, path: str) -> Route | None:
        route = self._exact.get(path)
        if route is None:
            for prefix, suffix, candidate in self._patterns:
                if path.startswith(prefix) and path.rstrip("/").endswith(suffix):
                    return candidate
        return route

    def of_public_listener(self) -> "Routes":
        """Return the routes of a public listener: for SDKs, and the probes of load balancers."""
        return self.only(lambda _, route: not route.is_management)

    def of_management_listener(self) -> "Routes":
        """Return the routes of a management listener.

        It serves everything below /api/, the console or the landing page, probes and metrics.
        """
        return self.only(
            lambda path, route: route.is_management or path.startswith(_MANAGEMENT_PREFIXES)
        )


@dataclass(frozen=True, slots=True)
class FlagEndpoints:
    decide: DecideEndpoints
    definitions: DefinitionEndpoints
    ofrep: OfrepEndpoints
    browser: BrowserConfig


def public_routes(capture: CaptureEndpoints, flags: FlagEndpoints, page: LandingPage) -> Routes:
    table = {**capture_routes(capture), **flag_routes(flags), **operator_routes(page)}
    return Routes(table, flag_patterns(flags))


def worker_routes(
    capture: CaptureEndpoints, flags: FlagEndpoints, evaluation: AnsweredBy
) -> Routes:
    """Return the routes that web workers answer as well as the server.

    Args:
        evaluation: Which process answers the routes that evaluate flags.
    """
    routes = Routes(
        {**capture_routes(capture), **evaluation_routes(flags, evaluation)},
        [_single_flag(flags, evaluation)],
    )
    return routes.only(lambda _, route: route.answered_by is not AnsweredBy.SERVER)


def routes_without_stores(capture: Endpoint, flags: FlagEndpoints, page: LandingPage) -> Routes:
    """Return the routes of a server whose records store cannot be opened.

    Args:
        capture: Refuses requests.
    """
    paths = (*CAPTURE_PATHS, *DISCARDED_PATHS, "/engage", "/i/v1/analytics/events")
    table = {path: Route("capture", capture) for path in paths}
    table |= {**flag_routes(flags), **operator_routes(page)}
    return Routes(table, flag_patterns(flags))


def capture_routes(capture: CaptureEndpoints) -> Mapping[str, Route]:
    worker = AnsweredBy.WORKER
    captures = Route(
        "capture", capture.post, find_fast_endpoint=capture.find_fast_endpoint, answered_by=worker
    )
    discards = Route("discard", capture.discard, answered_by=worker, is_body_read=False)
    return {
        **dict.fromkeys(CAPTURE_PATHS, captures),
        **dict.fromkeys(DISCARDED_PATHS, discards),
        "/engage": Route("engage", capture.engage, answered_by=worker),
        "/i/v1/analytics/events": Route(
            "capture_v1", capture.v1, answered_by=worker, is_body_read=False
        ),
    }


def flag_routes(flags: FlagEndpoints) -> Mapping[str, Route]:
    read = ("GET",)
    definitions = flags.definitions
    lists = {path: Route("empty_list", flags.browser.empty_list, read) for path in EMPTY_LISTS}
    return {
        **evaluation_routes(flags),
        "/flags/definitions": _secret_key_route("flag_definitions", definitions.definitions),
        "/api/feature_flag/local_evaluation": _secret_key_route(
            "local_evaluation", definitions.local_evaluation
        ),
        **lists,
    }


def evaluation_routes(
    flags: FlagEndpoints, answered_by: AnsweredBy = AnsweredBy.HERE
) -> Mapping[str, Route]:
    decide, ofrep = flags.decide, flags.ofrep
    return {
        "/decide": Route(
            "decide",
            decide.decide,
            find_fast_endpoint=decide.find_fast_decide,
            answered_by=answered_by,
        ),
        "/flags": Route(
            "flags",
            decide.flags,
            find_fast_endpoint=decide.find_fast_flags,
            answered_by=answered_by,
        ),
        OFREP: Route(
            "ofrep",
            ofrep.bulk,
            find_fast_endpoint=ofrep.find_fast_bulk,
            answered_by=answered_by,
            is_body_read=False,
        ),
    }


def flag_patterns(flags: FlagEndpoints) -> Sequence[tuple[str, str, Route]]:
    definitions, browser = flags.definitions, flags.browser

    def of_project(name: str, end: str, endpoint: Endpoint) -> tuple[str, str, Route]:
        return _PROJECT_PREFIX, end, _secret_key_route(name, endpoint)

    return (
        _single_flag(flags),
        ("/array/", "/config", Route("browser_config", browser.json, ("GET",))),
        ("/array/", "/config.js", Route("browser_config", browser.script, ("GET",))),
        of_project(
            "local_evaluation", "/feature_flags/local_evaluation", definitions.local_evaluation_of
        ),
        of_project("flag_stream", "/feature_flags/stream", definitions.stream),
        of_project("remote_config", "/remote_config", definitions.remote_config),
    )


def _secret_key_route(name: str, endpoint: Endpoint) -> Route:
    """Return a route for a personal or a secret key."""
    return Route(name, endpoint, ("GET",), credentials=False)


def _single_flag(
    flags: FlagEndpoints, answered_by: AnsweredBy = AnsweredBy.HERE
) -> tuple[str, str, Route]:
    single = Route(
        "ofrep",
        flags.ofrep.single,
        find_fast_endpoint=flags.ofrep.find_fast_single,
        answered_by=answered_by,
        is_body_read=False,
    )
    return f"{OFREP}/", "", single


def operator_routes(page: LandingPage) -> Mapping[str, Route]:
    return {
        "/": Route("landing_page", page.get, ("GET",), cors=False, is_management=True),
        **_probe_routes(page),
    }


def probe_routes(page: LandingPage) -> Routes:
    """Return the routes that every process answers, whatever its roles."""
    return Routes(_probe_routes(page))


def _probe_routes(page: LandingPage) -> Mapping[str, Route]:
    probes = page.probes
    return {
        "/_health": Route("health", probes.health, ("GET",), cors=False),
        "/_ready": Route("ready", probes.ready, ("GET",), cors=False),
        "/metrics": Route("metrics", probes.exposition, ("GET",), cors=False, is_management=True),
    }


def cors_headers(origin: str, *, credentials: bool) -> tuple[tuple[str, str], ...]:
    """Return the headers of every public response to a browser, including errors.

    Args:
        credentials: Whether browsers may send cookies along, as those of old clients do with a
            project key. Responses to personal and secret keys never allow it.
    """
    allowed = (("access-control-allow-credentials", "true"),) if credentials else ()
    return (
        ("access-control-allow-origin", origin),
        *allowed,
        ("access-control-expose-headers", "ETag, Retry-After, X-Request-Id"),
        ("vary", "Origin"),
    )


def preflight_response(headers: Headers, methods: Iterable[str]) -> Response:
    """Return the response to OPTIONS.

    Args:
        methods: The path's methods besides OPTIONS.
    """
    allowed = ", ".join(with_head((*methods, "OPTIONS")))
    requested = headers.get("access-control-request-headers") or _CORS_DEFAULT_HEADERS
    return Response(
        200,
        b"",
        (
            ("allow", allowed),
            ("access-control-allow-methods", allowed),
            ("access-control-allow-headers", requested),
            ("access-control-max-age", _CORS_MAX_AGE_S),
            ("vary", "Access-Control-Request-Headers"),
        ),
    )
