"""Builds everything once: settings → stores → domains → application. The only file that names
concrete classes of stores and servers together."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from fanion.change_parts import ChangeParts, build_change_parts
from fanion.clock import utc_now
from fanion.cohort_parts import build_cohort_parts
from fanion.config import Settings
from fanion.db.engine import Records, RecordsUnavailable, open_records
from fanion.db.migrate import migrate
from fanion.events.event import EventStoreUnavailable
from fanion.events.store import EventStore, open_events
from fanion.flag_parts import FlagParts, build_flag_parts, kept_flags, located
from fanion.flags.decide import nowhere
from fanion.flags.enrichment_consumer import enrich_for_ever
from fanion.flags.enrichment_store import Enrichment
from fanion.ingest.capture import CaptureEndpoints
from fanion.ingest.consumer import Consumer
from fanion.ingest.erasing_consumer import Erasing
from fanion.ingest.ledger_store import Ledger
from fanion.ingest.squash_consumer import squash_for_ever
from fanion.ingest.store import ingested_upto
from fanion.ingestion_parts import Ingestion, backlogs
from fanion.insight_parts import build_insight_parts
from fanion.log.port import AcceptLog
from fanion.log.postgres import open_postgres_log
from fanion.log.sqlite import open_sqlite_log
from fanion.logs import LineWriter
from fanion.management_parts import ManagementParts, build_management
from fanion.metrics import Metrics
from fanion.projects.directory import Projects
from fanion.server.application import Application
from fanion.server.management import management_app
from fanion.server.probes import Check, Probes
from fanion.server.public import public_routes
from fanion.server.telemetry import Telemetry
from fanion.webhook_parts import WebhookParts, build_webhook_parts


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
    erasing: Erasing
    flags: FlagParts
    changes: ChangeParts
    webhooks: WebhookParts


@asynccontextmanager
async def open_stores(settings: Settings) -> AsyncGenerator[Stores]:
    """Migrated and open. raises: RecordsUnavailable, EventStoreUnavailable, OSError"""
    await migrate(settings.records_url)
    records = await open_records(settings.records_url)
    try:
        log = await open_log(settings, records)
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


async def open_log(settings: Settings, records: Records) -> AcceptLog:
    """Beside the records in PostgreSQL, else in a file of its own. raises: OSError"""
    bytes_max = settings.accept_log_bytes_max
    if records.dialect == "postgresql":
        return await open_postgres_log(settings.records_url, bytes_max=bytes_max)
    return await open_sqlite_log(
        settings.accept_log_path,
        bytes_max=bytes_max,
        after=await ingested_upto(records),
        apart=True,
    )


def build(
    settings: Settings,
    stores: Stores,
    metrics: Metrics,
    lines: LineWriter,
    now: Callable[[], datetime] = utc_now,
) -> Running:
    records = stores.records
    geoip = located(settings)
    flags = build_flag_parts(
        settings, records, metrics, kept_flags(settings), now, geoip or nowhere
    )
    projects, changed = flags.projects, flags.flag_sets.changed
    records.observe(metrics.store_seconds.labels("records").observe)
    stores.events.observe(metrics.store_seconds.labels("events").observe)
    ingestion = Ingestion(
        records=records, events=stores.events, log=stores.log, metrics=metrics, now=now, geoip=geoip
    )
    cohorts = build_cohort_parts(settings, records, stores.events, projects, changed, now)
    insights = build_insight_parts(records, stores.events)
    changes = build_change_parts(settings, records, insights.trends, projects, changed, now)
    webhooks = build_webhook_parts(settings, records, metrics, now)
    consumers = ingestion.consumers(projects, changed)
    ledger = Ledger(records, now)
    erasing = Erasing(records, stores.events, stores.log, now)
    management = ManagementParts(
        settings=settings,
        flags=flags,
        ingestion=ingestion,
        consumers=consumers,
        ledger=ledger,
        erasing=erasing,
        cohorts=cohorts,
        insights=insights,
        webhooks=webhooks,
    )
    application = _application(settings, stores, metrics, lines, management)
    return Running(
        application,
        projects,
        consumers,
        (
            *flags.followers,
            erasing.follow,
            partial(squash_for_ever, stores.events),
            partial(enrich_for_ever, Enrichment(records, stores.events, now)),
            ledger.follow,
            cohorts.calculator.run,
            *changes.followers,
            webhooks.deliverer.run,
        ),
        erasing,
        flags,
        changes,
        webhooks,
    )


def _application(
    settings: Settings,
    stores: Stores,
    metrics: Metrics,
    lines: LineWriter,
    management: ManagementParts,
) -> Application:
    flags, consumers, now = management.flags, management.consumers, management.ingestion.now
    capture = CaptureEndpoints(
        flags.projects,
        flags.authentication,
        stores.log,
        now,
        metrics.hot.accepted,
        settings.body_bytes_max,
        settings.trust_forwarded_for,
    )
    probes = Probes(
        _checks(settings, stores, consumers),
        metrics,
        partial(_measure, stores, consumers, metrics, now),
    )
    return Application(
        public_routes(capture, flags.endpoints, probes),
        management_app(build_management(management)),
        Telemetry(metrics, lines, requests=settings.log_level in {"debug", "info"}),
        settings.body_bytes_max,
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
            waiting = sum(lane.bytes for lane in await backlogs(stores.log, consumers))
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


async def _measure(
    stores: Stores,
    consumers: tuple[Consumer, ...],
    metrics: Metrics,
    now: Callable[[], datetime],
) -> None:
    """What is only worth counting when somebody looks."""
    lanes = await backlogs(stores.log, consumers)
    oldest = min((lane.oldest for lane in lanes if lane.oldest is not None), default=None)
    metrics.log_events.set(sum(lane.envelopes for lane in lanes))
    metrics.log_bytes.set(sum(lane.bytes for lane in lanes))
    metrics.log_seconds.set((now() - oldest).total_seconds() if oldest else 0)
