"""Serving flags while the records store cannot be opened: what was kept on disk answers, and
everything else is told to come back later."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Any

import structlog

from fanion.config import Settings
from fanion.db.engine import RecordsUnavailable, open_records, unopened_records
from fanion.errors import Unavailable
from fanion.flag_parts import build_flag_parts, located
from fanion.flags.decide import nowhere
from fanion.flags.kept_store import KeptFlags
from fanion.http import Request, Response
from fanion.logs import LineWriter
from fanion.metrics import Metrics
from fanion.server.application import Application
from fanion.server.probes import Probes
from fanion.server.public import routes_without_stores
from fanion.server.telemetry import Telemetry

# A store that needs longer at the start counts as down, when flags were kept: they are to be
# served two seconds after the start, of which Python takes one.
ANSWER_S = 0.4
# Later there is time to wait for a slow one.
ANSWER_LATER_S = 5.0
RETRY_S = 0.5

_REASON = "cannot be opened"


async def stand_by(
    standing_by: AsyncExitStack,
    settings: Settings,
    kept: KeptFlags,
    metrics: Metrics,
    lines: LineWriter,
    now: Callable[[], datetime],
) -> Application | None:
    """None when the records store answers, or when there is nothing to answer without it.

    standing_by: closes what the application needs
    """
    if await records_answer(settings.records_url) or not await kept.projects():
        return None
    structlog.get_logger().error("records_unavailable_at_start", serving="kept flags")
    return await standing_by.enter_async_context(
        standby_application(settings, kept, metrics, lines, now)
    )


async def records_answer(url: str, wait_s: float = ANSWER_S) -> bool:
    try:
        async with asyncio.timeout(wait_s):
            records = await open_records(url)
            await records.close()
    except (RecordsUnavailable, TimeoutError):
        return False
    return True


async def until_records_answer(url: str, stop: asyncio.Event) -> None:
    """Or until `stop` is set."""
    stopping = asyncio.ensure_future(stop.wait())
    try:
        while not stopping.done() and not await records_answer(url, ANSWER_LATER_S):
            await asyncio.wait([stopping], timeout=RETRY_S)
    finally:
        stopping.cancel()


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
    beside = asyncio.ensure_future(parts.broadcaster.beat())
    try:
        probes = Probes({"records": _down}, metrics, _nothing)
        yield Application(
            routes_without_stores(_refuse, parts.endpoints, probes),
            _refuse_management,
            Telemetry(metrics, lines, requests=settings.log_level in {"debug", "info"}),
            settings.body_bytes_max,
        )
    finally:
        parts.broadcaster.close()
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        await records.close()


async def _refuse(_: Request) -> Response:
    raise Unavailable("The records store cannot be reached. Please retry.")


async def _refuse_management(scope: Any, receive: Any, send: Any) -> None:
    raise Unavailable("The records store cannot be reached. Please retry.")


async def _down() -> str:
    return _REASON


async def _nothing() -> None:
    """Nothing is worth measuring."""
