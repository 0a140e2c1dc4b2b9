"""The work of a server, with a pause whenever a command asks for one."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import structlog

from fanion.app.application import (
    Readiness,
    build_application,
    log_check,
    measure_lag,
    records_check,
)
from fanion.app.pauses import Pauses
from fanion.app.startup.server_start import ServerStart, close_at_stop
from fanion.config import Role
from fanion.db.maintenance import Maintenance, State
from fanion.runtime.background import BackgroundTask, background_tasks
from fanion.web.application import Application

if TYPE_CHECKING:  # loaded while capture and flags are served
    from fanion.app.server import Server

# How long a command that pauses this server waits for the end of a batch at least.
PAUSED_BATCH_S = 40.0


@asynccontextmanager
async def working_unless_paused(
    start: ServerStart, server: "Server", application: Application
) -> AsyncGenerator[None]:
    """Serve everything, ingest and run the loops, except while a command pauses this server.

    A paused server answers capture and flags, and changes nothing but the accept log.
    """
    answering = asyncio.Event()
    working = asyncio.create_task(_work_between_pauses(start, server, application, answering))

    def end(_: "asyncio.Task[None]") -> None:
        start.stop.set()
        answering.set()

    working.add_done_callback(end)
    try:
        await answering.wait()
        yield
    finally:
        await working


async def _work_between_pauses(
    start: ServerStart, server: "Server", application: Application, answering: asyncio.Event
) -> None:
    """Work until the server stops.

    Args:
        answering: Set once requests are answered.
    """
    pauses = Pauses(server.public.records, start.context.now)
    while not start.stop.is_set():
        pause = await pauses.current()
        if pause is not None:
            structlog.get_logger().warning("paused", command=pause.name, state=pause.state)
            await start.http.answer_with(_paused_application(server, pause))
            answering.set()
            await pauses.changed(start.stop)
            if pauses.last is None:
                structlog.get_logger().info("pause_ended", command=pause.name)
            continue
        async with (
            background_tasks(*_background_tasks(start, server)),
            _ingest_until_end(start, server),
        ):
            await start.http.answer_with(application)
            answering.set()
            await pauses.changed(start.stop)
            if not start.stop.is_set():  # what follows are the ends of batches
                await start.http.answer_with(_paused_application(server, pauses.last))


def _paused_application(server: "Server", pause: Maintenance | None) -> Application:
    public, is_moved = server.public, pause is not None and pause.state is State.MOVED
    return build_application(
        public.context,
        public.flags,
        public.capture,
        Readiness.MOVED if is_moved else Readiness.PAUSED,
        {"records": records_check(public), "accept_log": log_check(public)},
        partial(measure_lag, public),
    )


def _background_tasks(start: ServerStart, server: "Server") -> list[BackgroundTask]:
    if Role.API not in start.roles:
        return server.background
    return [*server.background, partial(close_at_stop, start.stop, server.live.events.close)]


@asynccontextmanager
async def _ingest_until_end(start: ServerStart, server: "Server") -> AsyncGenerator[None]:
    """Ingest once the event store is open, and complete the current batches at the end.

    Until then another server ingests, if that one has the event store.
    """
    if Role.INGEST not in start.roles:
        yield
        return

    async def ingest() -> None:
        await server.events.opened.wait()
        await server.ingestion.run()

    for consumer in server.ingestion.consumers:
        consumer.allow()
    ingesting = asyncio.create_task(ingest())
    ingesting.add_done_callback(lambda _: start.stop.set() if not is_ending else None)
    is_ending = False
    try:
        yield
    finally:
        is_ending = True
        if not server.events.opened.is_set():
            ingesting.cancel()
        limit_s = start.context.settings.shutdown_s if start.stop.is_set() else PAUSED_BATCH_S
        await _finish_ingestion(server, ingesting, limit_s)


async def _finish_ingestion(
    server: "Server", ingesting: "asyncio.Task[None]", shutdown_s: float
) -> None:
    """Let the current batches end; events not yet ingested stay in the log for the next start."""
    for consumer in server.ingestion.consumers:
        consumer.stop()
    try:
        await asyncio.wait_for(ingesting, shutdown_s)
    except TimeoutError:
        structlog.get_logger().warning("ingestion_interrupted", after_s=shutdown_s)
    except asyncio.CancelledError:
        if not ingesting.cancelled():  # this task was cancelled
            raise
