"""Builds the `Application` that a process serves, depending on how much of the server is ready."""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any

from fanion.app.services import AppContext, FlagServices
from fanion.config import Settings
from fanion.console.endpoints import ConsoleEndpoints, SdkScripts
from fanion.console.routes import console_routes, sdk_routes
from fanion.db.engine import Records, RecordsUnavailable
from fanion.errors import Unavailable
from fanion.ingest.capture.endpoints import CaptureEndpoints
from fanion.observability.logging import Telemetry
from fanion.server.asgi_bridge import AsgiApp
from fanion.server.forwarded import BaseUrl, TrustedProxies
from fanion.server.request import Request
from fanion.server.response import Response
from fanion.web.application import Application
from fanion.web.landing_page import LandingPage
from fanion.web.probes import OK, Check, CheckResult, Probes, State
from fanion.web.routes import (
    AnsweredBy,
    Routes,
    public_routes,
    routes_without_stores,
    worker_routes,
)


class Readiness(Enum):
    """What a process answers. Everything else is refused with this text, and a number of seconds
    after which to retry."""

    # Flags, from the offline copy: the records store cannot be reached.
    DEGRADED = "The records store cannot be reached. Please retry.", 5
    # Capture and flags. The event store opens in one to two seconds, while the management API is
    # loaded.
    OPENING = "The server is still starting. Please retry.", 1
    # What web workers answer too. Only a pipelined request gets here: the next connection goes to
    # the server.
    WEB_WORKER = (
        "This request was pipelined behind one that another process answers. Please retry.",
        0,
    )
    SERVING = "", 0

    async def refuse(self, _: Request) -> Response:
        raise self._refusal()

    async def refuse_management(self, scope: Any, receive: Any, send: Any) -> None:
        raise self._refusal()

    def _refusal(self) -> Unavailable:
        detail, retry_after_s = self.value
        return Unavailable(detail, retry_after_s=retry_after_s)


async def measure_nothing() -> None:
    """There is no lag to measure before events are ingested."""


def build_application(
    context: AppContext,
    flags: FlagServices,
    capture: CaptureEndpoints | None,
    readiness: Readiness,
    checks: Mapping[str, Check],
    refresh: Callable[[], Awaitable[None]] = measure_nothing,
    management: AsgiApp | None = None,
) -> Application:
    """capture: None while the accept log is not open
    checks:     of the stores, by name
    refresh:    updates the metrics that are measured on request
    management: None before it is loaded
    """
    settings, metrics = context.settings, context.metrics
    page = landing_page(
        settings, Probes(checks, metrics, refresh), flags.proxies, context.build.missing
    )
    if capture is None:
        routes = routes_without_stores(readiness.refuse, flags.endpoints, page)
    elif readiness is Readiness.WEB_WORKER:
        routes = web_worker_routes(settings, capture, flags)
    else:
        routes = public_routes(capture, flags.endpoints, page)
    if readiness is not Readiness.WEB_WORKER:
        routes = _with_console(routes, context, flags, page)
    is_verbose = settings.log_level in {"debug", "info"}
    telemetry = Telemetry(metrics, context.lines, is_verbose, flags.proxies)
    return Application(
        routes, management or readiness.refuse_management, telemetry, settings.body_bytes_max
    )


def web_worker_routes(settings: Settings, capture: CaptureEndpoints, flags: FlagServices) -> Routes:
    """What web workers answer too. A limit on evaluations can only be held by one process: with
    one, the server alone evaluates flags."""
    evaluation = AnsweredBy.HERE if settings.decide_per_s == 0 else AnsweredBy.SERVER
    return worker_routes(capture, flags.endpoints, evaluation)


def _with_console(
    routes: Routes, context: AppContext, flags: FlagServices, page: LandingPage
) -> Routes:
    """And with the scripts of its build. page: is served where there is no console"""
    build = context.build
    routes = routes.and_also(sdk_routes(SdkScripts(build, flags.endpoints.browser)))
    if build.missing or context.settings.console == "off":
        return routes
    return routes.and_also(console_routes(ConsoleEndpoints(build, page.base_url, page.get)))


def landing_page(
    settings: Settings, probes: Probes, proxies: TrustedProxies, missing: str = ""
) -> LandingPage:
    """missing: why there is no console"""
    capture_url = settings.address if settings.management_listen else ""
    return LandingPage(
        probes,
        management_base_url(settings, proxies),
        capture_url,
        no_console="" if settings.console == "off" else missing,
    )


def management_base_url(settings: Settings, proxies: TrustedProxies) -> BaseUrl:
    """With a listener of its own, the management API is not at the public address."""
    if settings.management_listen:
        return BaseUrl(proxies, host=settings.management_url.removeprefix("http://"))
    return BaseUrl(proxies, settings.public_url, settings.local_address.removeprefix("http://"))


async def check_records(records: Records) -> CheckResult:
    try:
        await records.ping()
    except RecordsUnavailable as error:
        return CheckResult(State.UNREACHABLE, str(error))
    return OK


async def check_unreachable() -> CheckResult:
    return CheckResult(State.UNREACHABLE)


async def check_opening() -> CheckResult:
    return CheckResult(State.OPENING)
