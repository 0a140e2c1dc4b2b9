"""Which public path is answered by what.

source: capture.md section 1.1; sdk-wire.md section 12
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fanion.flags.evaluation.endpoints import DecideEndpoints
from fanion.flags.sdk.browser_config_endpoints import EMPTY_LISTS, BrowserConfig
from fanion.flags.sdk.endpoints import DefinitionEndpoints
from fanion.flags.sdk.ofrep_endpoints import PREFIX as OFREP
from fanion.flags.sdk.ofrep_endpoints import OfrepEndpoints
from fanion.ingest.capture.endpoints import CaptureEndpoints
from fanion.server.endpoint import Endpoint
from fanion.web.landing_page import LandingPage
from fanion.web.routes import AnsweredBy, Route, Routes

CAPTURE_PATHS = ("/capture", "/batch", "/e", "/i/v0/e", "/track", "/i/v0/ai/batch")
LANDING_PATH = "/"
# Of products that are not part of this one: they are answered with success, and nothing is stored.
DISCARDED_PATHS = ("/s", "/i/v1/logs", "/i/v1/metrics")
_FLAGS_OF_A_PROJECT = "/api/projects/"


@dataclass(frozen=True, slots=True)
class FlagEndpoints:
    decide: DecideEndpoints
    definitions: DefinitionEndpoints
    ofrep: OfrepEndpoints
    browser: BrowserConfig


def public_routes(capture: CaptureEndpoints, flags: FlagEndpoints, page: LandingPage) -> Routes:
    table = {**capture_routes(capture), **flag_routes(flags), **operator_routes(page)}
    return Routes(table, flag_patterns(flags))


def shared_routes(
    capture: CaptureEndpoints, flags: FlagEndpoints, evaluation: AnsweredBy
) -> Routes:
    """What web workers answer, in addition to the server.

    evaluation: who answers the routes that evaluate flags
    """
    routes = Routes(
        {**capture_routes(capture), **evaluation_routes(flags, evaluation)},
        [_single_flag(flags, evaluation)],
    )
    return routes.only(lambda _, route: route.answered_by is not AnsweredBy.SERVER)


def capture_routes(capture: CaptureEndpoints) -> Mapping[str, Route]:
    worker = AnsweredBy.WORKER
    captures = Route(
        "capture", capture.post, find_fast_endpoint=capture.find_fast_endpoint, answered_by=worker
    )
    discards = Route("discard", capture.discard, answered_by=worker)
    return {
        **dict.fromkeys(CAPTURE_PATHS, captures),
        **dict.fromkeys(DISCARDED_PATHS, discards),
        "/engage": Route("engage", capture.engage, answered_by=worker),
        "/i/v1/analytics/events": Route("capture_v1", capture.v1, answered_by=worker),
    }


def routes_without_stores(capture: Endpoint, flags: FlagEndpoints, page: LandingPage) -> Routes:
    """While the records store cannot be opened: flags, and a refusal of everything else."""
    paths = (*CAPTURE_PATHS, *DISCARDED_PATHS, "/engage", "/i/v1/analytics/events")
    table = {path: Route("capture", capture) for path in paths}
    table |= {**flag_routes(flags), **operator_routes(page)}
    return Routes(table, flag_patterns(flags))


def flag_routes(flags: FlagEndpoints) -> Mapping[str, Route]:
    read = ("GET",)
    definitions = flags.definitions
    lists = {path: Route("empty_list", flags.browser.empty_list, read) for path in EMPTY_LISTS}
    return {
        **evaluation_routes(flags),
        "/flags/definitions": _secret("flag_definitions", definitions.definitions),
        "/api/feature_flag/local_evaluation": _secret(
            "local_evaluation", definitions.local_evaluation
        ),
        **lists,
    }


def evaluation_routes(
    flags: FlagEndpoints, answered_by: AnsweredBy = AnsweredBy.HERE
) -> Mapping[str, Route]:
    return {
        "/decide": Route("decide", flags.decide.decide, answered_by=answered_by),
        "/flags": Route("flags", flags.decide.flags, answered_by=answered_by),
        OFREP: Route("ofrep", flags.ofrep.bulk, answered_by=answered_by),
    }


def flag_patterns(flags: FlagEndpoints) -> Sequence[tuple[str, str, Route]]:
    definitions, browser = flags.definitions, flags.browser

    def of_project(name: str, end: str, endpoint: Endpoint) -> tuple[str, str, Route]:
        return _FLAGS_OF_A_PROJECT, end, _secret(name, endpoint)

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


def _secret(name: str, endpoint: Endpoint) -> Route:
    """Read with a personal or a secret key."""
    return Route(name, endpoint, ("GET",), credentials=False)


def _single_flag(
    flags: FlagEndpoints, answered_by: AnsweredBy = AnsweredBy.HERE
) -> tuple[str, str, Route]:
    return f"{OFREP}/", "", Route("ofrep", flags.ofrep.single, answered_by=answered_by)


def operator_routes(page: LandingPage) -> Mapping[str, Route]:
    probes = page.probes
    return {
        LANDING_PATH: Route("landing_page", page.get, ("GET",), cors=False),
        "/_health": Route("health", probes.health, ("GET",), cors=False),
        "/_ready": Route("ready", probes.ready, ("GET",), cors=False),
        "/metrics": Route("metrics", probes.exposition, ("GET",), cors=False),
    }
