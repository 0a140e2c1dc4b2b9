"""The metrics that a process of the server keeps about itself, for `/metrics`.

On the hot paths these are plain numbers that the event loop changes: the library's counters and
histograms take a lock for every observation. Answering a constant through routing and telemetry
took 8.5 µs with them and takes 6 with these.
"""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import nan
from typing import Protocol, cast

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Summary,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from fanion.observability.build_info import read_commit
from fanion.observability.server_collector import ServerCollector

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_EVALUATION_SECONDS = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, *_SECONDS[1:])

# The samples of each metric: name, labels and value.
Measured = dict[str, list[tuple[str, dict[str, str], float]]]
_MADE = "_created"  # suffix of the time when a number began, which must not be summed
_FLAGS_AGE = "fanion_flags_age_seconds"
# Metrics for which the greatest value of several processes is reported, not the sum.
_LAST_SUCCESS = "fanion_job_last_success_timestamp_seconds"
_MAXIMA = {_FLAGS_AGE, _LAST_SUCCESS}


class HotCounter:
    """A counter of a hot path."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class HotHistogram:
    """The number of observations at or below each bound, and their sum.

    Args:
        bounds: In seconds, rising.
    """

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._sum += seconds

    def add_to(self, family: HistogramMetricFamily, labels: Sequence[str]) -> None:
        buckets, total = [], 0
        names = (*map(floatToGoString, self._bounds), "+Inf")
        for name, count in zip(names, self._counts, strict=True):
            total += count
            buckets.append((name, float(total)))
        family.add_metric(labels, buckets, self._sum)


class HotMetrics(Collector):
    """The counters and histograms of the hot paths."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.accepted = HotCounter()
        self.ingested = HotCounter()
        self.evaluation_seconds = HotHistogram(_EVALUATION_SECONDS)
        self.answered_elsewhere: Callable[[], int] = int
        self._requests: dict[tuple[str, int], HotCounter] = {}
        self._request_seconds: dict[str, HotHistogram] = {}
        registry.register(self)

    @property
    def answered(self) -> int:
        """The number of all requests so far, including those of other processes of this server."""
        own = sum(requests.count for requests in self._requests.values())
        return own + self.answered_elsewhere()

    def requests(self, route: str, status: int) -> tuple[HotCounter, HotHistogram]:
        """Return the counter and the durations of a route, for the caller to keep.

        The durations include all statuses of the route.
        """
        answered = self._requests.setdefault((route, status), HotCounter())
        seconds = self._request_seconds.get(route)
        if seconds is None:
            seconds = self._request_seconds[route] = HotHistogram(_SECONDS)
        return answered, seconds

    def collect(self) -> Iterator[Metric]:
        accepted = "Items that were answered with 200 and are durable"
        yield CounterMetricFamily("fanion_items_accepted", accepted, self.accepted.count)
        ingested = "Events stored and visible"
        yield CounterMetricFamily("fanion_events_ingested", ingested, self.ingested.count)
        requests = CounterMetricFamily(
            "fanion_requests", "Answered requests", labels=["route", "status"]
        )
        for (route, status), answered in self._requests.items():
            requests.add_metric([route, str(status)], answered.count)
        yield requests
        seconds = HistogramMetricFamily(
            "fanion_request_seconds", "Time to answer", labels=["route"]
        )
        for route, durations in self._request_seconds.items():
            durations.add_to(seconds, [route])
        yield seconds
        evaluation = HistogramMetricFamily(
            "fanion_flag_evaluation_seconds", "Time to evaluate the flags of one request", labels=[]
        )
        self.evaluation_seconds.add_to(evaluation, [])
        yield evaluation


class ConnectionPool(Protocol):
    """A pool of connections to a database."""

    @property
    def connections_max(self) -> int: ...
    @property
    def in_use(self) -> int: ...
    @property
    def waiting(self) -> int: ...


class JobMetrics:
    """The runs of one background job, as a `JobObserver`."""

    def __init__(self, seconds: Summary, failures: Counter, last_success: Gauge) -> None:
        self._seconds = seconds
        self._failures = failures
        self._last_success = last_success

    def succeeded(self, seconds: float) -> None:
        self._seconds.observe(seconds)
        self._last_success.set(time.time())

    def failed(self, seconds: float) -> None:
        self._seconds.observe(seconds)
        self._failures.inc()


