"""Builds everything once: settings → stores → domains → application. The only file that names
concrete classes of stores and servers together."""

import asyncio
import fcntl
import secrets
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog

from fanion.config import Settings
from fanion.db.engine import Records, RecordsUnavailable, open_records
from fanion.db.lookup import Lookup, LookupLimits
from fanion.db.migrate import migrate
from fanion.events.api import EventReading, EventsApi
from fanion.events.definitions_api import EventDefinitionsApi
from fanion.events.event import EventStoreUnavailable
from fanion.events.store import EventStore, open_events
from fanion.flags.api import Flags, FlagsApi
from fanion.flags.decide import Decide
from fanion.flags.readings import Readings
from fanion.flags.snapshot import FlagSets
from fanion.flags.store import FlagStore
from fanion.groups.store import stored_group_properties
from fanion.ingest.capture import CaptureEndpoints
from fanion.ingest.consumer import Consumer
from fanion.ingest.prepared import ProjectRules
from fanion.ingest.store import IngestStore
from fanion.log.port import AcceptLog
from fanion.log.postgres import open_postgres_log
from fanion.log.sqlite import open_sqlite_log
from fanion.logs import LineWriter, open_logs
from fanion.metrics import Metrics
from fanion.persons.api import PersonsApi, persons_of_events
from fanion.persons.store import stored_properties
from fanion.projects.auth import Authentication
from fanion.projects.directory import Projects
from fanion.projects.key_store import KeyStore
from fanion.projects.operator_store import is_set_up
from fanion.projects.store import AlreadySetUp, Installation, ProjectStore, SetUp
from fanion.server.application import Application
from fanion.server.management import Management, management_app
from fanion.server.probes import Check, Probes
from fanion.server.public import public_routes
from fanion.server.serve import check_port, serve
from fanion.server.telemetry import Telemetry

# How often the interpreter hands over between threads: with Python's own 5 ms a commit that is
# done waits for the event loop longer than it took.
SWITCH_S = 0.001


class DataFolderTaken(Exception):
    """Another process serves from this folder."""


@dataclass(frozen=True, slots=True)
class Stores:
    records: Records
    events: EventStore
    log: AcceptLog


@dataclass(frozen=True, slots=True)
class Running:
    """The application, and what runs beside it for as long as it serves."""

    application: Application
    projects: Projects
    consumers: tuple[Consumer, ...]
    followers: tuple[Callable[[], Awaitable[None]], ...]


def utc_now() -> datetime:
    return datetime.now(UTC)


@contextmanager
def data_folder(settings: Settings) -> Iterator[None]:
    """Make the folder, and hold it. raises: DataFolderTaken"""
    settings.data.mkdir(parents=True, exist_ok=True)
    with (settings.data / "serving.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataFolderTaken(
                f"another Fanion serves from {settings.data.resolve()}; stop it first, "
                "or choose another folder with --data"
            ) from None
        yield


@asynccontextmanager
async def open_stores(settings: Settings) -> AsyncGenerator[Stores]:
    """Migrated and open. raises: RecordsUnavailable, EventStoreUnavailable, OSError"""
    await migrate(settings.records_url)
    records = await open_records(settings.records_url)
    try:
        log = await _open_log(settings, records)
        try:
            events = await open_events(settings.event_store_url)
            try:
                yield Stores(records, events, log)
            finally:
                await events.close()
        finally:
            await log.close()
    finally:
        await records.close()


async def _open_log(settings: Settings, records: Records) -> AcceptLog:
    bytes_max = settings.accept_log_bytes_max
    if records.dialect == "postgresql":
        return await open_postgres_log(settings.records_url, bytes_max=bytes_max)
    return await open_sqlite_log(settings.accept_log_path, bytes_max=bytes_max)


