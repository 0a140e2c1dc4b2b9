"""Builds what the server has beyond capture and flags: ingestion, cohorts, insights, automation of
flags and webhooks. It is loaded while capture and flags are served."""

import asyncio
import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from uuid import uuid4

from fanion.accept_log.port import Backlog
from fanion.accounts.attempts_cache import SignInAttempts
from fanion.accounts.failed_logins_worker import FailedLogins
from fanion.accounts.links_store import LinkStore
from fanion.accounts.model import SignInOptions
from fanion.accounts.passwords.hashing_service import PasswordHashing
from fanion.accounts.sessions.service import SessionService
from fanion.accounts.sessions.store import SessionStore
from fanion.accounts.sign_in_service import SignIn
from fanion.accounts.users_store import AccountStore
from fanion.app.accounts import AccountServices, build_accounts
from fanion.app.services import Services
from fanion.cohorts.api import CohortService
from fanion.cohorts.calculation.lease_store import CohortLeaseStore
from fanion.cohorts.calculation.worker import Calculator
from fanion.cohorts.import_store import ImportStore
from fanion.cohorts.member_management_store import MemberChangesStore
from fanion.cohorts.members_store import CohortTrashStore
from fanion.cohorts.store import CohortStore, FlagChecks
from fanion.config import Settings
from fanion.events.definitions.model import PropertyCache
from fanion.events.live.follow_worker import LiveFollower
from fanion.events.live.stream_service import LiveEvents
from fanion.events.storage.compiled_query import QuestionLimits
from fanion.events.storage.store import SECONDS_MAX, EventStore
from fanion.flags.automation.rollback_store import RollbackStore
from fanion.flags.automation.scheduled_store import ScheduledChangeStore
from fanion.flags.automation.worker import RollbackWorker, ScheduledChangeWorker
from fanion.flags.management.enabled_persons_store import EnabledPersons
from fanion.flags.management.role_access_store import active_flags_using, guard_audience
from fanion.flags.preview.change_client import ChangePreviews
from fanion.flags.storage.integrity import flags_without_answer
from fanion.flags.storage.store import FlagStore
from fanion.flags.usage.enrichment_worker import Enrichment
from fanion.groups.mirror_worker import GroupMirror
from fanion.ingest.erasure_worker import ErasureWorker
from fanion.ingest.ledger.store import Ledger
from fanion.ingest.pipeline.consumer import Consumer
from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.ingest.pipeline.position_store import HISTORICAL, LIVE
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.ingest.pipeline.store import IngestStore
from fanion.insights.actors.cohorts_service import CohortActors
from fanion.insights.actors.newer_service import ActorsAnswers
from fanion.insights.actors.service import ActorFinder
from fanion.insights.alerts.api import Alerts
from fanion.insights.alerts.store import AlertStore
from fanion.insights.alerts.worker import AlertWorker
from fanion.insights.calculation_service import Analysis
from fanion.insights.dashboard_refresh_store import DashboardRefreshStore
from fanion.insights.dashboard_refresh_worker import DashboardRefreshWorker
from fanion.insights.dashboards_api import DashboardService
from fanion.insights.dashboards_store import DashboardStore
from fanion.insights.gate_service import GateLimits, QuestionGate
from fanion.insights.kinds_service import ACTORS_QUERY
from fanion.insights.kinds_service import Calculator as InsightCalculator
from fanion.insights.questions_service import InsightService
from fanion.insights.result_cache import ResultCache, ResultStore
from fanion.insights.statements_service import Statements
from fanion.insights.store import InsightStore
from fanion.insights.threads_worker import QuestionThreads
from fanion.insights.trends.service import RollingAverage
from fanion.persons.api import persons_of_events
from fanion.persons.pending_identities_store import run_sweep
from fanion.runtime.background import BackgroundTask
from fanion.runtime.change_bus import Topic
from fanion.runtime.data_dir import events_folder
from fanion.webhooks.api import Webhooks
from fanion.webhooks.client import Resolver, Sender
from fanion.webhooks.store import WebhookStore
from fanion.webhooks.worker import Deliverer


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """preparer:   of full runs; None where they are prepared in this process
    turn:       held while persons are changed, by ingestion or by the management API
    background: runs for as long as the server serves, with the tasks of `public`
    """

    public: Services
    events: EventStore
    preparer: Preparer | None
    turn: asyncio.Lock
    recent: PersonCache
    consumers: tuple[Consumer, ...]
    live: LiveEvents
    ledger: Ledger
    erasing: ErasureWorker
    cohorts: CohortService
    calculator: Calculator
    statements: Statements
    insights: InsightService
    actors: ActorFinder
    dashboards: DashboardService
    webhooks: Webhooks
    sign_in: SignIn
    accounts: AccountServices
    deliverer: Deliverer
    scheduler: ScheduledChangeWorker
    rollbacks: RollbackWorker
    refresher: DashboardRefreshWorker
    alerts: Alerts
    alerter: AlertWorker
    flag_changes: ChangePreviews
    background: tuple[BackgroundTask, ...]

    async def close(self) -> None:
        """End the processes that work for it."""
        await self.insights.results.close()
        await self.flag_changes.close()
        if self.preparer is not None:
            await self.preparer.close()

    async def backlogs(self) -> list[Backlog]:
        """What waits in each lane of the accept log. raises: OSError"""
        log = self.public.log
        return [
            await log.backlog(one.position, historical=one.historical) for one in self.consumers
        ]


