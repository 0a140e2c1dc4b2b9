"""Builds everything once: settings → stores → domains → application. The only file that names
concrete classes of stores and servers together."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from fanion.activity.api import ActivityApi
from fanion.change_parts import CHANGE_CONTROLLERS, ChangeParts, build_change_parts
from fanion.cohort_parts import COHORT_CONTROLLERS, build_cohort_parts
from fanion.config import Settings
from fanion.db.engine import Records, RecordsUnavailable, open_records
from fanion.db.migrate import migrate
from fanion.events.api import EventReading, EventsApi
from fanion.events.definitions_api import Definitions, EventDefinitionsApi
from fanion.events.event import EventStoreUnavailable
from fanion.events.property_definitions_api import PropertyDefinitionsApi
from fanion.events.store import EventStore, open_events
from fanion.flag_parts import FlagParts, build_flag_parts, kept_flags
from fanion.flags.api import Flags, FlagsApi
from fanion.flags.blast_radius_api import BlastRadiusApi
from fanion.flags.blast_radius_store import BlastRadius
from fanion.flags.dashboards_api import FlagDashboardsApi
from fanion.flags.decide import nowhere
from fanion.flags.evaluation_api import FlagEvaluation, FlagEvaluationApi
from fanion.flags.role_access_api import RoleAccessApi
from fanion.flags.usage_api import FlagUsage, FlagUsageApi
from fanion.flags.usage_store import UsageStore
from fanion.geoip import open_geoip
from fanion.groups.api import GroupsApi, GroupTypesApi
from fanion.ingest.api import IngestionApi, IngestionReports
from fanion.ingest.capture import CaptureEndpoints
from fanion.ingest.consumer import Consumer
from fanion.ingest.dead_letters_store import DeadLetters
from fanion.ingest.erasing_consumer import Erasing
from fanion.ingest.ledger_store import Ledger
from fanion.ingest.squash_consumer import squash_for_ever
from fanion.ingest.store import ingested_upto
from fanion.ingestion_parts import Ingestion, backlogs
from fanion.insight_parts import INSIGHT_CONTROLLERS, build_insight_parts
from fanion.log.port import AcceptLog
from fanion.log.postgres import open_postgres_log
from fanion.log.sqlite import open_sqlite_log
from fanion.logs import LineWriter
from fanion.metrics import Metrics
from fanion.persons.api import PersonsApi, persons_of_events
from fanion.persons.changes_store import PersonChanges
from fanion.projects.directory import Projects
from fanion.projects.organizations_api import Organizations, OrganizationsApi
from fanion.projects.roles_api import RoleMembershipsApi, RolesApi
from fanion.projects.secret_keys_api import SecretKeysApi
from fanion.server.application import Application
from fanion.server.hot_operations import HOT_OPERATIONS
from fanion.server.management import Management, management_app
from fanion.server.probes import Check, Probes
from fanion.server.public import public_routes
from fanion.server.telemetry import Telemetry
from fanion.webhook_parts import WEBHOOK_CONTROLLERS, WebhookParts, build_webhook_parts


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


def utc_now() -> datetime:
    return datetime.now(UTC)


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
        settings.accept_log_path, bytes_max=bytes_max, after=await ingested_upto(records)
    )


def build(
    settings: Settings,
    stores: Stores,
    metrics: Metrics,
    lines: LineWriter,
    now: Callable[[], datetime] = utc_now,
) -> Running:
    records = stores.records
    geoip = open_geoip(Path(settings.geoip_db)) if settings.geoip_db else None
    locate = geoip or nowhere
    flags = build_flag_parts(settings, records, metrics, kept_flags(settings), now, locate)
    projects, authentication, flag_sets = flags.projects, flags.authentication, flags.flag_sets
    records.observe(metrics.store_seconds.labels("records").observe)
    stores.events.observe(metrics.store_seconds.labels("events").observe)
    ingestion = Ingestion(
        records=records, events=stores.events, log=stores.log, metrics=metrics, now=now, geoip=geoip
    )
    cohorts = build_cohort_parts(settings, records, stores.events, projects, flag_sets.changed, now)
    insights = build_insight_parts(records, stores.events)
    changes = build_change_parts(
        settings, records, insights.trends, projects, flag_sets.changed, now
    )
    webhooks = build_webhook_parts(settings, records, metrics, now)
    flag_usage = UsageStore(records, stores.events)
    consumers = ingestion.consumers(projects, flag_sets.changed)
    ledger = Ledger(records, now)
    erasing = Erasing(records, stores.events, stores.log, now)
    capture = CaptureEndpoints(
        projects,
        authentication,
        stores.log,
        now,
        metrics.accepted,
        settings.body_bytes_max,
        settings.trust_forwarded_for,
    )
    probes = Probes(
        _checks(settings, stores, consumers),
        metrics,
        partial(_measure, stores, consumers, metrics, now),
    )
    management = Management(
        authentication=authentication,
        projects=projects,
        now=now,
        controllers=(
            FlagsApi,
            RoleAccessApi,
            OrganizationsApi,
            RolesApi,
            RoleMembershipsApi,
            FlagEvaluationApi,
            SecretKeysApi,
            EventsApi,
            EventDefinitionsApi,
            PropertyDefinitionsApi,
            PersonsApi,
            GroupsApi,
            GroupTypesApi,
            ActivityApi,
            IngestionApi,
            FlagDashboardsApi,
            FlagUsageApi,
            BlastRadiusApi,
            *CHANGE_CONTROLLERS,
            *COHORT_CONTROLLERS,
            *INSIGHT_CONTROLLERS,
            *WEBHOOK_CONTROLLERS,
        ),
        dependencies={
            "flags": Flags(flags.store, flag_sets, flag_usage.last_evaluated),
            "flag_usage": FlagUsage(flags.store, flag_usage, insights.insights.results),
            "organizations": Organizations(projects, records),
            "evaluation": FlagEvaluation(flags.evaluator, flags.store),
            "secret_keys": flags.secret_keys,
            "events": EventReading(stores.events, partial(persons_of_events, records)),
            "definitions": Definitions(records, stores.events),
            "persons": PersonChanges(
                records, stores.events, ingestion.turn, ingestion.recent.drop, erasing.finished
            ),
            "ingestion": IngestionReports(
                ledger, DeadLetters(records), partial(backlogs, stores.log, consumers)
            ),
            "cohorts": cohorts.cohorts,
            "blast_radius": BlastRadius(records, stores.events, cohorts.cohorts.calculator),
            "insights": insights.insights,
            "dashboards": insights.dashboards,
            "webhooks": webhooks.webhooks,
            "records": records,
        },
        body_bytes_max=settings.body_bytes_max,
        public_url=settings.public_url,
        answered_elsewhere=HOT_OPERATIONS,
    )
    application = Application(
        public_routes(capture, flags.endpoints, probes),
        management_app(management),
        Telemetry(metrics, lines, requests=settings.log_level in {"debug", "info"}),
        settings.body_bytes_max,
    )
    return Running(
        application,
        projects,
        consumers,
        (
            *flags.followers,
            erasing.follow,
            partial(squash_for_ever, stores.events),
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
