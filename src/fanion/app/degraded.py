"""Serving flags while the records store cannot be opened: what was kept on disk answers, and
everything else is told to come back later."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any

from fanion.app.services import landing_page, telemetry
from fanion.app.services_flags import build_flag_parts, located
from fanion.config import Settings
from fanion.db.engine import unopened_records
from fanion.errors import Unavailable
from fanion.flags.evaluation.endpoints import nowhere
from fanion.flags.evaluation.offline_store import KeptFlags
from fanion.observability.logging import LineWriter
from fanion.observability.metrics import Metrics
from fanion.projects.cache import REFRESH_S
from fanion.runtime.background import background_tasks, run_loop
from fanion.web.application import Application
from fanion.web.probes import Checked, Probes, State
from fanion.web.public_routes import routes_without_stores
from fanion.wire.endpoint import Request, Response


@asynccontextmanager
async def standby_application(
    settings: Settings,
    kept: KeptFlags,
    metrics: Metrics,
    lines: LineWriter,
    now: Callable[[], datetime],
) -> AsyncGenerator[Application]:
    """An application that evaluates the kept flags; what it needs runs beside it."""
    records = unopened_records(settings.records_url)
    locate = located(settings) or nowhere
    parts = build_flag_parts(settings, records, metrics, kept, now, locate, records_answer=False)
    for project in await kept.projects():
        parts.projects.restore(project)

    async def expire_former_tokens() -> None:
        parts.projects.end_former_tokens()

    expiry = partial(run_loop, expire_former_tokens, REFRESH_S, "tokens_not_expired", ())
    try:
        async with background_tasks(parts.broadcaster.run_heartbeat, expiry):
            probes = Probes({"records": _down}, metrics, _nothing)
            yield Application(
                routes_without_stores(
                    _refuse, parts.endpoints, landing_page(settings, probes, parts.proxies)
                ),
                _refuse_management,
                telemetry(settings, metrics, lines, parts.proxies),
                settings.body_bytes_max,
            )
    finally:
        parts.broadcaster.close()
        await records.close()


async def _refuse(_: Request) -> Response:
    raise Unavailable("The records store cannot be reached. Please retry.")


async def _refuse_management(scope: Any, receive: Any, send: Any) -> None:
    raise Unavailable("The records store cannot be reached. Please retry.")


async def _down() -> Checked:
    return Checked(State.UNREACHABLE)


async def _nothing() -> None:
    """Nothing is worth measuring."""