def build_server(public: Services, events: EventStore) -> Server:
    records, settings, metrics = public.records, public.context.settings, public.context.metrics
    now = public.context.now
    projects, bus = public.flags.projects, public.flags.bus
    events.observe(metrics.store_seconds.labels("events").observe)
    preparer = Preparer(settings.geoip_db) if settings.answering > 1 else None
    turn, recent = asyncio.Lock(), PersonCache()
    live = _build_live(public)
    consumers = _build_consumers(public, events, preparer, turn, recent, live)
    ledger = Ledger(records, now)
    erasing = ErasureWorker(records, events, public.log, now, public.context.waits.erasure_s)
    hot = metrics.hot
    threads = QuestionThreads(lambda: hot.answered, lambda: hot.ingested.count)
    statements = _build_statements(settings, events, threads)
    behind = statements.behind()
    analysis, dashboards = Analysis(records, events, statements), DashboardStore(records)
    analysis_behind = Analysis(records, events, behind)
    cohorts = _build_cohorts(public, events, statements, behind)
    actors = ActorFinder(analysis)
    other_kinds = {ACTORS_QUERY: ActorsAnswers(actors).answer}
    results = ResultCache(InsightCalculator(analysis), ResultStore(records))
    # What a person waits for never joins a calculation that waits behind.
    results_behind = ResultCache(InsightCalculator(analysis_behind), ResultStore(records))
    every = timedelta(seconds=settings.dashboards_every_s)
    refreshes = DashboardRefreshStore(records, every)
    refresher = DashboardRefreshWorker(refreshes, results_behind, projects.by_id, now)
    alerts = AlertStore(records, timedelta(seconds=settings.alerts_every_s))
    alerter = AlertWorker(alerts, results_behind, projects.by_id, now)
    rollback_checks = RollbackStore(records, timedelta(seconds=settings.rollbacks_every_s))
    scheduler = ScheduledChangeWorker(ScheduledChangeStore(records), projects.by_id, bus, now)
    rolling = RollingAverage(analysis_behind)
    rollbacks = RollbackWorker(rollback_checks, rolling, projects.by_id, bus, now)
    allow_private = settings.webhooks_allow_private
    sender = Sender(Resolver(), allow_private=allow_private)
    deliverer = Deliverer(records, sender, metrics, now)
    sign_in = _build_sign_in(public)
    accounts = build_accounts(public, sign_in)
    background: tuple[BackgroundTask, ...] = (
        sign_in.sessions.run,
        *accounts.background,
        erasing.run,
        events.run_squash,
        partial(run_sweep, records, now),
        Enrichment(records, events, now).run,
        GroupMirror(records, events, lambda: consumers[0].is_ingesting).run,
        ledger.run,
        cohorts.calculator.run,
        scheduler.run,
        rollbacks.run,
        deliverer.run,
        refresher.run,
        alerter.run,
        threads.run,
        *_followers(public, events, live, consumers[0]),
    )
    return Server(
        public=public,
        events=events,
        preparer=preparer,
        turn=turn,
        recent=recent,
        consumers=consumers,
        live=live,
        ledger=ledger,
        erasing=erasing,
        cohorts=cohorts,
        calculator=cohorts.calculator,
        statements=statements,
        insights=InsightService(InsightStore(records), dashboards, results, other_kinds),
        actors=actors,
        dashboards=DashboardService(dashboards, results, refreshes),
        webhooks=Webhooks(WebhookStore(records), allow_private),
        sign_in=sign_in,
        accounts=accounts,
        deliverer=deliverer,
        scheduler=scheduler,
        rollbacks=rollbacks,
        refresher=refresher,
        alerts=Alerts(alerts),
        alerter=alerter,
        flag_changes=ChangePreviews(settings.records_url),
        background=background,
    )


