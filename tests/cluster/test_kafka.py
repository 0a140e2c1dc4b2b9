"""An installation with three brokers as the log loses and doubles nothing acknowledged."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from typing import Final

import pytest

from tests.cluster.installation import DATABASE
from tests.cluster.load import Load
from tests.cluster.outcome import check, check_persons
from tests.cluster.postgres_pair import lone_postgres
from tests.support import plain_http
from tests.support.awaited import until_soon
from tests.support.clickhouse.server import SERVER, ClickHouse, clickhouse
from tests.support.kafka.brokers import Broker, Kafka, private_kafka
from tests.support.outcome import all_events
from tests.support.postgres import NoPostgres
from tests.support.server import Keys, RealServer, project_client

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(600),
    pytest.mark.long("three brokers and three servers, killed and paused"),
]

SEEDS: Final = int(os.environ.get("FANION_TEST_CLUSTER_SEEDS", "1"))
REQUESTS: Final = 60  # before a fault and after it
PARTITIONS: Final = 12
ROLES: Final = {"front": "web,api,jobs", "first": "ingest", "second": "ingest"}
# A broker that is paused is taken to be dead after 3 s, and hands over what it led.
PAUSED_S: Final = 8.0


@dataclass(frozen=True)
class Installation:
    """A server that captures and answers, two that ingest, and their brokers."""

    kafka: Kafka
    events: ClickHouse
    servers: Mapping[str, RealServer]
    keys: Keys

    @property
    def front(self) -> RealServer:
        return self.servers["front"]

    async def new_load(self, seed: int) -> Load:
        headers = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        async with plain_http.AsyncClient(base_url=self.front.url, headers=headers) as http:
            answer = await http.post("/api/projects/", json={"name": "One of many"})
        assert answer.status_code == 201, answer.text
        made = answer.json()
        keys = Keys(made["id"], made["api_token"], self.keys.personal_api_key)
        return Load(keys, [self.front.url], seed)


Fault = Callable[[Installation, random.Random], Awaitable[None]]


async def kill_broker(installation: Installation, chance: random.Random) -> None:
    await _restart(chance.choice(installation.kafka.brokers))


async def pause_broker(installation: Installation, chance: random.Random) -> None:
    broker = chance.choice(installation.kafka.brokers)
    broker.pause()
    try:
        await asyncio.sleep(PAUSED_S)
    finally:
        broker.resume()


async def kill_every_broker(installation: Installation, _: random.Random) -> None:
    """Kill all brokers at once: captures go on into the spool."""
    await asyncio.gather(*(_restart(broker) for broker in installation.kafka.brokers))


async def _restart(broker: Broker) -> None:
    await asyncio.to_thread(broker.kill)
    broker.start()
    await asyncio.to_thread(broker.wait_until_ready)


async def kill_ingester(installation: Installation, chance: random.Random) -> None:
    server = installation.servers[chance.choice(("first", "second"))]
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)


async def pause_ingester(installation: Installation, chance: random.Random) -> None:
    """Pause an ingesting server until Kafka has given its partitions to the other one."""
    server = installation.servers[chance.choice(("first", "second"))]
    os.kill(server.pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(20.0)
    finally:
        os.kill(server.pid, signal.SIGCONT)


async def terminate_ingester(installation: Installation, chance: random.Random) -> None:
    server = installation.servers[chance.choice(("first", "second"))]
    assert await asyncio.to_thread(server.stop) == 0
    await asyncio.to_thread(server.start)


async def kill_every_server(installation: Installation, _: random.Random) -> None:
    for server in installation.servers.values():
        await asyncio.to_thread(server.kill)
    await asyncio.gather(*(asyncio.to_thread(s.start) for s in installation.servers.values()))


FAULTS: Final[Mapping[str, Fault]] = {
    fault.__name__: fault
    for fault in (
        kill_broker,
        pause_broker,
        kill_every_broker,
        kill_ingester,
        pause_ingester,
        terminate_ingester,
        kill_every_server,
    )
}


@pytest.fixture(scope="module")
async def installation(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Installation]:
    folder = tmp_path_factory.mktemp("kafka")
    try:
        async with AsyncExitStack() as stack:
            postgres = stack.enter_context(lone_postgres())
            store = stack.enter_context(clickhouse(folder))
            kafka = stack.enter_context(private_kafka(3))
            settings = {
                "FANION_DATABASE_URL": f"postgresql://fanion@127.0.0.1:{postgres.port}/{DATABASE}",
                "FANION_EVENTS_URL": f"clickhouse://127.0.0.1:{store.port}/{SERVER}",
                "FANION_LOG_URL": kafka.url("fanion", f"partitions={PARTITIONS}"),
            }
            servers = {
                name: stack.enter_context(
                    closing(RealServer(folder / name, {**settings, "FANION_ROLE": roles}))
                )
                for name, roles in ROLES.items()
            }
            keys = await asyncio.to_thread(servers["front"].setup_anew)
            await asyncio.gather(*(asyncio.to_thread(s.start) for s in servers.values()))
            yield Installation(kafka, store, servers, keys)
    except NoPostgres as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("fault", FAULTS)
async def test_nothing_is_lost_or_doubled(
    installation: Installation, fault: str, seed: int
) -> None:
    load = await installation.new_load(seed)
    chance = random.Random(f"{fault} {seed}")

    async with load.sending():
        await load.wait_for_more(REQUESTS)
        await FAULTS[fault](installation, chance)
        await load.wait_for_more(REQUESTS)

    async with project_client(installation.front, load.keys) as http:
        await check(http, load)


async def test_events_that_the_event_store_has_lost_are_ingested_again(
    installation: Installation,
) -> None:
    load = await installation.new_load(0)
    async with load.sending():
        await load.wait_for_more(REQUESTS)
    async with project_client(installation.front, load.keys) as http:
        await check(http, load)
        for table in ("events", "events_by_distinct_id"):
            installation.events.client().command(
                f"ALTER TABLE {SERVER}.{table} DELETE WHERE project_id = {load.keys.project_id}"
                " SETTINGS mutations_sync = 2"
            )
        lost = await all_events(http)

        printed = await asyncio.to_thread(
            installation.front.command, "ingestion", "replay", "--from", "2020-01-01"
        )

        due = Counter(load.names)

        async def all_are_stored() -> bool:
            return len(await all_events(http)) >= due.total()

        await until_soon(all_are_stored, "events are missing")
        stored = await all_events(http)
        await check_persons(http, load, stored)
    assert lost == []
    assert printed.endswith("are ingested again.\n")
    assert Counter(event["properties"]["name"] for event in stored) == due
