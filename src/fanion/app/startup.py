"""The stages of a start, each served while the next one is prepared: kept flags, if the records
store is away; capture and flags; everything."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import structlog

from fanion.app.degraded import standby_application
from fanion.app.first_run import announcement, first_start
from fanion.app.services import (
    PublicParts,
    PublicStores,
    build_public_parts,
    open_public_stores,
    opening_application,
)
from fanion.app.services_flags import kept_flags
from fanion.config import Settings
from fanion.db.engine import RecordsUnavailable, until_records_answer
from fanion.events.event import EventStoreUnavailable
from fanion.observability.logging import LineWriter
from fanion.observability.metrics import Metrics
from fanion.runtime.background import Backoff, background_tasks
from fanion.runtime.clock import utc_now
from fanion.runtime.interpreter import collect_garbage, loaded
from fanion.web.listeners import Listeners

if TYPE_CHECKING:  # loaded while capture and flags are served
    from fanion.app.main import Running
    from fanion.events.storage.store import EventStore

# A store that needs longer, once all else is there, counts as down when flags were kept: they are
# to be served two seconds after the start.
ANSWER_S = 0.1
# What the embedded engine takes in a large folder; a server that is silent for longer is served
# without, until it answers.
OPENING_S = 5.0
OPEN_AGAIN_FIRST_S, OPEN_AGAIN_MAX_S = 0.5, 10.0
WITHOUT_EVENTS = (
    "The event store does not answer yet. Capture and flags are served; "
    "events can be read, and are ingested, as soon as it does."
)
# Requests that the standby application has begun are answered by then.
STANDBY_LINGER_S = 5.0


@dataclass(frozen=True, slots=True)
class Start:
    """announce:    is told the address, and on the first start the keys
    to_terminal: whether that is read by the operator alone
    stop:        ends the server
    """

    settings: Settings
    announce: Callable[[str], None]
    to_terminal: bool
    lines: LineWriter
    stop: asyncio.Event
    http: Listeners
    metrics: Metrics = field(default_factory=Metrics)


async def run_stages(start: Start, answering: "asyncio.Task[bool]") -> None:
    """answering: whether the records store does"""
    async with AsyncExitStack() as standing_by, AsyncExitStack() as opened:
        if await _stand_by(start, standing_by, answering):
            stores = await _stores_at_last(start, opened)
            if stores is None:
                return
        else:
            stores = await opened.enter_async_context(open_public_stores(start.settings))
        public = build_public_parts(start.settings, stores, start.metrics, utc_now)
        streams = partial(_end_streams, start.stop, public)
        async with background_tasks(*public.flags.followers, streams, partial(_leave, standing_by)):
            try:
                opening = opening_application(start.settings, public, start.lines)
                await start.http.show(opening)
                async with _event_store(start) as events:
                    await _serve_everything(start, public, events)
            finally:
                start.stop.set()
                await start.http.ended()


async def _stand_by(
    start: Start, standing_by: AsyncExitStack, answering: "asyncio.Task[bool]"
) -> bool:
    """Serve what was kept, if the records store is away; False when it answers, or when there is
    nothing to answer without it."""
    kept = kept_flags(start.settings)
    await asyncio.wait([answering], timeout=ANSWER_S)
    is_there = answering.done() and answering.result()
    answering.cancel()
    if is_there or not await kept.projects():
        return False
    structlog.get_logger().error("records_unavailable_at_start", serving="kept flags")
    application = standby_application(start.settings, kept, start.metrics, start.lines, utc_now)
    await start.http.show(await standing_by.enter_async_context(application))
    collect_garbage()
    start.announce(f"Fanion serves flags on {start.settings.address}; nothing else yet")
    return True


async def _stores_at_last(start: Start, opened: AsyncExitStack) -> PublicStores | None:
    """The stores, once the records store answers again; None when told to stop."""
    while True:
        await until_records_answer(start.settings.records_url, start.stop)
        if start.stop.is_set():
            return None
        try:
            return await opened.enter_async_context(open_public_stores(start.settings))
        except RecordsUnavailable as error:
            structlog.get_logger().error("records_unavailable", reason=str(error))


@asynccontextmanager
async def _event_store(start: Start) -> "AsyncGenerator[EventStore]":
    """Open, or soon: capture and flags, and the management of flags, are served without it.

    The embedded engine takes a second to open, without the interpreter: the rest of the server is
    loaded meanwhile.

    raises: EventStoreUnavailable when there can be none; SchemaTooNew
    """
    await loaded("fanion.events.storage.store")
    from fanion.events.storage.store import EventStore

    events, tried = EventStore(start.settings.event_store_url), asyncio.Event()
    opening = asyncio.create_task(_open_at_last(events, tried))

    def ended(_: "asyncio.Task[None]") -> None:
        if not events.opened.is_set():
            start.stop.set()

    opening.add_done_callback(ended)
    try:
        await asyncio.gather(loaded("fanion.app.main"), _tried(tried, start.stop))
        if opening.done():
            opening.result()
        yield events
        if opening.done():
            opening.result()
    finally:
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        await events.close()


async def _open_at_last(events: "EventStore", tried: asyncio.Event) -> None:
    """tried: is set when it has been tried once. raises: SchemaTooNew"""
    backoff = Backoff(OPEN_AGAIN_FIRST_S, OPEN_AGAIN_MAX_S)
    while True:
        try:
            await events.open()
            return
        except EventStoreUnavailable as error:
            wait_s = backoff.next_s()
            structlog.get_logger().warning(
                "event_store_not_open", reason=str(error), retry_s=wait_s
            )
        finally:
            tried.set()
        await asyncio.sleep(wait_s)


async def _tried(tried: asyncio.Event, stop: asyncio.Event) -> None:
    """For OPENING_S at most."""
    waiting = [asyncio.create_task(event.wait()) for event in (tried, stop)]
    await asyncio.wait(waiting, timeout=OPENING_S, return_when=asyncio.FIRST_COMPLETED)
    for one in waiting:
        one.cancel()


async def _serve_everything(start: Start, public: PublicParts, events: "EventStore") -> None:
    from fanion.app.main import build

    # Beside the loop too: the framework takes 0.2 s for its routes.
    running = await asyncio.to_thread(build, start.settings, public, events, start.lines)
    collect_garbage()
    made = await first_start(public.records, public.flags.projects)
    ingesting = asyncio.create_task(_ingest(running, events))
    ingesting.add_done_callback(lambda _: start.stop.set())
    async with background_tasks(*running.followers):
        try:
            await start.http.show(running.application)
            to_terminal = start.to_terminal
            start.announce(announcement(start.settings, made, to_terminal=to_terminal))
            if not events.opened.is_set():
                start.announce(WITHOUT_EVENTS)
            await loaded("fanion.app.web_workers")
            from fanion.app.web_workers import web_workers

            async with web_workers(start.settings, public, start.http.public, start.stop):
                await start.http.ended()
        finally:
            start.stop.set()
            if not events.opened.is_set():
                ingesting.cancel()
            await _finish(start.settings, running, ingesting)


async def _ingest(running: "Running", events: "EventStore") -> None:
    """Another server goes on with the log, if it has the event store."""
    await events.opened.wait()
    await asyncio.gather(*(consumer.run() for consumer in running.consumers))


async def _end_streams(stop: asyncio.Event, public: PublicParts) -> None:
    """Before the server stops, which waits for every request under way."""
    await stop.wait()
    public.flags.broadcaster.close()


async def _leave(standing_by: AsyncExitStack) -> None:
    await asyncio.sleep(STANDBY_LINGER_S)
    await standing_by.aclose()


async def _finish(settings: Settings, running: "Running", ingesting: "asyncio.Task[None]") -> None:
    """Let the runs in hand end. What is not ingested lies in the log for the next start."""
    for consumer in running.consumers:
        consumer.stop()
    try:
        await asyncio.wait_for(ingesting, settings.shutdown_s)
    except TimeoutError:
        structlog.get_logger().warning("ingestion_interrupted", after_s=settings.shutdown_s)
    except asyncio.CancelledError:
        if not ingesting.cancelled():  # but this one
            raise
    if running.preparer is not None:
        await running.preparer.close()
