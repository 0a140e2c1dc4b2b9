"""Builds the `Application` that a process serves, by how much of the server is ready."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from fanion.accept_log.port import Appender
from fanion.app.services import FlagServices, build_capture, build_flag_services
from fanion.config import Settings
from fanion.db.engine import Records, RecordsUnavailable
from fanion.errors import Unavailable
from fanion.ingest.capture.endpoints import CaptureEndpoints
from fanion.ingest.capture.rate_limit import RateLimiter
from fanion.observability.logging import LineWriter, Telemetry
from fanion.observability.metrics import Metrics
from fanion.server.asgi_bridge import AsgiApp
from fanion.server.forwarded import BaseUrl, TrustedProxies
from fanion.server.request import Request
from fanion.server.response import Response
from fanion.web.application import Application
from fanion.web.landing_page import LandingPage
from fanion.web.probes import OK, Check, Checked, Probes, State
from fanion.web.routes import (
    AnsweredBy,
    Routes,
    public_routes,
    routes_without_stores,
    shared_routes,
)


class Readiness(Enum):
    """What a process answers. Everything else is refused: with this text, to be retried after so
    many seconds."""

    # Flags, from the offline copy: the records store is away.
    DEGRADED = "The records store cannot be reached. Please retry.", 5
    # Capture and flags. The event store opens in one to two seconds, while the management API is
    # loaded.
    OPENING = "The server is still starting. Please retry.", 1
    # What web workers answer too. Only a pipelined request gets here: the next connection goes to
    # the server.
    WEB_WORKER = "This was asked before the answer was out. Please retry.", 0
    SERVING = "", 0

    async def refuse(self, _: Request) -> Response:
        raise self._refusal()

    async def refuse_management(self, scope: Any, receive: Any, send: Any) -> None:
        raise self._refusal()

    def _refusal(self) -> Unavailable:
        detail, retry_after_s = self.value
        return Unavailable(detail, retry_after_s=retry_after_s)


async def measure_nothing() -> None:
    """Before events are ingested there is no lag to measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Of the applications that one process serves, one after another.

    capture: None while the accept log is not open
    """

    settings: Settings
    metrics: Metrics
    lines: LineWriter
    flags: FlagServices
    capture: CaptureEndpoints | None = None

    def build(
        self,
        readiness: Readiness,
        checks: Mapping[str, Check],
        refresh: Callable[[], Awaitable[None]] = measure_nothing,
        management: AsgiApp | None = None,
    ) -> Application:
        """checks:     of the stores, by name
        refresh:    updates the metrics that are measured on request
        management: None before it is loaded
        """
        return Application(
            self._routes(readiness, Probes(checks, self.metrics, refresh)),
            management or readiness.refuse_management,
            self._telemetry(),
            self.settings.body_bytes_max,
        )

    def _routes(self, readiness: Readiness, probes: Probes) -> Routes:
        endpoints = self.flags.endpoints
        if self.capture is not None and readiness is Readiness.WEB_WORKER:
            return web_worker_routes(self.settings, self.capture, self.flags)
        page = landing_page(self.settings, probes, self.flags.proxies)
        if self.capture is None:
            return routes_without_stores(readiness.refuse, endpoints, page)
        return public_routes(self.capture, endpoints, page)

    def _telemetry(self) -> Telemetry:
        is_verbose = self.settings.log_level in {"debug", "info"}
        return Telemetry(self.metrics, self.lines, is_verbose, self.flags.proxies)


def web_worker_routes(settings: Settings, capture: CaptureEndpoints, flags: FlagServices) -> Routes:
    """What web workers answer too. A limit on evaluations can only be held by one process: with
    one, the server alone evaluates flags."""
    evaluation = AnsweredBy.HERE if settings.decide_per_s == 0 else AnsweredBy.SERVER
    return shared_routes(capture, flags.endpoints, evaluation)


@dataclass(frozen=True, slots=True)
class WebWorkerServices:
    application: Application
    routes: Routes
    flags: FlagServices


def build_web_worker_services(
    settings: Settings,
    records: Records,
    log: Appender,
    limits: RateLimiter,
    metrics: Metrics,
    lines: LineWriter,
    now: Callable[[], datetime],
) -> WebWorkerServices:
    """raises: GeoIpUnreadable"""
    flags = build_flag_services(settings, records, metrics, now)
    capture = build_capture(settings, flags, log, metrics, now, limits)
    builder = Builder(settings=settings, metrics=metrics, lines=lines, flags=flags, capture=capture)
    application = builder.build(Readiness.WEB_WORKER, {})
    return WebWorkerServices(application, application.routes, flags)


def landing_page(settings: Settings, probes: Probes, proxies: TrustedProxies) -> LandingPage:
    capture_url = settings.address if settings.management_listen else ""
    return LandingPage(probes, management_base_url(settings, proxies), capture_url)


def management_base_url(settings: Settings, proxies: TrustedProxies) -> BaseUrl:
    """With a listener of its own, the management API is not at the public address."""
    if settings.management_listen:
        return BaseUrl(proxies, host=settings.management_url.removeprefix("http://"))
    return BaseUrl(proxies, settings.public_url, settings.local_address.removeprefix("http://"))


async def check_records(records: Records) -> Checked:
    try:
        await records.ping()
    except RecordsUnavailable as error:
        return Checked(State.UNREACHABLE, str(error))
    return OK


async def check_unreachable() -> Checked:
    return Checked(State.UNREACHABLE)


async def check_opening() -> Checked:
    return Checked(State.OPENING)
