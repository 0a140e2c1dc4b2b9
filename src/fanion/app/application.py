"""Builders of the `Application` that a process serves, by how much of the server is ready."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from enum import Enum
from typing import Any

from fanion.accept_log.port import sum_backlogs
from fanion.accept_log.spool_folder import Spool
from fanion.app.services import AppContext, FlagServices, Services
from fanion.config import Role, Settings
from fanion.console.docs_endpoints import DocsEndpoints, docs_routes
from fanion.console.endpoints import ConsoleEndpoints, SdkScripts, console_routes, sdk_routes
from fanion.db.engine import RecordsUnavailable
from fanion.errors import Unavailable
from fanion.ingest.capture.endpoints import CaptureEndpoints
from fanion.mcp.endpoints import McpEndpoint, mcp_routes
from fanion.observability.logging import Telemetry
from fanion.runtime.backup_state import backup_problem, read_backup_state
from fanion.server.asgi_bridge import AsgiApp
from fanion.server.forwarded import BaseUrl, TrustedProxies
from fanion.server.request import Request
from fanion.server.response import Response
from fanion.web.application import Application
from fanion.web.landing_page import LandingPage
from fanion.web.probes import OK, Check, CheckResult, Probes, State, in_time
from fanion.web.routes import (
    AnsweredBy,
    Routes,
    probe_routes,
    public_routes,
    routes_without_stores,
    worker_routes,
)


class Readiness(Enum):
    """The part of the server that a process answers for.

    Each value holds the text that refuses all other requests, and the number of seconds after
    which clients should retry.
    """

    # Only flags are answered, from the offline copy, and captures for the spool, because the
    # records store cannot be reached.
    DEGRADED = "The records store cannot be reached. Please retry.", 5
    # Capture and flags are answered. The event store opens in one to two seconds, while the
    # management API is loaded.
    OPENING = "The server is still starting. Please retry.", 1
    # Capture and flags are answered while a command copies the stores; after a move for good, until
    # a server on the other stores takes over.
    PAUSED = "Fanion is paused for maintenance; capture and flags are answered. Please retry.", 10
    MOVED = "This installation was moved, and its new server answers. Please retry there.", 30
    # Only the paths that web workers share are answered. Only a pipelined request is refused: the
    # next connection goes to the server.
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
    """Measure no lag: events are not ingested yet."""


async def measure_spool(context: AppContext, spool: Spool | None) -> None:
    """Update the metrics of the spool, when metrics are requested."""
    if spool is None:
        return
    metrics = context.metrics
    try:
        waiting = await spool.backlog()
    except OSError:
        metrics.spool_is_unknown()
        return
    metrics.spool_requests.set(waiting.envelopes)
    metrics.spool_bytes.set(waiting.bytes)
    metrics.spool_seconds.set(waiting.age_s(context.now()))


async def measure_lag(public: Services) -> None:
    """Update the metrics of the logs and the mirror, when metrics are requested."""
    metrics = public.context.metrics
    metrics.log_bytes_max.set(public.context.settings.log_bytes_limit)
    await measure_spool(public.context, public.spool)
    _measure_backups(public.context)
    try:
        lanes = await in_time(public.backlogs())
        # Read after the log: what has left the log by now is stored, or counted here.
        changes = await public.changes_to_mirror()
    except (OSError, RecordsUnavailable):
        # The other metrics are still wanted. /_ready says that a store does not answer.
        metrics.lag_is_unknown()
        return
    waiting = sum_backlogs(lanes)
    metrics.log_events.set(waiting.envelopes)
    for lag in waiting.partitions:
        metrics.log_partition_lag.labels(lag.topic, str(lag.partition)).set(lag.envelopes)
    metrics.log_bytes.set(waiting.bytes)
    metrics.log_seconds.set(waiting.age_s(public.context.now()))
    metrics.changes_to_mirror.set(changes)


def _measure_backups(context: AppContext) -> None:
    folder, metrics = context.settings.data, context.metrics
    state = read_backup_state(folder)
    succeeded_at = state.succeeded_at if state else None
    metrics.backup_time.set(succeeded_at.timestamp() if succeeded_at else 0)
    problem = backup_problem(folder, context.settings.backup_interval_s, context.now())
    metrics.backup_failed.set(1 if problem else 0)


def build_application(
    context: AppContext,
    flags: FlagServices,
    capture: CaptureEndpoints | None,
    readiness: Readiness,
    checks: Mapping[str, Check],
    refresh: Callable[[], Awaitable[None]] = measure_nothing,
    management: AsgiApp | None = None,
) -> Application:
    """Build the application of a process for its roles and its readiness.

    Args:
        capture: None while the accept log is not open.
        checks: The checks of the stores, by name.
        refresh: Updates the metrics that are measured on request.
        management: None before it is loaded, and where other processes answer it.
    """
    settings, metrics = context.settings, context.metrics
    probes = Probes(checks, metrics, refresh, context.draining)
    page = landing_page(settings, probes, flags.proxies, context.build.missing)
    if capture is None:
        routes = routes_without_stores(readiness.refuse, flags.endpoints, page)
    elif readiness is Readiness.WEB_WORKER:
        routes = web_worker_routes(settings, capture, flags)
    else:
        routes = public_routes(capture, flags.endpoints, page)
    is_verbose = settings.log_level in {"debug", "info"}
    telemetry = Telemetry(metrics, context.lines, is_verbose, flags.proxies, context.tracing)
    if readiness is not Readiness.WEB_WORKER:
        routes = routes.merged_with(_assistant_routes(settings, telemetry, readiness, management))
        routes = _routes_of_roles(_with_console(routes, context, flags, page), settings.roles, page)
    if management is None and readiness is not Readiness.SERVING:
        management = readiness.refuse_management
    return Application(routes, management, telemetry, settings.body_bytes_max)


def web_worker_routes(settings: Settings, capture: CaptureEndpoints, flags: FlagServices) -> Routes:
    """Return the routes that web workers share with the server.

    Only one process can hold a limit on evaluations, so with a limit the server evaluates all
    flags.
    """
    evaluation = AnsweredBy.HERE if settings.decide_per_s == 0 else AnsweredBy.SERVER
    return worker_routes(capture, flags.endpoints, evaluation)


def _assistant_routes(
    settings: Settings, telemetry: Telemetry, readiness: Readiness, management: AsgiApp | None
) -> Routes:
    if management is None:
        return Routes({}) if readiness is Readiness.SERVING else mcp_routes(readiness.refuse)
    urls = (settings.public_url, settings.management_url, settings.operator_url, settings.address)
    return mcp_routes(McpEndpoint(management, telemetry, tuple(filter(None, urls))).post)


def _routes_of_roles(routes: Routes, roles: frozenset[Role], page: LandingPage) -> Routes:
    """Return the routes a process with these roles serves, always with its own health and metrics.

    The roles web and api split the paths the same way the two listeners do.
    """
    if {Role.WEB, Role.API} <= roles:
        return routes
    if Role.WEB in roles:
        return routes.of_public_listener().merged_with(probe_routes(page))
    if Role.API in roles:
        return routes.of_management_listener()
    return probe_routes(page)


def _with_console(
    routes: Routes, context: AppContext, flags: FlagServices, page: LandingPage
) -> Routes:
    """Add SDK scripts, documentation, and the console unless it is off or not built.

    Args:
        page: Served where there is no console.
    """
    build = context.build
    routes = routes.merged_with(sdk_routes(SdkScripts(build, flags.endpoints.browser)))
    docs = DocsEndpoints(context.docs)
    routes = routes.merged_with(docs_routes(docs))
    if build.missing or context.settings.console == "off":
        return routes
    console = ConsoleEndpoints(build, page.base_url, page.get, docs.is_built)
    return routes.merged_with(console_routes(console))


def landing_page(
    settings: Settings, probes: Probes, proxies: TrustedProxies, missing: str = ""
) -> LandingPage:
    """Build the landing page.

    Args:
        missing: Why there is no console.
    """
    return LandingPage(
        probes,
        management_base_url(settings, proxies),
        settings.capture_url,
        no_console="" if settings.console == "off" else missing,
    )


def management_base_url(settings: Settings, proxies: TrustedProxies) -> BaseUrl:
    """Return the base of links in management answers.

    A management API with its own listener is not at the public address.
    """
    listener = settings.management_address
    if listener is not None:
        host = settings.operator_url.partition("://")[2]
        return BaseUrl(proxies, settings.management_url, host)
    url = settings.management_url or settings.public_url
    return BaseUrl(proxies, url, settings.local_address.removeprefix("http://"))


def records_check(public: Services) -> Check:
    async def check() -> CheckResult:
        try:
            await in_time(public.records.ping())
        except (RecordsUnavailable, TimeoutError) as error:
            return _unreachable_result(public.context.settings, public.flags, str(error))
        return OK

    return check


def log_check(public: Services) -> Check:
    settings = public.context.settings

    async def check() -> CheckResult:
        is_needed = not answers_from_memory(settings, public.flags)
        try:
            waiting = sum(lane.bytes for lane in await in_time(public.backlogs()))
        except OSError as error:  # or TimeoutError, which is one
            return CheckResult(State.UNREACHABLE, str(error), is_needed)
        if waiting < settings.log_bytes_limit:
            return OK
        # A full log must not make the ingesting role unready: it is what drains the log.
        return CheckResult(State.FULL, is_needed=is_needed and Role.WEB in settings.roles)

    return check


def spool_checks(spool: Spool | None, now: Callable[[], datetime]) -> Mapping[str, Check]:
    """Return the check of the spool, where captures have one.

    It never makes a server unready: the others cannot reach PostgreSQL either.
    """
    if spool is None:
        return {}

    async def check() -> CheckResult:
        try:
            waiting = await in_time(spool.backlog())
        except OSError as error:
            return CheckResult(State.UNREACHABLE, str(error), is_needed=False)
        if not waiting.envelopes:
            return OK
        state = State.FULL if waiting.bytes >= spool.bytes_max else State.SPOOLING
        numbers = {"spool_bytes": waiting.bytes, "spool_age_s": waiting.age_s(now())}
        return CheckResult(state, is_needed=False, numbers=numbers)

    return {"spool": check}


def answers_from_memory(settings: Settings, flags: FlagServices) -> bool:
    """Return whether to report ready while the stores are down.

    A server with only the role web can still evaluate flags from memory, and its peers cannot do
    better.
    """
    return settings.roles == {Role.WEB} and bool(flags.projects.known)


def unreachable_check(settings: Settings, flags: FlagServices) -> Check:
    """Return a check for the time while the records store is known to be unreachable."""

    async def check() -> CheckResult:
        return _unreachable_result(settings, flags)

    return check


def _unreachable_result(settings: Settings, flags: FlagServices, reason: str = "") -> CheckResult:
    """Return the result of a failed check of the records store."""
    is_needed = not answers_from_memory(settings, flags)
    ages = {"flags_age_s": flags.flag_sets.age_s} if Role.WEB in settings.roles else {}
    return CheckResult(State.UNREACHABLE, reason, is_needed, ages)


async def check_opening() -> CheckResult:
    return CheckResult(State.OPENING)
