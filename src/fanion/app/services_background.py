"""Builds what ingests: the consumers of all lanes, and what they share."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4
from zoneinfo import ZoneInfo

from fanion.accept_log.port import AcceptLog, Backlog
from fanion.cohorts.api import CohortsApi, CohortService
from fanion.cohorts.calculation.lease_store import CohortLeaseStore
from fanion.cohorts.calculation.worker import Calculator
from fanion.cohorts.explain_api import CohortExplanationsApi
from fanion.cohorts.import_store import ImportStore
from fanion.cohorts.member_changes_store import MemberChangesStore
from fanion.cohorts.members_api import CohortMemberChangesApi, CohortMembersApi
from fanion.cohorts.members_store import CohortTrashStore
from fanion.cohorts.store import CohortStore
from fanion.config import Settings
from fanion.db.engine import Records
from fanion.events.definitions.property_cache import KnownProperties
from fanion.events.storage.store import EventStore
from fanion.flags.automation.rollback_store import RollbackStore
from fanion.flags.automation.rollback_worker import Rollbacks
from fanion.flags.automation.scheduled_api import ScheduledChangesApi
from fanion.flags.automation.scheduled_store import ScheduledChanges
from fanion.flags.automation.scheduled_worker import Scheduler
from fanion.flags.management.enabled_persons import EnabledPersons
from fanion.flags.management.role_access_store import active_flags_using, guard_audience
from fanion.flags.storage.integrity import flags_without_answer
from fanion.flags.storage.store import FlagStore
from fanion.ingest.pipeline.consumer import Consumer
from fanion.ingest.pipeline.person_cache import RecentPersons
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.ingest.pipeline.store import HISTORICAL, LIVE, IngestStore
from fanion.ingest.pipeline.types import ProjectRules, rules_of
from fanion.insights.actors.store import Actors, actors_query_text
from fanion.insights.api import InsightsApi, InsightService
from fanion.insights.dashboards_api import DashboardsApi, DashboardService
from fanion.insights.dashboards_store import DashboardStore
from fanion.insights.result_cache import ResultCache, ResultStore
from fanion.insights.store import InsightStore
from fanion.insights.trends.store import Trends
from fanion.observability.metrics import Metrics
from fanion.projects.cache import Projects
from fanion.runtime.change_bus import ChangeBus
from fanion.runtime.geoip import GeoIp
from fanion.webhooks.api import Webhooks, WebhooksApi
from fanion.webhooks.sender import Resolver, Sender
from fanion.webhooks.store import WebhookStore
from fanion.webhooks.worker import Deliverer


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """What the consumers share.

    preparer: of full runs; without one they are prepared here
    turn: held by whoever stores a run, and by others while they change persons
    """

    records: Records
    events: EventStore
    log: AcceptLog
    metrics: Metrics
    now: Callable[[], datetime]
    geoip: GeoIp | None
    preparer: Preparer | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    recent: RecentPersons = field(default_factory=RecentPersons)
    properties: KnownProperties = field(default_factory=KnownProperties)

    def consumers(self, projects: Projects, bus: ChangeBus) -> tuple[Consumer, ...]:
        # The data folder has one process at a time: it is the same holder after a restart.
        holder = "embedded" if self.records.dialect == "sqlite" else uuid4().hex
        return tuple(
            Consumer(
                self.log,
                IngestStore(
                    self.records,
                    HISTORICAL if historical else LIVE,
                    holder,
                    self.recent,
                    self.properties,
                ),
                self.events,
                self.now,
                self.metrics,
                partial(_rules, projects),
                bus,
                self.turn,
                historical=historical,
                geoip=self.geoip,
                preparer=self.preparer,
            )
            for historical in (False, True)
        )


async def _rules(projects: Projects, ids: Collection[int]) -> Mapping[int, ProjectRules]:
    """A project that is gone has no wishes."""
    known = await projects.by_ids(ids)
    wished = {project_id: rules_of(project.ingestion) for project_id, project in known.items()}
    return dict.fromkeys(ids, ProjectRules()) | wished


async def backlogs(log: AcceptLog, consumers: Collection[Consumer]) -> list[Backlog]:
    """What waits in each lane. raises: OSError"""
    return [await log.backlog(one.position, historical=one.historical) for one in consumers]


COHORT_CONTROLLERS = (
    CohortsApi,
    CohortMembersApi,
    CohortMemberChangesApi,
    CohortExplanationsApi,
)


@dataclass(frozen=True, slots=True)
class CohortParts:
    cohorts: CohortService
    calculator: Calculator


def build_cohort_parts(
    settings: Settings,
    records: Records,
    events: EventStore,
    projects: Projects,
    bus: ChangeBus,
    now: Callable[[], datetime],
) -> CohortParts:
    store, uploads = (
        CohortStore(records, flags_without_answer, guard_audience, active_flags_using),
        ImportStore(records, now),
    )

    async def zone_of(project_id: int) -> ZoneInfo:
        project = await projects.by_id(project_id)
        return ZoneInfo("UTC" if project is None else project.timezone)

    calculator = Calculator(
        store,
        CohortLeaseStore(records, settings.cohort_lease_s),
        CohortTrashStore(records, timedelta(days=settings.deleted_cohorts_kept_days)),
        uploads,
        events,
        zone_of,
        now,
        settings.cohorts_every_s,
        {
            "flag": EnabledPersons(FlagStore(records), now).of,
            "insight": Actors(Trends(records, events), zone_of).of,
        },
    )
    members = MemberChangesStore(records, guard_audience)
    cohorts = CohortService(store, uploads, members, events, calculator, actors_query_text, bus)
    return CohortParts(cohorts, calculator)


CHANGE_CONTROLLERS = (ScheduledChangesApi,)


@dataclass(frozen=True, slots=True)
class ChangeParts:
    scheduler: Scheduler
    rollbacks: Rollbacks

    @property
    def followers(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        """Run beside the server for as long as it serves."""
        return self.scheduler.run, self.rollbacks.run


def build_change_parts(
    settings: Settings,
    records: Records,
    trends: Trends,
    projects: Projects,
    bus: ChangeBus,
    now: Callable[[], datetime],
) -> ChangeParts:
    checks = RollbackStore(records, timedelta(seconds=settings.rollbacks_every_s))
    return ChangeParts(
        Scheduler(ScheduledChanges(records), projects.by_id, bus, now),
        Rollbacks(checks, trends, projects.by_id, bus, now),
    )


WEBHOOK_CONTROLLERS = (WebhooksApi,)


@dataclass(frozen=True, slots=True)
class WebhookParts:
    webhooks: Webhooks
    deliverer: Deliverer


def build_webhook_parts(
    settings: Settings, records: Records, metrics: Metrics, now: Callable[[], datetime]
) -> WebhookParts:
    allow_private = settings.webhooks_allow_private
    sender = Sender(Resolver(), allow_private=allow_private)
    return WebhookParts(
        Webhooks(WebhookStore(records), allow_private), Deliverer(records, sender, metrics, now)
    )


INSIGHT_CONTROLLERS = (InsightsApi, DashboardsApi)


@dataclass(frozen=True, slots=True)
class InsightParts:
    """trends: without any memory of what was calculated before"""

    trends: Trends
    insights: InsightService
    dashboards: DashboardService


def build_insight_parts(records: Records, events: EventStore) -> InsightParts:
    trends, store = Trends(records, events), DashboardStore(records)
    results = ResultCache(trends, ResultStore(records))
    insights = InsightService(InsightStore(records), store, results)
    return InsightParts(trends, insights, DashboardService(store, results))
