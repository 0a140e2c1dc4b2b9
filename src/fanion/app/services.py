"""Builds what SDKs talk to: capture and flags, on the records store and the accept log. It is
served before the event store is open and the rest of the server is loaded."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from fanion.accept_log.port import AcceptLog, Appender
from fanion.accept_log.postgres import open_postgres_log
from fanion.accept_log.sqlite import open_sqlite_log
from fanion.app.services_flags import FlagParts, build_flag_parts, kept_flags, located
from fanion.config import Settings
from fanion.db.engine import Records, RecordsUnavailable, open_records
from fanion.db.migrate import migrate
from fanion.errors import Unavailable
from fanion.flags.evaluation.endpoints import nowhere
from fanion.ingest.capture.endpoints import CaptureEndpoints, OwnRoom, Room
from fanion.ingest.pipeline.store import ingested_upto
from fanion.observability.logging import LineWriter
from fanion.observability.metrics import Metrics
from fanion.observability.request_log import Telemetry
from fanion.runtime.geoip import GeoIp
from fanion.server.forwarded import BaseUrl, TrustedProxies
from fanion.web.application import Application
from fanion.web.landing_page import LandingPage
from fanion.web.probes import OK, Checked, Probes, State
from fanion.web.public_routes import public_routes
from fanion.wire.client_address import Clients

# The event store opens in one to two seconds, while the rest of the server is loaded.
OPENING_RETRY_S = 1


@dataclass(frozen=True, slots=True)
class PublicStores:
    records: Records
    log: AcceptLog


@dataclass(frozen=True, slots=True)
class PublicParts:
    """geoip: None without a location database"""

    records: Records
    log: AcceptLog
    metrics: Metrics
    now: Callable[[], datetime]
    geoip: GeoIp | None
    flags: FlagParts
    capture: CaptureEndpoints


@asynccontextmanager
async def open_public_stores(settings: Settings) -> AsyncGenerator[PublicStores]:
    """Migrated and open. raises: RecordsUnavailable, OSError"""
    await migrate(settings.records_url)
    records = await open_records(settings.records_url)
    try:
        log = await open_log(settings, records)
        try:
            yield PublicStores(records, log)
        finally:
            await log.close()
    finally:
        await records.close()


async def open_log(settings: Settings, records: Records) -> AcceptLog:
    """Beside the records in PostgreSQL, else in a file of its own. raises: OSError"""
    bytes_max = settings.accept_log_bytes_max
    if records.dialect == "postgresql":
        return await open_postgres_log(settings.records_url, bytes_max=bytes_max)
    return await open_sqlite_log(
        settings.accept_log_path,
        bytes_max=bytes_max,
        after=await ingested_upto(records),
        shared=settings.answering > 1,
    )


def build_public_parts(
    settings: Settings, stores: PublicStores, metrics: Metrics, now: Callable[[], datetime]
) -> PublicParts:
    """raises: GeoIpUnreadable"""
    records, log = stores.records, stores.log
    records.observe(metrics.store_seconds.labels("records").observe)
    geoip = located(settings)
    kept = kept_flags(settings)
    flags = build_flag_parts(settings, records, metrics, kept, now, geoip or nowhere)
    capture = build_capture(settings, flags, log, metrics, now, OwnRoom())
    return PublicParts(records, log, metrics, now, geoip, flags, capture)


def build_capture(
    settings: Settings,
    flags: FlagParts,
    log: Appender,
    metrics: Metrics,
    now: Callable[[], datetime],
    room: Room,
) -> CaptureEndpoints:
    return CaptureEndpoints(
        flags.projects,
        flags.authentication,
        log,
        now,
        metrics.hot.accepted,
        settings.body_bytes_max,
        flags.proxies,
        room,
        flags.decoding,
    )


def opening_application(settings: Settings, public: PublicParts, lines: LineWriter) -> Application:
    """What is served until everything is: whoever needs more is told to come back."""

    records = partial(check_records, public.records)
    probes = Probes({"records": records, "events": _opening}, public.metrics, _nothing)
    page = landing_page(settings, probes, public.flags.proxies)
    return Application(
        public_routes(public.capture, public.flags.endpoints, page),
        _refuse,
        telemetry(settings, public.metrics, lines, public.flags.proxies),
        settings.body_bytes_max,
    )


def landing_page(settings: Settings, probes: Probes, proxies: TrustedProxies) -> LandingPage:
    capture_url = settings.address if settings.management_listen else ""
    return LandingPage(probes, management_base_url(settings, proxies), capture_url)


def management_base_url(settings: Settings, proxies: TrustedProxies) -> BaseUrl:
    """The public address answers nothing of management where that has its own."""
    if settings.management_listen:
        return BaseUrl(proxies, host=settings.management_url.removeprefix("http://"))
    return BaseUrl(proxies, settings.public_url, settings.local_address.removeprefix("http://"))


def telemetry(
    settings: Settings, metrics: Metrics, lines: LineWriter, proxies: TrustedProxies
) -> Telemetry:
    requests = settings.log_level in {"debug", "info"}
    return Telemetry(metrics, lines, requests, Clients(proxies))


async def check_records(records: Records) -> Checked:
    try:
        await records.ping()
    except RecordsUnavailable as error:
        return Checked(State.UNREACHABLE, str(error))
    return OK


async def _opening() -> Checked:
    return Checked(State.OPENING)


async def _nothing() -> None:
    """Nothing is worth measuring yet."""


async def _refuse(scope: Any, receive: Any, send: Any) -> None:
    raise Unavailable("The server is still starting. Please retry.", retry_after_s=OPENING_RETRY_S)
