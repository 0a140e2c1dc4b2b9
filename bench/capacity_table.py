"""The needs of an installation for a number of events per second, from the cost of one event."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

EVENTS_OF_REQUEST = 10  # the usual batch of SDKs
RATES = (1_000, 10_000, 100_000, 1_000_000)  # events/s
BUSY = 0.5  # share of a core in use, to leave room for peaks and a failing machine
WORKER_CORES = 2  # one for the server's interpreter, one for the process that prepares
NODE_CORES = 8  # cores of a machine with PostgreSQL or ClickHouse
LOG_BYTES_PER_S = 25_000_000  # log bytes that one PostgreSQL can take, including its WAL
DAY_S = 86_400


@dataclass(frozen=True)
class Costs:
    """The cost of requests and events, in microseconds of a core and in bytes.

    Attributes:
        web_request: Of a request with EVENTS_OF_REQUEST, by the web server.
        web_single: Of a request with a single event.
        log_request: Of a request with EVENTS_OF_REQUEST, while PostgreSQL appends it.
        ingest: Of an ingested event, by the servers that ingest.
        records: Of an ingested event, by PostgreSQL.
        events: Of an ingested event, by one replica of the event store.
        log_bytes: Of an event in the log.
        stored_bytes: Of an event in one replica of the event store.
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
    """The needs of an installation; cores are counted so that each is half used.

    Attributes:
        bytes_a_day: Of each replica.
    """

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
    """Yield the table as Markdown."""
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
