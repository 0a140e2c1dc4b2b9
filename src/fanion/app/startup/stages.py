"""The stages of a start, each served while the next one is prepared.

First flags from the offline copy, if the records store cannot be reached; then capture and flags;
then everything.
"""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

import structlog

from fanion.accept_log.spool_folder import Spool
from fanion.app.application import (
    Readiness,
    build_application,
    check_opening,
    log_check,
    measure_lag,
    records_check,
    spool_checks,
)
from fanion.app.first_run import set_up_first_run, start_announcement
from fanion.app.loops import observed_loops
from fanion.app.services import (
    Services,
    Stores,
    build_services,
    open_stores,
    opened_spool,
    prepare_offline_flags,
)
from fanion.app.startup.degraded import serve_degraded
from fanion.app.startup.event_store import open_event_store
from fanion.app.startup.server_start import ServerStart, close_at_stop
from fanion.app.startup.work import working_unless_paused
from fanion.app.telemetry import metrics_sender
from fanion.config import Role
from fanion.db.engine import RecordsUnavailable, wait_for_records
from fanion.runtime.background import BackgroundTask, background_tasks
from fanion.runtime.interpreter import enable_garbage_collection, import_in_thread
from fanion.runtime.loaded_pages import release_loaded_pages
from fanion.web.application import Application
from fanion.web.probes import Check

if TYPE_CHECKING:  # loaded while capture and flags are served
    from fanion.app.server import Server
    from fanion.events.storage.store import EventStore


WITHOUT_EVENTS = (
    "The event store does not answer yet. Capture and flags are served; "
    "events can be read, and are ingested, as soon as it does."
)
# By then the degraded application has answered the requests that it began.
DEGRADED_LINGER_S = 5.0


async def run_stages(start: ServerStart, answering: "asyncio.Task[bool]") -> None:
    """Go through the stages of a start and serve until the server stops.

    Args:
        answering: Whether the records store answers.

    Raises:
        SettingsError: The flags snapshot is broken.
    """
    await asyncio.to_thread(prepare_offline_flags, start.context.settings)
    async with (
        opened_spool(start.context.settings) as spool,
        AsyncExitStack() as degraded,
        AsyncExitStack() as opened,
    ):
        if await serve_degraded(start, degraded, answering, spool):
            stores = await _open_stores_when_reachable(start, opened, spool)
            if stores is None:
                return
        else:
            stores = await opened.enter_async_context(open_stores(start.context, spool))
        public = build_services(start.context, stores)
        streams = partial(close_at_stop, start.stop, public.flags.broadcaster.close)
        loops = observed_loops(public.loops, start.context.metrics).values()
        sender = _metrics_sender(start, public)
        ending = partial(_end_degraded, degraded)
        async with background_tasks(*loops, *sender, streams, ending):
            try:
                if start.roles == {Role.WEB}:
                    await _serve_web(start, public)
                else:
                    await start.http.answer_with(_opening_application(public))
                    async with open_event_store(start, public.records) as events:
                        await _serve_everything(start, public, events)
            finally:
                start.stop.set()
                await start.http.wait_closed()


def _metrics_sender(start: ServerStart, public: Services) -> list[BackgroundTask]:
    context = start.context
    return metrics_sender(
        context.settings, start.otel, context.metrics, partial(measure_lag, public)
    )


def _opening_application(public: Services) -> Application:
    checks: dict[str, Check] = {
        "records": records_check(public),
        "events": check_opening,
        **spool_checks(public.spool, public.context.now),
    }
    return build_application(
        public.context, public.flags, public.capture, Readiness.OPENING, checks
    )


async def _serve_web(start: ServerStart, public: Services) -> None:
    """Serve only capture and flags, which need no event store."""
    checks = {
        "records": records_check(public),
        "accept_log": log_check(public),
        **spool_checks(public.spool, public.context.now),
    }
    refresh = partial(measure_lag, public)
    application = build_application(
        public.context, public.flags, public.capture, Readiness.SERVING, checks, refresh
    )
    enable_garbage_collection()
    await start.http.answer_with(application)
    start.announce(start_announcement(public.context.settings, None, to_terminal=start.to_terminal))
    await asyncio.to_thread(release_loaded_pages)
    await _with_web_workers(start, public)


async def _with_web_workers(start: ServerStart, public: Services) -> None:
    """Run the web workers until the server stops."""
    await import_in_thread("fanion.app.web_workers")
    from fanion.app.web_workers import web_workers

    async with web_workers(public, start.http.public, start.stop):
        await start.http.wait_closed()


async def _open_stores_when_reachable(
    start: ServerStart, opened: AsyncExitStack, spool: Spool | None
) -> Stores | None:
    """Open the stores once the records store answers again, or return None when stopped."""
    while True:
        await wait_for_records(start.context.settings.records_url, start.stop)
        if start.stop.is_set():
            return None
        try:
            return await opened.enter_async_context(open_stores(start.context, spool))
        except RecordsUnavailable as error:
            structlog.get_logger().error("records_unavailable", reason=str(error))


def _build_server(public: Services, events: "EventStore") -> tuple["Server", Application]:
    """Build the server. This runs in a thread, because the framework takes 0.2 s for its routes."""
    from fanion.app.server import Server, server_application

    server = Server(public, events)
    return server, server_application(server)


async def _serve_everything(start: ServerStart, public: Services, events: "EventStore") -> None:
    """Serve everything that the roles of this process include."""
    server, application = await asyncio.to_thread(_build_server, public, events)
    enable_garbage_collection()
    first_start, settings = None, public.context.settings
    if Role.API in start.roles:
        first_start = await set_up_first_run(public.records, public.flags.projects, settings)
    try:
        async with working_unless_paused(start, server, application):
            try:
                start.announce(
                    start_announcement(settings, first_start, to_terminal=start.to_terminal)
                )
                if not events.opened.is_set() and Role.WEB in start.roles:
                    start.announce(WITHOUT_EVENTS)
                await asyncio.to_thread(release_loaded_pages)
                if Role.WEB in start.roles:
                    await _with_web_workers(start, public)
                else:
                    await start.http.wait_closed()
            finally:
                start.stop.set()
    finally:
        await server.close()


async def _end_degraded(degraded: AsyncExitStack) -> None:
    await asyncio.sleep(DEGRADED_LINGER_S)
    await degraded.aclose()
