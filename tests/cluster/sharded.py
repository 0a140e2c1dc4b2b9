"""Servers whose events are in a cluster of two shards, with brokers as the log or without.

The replicas of the shards, and what happens to inserts into them, are
`tests.support.clickhouse.shards`.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fanion.events.storage.schema import EVENT_TABLES
from tests.cluster.installation import DATABASE
from tests.cluster.load import Load
from tests.cluster.postgres_pair import lone_postgres
from tests.support import plain_http
from tests.support.awaited import until_soon
from tests.support.clickhouse.replica import Fault as InsertFault
from tests.support.clickhouse.server import DISTRIBUTED, TWICE, ClickHouse, clickhouse
from tests.support.clickhouse.shards import ShardReplicas, shard_replicas
from tests.support.kafka.brokers import Kafka, private_kafka
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

PARTITIONS: Final = 12
ROLES: Final = {"front": "web,api,jobs", "first": "ingest", "second": "ingest"}
INGESTING: Final = ("first", "second")
# How often each sort of failure has to happen to an insert.
FAILURES: Final = 2
STORED: Final = "SELECT uniqExact(uuid) FROM {}_local WHERE project_id = {{id:UInt64}}"


@dataclass(frozen=True)
class Installation:
    """A server that captures and answers, two that ingest, and what they use.

    Attributes:
        kafka: The brokers of the log; None if it is in PostgreSQL.
    """

    events: ClickHouse
    replicas: ShardReplicas
    servers: Mapping[str, RealServer]
    keys: Keys
    kafka: Kafka | None

    @property
    def front(self) -> RealServer:
        return self.servers["front"]

    @property
    def brokers(self) -> Kafka:
        assert self.kafka is not None
        return self.kafka

    async def new_load(self, seed: int) -> Load:
        headers = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        async with plain_http.AsyncClient(base_url=self.front.url, headers=headers) as http:
            answer = await http.post("/api/projects/", json={"name": "One of many"})
        assert answer.status_code == 201, answer.text
        made = answer.json()
        keys = Keys(made["id"], made["api_token"], self.keys.personal_api_key)
        return Load(keys, [self.front.url], seed)

    async def stored(self, project_id: int) -> dict[str, int]:
        """Return of how many events of a project each table has rows."""
        return await asyncio.to_thread(self._stored, project_id)

    def _stored(self, project_id: int) -> dict[str, int]:
        with closing(self.events.client(DISTRIBUTED)) as client:
            answers = {
                table: client.query(STORED.format(table), {"id": project_id}).result_rows
                for table in EVENT_TABLES
            }
        return {table: int(count) for table, [[count]] in answers.items()}


@asynccontextmanager
async def open_sharded(folder: Path, brokers: int = 0) -> AsyncIterator[Installation]:
    """Start an installation, with a number of brokers.

    Raises:
        NoPostgres: This machine has no server to start.
    """
    async with AsyncExitStack() as stack:
        postgres = stack.enter_context(lone_postgres())
        store = stack.enter_context(clickhouse(folder))
        replicas = stack.enter_context(shard_replicas(store.port))
        kafka = stack.enter_context(private_kafka(brokers)) if brokers else None
        at = f"127.0.0.1:{replicas.listens_on}"
        settings = {
            "FANION_DATABASE_URL": f"postgresql://fanion@127.0.0.1:{postgres.port}/{DATABASE}",
            "FANION_EVENTS_URL": f"clickhouse://{at}/{DISTRIBUTED}?cluster={TWICE}",
        }
        if kafka is not None:
            settings["FANION_LOG_URL"] = kafka.url("fanion", f"partitions={PARTITIONS}")
        servers = {
            name: stack.enter_context(
                closing(PreloadedServer(folder / name, {**settings, "FANION_ROLE": roles}))
            )
            for name, roles in ROLES.items()
        }
        keys = await asyncio.to_thread(servers["front"].setup_anew)
        await asyncio.gather(*(asyncio.to_thread(s.start) for s in servers.values()))
        yield Installation(store, replicas, servers, keys, kafka)


Fault = Callable[[Installation, random.Random], Awaitable[None]]


async def inserts_fail(installation: Installation, chance: random.Random) -> None:
    """Let half of the inserts fail, before the rows are stored, in the middle, or after it."""
    kinds: tuple[InsertFault, ...] = ("refused", "cut", "unanswered", "error after storing")
    replicas = installation.replicas

    async def have_failed() -> bool:
        return all(replicas.faults[kind] >= FAILURES for kind in kinds)

    with replicas.failing(kinds, chance):
        await until_soon(have_failed, f"too few inserts have failed: {replicas.faults}")


async def ingester_is_killed_during_inserts(
    installation: Installation, chance: random.Random
) -> None:
    """Kill a server while rows are stored of which nobody has an answer; it comes much later."""
    server = installation.servers[chance.choice(INGESTING)]
    with installation.replicas.failing(("late",), chance):
        await asyncio.to_thread(installation.replicas.stored.wait)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)


async def event_store_is_killed(installation: Installation, chance: random.Random) -> None:
    """Kill the engine of all replicas, at any moment of a run of inserts."""
    await asyncio.sleep(chance.random())
    await asyncio.to_thread(installation.events.kill)
    await asyncio.to_thread(installation.events.start)


SHARD_FAULTS: Final[Mapping[str, Fault]] = {
    fault.__name__: fault
    for fault in (
        inserts_fail,
        ingester_is_killed_during_inserts,
        event_store_is_killed,
    )
}