def build(
    settings: Settings,
    stores: Stores,
    metrics: Metrics,
    lines: LineWriter,
    now: Callable[[], datetime] = utc_now,
) -> Running:
    records = stores.records
    projects = Projects(ProjectStore(records))
    authentication = Authentication(KeyStore(records), now)
    flag_store = FlagStore(records)
    flag_sets = FlagSets(flag_store)
    consumers = _consumers(stores, metrics, flag_sets, now)
    capture = CaptureEndpoints(
        projects,
        authentication,
        stores.log,
        now,
        metrics.accepted,
        settings.body_bytes_max,
        settings.trust_forwarded_for,
    )
    decide = Decide(
        projects, flag_sets, _readings(settings, records), now, metrics.evaluation_seconds
    )
    probes = Probes(
        _checks(settings, stores, consumers), metrics, partial(_measure, stores, consumers, metrics)
    )
    management = Management(
        authentication=authentication,
        projects=projects,
        now=now,
        controllers=(FlagsApi, EventsApi, EventDefinitionsApi, PersonsApi),
        dependencies={
            "flags": Flags(flag_store, flag_sets),
            "events": EventReading(stores.events, partial(persons_of_events, records)),
            "records": records,
        },
        body_bytes_max=settings.body_bytes_max,
        public_url=settings.public_url,
    )
    application = Application(
        public_routes(capture, decide, probes),
        management_app(management),
        Telemetry(metrics, lines, requests=settings.log_level in {"debug", "info"}),
        settings.body_bytes_max,
    )
    return Running(
        application,
        projects,
        consumers,
        (projects.follow, authentication.follow, flag_sets.watch),
    )


def _consumers(
    stores: Stores, metrics: Metrics, flag_sets: FlagSets, now: Callable[[], datetime]
) -> tuple[Consumer, ...]:
    turn = asyncio.Lock()
    rules = ProjectRules()
    return tuple(
        Consumer(
            stores.log,
            IngestStore(stores.records, "historical" if historical else "live"),
            stores.events,
            now,
            metrics,
            lambda _: rules,
            flag_sets.changed,
            turn,
            historical=historical,
        )
        for historical in (False, True)
    )


def _readings(settings: Settings, records: Records) -> Readings:
    limits = LookupLimits(timeout_s=settings.decide_store_timeout_s)
    return Readings(
        Lookup(partial(stored_properties, records), limits),
        Lookup(partial(stored_group_properties, records), limits),
    )


def _checks(
    settings: Settings, stores: Stores, consumers: tuple[Consumer, ...]
) -> Mapping[str, Check]:
    async def records() -> str | None:
        return await _reason(stores.records.ping())

    async def events() -> str | None:
        return await _reason(stores.events.ping())

    async def accept_log() -> str | None:
        try:
            waiting = sum([(await _backlog(stores, one)).bytes for one in consumers])
        except OSError as error:
            return str(error)
        return "full" if waiting >= settings.accept_log_bytes_max else None

    return {"records": records, "events": events, "accept_log": accept_log}


async def _reason(call: Awaitable[None]) -> str | None:
    try:
        await call
    except (RecordsUnavailable, EventStoreUnavailable) as error:
        return str(error)
    return None


async def _backlog(stores: Stores, consumer: Consumer) -> Any:
    return await stores.log.backlog(consumer.position, historical=consumer.historical)


async def _measure(stores: Stores, consumers: tuple[Consumer, ...], metrics: Metrics) -> None:
    """What is only worth counting when somebody looks."""
    backlogs = [await _backlog(stores, consumer) for consumer in consumers]
    oldest = min((one.oldest for one in backlogs if one.oldest is not None), default=None)
    metrics.log_events.set(sum(one.envelopes for one in backlogs))
    metrics.log_bytes.set(sum(one.bytes for one in backlogs))
    metrics.log_seconds.set((utc_now() - oldest).total_seconds() if oldest else 0)


async def run_server(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish what was begun.

    announce: is told the address, and on the first start the keys
    raises:   PortTaken, DataFolderTaken, RecordsUnavailable, EventStoreUnavailable, OSError
    """
    check_port(settings.host, settings.port)
    sys.setswitchinterval(SWITCH_S)
    lines = open_logs(settings.log_level)
    try:
        with data_folder(settings):
            async with open_stores(settings) as stores:
                running = build(settings, stores, Metrics(), lines)
                await _serve(settings, stores, running, announce)
    finally:
        lines.close()


async def _serve(
    settings: Settings, stores: Stores, running: Running, announce: Callable[[str], None]
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    made = await first_start(stores.records, running.projects)
    beside = [asyncio.ensure_future(follow()) for follow in running.followers]
    ingesting = asyncio.gather(*(consumer.run() for consumer in running.consumers))
    ingesting.add_done_callback(lambda _: stop.set())
    try:
        await serve(
            running.application,
            settings.host,
            settings.port,
            stop,
            lambda: announce(greeting(settings, made)),
        )
    finally:
        await _finish(settings, running, ingesting)
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)


async def _finish(
    settings: Settings, running: Running, ingesting: "asyncio.Future[list[None]]"
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