def _build_statements(
    settings: Settings, events: EventStore, threads: QuestionThreads
) -> Statements:
    gate = GateLimits(
        settings.questions_at_once,
        settings.questions_at_once_of_project,
        settings.questions_waiting,
    )
    limits = QuestionLimits(settings.question_s, settings.question_memory_bytes)
    if events_folder(settings) is None:
        return Statements(events, limits, QuestionGate(gate))
    return Statements(events, limits, QuestionGate(gate), threads.now)


def _build_sign_in(public: Services) -> SignIn:
    """For the management API alone: what web workers answer never looks at a session."""
    records, flags, clock = public.records, public.flags, time.monotonic
    failures, failed = flags.authentication.failures, public.context.metrics.key_failures
    settings = public.context.settings
    sessions = SessionService(SessionStore(records), public.context.now, clock, failures, flags.bus)
    flags.bus.subscribe(Topic.SESSIONS, sessions.forget)
    return SignIn(
        AccountStore(records),
        LinkStore(records),
        sessions,
        PasswordHashing(),
        SignInAttempts(clock),
        FailedLogins(records, public.context.now),
        SignInOptions(
            mail=bool(settings.smtp_url),
            password=settings.password_sign_in == "on",
            providers=("oidc",) if settings.oidc_issuer else (),
            capture_url=settings.address
            if settings.public_url or settings.management_listen
            else "",
        ),
        count=lambda kind, reason: failed.labels(kind, reason).inc(),
    )


def _build_live(public: Services) -> LiveEvents:
    live = LiveEvents(partial(persons_of_events, public.records))
    public.context.metrics.event_streams.set_function(lambda: live.streams)
    for topic in (Topic.PERSONAL_KEYS, Topic.SESSIONS):
        public.flags.bus.subscribe(topic, live.check_access)
    return live


def _followers(
    public: Services, events: EventStore, live: LiveEvents, consumer: Consumer
) -> tuple[BackgroundTask, ...]:
    """Where another server may ingest. consumer: of the lane that is shown"""
    if public.records.dialect == "sqlite":
        return ()
    follower = LiveFollower(live, events, lambda: consumer.is_ingesting, public.context.now)
    return (follower.run,)


def _build_consumers(
    public: Services,
    events: EventStore,
    preparer: Preparer | None,
    turn: asyncio.Lock,
    recent: PersonCache,
    live: LiveEvents,
) -> tuple[Consumer, ...]:
    """One for each lane."""
    records, flags = public.records, public.flags
    properties = PropertyCache()
    # The data folder has one process at a time: it is the same holder after a restart.
    holder = "embedded" if records.dialect == "sqlite" else uuid4().hex
    return tuple(
        Consumer(
            public.log,
            IngestStore(records, HISTORICAL if historical else LIVE, holder, recent, properties),
            events,
            public.context.now,
            public.context.metrics,
            flags.projects,
            flags.bus,
            turn,
            historical=historical,
            geoip=flags.geoip,
            preparer=preparer,
            live=None if historical else live,
        )
        for historical in (False, True)
    )


def _build_cohorts(
    public: Services, events: EventStore, statements: Statements, behind: Statements
) -> CohortService:
    settings, now = public.context.settings, public.context.now
    records, projects = public.records, public.flags.projects
    checks = FlagChecks(flags_without_answer, guard_audience, active_flags_using)
    store = CohortStore(records, checks)
    uploads = ImportStore(records, now)

    analysis = Analysis(records, events, behind.within(SECONDS_MAX))
    actors = CohortActors(ActorFinder(analysis), projects)
    calculator = Calculator(
        store,
        CohortLeaseStore(records, settings.cohort_lease_s),
        CohortTrashStore(records, timedelta(days=settings.deleted_cohorts_kept_days)),
        uploads,
        events,
        projects,
        now,
        settings.cohorts_every_s,
        behind.members,
        {
            "flag": EnabledPersons(FlagStore(records), now).of,
            "insight": actors.of,
        },
    )
    members = MemberChangesStore(records, checks)
    bus, ask = public.flags.bus, statements.members
    return CohortService(store, uploads, members, events, ask, calculator, actors, bus)
