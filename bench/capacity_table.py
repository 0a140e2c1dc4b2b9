"""What an installation needs for a number of events a second, from what one event costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

EVENTS_OF_REQUEST = 10  # as SDKs send them
RATES = (1_000, 10_000, 100_000, 1_000_000)  # events/s
BUSY = 0.5  # of a core, so that peaks and a machine that fails have room
WORKER_CORES = 2  # one for the interpreter of the server, one for the process that prepares
NODE_CORES = 8  # of a machine with PostgreSQL or ClickHouse
LOG_BYTES_PER_S = 25_000_000  # that one PostgreSQL takes, with what is written for its WAL
DAY_S = 86_400


@dataclass(frozen=True)
class Costs:
    """Microseconds of a core, and bytes.

    web_request, log_request: of a request with EVENTS_OF_REQUEST, while PostgreSQL appends it
    web_single:               of one with a single event
    ingest, records, events:  of an event that is ingested: by the servers that ingest, PostgreSQL,
                              and one replica of the event store
    log_bytes, stored_bytes:  of an event, in the log and in one replica of the event store
    """

    web_request: float
    web_single: float
    log_request: float
    ingest: float
    records: float
    events: float
    log_bytes: float
    stored_bytes: float


@dataclass(frozen=True)
class Needs:
    """Cores are those that a half of each is used of. bytes_a_day: of each replica"""

    events_per_s: int
    web_cores: float
    web_cores_of_single: float
    log_bytes_per_s: float
    postgres_cores: float
    databases: int
    ingest_cores: float
    workers: int
    events_cores: float
    shards: int
    bytes_a_day: float


def needs(costs: Costs, events_per_s: int) -> Needs:
    requests = events_per_s / EVENTS_OF_REQUEST
    log_bytes = costs.log_bytes * events_per_s
    postgres = _cores(costs.log_request * requests + costs.records * events_per_s)
    ingest, events = _cores(costs.ingest * events_per_s), _cores(costs.events * events_per_s)
    return Needs(
        events_per_s,
        _cores(costs.web_request * requests),
        _cores(costs.web_single * events_per_s),
        log_bytes,
        postgres,
        ceil(max(postgres / NODE_CORES, log_bytes / LOG_BYTES_PER_S)),
        ingest,
        ceil(ingest / WORKER_CORES),
        events,
        ceil(events / NODE_CORES),
        costs.stored_bytes * events_per_s * DAY_S,
    )


def table(costs: Costs) -> Iterator[str]:
    """As Markdown."""
    yield (
        "| Events/s | Web cores | the same, one event a request | Log, MB/s | PostgreSQL cores "
        "| databases | Ingest cores | workers | Event store cores, each replica | shards "
        "| GB a day, each replica |"
    )
    yield "|" + "---|" * 11
    for rate in RATES:
        of = needs(costs, rate)
        yield (
            f"| {rate:,} | {_short(of.web_cores)} | {_short(of.web_cores_of_single)} "
            f"| {_short(of.log_bytes_per_s / 1e6)} | {_short(of.postgres_cores)} | {of.databases} "
            f"| {_short(of.ingest_cores)} | {of.workers} | {_short(of.events_cores)} | {of.shards} "
            f"| {of.bytes_a_day / 1e9:,.0f} |"
        )


def _short(number: float) -> str:
    return f"{number:,.1f}" if number < 10 else f"{number:,.0f}"


def _cores(us_per_s: float) -> float:
    return us_per_s / (1_000_000 * BUSY)
