"""Builds what answers flags: on the records store, and while it is down on what was kept."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from random import random

from fanion.activity.recorders import tell_of_organization, tell_of_project, tell_of_secret_key
from fanion.cohorts.members_store import memberships
from fanion.config import Settings
from fanion.db.batching import DataLoader, DataLoaderLimits
from fanion.db.engine import Records
from fanion.flags.evaluation.browser_config import BrowserConfig
from fanion.flags.evaluation.cache import FlagSets, NoSource
from fanion.flags.evaluation.continuity_store import IdentityKeeper, kept_identities
from fanion.flags.evaluation.counters import EvaluationCounts
from fanion.flags.evaluation.counters_store import CountKeeper
from fanion.flags.evaluation.endpoints import Decide, nowhere
from fanion.flags.evaluation.loader import Readings
from fanion.flags.evaluation.offline_store import KeptFlags
from fanion.flags.evaluation.rate_limit import EvaluationLimit
from fanion.flags.evaluation.service import Evaluator
from fanion.flags.sdk.endpoints import DefinitionEndpoints, DefinitionReaders
from fanion.flags.sdk.ofrep_endpoints import Ofrep
from fanion.flags.sdk.sse import Broadcaster
from fanion.flags.storage.store import FlagStore
from fanion.groups.store import stored_group_properties
from fanion.observability.metrics import Metrics
from fanion.persons.store import stored_properties
from fanion.projects.auth.authentication import Authentication
from fanion.projects.auth.failed_attempts import KeyFailures
from fanion.projects.auth.personal_keys_store import KeyStore
from fanion.projects.auth.secret_keys import SecretKeys, SecretKeyStore
from fanion.projects.cache import Projects
from fanion.projects.store import ProjectStore
from fanion.runtime.background import BackgroundTask
from fanion.runtime.change_bus import Change, ChangeBus
from fanion.runtime.geoip import GeoIp, open_geoip
from fanion.server.forwarded import TrustedProxies
from fanion.server.server import allow_connections
from fanion.web.proxy_warning import trusted_proxies
from fanion.web.public_routes import FlagEndpoints
from fanion.wire.client_address import Clients
from fanion.wire.offload import Decoding


@dataclass(frozen=True, slots=True)
class FlagParts:
    """proxies:   one for this process, for capture and management too
    decoding:  of all large bodies of this process
    followers: run beside the server for as long as it serves"""

    proxies: TrustedProxies
    bus: ChangeBus
    projects: Projects
    authentication: Authentication
    secret_keys: SecretKeys
    store: FlagStore
    flag_sets: FlagSets
    evaluator: Evaluator
    broadcaster: Broadcaster
    decoding: Decoding
    endpoints: FlagEndpoints
    followers: tuple[BackgroundTask, ...]


def kept_flags(settings: Settings) -> KeptFlags:
    return KeptFlags(settings.data.resolve() / "kept-flags.db")


def located(settings: Settings) -> GeoIp | None:
    """None without a location database. raises: GeoIpUnreadable"""
    return open_geoip(Path(settings.geoip_db)) if settings.geoip_db else None


def build_flag_parts(
    settings: Settings,
    records: Records,
    metrics: Metrics,
    kept: KeptFlags,
    now: Callable[[], datetime],
    locate: GeoIp = nowhere,
    *,
    records_answer: bool = True,
) -> FlagParts:
    """records_answer: False when they are known not to, so that no request waits for them"""
    proxies = trusted_proxies(settings)
    clock, failures = time.monotonic, _key_failures(Clients(proxies), metrics)
    bus = ChangeBus()
    project_store = ProjectStore(records, tell_of_project)
    projects = Projects(project_store, clock, kept.project, failures, now, bus)
    keys = KeyStore(records, tell_of_organization)
    authentication = Authentication(keys, now, clock, failures, bus)
    secret_store = SecretKeyStore(records, tell_of_secret_key)
    secret_keys = SecretKeys(secret_store, now, clock, failures, bus)
    store = FlagStore(records)
    flag_sets = FlagSets(store if records_answer else NoSource(), kept, bus)
    reads = readings(settings, records, now)
    if not records_answer:
        reads.breaker.failed(reads.breaker.answers)
    counts = EvaluationCounts(random)
    evaluator = Evaluator(flag_sets, reads, now, metrics.hot.evaluation_seconds, counts.add)
    # The other connections are for those who do not listen but ask.
    broadcaster = Broadcaster(flag_sets, listeners_max=allow_connections() // 2)
    metrics.flag_listeners.set_function(lambda: broadcaster.listeners)
    readers = DefinitionReaders(projects, authentication, secret_keys)
    bus.subscribe(Change.FLAGS, flag_sets.invalidate)
    bus.subscribe(Change.FLAGS_LOADED, broadcaster.notify)
    bus.subscribe(Change.GROUP_TYPES, partial(bus.publish, Change.FLAGS))
    bus.subscribe(Change.PROJECT_LOADED, kept.project_changed)
    bus.subscribe(Change.PERSONAL_KEYS, broadcaster.check_grants)
    bus.subscribe(Change.SECRET_KEYS, broadcaster.check_grants)
    bytes_max, decoding = settings.body_bytes_max, Decoding()
    endpoints = FlagEndpoints(
        Decide(
            projects,
            authentication,
            evaluator,
            bytes_max,
            proxies,
            locate,
            EvaluationLimit(settings.decide_per_s, settings.decide_burst),
            decoding=decoding,
        ),
        DefinitionEndpoints(readers, evaluator, broadcaster),
        Ofrep(projects, evaluator, bytes_max, decoding),
        BrowserConfig(projects),
    )
    followers: tuple[BackgroundTask, ...] = (
        projects.run,
        authentication.run,
        flag_sets.run,
        broadcaster.run_heartbeat,
        partial(broadcaster.run_grant_checks, readers.holds),
        partial(kept.run, projects.by_id),
        CountKeeper(records, counts, projects.by_id, now).run,
    )
    return FlagParts(
        proxies,
        bus,
        projects,
        authentication,
        secret_keys,
        store,
        flag_sets,
        evaluator,
        broadcaster,
        decoding,
        endpoints,
        followers,
    )


def _key_failures(clients: Clients, metrics: Metrics) -> KeyFailures:
    def count(kind: str, reason: str) -> None:
        metrics.key_failures.labels(kind, reason).inc()

    return KeyFailures(clients, count=count)


def readings(settings: Settings, records: Records, now: Callable[[], datetime]) -> Readings:
    limits = DataLoaderLimits(timeout_s=settings.decide_store_timeout_s)
    one_write = DataLoaderLimits(timeout_s=settings.decide_store_timeout_s, reads_max=1)
    # In PostgreSQL other servers write the persons.
    writes = records.writes if records.dialect == "sqlite" else None
    return Readings(
        DataLoader(partial(stored_properties, records), limits, writes),
        DataLoader(partial(stored_group_properties, records), limits, writes),
        DataLoader(partial(kept_identities, records), limits),
        DataLoader(IdentityKeeper(records, now).keep, one_write),
        DataLoader(partial(memberships, records), limits, writes),
    )
