"""The stages of a start, each served while the next one is prepared.

First flags from the offline copy, if the records store cannot be reached; then capture and flags;
then everything.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import structlog

from fanion.accept_log.spool import SpooledLog
from fanion.accept_log.spool_folder import Spool
from fanion.app.application import (
    Readiness,
    build_application,
    check_opening,
    log_check,
    measure_lag,
    measure_spool,
    records_check,
    spool_checks,
    unreachable_check,
)
from fanion.app.clocks import Clock, ahead_s, warn_of_clock
from fanion.app.first_run import set_up_first_run, start_announcement
from fanion.app.loops import observed_loops
from fanion.app.pauses import Pauses
from fanion.app.services import (
    AppContext,
    Services,
    Stores,
    build_capture,
    build_flag_services,
    build_services,
    open_offline_flags,
    open_stores,
    opened_spool,
    prepare_offline_flags,
)
from fanion.app.telemetry import metrics_sender
from fanion.config import OtelSettings, Role, Settings
from fanion.db.engine import Records, RecordsUnavailable, unopened_records, wait_for_records
from fanion.db.maintenance import Maintenance, State
from fanion.events.event import EventStoreUnavailable
from fanion.ingest.capture.rate_limit import ProjectRateLimits
from fanion.ingest.items import are_named
from fanion.runtime.background import BackgroundTask, Backoff, background_tasks
from fanion.runtime.failure_log import FailureLog
from fanion.runtime.interpreter import enable_garbage_collection, import_in_thread
from fanion.runtime.loaded_pages import release_loaded_pages
from fanion.web.application import Application, Listeners
from fanion.web.probes import Check

if TYPE_CHECKING:  # loaded while capture and flags are served
    from fanion.app.server import Server
    from fanion.events.storage.store import EventStore
    from fanion.events.turns.gate_service import GateLimits

# With an offline copy of flags, a store that takes longer than this, once everything else is
# loaded, counts as down: flags must be served two seconds after the start.
ANSWER_S = 0.1
# The embedded engine may need this long for a large folder. The connection to a slower ClickHouse
# server is made in the background.
OPENING_S = 5.0
OPEN_AGAIN_FIRST_S, OPEN_AGAIN_MAX_S = 0.25, 1.0
WITHOUT_EVENTS = (
    "The event store does not answer yet. Capture and flags are served; "
    "events can be read, and are ingested, as soon as it does."
)
# How long a command that pauses this server waits for the end of a batch at least.
PAUSED_BATCH_S = 40.0
# By then the degraded application has answered the requests that it began.
DEGRADED_LINGER_S = 5.0


@dataclass(frozen=True, slots=True)
class ServerStart:
    """The context of a start.

    Attributes:
        announce: Prints the address, and on the first start the keys.
        to_terminal: Whether only the operator reads what is announced.
        stop: Ends the server when set.
        otel: The telemetry to send.
    """

    context: AppContext
    announce: Callable[[str], None]
    to_terminal: bool
    stop: asyncio.Event
    http: Listeners
    otel: OtelSettings

    @property
    def roles(self) -> frozenset[Role]:
        return self.context.settings.roles


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
        if await _serve_degraded(start, degraded, answering, spool):
            stores = await _open_stores_when_reachable(start, opened, spool)
            if stores is None:
                return
        else:
            stores = await opened.enter_async_context(open_stores(start.context, spool))
        public = build_services(start.context, stores)
        streams = partial(_at_stop, start.stop, public.flags.broadcaster.close)
        loops = observed_loops(public.loops, start.context.metrics).values()
        sender = _metrics_sender(start, public)
        ending = partial(_end_degraded, degraded)
        async with background_tasks(*loops, *sender, streams, ending):
            try:
                if start.roles == {Role.WEB}:
                    await _serve_web(start, public)
                else:
                    await start.http.answer_with(_opening_application(public))
                    async with _open_event_store(start, public.records) as events:
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


async def _serve_degraded(
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


@asynccontextmanager
async def _open_event_store(start: ServerStart, records: Records) -> "AsyncGenerator[EventStore]":
    """Yield the event store, which may open later: capture and flag management do without it.

    The embedded engine takes a second to open without holding the interpreter, so the rest of the
    server is loaded meanwhile.

    Raises:
        EventStoreUnavailable: The event store can never be opened.
        SchemaRefused: Another version has made the event store's tables.
        StartRefused: The event store belongs to another installation.
    """
    await import_in_thread("fanion.events.storage.store")
    from fanion.events.storage.compiled_query import QuestionLimits
    from fanion.events.storage.store import EventStore

    settings, tried = start.context.settings, asyncio.Event()
    events = EventStore(
        settings.event_store_url,
        _gate_limits(settings),
        QuestionLimits(settings.question_s, settings.question_memory_bytes),
    )
    opening = asyncio.create_task(
        _open_events_with_retries(events, records, start.context.now, tried)
    )

    def ended(_: "asyncio.Task[None]") -> None:
        if not events.opened.is_set():
            start.stop.set()

    opening.add_done_callback(ended)
    try:
        await asyncio.gather(
            _import_modules(start.roles), _wait_for_first_attempt(tried, start.stop)
        )
        if opening.done():
            opening.result()
        yield events
        if opening.done():
            opening.result()
    finally:
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        await events.close()


def _gate_limits(settings: Settings) -> "GateLimits":
    from fanion.events.turns.gate_service import GateLimits

    return GateLimits(
        settings.questions_at_once,
        settings.questions_at_once_of_project,
        settings.questions_at_once_of_user,
        settings.questions_waiting,
        settings.questions_wait_s,
    )


async def _open_events_with_retries(
    events: "EventStore", records: Records, now: Clock, tried: asyncio.Event
) -> None:
    """Open the event store, retrying until it answers.

    Args:
        tried: Set after the first attempt.

    Raises:
        SchemaRefused: Another version has made the event store's tables.
        StartRefused: The event store belongs to another installation.
    """
    backoff = Backoff(OPEN_AGAIN_FIRST_S, OPEN_AGAIN_MAX_S)
    failures = FailureLog("event_store_not_open")
    while True:
        try:
            await events.open(records)
            failures.succeeded()
            break
        except (EventStoreUnavailable, RecordsUnavailable) as error:
            failures.failed(str(error))
        finally:
            tried.set()
        await asyncio.sleep(backoff.next_s())
    with suppress(EventStoreUnavailable):
        warn_of_clock("events", await ahead_s(now, events.now))


async def _wait_for_first_attempt(tried: asyncio.Event, stop: asyncio.Event) -> None:
    """Wait for the first attempt or a stop, at most OPENING_S seconds."""
    waiting = [asyncio.create_task(event.wait()) for event in (tried, stop)]
    await asyncio.wait(waiting, timeout=OPENING_S, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()


async def _import_modules(roles: frozenset[Role]) -> None:
    """Import the modules that the roles need, in a thread; the web framework takes longest."""
    management = ["fanion.app.parts.management"] if Role.API in roles else []
    for module in ("fanion.app.server", *management):
        await import_in_thread(module)


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
        async with _working_unless_paused(start, server, application):
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


@asynccontextmanager
async def _working_unless_paused(
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
    return [*server.background, partial(_at_stop, start.stop, server.live.events.close)]


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


async def _at_stop(stop: asyncio.Event, close: Callable[[], None]) -> None:
    """Close streams when the server stops, since it waits for every request in progress."""
    await stop.wait()
    close()


async def _end_degraded(degraded: AsyncExitStack) -> None:
    await asyncio.sleep(DEGRADED_LINGER_S)
    await degraded.aclose()


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
