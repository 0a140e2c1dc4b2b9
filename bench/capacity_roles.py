"""The processor time that a request and an event take of each role.

The roles are servers that answer captures, servers that ingest, PostgreSQL, and the stand-in for a
ClickHouse server.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import msgspec
from clickhouse_connect.driver.client import Client

from bench import ingestion, load, servers
from bench.capacity_table import EVENTS_OF_REQUEST
from bench.capture import event
from bench.processor_time import spent
from tests.support.awaited import until
from tests.support.clickhouse.server import SERVER, ClickHouse, clickhouse
from tests.support.postgres import Postgres, private_postgres
from tests.support.server import Keys, RealServer

EVENTS = int(os.environ.get("BENCH_CAPACITY", "300000"))
RUN_S = 5
GIVE_UP_S, LOOK_S = 900.0, 1.0  # seconds; each look is a new connection to PostgreSQL
WEB, POSTGRES, INGEST, STORE = "web", "PostgreSQL", "ingest", "event store"

# A worker that never ends holds all partitions until servers that ingest are idle.
_HOLD = """
  INSERT INTO log_workers (id, renewed_at) VALUES ('bench', '2100-01-01T00:00:00Z');
  UPDATE log_positions SET holder = 'bench' WHERE partition > 0;
"""
_RELEASE = """
  UPDATE log_positions SET holder = '' WHERE holder = 'bench';
  DELETE FROM log_workers WHERE id = 'bench';