class Metrics:
    """The metrics of a process.

    Labels have few values on purpose: routes, reasons, stores; never projects or ids.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.elsewhere: Callable[[], Iterable[Measured]] = tuple
        self.server: ServerCollector | None = None
        self.hot = HotMetrics(registry)
        self.dropped = Counter(
            "fanion_items_dropped",
            "Items not stored, by reason, such as `no_distinct_id`",
            ["reason"],
            registry=registry,
        )
        self.dead_letters = Counter(
            "fanion_dead_letters",
            "Requests that could not be ingested and became dead letters",
            registry=registry,
        )
        self.log_events = Gauge(
            "fanion_log_lag_envelopes",
            "Requests that are accepted and not ingested yet",
            registry=registry,
        )
        self.log_partition_lag = Gauge(
            "fanion_log_partition_lag_envelopes",
            "Requests that are accepted and not ingested yet, by partition of Kafka. A request "
            "with several distinct ids counts in each of their partitions",
            ["topic", "partition"],
            registry=registry,
        )
        self.log_bytes = Gauge(
            "fanion_log_bytes",
            "Bytes of requests that are accepted and not ingested yet",
            registry=registry,
        )
        self.log_seconds = Gauge(
            "fanion_log_lag_seconds",
            "Age of the oldest request that is not ingested yet",
            registry=registry,
        )
        self.spool_requests = Gauge(
            "fanion_spool_requests",
            "Requests in the spool of this server: accepted while PostgreSQL was away",
            registry=registry,
        )
        self.spool_bytes = Gauge(
            "fanion_spool_bytes",
            "Size of the requests in the spool before compression",
            registry=registry,
        )
        self.spool_seconds = Gauge(
            "fanion_spool_seconds", "Age of the oldest request in the spool", registry=registry
        )
        self.changes_to_mirror = Gauge(
            "fanion_changes_to_mirror",
            "Committed changes of persons and groups that queries of events may not see yet: a "
            "few while events arrive, more while the event store is down. After a crash the "
            "rest is sent within 10 s, with PostgreSQL within half a minute",
            registry=registry,
        )
        self.backup_time = Gauge(
            "fanion_backup_success_timestamp_seconds",
            "Time of the last successful backup of the data folder, in seconds since 1970; 0 "
            "without one",
            registry=registry,
        )
        self.backup_failed = Gauge(
            "fanion_backup_failed",
            "1 if the last backup of the data folder failed, was killed, or is later than two "
            "intervals",
            registry=registry,
        )
        self.missing_events = Gauge(
            "fanion_events_missing",
            "Events that the ledger counts as stored in the last 30 days and the event store does "
            "not have, counted each hour by the server with the job `stored_events`; 0 on others",
            registry=registry,
        )
        self.batch_seconds = Histogram(
            "fanion_ingest_batch_seconds",
            "Time to ingest one batch",
            registry=registry,
            buckets=_SECONDS,
        )
        self.flag_listeners = Gauge(
            "fanion_flag_listeners",
            "Open streams of flag changes; at most half of all connections",
            registry=registry,
        )
        self.flags_age = Gauge(
            _FLAGS_AGE,
            "Time since flags were last known to be current; up to 5 s while nothing changes. The "
            "highest value of all processes of the server",
            registry=registry,
        )
        self.event_streams = Gauge(
            "fanion_event_streams", "Open streams of live events", registry=registry
        )
        self.key_failures = Counter(
            "fanion_key_failures",
            "Requests refused for their key. `kind`: `project`, `personal` or `secret`, by the "
            "prefix of the key, or `session` or `password`. `reason`: `unknown`, `expired`, "
            "`denied` (lacks a scope, or access to the project) or `throttled`",
            ["kind", "reason"],
            registry=registry,
        )
        self.webhook_attempts = Counter(
            "fanion_webhook_attempts",
            "Attempts to deliver to a webhook: `delivered`, `failed`",
            ["outcome"],
            registry=registry,
        )
        self.mails = Counter(
            "fanion_mails",
            "Mails to users: `sent`, `failed` (refused, or not accepted within an hour), `dropped` "
            "(too many waited)",
            ["outcome"],
            registry=registry,
        )
        self.store_seconds = Histogram(
            "fanion_store_seconds",
            "Time of one transaction or read: `records`, `events`",
            ["store"],
            registry=registry,
            buckets=_SECONDS,
        )
        self.store_errors = Counter(
            "fanion_store_errors", "Failed calls that were retried", ["store"], registry=registry
        )

        self.log_bytes_max = Gauge(
            "fanion_log_bytes_max",
            "FANION_ACCEPT_LOG_BYTES_MAX: with as many bytes in the accept log capture is refused",
            registry=registry,
        )
        self.ready = Gauge(
            "fanion_ready", "1 if /_ready answers 200, 0 if it answers 503", registry=registry
        )
        self.store_ready = Gauge(
            "fanion_store_ready",
            "1 if /_ready reports the store as `ok`",
            ["store"],
            registry=registry,
        )
        self.log_partitions = Gauge(
            "fanion_log_partitions",
            "Partitions of the accept log that this server ingests; 0 with SQLite, whose log "
            "has none",
            registry=registry,
        )
        self._job_seconds = Summary(
            "fanion_job_seconds",
            "Runs of a background loop and their duration",
            ["name"],
            registry=registry,
        )
        self._job_failures = Counter(
            "fanion_job_failures",
            "Runs of a background loop that failed",
            ["name"],
            registry=registry,
        )
        self._job_last_success = Gauge(
            _LAST_SUCCESS,
            "When a run of a background loop last ended without an error, in seconds since "
            "1970; 0 before the first. A loop that runs on one server has it there",
            ["name"],
            registry=registry,
        )
        self._connections = {
            number: Gauge(
                f"fanion_db_connections_{number}", description, ["pool"], registry=registry
            )
            for number, description in (
                (
                    "max",
                    "Connections to the records store that can be in use at a time. With "
                    "PostgreSQL the pool is `records`, with SQLite `read`, `write` and `select`",
                ),
                ("in_use", "Connections to the records store that are in use"),
                ("waiting", "Requests and jobs that wait for a connection to the records store"),
            )
        }

    def describe_server(self) -> None:
        """Add what one process reports for the server: its build, and all its processes."""
        self.server = ServerCollector(self.registry, read_commit())

    def job(self, name: str) -> JobMetrics:
        """Return the metrics of a background job."""
        return JobMetrics(
            self._job_seconds.labels(name),
            self._job_failures.labels(name),
            self._job_last_success.labels(name),
        )

    def watch_pools(self, pools: Mapping[str, ConnectionPool]) -> None:
        """Report the use of these pools, by name."""
        for name, pool in pools.items():
            for number, gauge in (
                ("connections_max", self._connections["max"]),
                ("in_use", self._connections["in_use"]),
                ("waiting", self._connections["waiting"]),
            ):
                gauge.labels(name).set_function(partial(getattr, pool, number))

    def lag_is_unknown(self) -> None:
        for gauge in (self.log_events, self.log_bytes, self.log_seconds, self.changes_to_mirror):
            gauge.set(nan)
        self.log_partition_lag.clear()

    def spool_is_unknown(self) -> None:
        for gauge in (self.spool_requests, self.spool_bytes, self.spool_seconds):
            gauge.set(nan)

    async def measure_server(self) -> None:
        """Update what the system has to be asked for."""
        if self.server is not None:
            await asyncio.to_thread(self.server.measure)

    def families(self) -> Iterator[Metric]:
        """Return the metrics of this process and of the server's other processes."""
        return _Sums(self.registry, self.elsewhere()).collect()

    def render(self) -> bytes:
        """Render `families` as text."""
        return generate_latest(cast("CollectorRegistry", _Sums(self.registry, self.elsewhere())))

    def measured(self) -> Measured:
        """Return the metrics of only this process."""
        return {
            family.name: [(sample.name, sample.labels, sample.value) for sample in family.samples]
            for family in self.registry.collect()
        }


