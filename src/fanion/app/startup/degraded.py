"""Flags from the offline copy, and captures into the spool, while the records store is away."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import structlog

from fanion.accept_log.spool import SpooledLog
from fanion.accept_log.spool_folder import Spool
from fanion.app.application import (
    Readiness,
    build_application,
    measure_spool,
    spool_checks,
    unreachable_check,
)
from fanion.app.services import (
    AppContext,
    build_capture,
    build_flag_services,
    open_offline_flags,
)
from fanion.app.startup.server_start import ServerStart
from fanion.config import Role
from fanion.db.engine import unopened_records
from fanion.ingest.capture.rate_limit import ProjectRateLimits
from fanion.ingest.items import are_named
from fanion.runtime.background import background_tasks
from fanion.runtime.interpreter import enable_garbage_collection
from fanion.web.application import Application

# With an offline copy of flags, a store that takes longer than this, once everything else is
# loaded, counts as down: flags must be served two seconds after the start.
ANSWER_S = 0.1


async def serve_degraded(
    start: ServerStart,
    degraded: AsyncExitStack,
    answering: "asyncio.Task[bool]",
    spool: Spool | None,
) -> bool:
    """Serve flags from the offline copy if the records store cannot be reached.

    Args:
        spool: Takes captures; None to refuse them.

    Returns:
        False if the store answers, if the copy is empty, or if this process does not serve flags.
    """
    await asyncio.wait([answering], timeout=ANSWER_S)
    is_there = answering.done() and answering.result()
    answering.cancel()
    if is_there or Role.WEB not in start.roles:
        return False
    if not await open_offline_flags(start.context.settings).projects():
        return False
    structlog.get_logger().error("records_unavailable_at_start", serving="offline flags")
    application = degraded_application(start.context, spool)
    await start.http.answer_with(await degraded.enter_async_context(application))
    enable_garbage_collection()
    does = "serves flags" if spool is None else "serves flags and accepts events"
    start.announce(f"Fanion {does} on {start.context.settings.address}; nothing else yet")
    return True


@asynccontextmanager
async def degraded_application(
    context: AppContext, spool: Spool | None = None
) -> AsyncGenerator[Application]:
    """Yield an application that evaluates flags from the offline copy; run its background tasks.

    Args:
        spool: Takes captures of projects in the copy; None to refuse them.
    """
    records = unopened_records(context.settings.records_url)
    flags = build_flag_services(context, records, records_answer=False)
    offline = open_offline_flags(context.settings)
    for project in await offline.projects():
        flags.projects.restore(project)
    if (oldest := await offline.oldest_known_at()) is not None:
        flags.flag_sets.answer_from_copy(oldest)

    checks = {
        "records": unreachable_check(context.settings, flags),
        **spool_checks(spool, context.now),
    }
    log, capture = None, None
    if spool is not None:
        log = SpooledLog(None, spool, spool.switch, are_named)
        capture = build_capture(context, flags, log, ProjectRateLimits())
    try:
        async with background_tasks(flags.broadcaster.run_heartbeat, flags.projects.run):
            yield build_application(
                context,
                flags,
                capture,
                Readiness.DEGRADED,
                checks,
                partial(measure_spool, context, spool),
            )
    finally:
        flags.broadcaster.close()
        if log is not None:
            await log.close_lanes()
        await records.close()
