"""Builds everything once: settings → stores → domains → application. With `public_parts`, which
is served before, the only file that names concrete classes of stores and servers together."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from fanion.app.controllers import ManagementParts, build_management
from fanion.app.services import PublicParts, check_records, landing_page, telemetry
from fanion.app.services_background import (
    ChangeParts,
    Ingestion,
    WebhookParts,
    backlogs,
    build_change_parts,
    build_cohort_parts,
    build_insight_parts,
    build_webhook_parts,
)
from fanion.config import Settings
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.flags.usage.enrichment import Enrichment
from fanion.ingest import person_squash_worker
from fanion.ingest.erasure_worker import Erasing
from fanion.ingest.ledger.store import Ledger
from fanion.ingest.pipeline.consumer import Consumer
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.observability.logging import LineWriter
from fanion.persons.pending_identities_store import run_sweep
from fanion.runtime.background import BackgroundTask
from fanion.web.application import Application
from fanion.web.management import management_app
from fanion.web.probes import OK, Check, Checked, Probes, State
from fanion.web.public_routes import public_routes


@dataclass(frozen=True, slots=True)
class Running:
    """The application, and what runs beside it for as long as it serves, beyond what runs beside
    its public parts."""

    application: Application
    public: PublicParts
    consumers: tuple[Consumer, ...]
    preparer: Preparer | None
    followers: tuple[BackgroundTask, ...]
    erasing: Erasing
    changes: ChangeParts
    webhooks: WebhookParts


def build(
    settings: Settings, public: PublicParts, events: EventStore, lines: LineWriter
) -> Running:
    records, metrics, now = public.records, public.metrics, public.now
    projects, bus = public.flags.projects, public.flags.bus
    events.observe(metrics.store_seconds.labels("events").observe)
    preparer = Preparer(settings.geoip_db) if settings.answering > 1 else None
    ingestion = Ingestion(
        records=records,
        events=events,
        log=public.log,
        metrics=metrics,
        now=now,
        geoip=public.geoip,
        preparer=preparer,
    )
    cohorts = build_cohort_parts(settings, records, events, projects, bus, now)
    insights = build_insight_parts(records, events)
    changes = build_change_parts(settings, records, insights.trends, projects, bus, now)
    webhooks = build_webhook_parts(settings, records, metrics, now)
    consumers = ingestion.consumers(projects, bus)
    ledger = Ledger(records, now)
    erasing = Erasing(records, events, public.log, now)
    management = ManagementParts(
        settings=settings,
        flags=public.flags,
        ingestion=ingestion,
        consumers=consumers,
        ledger=ledger,
        erasing=erasing,
        cohorts=cohorts,
        insights=insights,
        webhooks=webhooks,
    )
    application = _application(settings, public, lines, management)
    return Running(
        application,
        public,
        consumers,
        preparer,
        (
            erasing.run,
            partial(person_squash_worker.run, events),
            partial(run_sweep, records, now),
            Enrichment(records, events, now).run,
            ledger.run,
            cohorts.calculator.run,
            *changes.followers,
            webhooks.deliverer.run,
        ),
        erasing,
        changes,
        webhooks,
    )


def _application(
    settings: Settings, public: PublicParts, lines: LineWriter, management: ManagementParts
) -> Application:
    events, consumers = management.ingestion.events, management.consumers
    probes = Probes(
        _checks(settings, public, events, consumers),
        public.metrics,
        partial(_measure, public, consumers),
    )
    return Application(
        public_routes(
            public.capture,
            public.flags.endpoints,
            landing_page(settings, probes, public.flags.proxies),
        ),
        management_app(build_management(management)),
        telemetry(settings, public.metrics, lines, public.flags.proxies),
        settings.body_bytes_max,
    )


def _checks(
    settings: Settings, public: PublicParts, events: EventStore, consumers: tuple[Consumer, ...]
) -> Mapping[str, Check]:
    async def event_store() -> Checked:
        try:
            await events.ping()
        except EventStoreUnavailable as error:
            # Capture and flags go on without it, on every server alike: none is better to ask.
            return Checked(State.UNREACHABLE, str(error), is_needed=False)
        return OK

    async def accept_log() -> Checked:
        try:
            waiting = sum(lane.bytes for lane in await backlogs(public.log, consumers))
        except OSError as error:
            return Checked(State.UNREACHABLE, str(error))
        return Checked(State.FULL) if waiting >= settings.accept_log_bytes_max else OK

    records = partial(check_records, public.records)
    return {"records": records, "events": event_store, "accept_log": accept_log}


async def _measure(public: PublicParts, consumers: tuple[Consumer, ...]) -> None:
    """What is only worth counting when somebody looks."""
    metrics = public.metrics
    lanes = await backlogs(public.log, consumers)
    oldest = min((lane.oldest for lane in lanes if lane.oldest is not None), default=None)
    metrics.log_events.set(sum(lane.envelopes for lane in lanes))
    metrics.log_bytes.set(sum(lane.bytes for lane in lanes))
    metrics.log_seconds.set((public.now() - oldest).total_seconds() if oldest else 0)