def without_ages(measured: Measured) -> Measured:
    """Drop the ages of a process that has ended, since it does not answer flags any more."""
    return {family: samples for family, samples in measured.items() if family not in _MAXIMA}


def sum_metrics(parts: Iterable[Measured]) -> Measured:
    """Add up the metrics of several processes; of some take the greatest."""
    sums: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    for part in parts:
        for family, samples in part.items():
            of_family = sums.setdefault(family, {})
            for name, labels, value in samples:
                key = name, tuple(labels.items())
                if name in _MAXIMA:
                    of_family[key] = max(of_family.get(key, 0.0), value)
                elif name.endswith(_MADE):
                    of_family[key] = value
                else:
                    of_family[key] = of_family.get(key, 0.0) + value
    return {
        family: [(name, dict(labels), value) for (name, labels), value in of_family.items()]
        for family, of_family in sums.items()
    }


class _Sums:
    """A stand-in for a registry that adds the metrics of other processes."""

    def __init__(self, registry: CollectorRegistry, others: Iterable[Measured]) -> None:
        self._registry = registry
        self._others = tuple(others)

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            if self._others:
                own = [(sample.name, sample.labels, sample.value) for sample in family.samples]
                parts = (
                    {family.name: own},
                    *({family.name: o.get(family.name, [])} for o in self._others),
                )
                family.samples = [Sample(*sample) for sample in sum_metrics(parts)[family.name]]
            yield family
