"""Builders of the services that answer capture and flags.

They serve in the server, in web workers, and while the records store cannot be reached. They are
loaded and served before the event store is open and the rest of the server is loaded.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from random import random

import structlog

from fanion.accept_log.port import AcceptLog, Appender, Backlog
from fanion.accept_log.spool_folder import Spool, open_spool
from fanion.app.accept_logs import open_log, open_spooled_log
from fanion.app.clocks import check_records_clock
from fanion.app.pauses import require_arrived
from fanion.cohorts.members.store import memberships
from fanion.config import Settings
from fanion.console.build import NOT_BUILT, Build
from fanion.console.docs_endpoints import BUILT as BUILT_DOCS
from fanion.db.batching import DataLoader, DataLoaderLimits
from fanion.db.change_feed import ChangeFeed, FeedTopic
from fanion.db.engine import Records, RecordsUnavailable, open_records
from fanion.db.migrate import NEWEST, migrate
from fanion.events.mirror_outbox_store import count_unmirrored
from fanion.flags.definitions.store import FlagStore
from fanion.flags.evaluation.cache import BUILD_WAIT_S, FlagSets, UnavailableFlagSource
from fanion.flags.evaluation.continuity_store import ContinuityStore, stored_identities
from fanion.flags.evaluation.counters_store import EvaluationCountStore
from fanion.flags.evaluation.endpoints import DecideEndpoints, no_location
from fanion.flags.evaluation.offline_store import OfflineFlagStore
from fanion.flags.evaluation.rate_limit import EvaluationLimit
from fanion.flags.evaluation.service import EvaluationCounters, Evaluator
from fanion.flags.evaluation.snapshot_store import take_over_snapshot
from fanion.flags.evaluation.subject_store import SubjectStore
from fanion.flags.sdk.browser_config_endpoints import BrowserConfig
from fanion.flags.sdk.endpoints import DefinitionEndpoints, DefinitionReaders
from fanion.flags.sdk.ofrep_endpoints import OfrepEndpoints
from fanion.flags.sdk.sse_service import Broadcaster
from fanion.groups.store import stored_group_properties
from fanion.ingest.capture.endpoints import CaptureEndpoints
from fanion.ingest.capture.rate_limit import ProjectRateLimits, RateLimiter
from fanion.ingest.pipeline.position_store import lane_backlogs
from fanion.observability.logging import LineWriter
from fanion.observability.metrics import Metrics
from fanion.observability.tracing import NO_TRACING, Tracing
from fanion.persons.store import stored_properties
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.failed_attempts_cache import FailedAttempts
from fanion.projects.auth.personal_keys_store import PersonalKeyStore
from fanion.projects.auth.secret_keys_service import SecretKeys
from fanion.projects.auth.secret_keys_store import SecretKeyStore
from fanion.projects.cache import STORE_WAIT_S, Projects
from fanion.projects.store import ProjectStore
from fanion.runtime.background import BackgroundTask
from fanion.runtime.change_bus import ChangeBus, Topic
from fanion.runtime.clock import utc_now
from fanion.runtime.geoip import GeoIp, open_geoip
from fanion.server.forwarded import TrustedProxies
from fanion.server.server import allow_connections
from fanion.web.proxy_warning import trusted_proxies
from fanion.web.routes import FlagEndpoints
from fanion.wire.offload import Decoding


@dataclass(frozen=True, slots=True)
class RequestWaits:
    """The longest waits of a request for what is not cached or not finished.

    The setting of stored properties has its own wait.

    Attributes:
        project_s: For a project.
        flags_s: For changed flags.
        erasure_s: For the end of a deletion, which then continues in the background.
        merge_s: For the end of a merge of persons, which is then made all the same.
        split_s: For the events of a split person, which then follow in the background.
    """

    project_s: float = STORE_WAIT_S
    flags_s: float = BUILD_WAIT_S
    erasure_s: float = 10.0
    split_s: float = 10.0
    merge_s: float = 10.0


@dataclass(frozen=True, slots=True)
class AppContext:
    """The context that all services of a process share.

    Attributes:
        lines: Writes the log lines of requests.
        build: The console's build; none in web workers, which do not serve the console.
        docs: The folder of the built documentation, which may be missing.
        draining: Set once the server is about to stop, and load balancers are to leave it out.
    """

    settings: Settings
    metrics: Metrics
    lines: LineWriter
    now: Callable[[], datetime] = utc_now
    build: Build = NOT_BUILT
    docs: Path = BUILT_DOCS
    waits: RequestWaits = field(default_factory=RequestWaits)
    tracing: Tracing = NO_TRACING
    draining: asyncio.Event = field(default_factory=asyncio.Event)

    def store_observer(self, store: str) -> Callable[[float], None]:
        """Return what is told how many seconds each call of a store took."""
        observe, tracing = self.metrics.store_seconds.labels(store).observe, self.tracing
        if not tracing.is_on:
            return observe

        def took(seconds: float) -> None:
            observe(seconds)
            tracing.record(f"{store} call", seconds, {"fanion.store": store})

        return took


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagServices:
    """The services that answer flags, and those they share with capture and the management API.

    Attributes:
        proxies: The only such object of this process.
        geoip: None without a location database.
        decoding: Decodes all large bodies of this process.
        loops: By their names in `loops.LOOPS`; they run while the process serves.
    """

    proxies: TrustedProxies
    bus: ChangeBus
    geoip: GeoIp | None
    projects: Projects
    authentication: Authentication
    secret_keys: SecretKeys
    store: FlagStore
    flag_sets: FlagSets
    evaluator: Evaluator
    broadcaster: Broadcaster
    feed: ChangeFeed
    decoding: Decoding
    endpoints: FlagEndpoints
    loops: Mapping[str, BackgroundTask]


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores that capture and flags need.

    Attributes:
        spool: None where captures have no spool.
        captured: The log that captures are appended to; None if that is `log`.
    """

    records: Records
    log: AcceptLog
    spool: Spool | None = None
    captured: Appender | None = None


