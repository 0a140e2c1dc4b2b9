"""Serves until told to stop: holds the data folder, opens the stores, starts what runs beside
the server, and lets it end in order. While the records store is away, flags are served."""

import asyncio
import fcntl
import gc
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from fanion.clock import utc_now
from fanion.config import Settings
from fanion.db.engine import Records, RecordsUnavailable
from fanion.flag_parts import kept_flags
from fanion.logs import open_logs
from fanion.metrics import Metrics
from fanion.projects.directory import Projects
from fanion.projects.operator_store import is_set_up
from fanion.projects.store import AlreadySetUp, Installation, SetUp
from fanion.server.serve import HttpServer, check_port
from fanion.standby import stand_by, until_records_answer

if TYPE_CHECKING:  # the whole server takes a second to load: flags are served before
    from fanion.main import Running, Stores

# How often the interpreter hands over between threads: with Python's own 5 ms a commit that is
# done waits for the event loop longer than it took.
SWITCH_S = 0.0003
# Python's own thresholds look through all young objects every 700 allocations, a seventh of
# the time of ingestion; what the start has made lives as long as the process.
GARBAGE_THRESHOLDS = (50_000, 20, 50)
STANDBY_LINGER_S = 5.0
FOLLOW_AGAIN_S = 5.0


class DataFolderTaken(Exception):
    """Another process uses this folder. address: where it serves; "" when it does not"""

    def __init__(self, folder: Path, address: str) -> None:
        does = "serves from" if address else "copies events into"
        super().__init__(
            f"another Fanion {does} {folder}; stop it first, or choose another folder with --data"
        )
        self.address = address


@contextmanager
def data_folder(settings: Settings, address: str = "") -> Iterator[None]:
    """Make the folder, and hold it. address: to be told to others. raises: DataFolderTaken"""
    settings.data.mkdir(parents=True, exist_ok=True)
    with (settings.data / "serving.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise DataFolderTaken(settings.data.resolve(), lock.read().strip()) from None
        lock.truncate(0)
        lock.write(address)
        lock.flush()
        yield


async def run_server(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish what was begun.

    announce: is told the address, and on the first start the keys
    raises:   PortTaken, DataFolderTaken, RecordsUnavailable, EventStoreUnavailable, OSError
    """
    check_port(settings.host, settings.port)
    sys.setswitchinterval(SWITCH_S)
    lines = open_logs(settings.log_level)
    try:
        with data_folder(settings, settings.local_address):
            stop = _stop_signal()
            http = HttpServer(settings.host, settings.port, stop)
            metrics, kept = Metrics(), kept_flags(settings)
            async with AsyncExitStack() as standing_by, AsyncExitStack() as opened:
                standby = await stand_by(standing_by, settings, kept, metrics, lines, utc_now)
                if standby is not None:
                    await http.show(standby)
                    announce(f"Fanion serves flags on {settings.address}; nothing else yet")
                    # Beside the loop, which answers flags meanwhile.
                    await asyncio.to_thread(import_module, "fanion.main")
                from fanion.main import build, open_stores

                if standby is None:
                    stores = await opened.enter_async_context(open_stores(settings))
                else:
                    found = await _stores_at_last(settings, opened, stop)
                    if found is None:
                        await standing_by.aclose()
                        await http.ended()
                        return
                    stores = found
                running = build(settings, stores, metrics, lines)
                gc.freeze()
                gc.set_threshold(*GARBAGE_THRESHOLDS)
                await _serve(settings, stores, running, http, stop, announce, standing_by)
    finally:
        lines.close()


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


async def _stores_at_last(
    settings: Settings, opened: AsyncExitStack, stop: asyncio.Event
) -> "Stores | None":
    """The stores, once the records store answers again; None when told to stop."""
    from fanion.main import open_stores

    while True:
        await until_records_answer(settings.records_url, stop)
        if stop.is_set():
            return None
        try:
            return await opened.enter_async_context(open_stores(settings))
        except RecordsUnavailable as error:
            structlog.get_logger().error("records_unavailable", reason=str(error))


async def _serve(
    settings: Settings,
    stores: "Stores",
    running: "Running",
    http: HttpServer,
    stop: asyncio.Event,
    announce: Callable[[str], None],
    standing_by: AsyncExitStack,
) -> None:
    made = await first_start(stores.records, running.projects)
    beside = [asyncio.create_task(kept_going(follow)) for follow in running.followers]
    beside.append(asyncio.create_task(_end_streams(stop, running)))
    beside.append(asyncio.create_task(_leave(standing_by)))
    ingesting = asyncio.gather(*(consumer.run() for consumer in running.consumers))
    ingesting.add_done_callback(lambda _: stop.set())
    try:
        await http.show(running.application)
        announce(greeting(settings, made))
        await http.ended()
    finally:
        stop.set()
        await _finish(settings, running, ingesting)
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)


async def kept_going(
    follow: Callable[[], Awaitable[None]], again_s: float = FOLLOW_AGAIN_S
) -> None:
    """What runs beside the server ends with it: an error that nobody foresaw is told, and it is
    begun again after a while."""
    while True:
        try:
            await follow()
            return
        except Exception as error:
            name = getattr(follow, "__qualname__", repr(follow))
            structlog.get_logger().error("follower_failed", follower=name, exc_info=error)
        await asyncio.sleep(again_s)


async def _end_streams(stop: asyncio.Event, running: "Running") -> None:
    """Before the server stops, which waits for every request under way."""
    await stop.wait()
    running.flags.broadcaster.close()


async def _leave(standing_by: AsyncExitStack) -> None:
    """Requests that the standby application has begun are answered by then."""
    await asyncio.sleep(STANDBY_LINGER_S)
    await standing_by.aclose()


async def _finish(
    settings: Settings, running: "Running", ingesting: "asyncio.Future[list[None]]"
) -> None:
    """Let the runs in hand end. What is not ingested lies in the log for the next start."""
    for consumer in running.consumers:
        consumer.stop()
    try:
        await asyncio.wait_for(ingesting, settings.shutdown_s)
    except TimeoutError:
        structlog.get_logger().warning("ingestion_interrupted", after_s=settings.shutdown_s)


@dataclass(frozen=True, slots=True)
class FirstStart:
    """password: made up, told once"""

    set_up: SetUp
    password: str


async def first_start(records: Records, projects: Projects) -> FirstStart | None:
    """On an empty store: an organization with its owner, project and keys."""
    if await is_set_up(records):
        return None
    password = secrets.token_urlsafe(12)
    wanted = Installation(email="admin@fanion.local", first_name="Admin", password=password)
    try:
        return FirstStart(await projects.setup(wanted, utc_now()), password)
    except AlreadySetUp:  # by another server, at the same moment
        return None


def greeting(settings: Settings, made: FirstStart | None) -> str:
    address = settings.address
    if made is None:
        return f"Fanion serves on {address}"
    token = made.set_up.project.api_token
    return f"""
Fanion serves on {address}

This is the first start. Keep what follows, it is not shown again:

  e-mail            {made.set_up.user.email}
  password          {made.password}
  project API key   {token}
  personal API key  {made.set_up.personal_key}

Capture a first event:

  curl -d '{{"api_key": "{token}", "event": "hello", "distinct_id": "me"}}' {address}/capture/

and see it:

  curl -H 'Authorization: Bearer {made.set_up.personal_key}' {address}/api/projects/@current/events/
"""