"""
_LAST = """
SELECT SUM(last) FROM (SELECT MAX(id) AS last FROM accept_log_entries GROUP BY partition) AS lasts
"""
_LOG_BYTES = "SELECT SUM(OCTET_LENGTH(body) + 100) FROM accept_log_entries"
_POSITIONS = "SELECT SUM(position) FROM log_positions"
_ENTRIES = "SELECT COUNT(*) FROM accept_log_entries"
_WORKERS = "SELECT COUNT(*) FROM log_workers WHERE id <> 'bench'"
_MERGES = "SELECT COUNT(*) FROM system.merges"
_STORED = "SELECT COUNT(*) FROM events"
_DISK = "SELECT SUM(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()"


@dataclass(frozen=True)
class Answered:
    """The microseconds of a request with this number of events, by role."""

    events: int
    us: dict[str, float]


@dataclass(frozen=True)
class Log:
    """A database in whose log all events wait.

    Attributes:
        last: The sum of the last ids of its partitions.
    """

    database: str
    last: int
    entries: int
    bytes: int


@dataclass(frozen=True)
class Ingested:
    """The cost of ingestion.

    Attributes:
        us: Microseconds per event, by role.
        idle: Cores used while idle, by role.
        batches: Of all servers.
    """

    servers: int
    us: dict[str, float]
    idle: Mapping[str, float]
    batches: int
    stored_bytes: float


@dataclass(frozen=True)
class Engines:
    """The engines that all servers use.

    Attributes:
        template: A database that is set up, with an empty log.
    """

    folder: Path
    postgres: Postgres
    clickhouse: ClickHouse
    template: str
    keys: Keys

    def server(self, name: str, role: str, database: str, store: str = SERVER) -> RealServer:
        settings = {
            "FANION_ROLE": role,
            "FANION_DATABASE_URL": self.postgres.url(database),
            "FANION_EVENTS_URL": self.clickhouse.url(store),
        }
        return servers.whole(self.folder / name, **settings)

    def copy(self, database: str) -> str:
        return asyncio.run(self.postgres.create_database(database))

    def drop(self, database: str) -> None:
        asyncio.run(self.postgres.drop_database(database))

    def ask(self, database: str, statement: str) -> int:
        """Return the number that a query yields."""
        return asyncio.run(_ask(self.postgres.url(database), statement))

    def run(self, database: str, statement: str) -> None:
        asyncio.run(self.postgres.run(statement, database))


@contextmanager
def engines(folder: Path) -> Iterator[Engines]:
    """Start the engines.

    PostgreSQL waits for the disk, as in production. It vacuums only when a log has been ingested,
    so that this is counted.
    """
    with private_postgres(("fsync=on", "autovacuum=off")) as postgres, clickhouse(folder) as store:
        template = asyncio.run(postgres.create_database())
        started = Engines(folder, postgres, store, template, Keys(0, "", ""))
        keys = started.server("set-up", "web", template).setup_anew()
        yield Engines(folder, postgres, store, template, keys)


def answer(on: Engines, sizes: Sequence[int]) -> Iterator[Answered]:
    """Measure captures of one server while nothing ingests, for each size of a request."""
    database = on.copy(on.template)
    with _web(on, "answers", database) as web:
        roles = {WEB: [web.pid], POSTGRES: [on.postgres.pid]}
        for size in sizes:
            items = [event(number) for number in range(size)]
            body: dict[str, object] = {"api_key": on.keys.project_api_key}
            body |= {"batch": items} if size > 1 else items[0]
            yield Answered(size, _capture(web, msgspec.json.encode(body), roles))
    on.drop(database)


def _capture(web: RealServer, body: bytes, roles: dict[str, list[int]]) -> dict[str, float]:
    """Return the microseconds of a request, by role."""
    url = f"{web.url}/batch/"
    load.post(url, body, run_s=load.WARM_S, warm_s=0)
    loads: list[load.Load] = []
    took = spent(roles, lambda: loads.append(load.post(url, body, run_s=RUN_S, warm_s=0)))
    assert loads[0].failed == 0, loads
    return {role: seconds / loads[0].requests * 1e6 for role, seconds in took.seconds.items()}


def accept(on: Engines) -> Log:
    """Return a log with EVENTS waiting events; its partitions are held until they are released."""
    database = on.copy(on.template)
    with _web(on, "accepts", database) as web:
        bodies = ingestion.batches(on.keys, EVENTS, ingestion.item, EVENTS_OF_REQUEST)
        asyncio.run(ingestion.send(web, bodies))
    on.run(database, _HOLD)
    last, entries, size = (
        on.ask(database, statement) for statement in (_LAST, _ENTRIES, _LOG_BYTES)
    )
    return Log(database, last, entries, size)


def ingest(on: Engines, log: Log, number: int, name: str) -> Ingested:
    """Ingest a copy of the log, with this number of servers, into an empty event store.

    Args:
        name: The event store's database.
    """
    database, client = on.copy(log.database), on.clickhouse.client()
    client.command(f"CREATE DATABASE {name}")
    store = on.clickhouse.client(name)
    with ExitStack() as stack:
        running = [
            stack.enter_context(closing(on.server(f"{name}-{index}", "ingest", database, name)))
            for index in range(number)
        ]
        for server in running:
            server.start()
        until(lambda: on.ask(database, _WORKERS) == number, "servers do not join", GIVE_UP_S)
        roles = {INGEST: [server.pid for server in running], POSTGRES: [on.postgres.pid]}
        roles[STORE] = [on.clickhouse.pid]
        took = spent(roles, lambda: _drain(on, log, database, store))
        assert _number(store, _STORED) == EVENTS
        stored_bytes = _number(store, _DISK)
        batches = sum(
            line.get("event") == "ingested" for server in running for line in server.log_lines()
        )
        for server in running:
            assert server.stop() == 0
    client.command(f"DROP DATABASE {name}")
    on.drop(database)
    us = {role: seconds / EVENTS * 1e6 for role, seconds in took.seconds.items()}
    return Ingested(number, us, took.idle, batches, stored_bytes / EVENTS)


def _drain(on: Engines, log: Log, database: str, store: Client) -> None:
    """Wait until everything is stored, trimmed, merged and vacuumed."""
    on.run(database, _RELEASE)
    for holds in (
        lambda: on.ask(database, _POSITIONS) == log.last,
        lambda: on.ask(database, _ENTRIES) == 0,
        lambda: _number(store, _MERGES) == 0,
    ):
        until(holds, f"not ingested after {GIVE_UP_S} s", GIVE_UP_S, LOOK_S)
    on.run(database, "VACUUM ANALYZE")


@contextmanager
def _web(on: Engines, name: str, database: str) -> Iterator[RealServer]:
    """Run a server that answers captures."""
    with closing(on.server(name, "web", database)) as web:
        servers.start_web(web)
        yield web
        assert web.stop() == 0


def _number(store: Client, statement: str) -> int:
    [[count]] = store.query(statement).result_rows
    return int(count)


async def _ask(url: str, statement: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval(statement) or 0)
    finally:
        await connection.close()
