"""The opening of the event store, which may take long, while capture and flags are served."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from fanion.app.clocks import Clock, ahead_s, warn_of_clock
from fanion.app.startup.server_start import ServerStart
from fanion.config import Role, Settings
from fanion.db.engine import Records, RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.runtime.background import Backoff
from fanion.runtime.failure_log import FailureLog
from fanion.runtime.interpreter import import_in_thread

if TYPE_CHECKING:  # loaded while capture and flags are served
    from fanion.events.storage.store import EventStore
    from fanion.events.turns.gate_service import GateLimits

# The embedded engine may need this long for a large folder. The connection to a slower ClickHouse
# server is made in the background.
OPENING_S = 5.0
OPEN_AGAIN_FIRST_S, OPEN_AGAIN_MAX_S = 0.25, 1.0


@asynccontextmanager
async def open_event_store(start: ServerStart, records: Records) -> "AsyncGenerator[EventStore]":
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
        settings.events_sql_url,
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
