"""Builds what a front answers with: capture and flags, on the records store and the accept log."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fanion.accept_log.port import Appender
from fanion.app.services import build_capture, telemetry
from fanion.app.services_flags import FlagParts, build_flag_parts, kept_flags, located
from fanion.config import Settings
from fanion.db.engine import Records
from fanion.errors import Unavailable
from fanion.flags.evaluation.endpoints import nowhere
from fanion.ingest.capture.endpoints import CaptureEndpoints, Room
from fanion.observability.logging import LineWriter
from fanion.observability.metrics import Metrics
from fanion.web.application import Application
from fanion.web.public_routes import FlagEndpoints, shared_routes
from fanion.web.routes import Routes

# Names of routes that the server answers too, and not its fronts alone.
EVALUATING = frozenset({"decide", "flags", "ofrep"})


def shared(settings: Settings, capture: CaptureEndpoints, flags: FlagEndpoints) -> Routes:
    """A limit on evaluations is one process's to watch."""
    return shared_routes(capture, flags, evaluates=settings.decide_per_s == 0)


@dataclass(frozen=True, slots=True)
class FrontParts:
    application: Application
    routes: Routes
    flags: FlagParts


def build_front_parts(
    settings: Settings,
    records: Records,
    log: Appender,
    room: Room,
    metrics: Metrics,
    lines: LineWriter,
    now: Callable[[], datetime],
) -> FrontParts:
    """raises: GeoIpUnreadable"""
    locate = located(settings) or nowhere
    flags = build_flag_parts(settings, records, metrics, kept_flags(settings), now, locate)
    capture = build_capture(settings, flags, log, metrics, now, room)
    routes = shared(settings, capture, flags.endpoints)
    application = Application(
        routes,
        _refuse,
        telemetry(settings, metrics, lines, flags.proxies),
        settings.body_bytes_max,
    )
    return FrontParts(application, routes, flags)


async def _refuse(scope: Any, receive: Any, send: Any) -> None:
    """What the server would have to answer, asked behind something else before that was answered:
    on its next connection it goes there."""
    raise Unavailable("This was asked before the answer was out. Please retry.", retry_after_s=0)
