"""The command `python -m bench capacity kafka`: the log in Kafka beside the one in PostgreSQL.

Both are measured in turn, with three brokers and `acks=all`. The brokers run on this machine, as
do the clients: rates are ratios only, and so is processor time on a machine that is shared.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from clickhouse_connect.driver.client import Client

from bench import ingestion, load, servers
from bench.capacity_roles import (
    EVENTS,
    GIVE_UP_S,
    INGEST,
    POSTGRES,
    STORE,
    WEB,
    Engines,
    engines,
)
from bench.capacity_table import EVENTS_OF_REQUEST
from bench.capture import event
from bench.processor_time import idle_cores, spent, used_s
from tests.support.awaited import until
from tests.support.clickhouse.server import SERVER
from tests.support.kafka.brokers import Kafka, private_kafka
from tests.support.server import RealServer

ROUNDS: Final = 2
RUN_S: Final = 5
BROKERS: Final = "brokers"
KAFKA: Final = "Kafka"
LOGS: Final = (POSTGRES, KAFKA)
COST_MAX: Final = 1.2
RATE_MIN: Final = 0.5
LOOK_S: Final = 1.0


@dataclass(frozen=True)
class Measured:
    """The costs of a log, in microseconds of a core by role.

    Attributes:
        rate: Single captures a second.
        single: Of a request with one event.
        request: Of a request with EVENTS_OF_REQUEST.
        ingested: Of an event.
    """

    rate: float
    single: Mapping[str, float]
    request: Mapping[str, float]
    ingested: Mapping[str, float]

    @property
    def event_us(self) -> float:
        """Return the cost of an event from its capture, among others, to the event store."""
        return sum(self.request.values()) / EVENTS_OF_REQUEST + sum(self.ingested.values())


def main() -> None:
    """Print the figures of each log, the least of the rounds, and their ratios."""
    measured: dict[str, list[Measured]] = {log: [] for log in LOGS}
    with (
        TemporaryDirectory() as folder,
        engines(Path(folder)) as on,
        private_kafka(3) as kafka,
    ):
        embedded = _embedded_rate()
        brokers = {POSTGRES: None, KAFKA: kafka}
        start_s = {log: _start_s(on, brokers[log], f"{log.lower()}_start") for log in LOGS}
        for turn in range(ROUNDS):
            for log in LOGS:
                name = f"{log.lower()}_{turn}"
                measured[log].append(_measure(on, brokers[log], name, start_s[log]))
    print("\n".join(_lines(measured, embedded)), flush=True)


def _lines(measured: Mapping[str, Sequence[Measured]], embedded: float) -> Iterator[str]:
    roles = (WEB, INGEST, POSTGRES, STORE, BROKERS)
    yield f"measured: microseconds of a core, {EVENTS:,} events ingested"
    yield ""
    yield f"| Log | Of | {' | '.join(roles)} | all |"
    yield "|" + "---|" * (len(roles) + 3)
    for log, runs in measured.items():
        for run in runs:
            for of, us in (
                ("a request with 1", run.single),
                (f"a request with {EVENTS_OF_REQUEST}", run.request),
                ("an ingested event", run.ingested),
            ):
                shown = " | ".join(f"{us[role]:.1f}" if role in us else "" for role in roles)
                yield f"| {log} | {of} | {shown} | {sum(us.values()):.1f} |"
    least = {log: min(run.event_us for run in runs) for log, runs in measured.items()}
    cost = least[KAFKA] / least[POSTGRES]
    yield ""
    yield (
        f"an event in all: {least[KAFKA]:.1f} with Kafka, {least[POSTGRES]:.1f} with PostgreSQL: "
        f"{cost:.2f} times{'' if cost <= COST_MAX else '  MISSED'}"
    )
    rates = {log: max(run.rate for run in runs) for log, runs in measured.items()}
    rate = rates[KAFKA] / embedded
    yield (
        f"single captures: {rates[KAFKA]:,.0f}/s with Kafka, {rates[POSTGRES]:,.0f}/s with "
        f"PostgreSQL, {embedded:,.0f}/s embedded: {rate:.2f} times"
        f"{'' if rate >= RATE_MIN else '  MISSED'}"
    )


def _measure(on: Engines, kafka: Kafka | None, name: str, start_s: float) -> Measured:
    shared = {POSTGRES: [on.postgres.pid]}
    if kafka is not None:
        shared[BROKERS] = [broker.pid for broker in kafka.brokers]
    with _web(on, kafka, f"{name}_captures") as (web, database):
        roles = {WEB: [web.pid], **shared}
        single, rate = _capture(web, _body(on, 1), roles)
        request, _ = _capture(web, _body(on, EVENTS_OF_REQUEST), roles)
    on.drop(database)
    return Measured(rate, single, request, _ingest(on, kafka, name, shared, start_s))


def _ingest(
    on: Engines, kafka: Kafka | None, name: str, shared: Mapping[str, list[int]], start_s: float
) -> dict[str, float]:
    """Return what an event takes while a server ingests EVENTS that wait."""
    with _web(on, kafka, name) as (web, database):
        bodies = ingestion.batches(on.keys, EVENTS, ingestion.item, EVENTS_OF_REQUEST)
        asyncio.run(ingestion.send(web, bodies))
    others = {**shared, STORE: [on.clickhouse.pid]}
    own: list[float] = []

    def ingest() -> None:
        with _ingesting(on, kafka, name, database) as server:
            own.append(used_s([server.pid]))

    took = spent(others, ingest)
    on.drop(database)
    seconds = {INGEST: own[0] - start_s, **took.seconds}
    return {role: of_role / EVENTS * 1e6 for role, of_role in seconds.items()}


@contextmanager
def _ingesting(
    on: Engines, kafka: Kafka | None, name: str, database: str, events: int = EVENTS
) -> Iterator[RealServer]:
    """Run a server that ingests into a separate event store until it has stored so many events."""
    client = on.clickhouse.client()
    client.command(f"CREATE DATABASE {name}")
    store = on.clickhouse.client(name)
    server = _server(on, kafka, name, "ingest", database, name)
    with closing(server):
        server.start()
        until(lambda: _stored(store) == events, "not ingested", GIVE_UP_S, LOOK_S)
        yield server
        assert server.stop() == 0
    store.close()
    client.command(f"DROP DATABASE {name}")


@contextmanager
def _web(on: Engines, kafka: Kafka | None, name: str) -> Iterator[tuple[RealServer, str]]:
    """Run a server that answers captures, with a separate database and log."""
    database = on.copy(on.template)
    server = _server(on, kafka, name, "web", database)
    with closing(server):
        servers.start_web(server)
        yield server, database
        assert server.stop() == 0


def _server(
    on: Engines, kafka: Kafka | None, name: str, role: str, database: str, store: str = SERVER
) -> RealServer:
    server = on.server(f"{name}-{role}", role, database, store)
    if kafka is not None:
        log = {"FANION_LOG_URL": kafka.url(name, "partitions=32")}
        server.settings = {**server.settings, **log}
    return server


def _capture(
    web: RealServer, body: bytes, roles: Mapping[str, list[int]]
) -> tuple[dict[str, float], float]:
    """Return the microseconds of a request by role, and the requests a second."""
    url = f"{web.url}/batch/"
    load.post(url, body, run_s=load.WARM_S, warm_s=0)
    loads: list[load.Load] = []
    took = spent(roles, lambda: loads.append(load.post(url, body, run_s=RUN_S, warm_s=0)))
    assert loads[0].failed == 0, loads
    us = {role: seconds / loads[0].requests * 1e6 for role, seconds in took.seconds.items()}
    return us, loads[0].requests_per_s


def _body(on: Engines, size: int) -> bytes:
    items = [event(number) for number in range(size)]
    body: dict[str, object] = {"api_key": on.keys.project_api_key}
    return msgspec.json.encode(body | ({"batch": items} if size > 1 else items[0]))


def _embedded_rate() -> float:
    """Return how many single captures a separate server answers in a second."""
    with servers.fanion() as (server, keys):
        body = msgspec.json.encode({"api_key": keys.project_api_key, **event(0)})
        return load.post(f"{server.url}/batch/", body, run_s=RUN_S).requests_per_s


def _start_s(on: Engines, kafka: Kafka | None, name: str) -> float:
    """Return the processor time of a server that ingests, before it has ingested anything."""
    database = on.copy(on.template)
    with _ingesting(on, kafka, name, database, events=0) as server:
        idle_cores({INGEST: [server.pid]}, seconds=LOOK_S)
        start_s = used_s([server.pid])
    on.drop(database)
    return start_s


def _stored(store: Client) -> int:
    """Return the number of stored events; 0 while there is no table yet."""
    [[is_there]] = store.query("EXISTS TABLE events").result_rows
    if not is_there:
        return 0
    [[count]] = store.query("SELECT count() FROM events").result_rows
    return int(count)