@dataclass(frozen=True, slots=True)
class Services:
    """The services that answer capture and flags in the server."""

    context: AppContext
    records: Records
    log: AcceptLog
    flags: FlagServices
    capture: CaptureEndpoints
    spool: Spool | None = None

    @property
    def loops(self) -> Mapping[str, BackgroundTask]:
        """The background loops by their names in `loops.LOOPS`."""
        return (
            self.flags.loops
            if self.spool is None
            else {**self.flags.loops, "spool": self.spool.run}
        )

    async def backlogs(self) -> list[Backlog]:
        """Return the backlog of each lane of the accept log.

        Raises:
            OSError: The log or the records store cannot be read.
        """
        try:
            return await lane_backlogs(self.records, self.log)
        except RecordsUnavailable as error:
            raise OSError(f"accept log: {error}") from error

    async def changes_to_mirror(self) -> int:
        """Count committed changes that may not have reached the event store yet.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        async with self.records.read() as connection:
            return await connection.run_sync(count_unmirrored)


@asynccontextmanager
async def opened_spool(settings: Settings) -> AsyncGenerator[Spool | None]:
    """Open the spool, and close it at the end; None where captures have none."""
    spool = None
    if settings.has_spool:
        spool = await open_spool(settings.spool_path, settings.spool_bytes_max)
    try:
        yield spool
    finally:
        if spool is not None:
            await spool.close()


@asynccontextmanager
async def open_stores(context: AppContext, spool: Spool | None = None) -> AsyncGenerator[Stores]:
    """Open the records store and the accept log, migrated, and close them at the end.

    Args:
        spool: Takes captures while PostgreSQL does not.

    Raises:
        RecordsUnavailable: The records store does not answer.
        OSError: The accept log cannot be opened.
        StartRefused: A clock is wrong, or a store belongs to another installation, or is still
            being filled by a move.
    """
    settings = context.settings
    records = await open_records(settings.records_url)
    try:
        await check_records_clock(records, context.now)
        schema = await migrate(settings.records_url)
        if schema != NEWEST:
            structlog.get_logger().warning(
                "schema_newer", store="records", schema=schema, known=NEWEST
            )
        await require_arrived(records)
        log = await open_log(settings, records)
        try:
            if spool is None:
                yield Stores(records, log)
            else:
                captured = await open_spooled_log(records, log, spool)
                try:
                    yield Stores(records, log, spool, captured)
                finally:
                    await captured.close_lanes()
        finally:
            await log.close()
    finally:
        await records.close()


def open_offline_flags(settings: Settings) -> OfflineFlagStore:
    return OfflineFlagStore(settings.data.resolve() / "kept-flags.db")


def prepare_offline_flags(settings: Settings) -> None:
    """Take over a configured snapshot of flags before anything reads the offline copy.

    Raises:
        SettingsError: The snapshot is broken.
    """
    if settings.flags_snapshot:
        take_over_snapshot(Path(settings.flags_snapshot), open_offline_flags(settings))


def build_services(context: AppContext, stores: Stores) -> Services:
    """Build the services that answer capture and flags.

    Raises:
        GeoIpUnreadable: The location database cannot be read.
    """
    stores.records.observe(context.store_observer("records"))
    flags = build_flag_services(context, stores.records)
    captured = stores.captured or stores.log
    capture = build_capture(context, flags, captured, ProjectRateLimits())
    return Services(context, stores.records, stores.log, flags, capture, stores.spool)


def build_capture(
    context: AppContext, flags: FlagServices, log: Appender, limits: RateLimiter
) -> CaptureEndpoints:
    return CaptureEndpoints(
        flags.projects,
        flags.authentication,
        log,
        context.now,
        context.metrics.hot.accepted,
        context.settings.body_bytes_max,
        flags.proxies,
        limits,
        flags.decoding,
    )


def build_flag_services(
    context: AppContext, records: Records, *, records_answer: bool = True
) -> FlagServices:
    """Build the services that answer flags.

    Args:
        records_answer: False if the records store is known not to answer, so that no request waits
            for it.

    Raises:
        GeoIpUnreadable: The location database cannot be read.
    """
    settings, metrics, now = context.settings, context.metrics, context.now
    metrics.watch_pools(records.pools)
    bus, proxies, decoding = ChangeBus(), trusted_proxies(settings), Decoding()
    geoip = open_geoip(Path(settings.geoip_db)) if settings.geoip_db else None
    offline = open_offline_flags(settings)
    readers = _build_readers(context, records, bus, proxies, offline)
    projects = readers.projects
    store = FlagStore(records)
    source = store if records_answer else UnavailableFlagSource()
    flag_sets = FlagSets(source, offline, bus, context.waits.flags_s, now)
    metrics.flags_age.set_function(lambda: flag_sets.age_s)
    subjects = _build_subject_store(context, records)
    if not records_answer:
        subjects.breaker.failed(subjects.breaker.answers)
    counts = EvaluationCounters(random)
    evaluator = Evaluator(flag_sets, subjects, now, metrics.hot.evaluation_seconds, counts)
    # Leave the other connections for ordinary requests.
    broadcaster = Broadcaster(flag_sets, listeners_max=allow_connections() // 2)
    metrics.flag_listeners.set_function(lambda: broadcaster.listeners)
    _subscribe(bus, flag_sets, broadcaster, offline)
    loads = {FeedTopic.PROJECT: projects.refresh, FeedTopic.FLAGS: flag_sets.catch_up}
    feed = ChangeFeed(records, loads)
    return FlagServices(
        proxies=proxies,
        bus=bus,
        geoip=geoip,
        projects=projects,
        authentication=readers.authentication,
        secret_keys=readers.secret_keys,
        store=store,
        flag_sets=flag_sets,
        evaluator=evaluator,
        broadcaster=broadcaster,
        feed=feed,
        decoding=decoding,
        endpoints=FlagEndpoints(
            _build_decide(settings, readers, evaluator, proxies, geoip, decoding),
            DefinitionEndpoints(readers, evaluator, broadcaster),
            OfrepEndpoints(projects, evaluator, settings.body_bytes_max, decoding),
            BrowserConfig(projects),
        ),
        loops={
            "projects": projects.run,
            "key_use": readers.authentication.run,
            "changes": feed.run,
            "flag_streams": broadcaster.run_heartbeat,
            "flag_stream_keys": partial(broadcaster.run_grant_checks, readers.grant_holds),
            "kept_flags": partial(offline.run, projects.by_id, flag_sets.current_projects),
            "flag_usage": EvaluationCountStore(records, counts, projects.by_id, now).run,
        },
    )


def _build_readers(
    context: AppContext,
    records: Records,
    bus: ChangeBus,
    proxies: TrustedProxies,
    offline: OfflineFlagStore,
) -> DefinitionReaders:
    """Build the caches of projects and keys."""
    now, clock, metrics = context.now, time.monotonic, context.metrics

    def count(kind: str, reason: str) -> None:
        metrics.key_failures.labels(kind, reason).inc()

    failures = FailedAttempts(proxies, count=count)
    wait_s, store = context.waits.project_s, ProjectStore(records)
    return DefinitionReaders(
        Projects(store, clock, offline.project_of_token, failures, now, bus, wait_s),
        Authentication(PersonalKeyStore(records), now, clock, failures, bus),
        SecretKeys(SecretKeyStore(records), now, clock, failures, bus),
    )


def _build_decide(
    settings: Settings,
    readers: DefinitionReaders,
    evaluator: Evaluator,
    proxies: TrustedProxies,
    geoip: GeoIp | None,
    decoding: Decoding,
) -> DecideEndpoints:
    return DecideEndpoints(
        readers.projects,
        readers.authentication,
        evaluator,
        settings.body_bytes_max,
        proxies,
        geoip or no_location,
        EvaluationLimit(settings.decide_per_s, settings.decide_burst),
        decoding=decoding,
    )


def _subscribe(
    bus: ChangeBus, flag_sets: FlagSets, broadcaster: Broadcaster, offline: OfflineFlagStore
) -> None:
    bus.subscribe(Topic.FLAGS, flag_sets.invalidate)
    bus.subscribe(Topic.FLAGS_LOADED, broadcaster.notify_project)
    bus.subscribe(Topic.GROUP_TYPES, partial(bus.publish, Topic.FLAGS))
    bus.subscribe(Topic.PROJECT_LOADED, offline.project_changed)
    bus.subscribe(Topic.PERSONAL_KEYS, broadcaster.check_grants)
    bus.subscribe(Topic.SECRET_KEYS, broadcaster.check_grants)


def _build_subject_store(context: AppContext, records: Records) -> SubjectStore:
    timeout_s = context.settings.decide_store_timeout_s
    limits = DataLoaderLimits(timeout_s=timeout_s)
    one_write = DataLoaderLimits(timeout_s=timeout_s, reads_max=1)
    # In PostgreSQL other servers write persons too, which this process cannot count.
    writes = records.writes if records.dialect == "sqlite" else None
    return SubjectStore(
        DataLoader(partial(stored_properties, records), limits, writes),
        DataLoader(partial(stored_group_properties, records), limits, writes),
        DataLoader(partial(stored_identities, records), limits),
        DataLoader(ContinuityStore(records, context.now).keep_identities, one_write),
        DataLoader(partial(memberships, records), limits, writes),
    )
