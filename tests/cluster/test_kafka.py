"""An installation with three brokers as the log loses and doubles nothing acknowledged."""

import asyncio
import os
import random
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Final

import pytest

from fanion.events.storage.schema import EVENT_TABLES
from tests.cluster.outcome import check, check_persons
from tests.cluster.sharded import (
    INGESTING,
    PARTITIONS,
    Fault,
    Installation,
    inserts_fail,
    open_sharded,
)
from tests.support.awaited import until_soon
from tests.support.clickhouse.server import DISTRIBUTED
from tests.support.kafka.brokers import Broker
from tests.support.outcome import all_events
from tests.support.postgres import NoPostgres
from tests.support.server import project_client

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(600),
    pytest.mark.long("three brokers and three servers, killed and paused"),
]

SEEDS: Final = int(os.environ.get("FANION_TEST_CLUSTER_SEEDS", "1"))
REQUESTS: Final = 60  # before a fault and after it
# A broker that is paused is taken to be dead after 3 s, and hands over what it led.
PAUSED_S: Final = 8.0


async def kill_broker(installation: Installation, chance: random.Random) -> None:
    await _restart(chance.choice(installation.brokers.brokers))


async def pause_broker(installation: Installation, chance: random.Random) -> None:
    broker = chance.choice(installation.brokers.brokers)
    broker.pause()
    try:
        await asyncio.sleep(PAUSED_S)
    finally:
        broker.resume()


async def kill_every_broker(installation: Installation, _: random.Random) -> None:
    """Kill all brokers at once: captures go on into the spool."""
    await asyncio.gather(*(_restart(broker) for broker in installation.brokers.brokers))


async def fill_a_disk(installation: Installation, chance: random.Random) -> None:
    """Let a broker's disk be full, at which it stops; it starts again when there is room."""
    broker = chance.choice(installation.brokers.brokers)
    broker.fill_disk()

    async def has_stopped() -> bool:
        return broker.process is not None and broker.process.poll() is not None

    await until_soon(has_stopped, "a broker without room on its disk goes on")
    await _restart(broker)


async def _restart(broker: Broker) -> None:
    await asyncio.to_thread(broker.kill)
    broker.start()
    await asyncio.to_thread(broker.wait_until_ready)


async def kill_ingester(installation: Installation, chance: random.Random) -> None:
    server = installation.servers[chance.choice(INGESTING)]
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)


async def pause_ingester(installation: Installation, chance: random.Random) -> None:
    """Pause an ingesting server until Kafka has given its partitions to the other one."""
    server = installation.servers[chance.choice(INGESTING)]
    os.kill(server.pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(20.0)
    finally:
        os.kill(server.pid, signal.SIGCONT)


async def terminate_ingester(installation: Installation, chance: random.Random) -> None:
    server = installation.servers[chance.choice(INGESTING)]
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
        fill_a_disk,
        kill_ingester,
        pause_ingester,
        terminate_ingester,
        kill_every_server,
        inserts_fail,
    )
}


@pytest.fixture(scope="module")
async def installation(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Installation]:
    try:
        async with open_sharded(tmp_path_factory.mktemp("kafka"), brokers=3) as opened:
            yield opened
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
        metrics = (await http.get(http.base_url.join("/metrics"))).text
    lags = re.findall(r"(?m)^fanion_log_partition_lag_envelopes\{(.*)\} (\S+)$", metrics)
    assert len(lags) == 2 * PARTITIONS
    assert {lag for _, lag in lags} == {"0.0"}


async def test_events_that_the_event_store_has_lost_are_ingested_again(
    installation: Installation,
) -> None:
    load = await installation.new_load(0)
    async with load.sending():
        await load.wait_for_more(REQUESTS)
    async with project_client(installation.front, load.keys) as http:
        await check(http, load)
        for table in EVENT_TABLES:
            installation.events.client().command(
                f"ALTER TABLE {DISTRIBUTED}.{table}_local"
                f" DELETE WHERE project_id = {load.keys.project_id} SETTINGS mutations_sync = 2"
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
