"""Servers on a cluster of two shards store every event once, whatever happens to an insert.

Both shards are one engine: a Distributed table reaches others by ClickHouse's own protocol, which
the engine cannot answer embedded.
"""

import os
import random
from collections.abc import AsyncIterator
from typing import Final

import pytest

from fanion.events.storage.schema import EVENT_TABLES
from tests.cluster.outcome import check
from tests.cluster.sharded import SHARD_FAULTS, Installation, open_sharded
from tests.support.postgres import NoPostgres
from tests.support.server import project_client

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(400),
    pytest.mark.long("three servers and a cluster of two shards, killed in the middle of inserts"),
]

SEEDS: Final = int(os.environ.get("FANION_TEST_CLUSTER_SEEDS", "1"))
REQUESTS: Final = 30  # before a fault and after it


@pytest.fixture(scope="module")
async def installation(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Installation]:
    try:
        async with open_sharded(tmp_path_factory.mktemp("shards")) as opened:
            yield opened
    except NoPostgres as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("fault", SHARD_FAULTS)
async def test_every_event_is_stored_once(
    installation: Installation, fault: str, seed: int
) -> None:
    load = await installation.new_load(seed)

    async with load.sending():
        await load.wait_for_more(REQUESTS)
        await SHARD_FAULTS[fault](installation, random.Random(f"{fault} {seed}"))
        await load.wait_for_more(REQUESTS)

    async with project_client(installation.front, load.keys) as http:
        await check(http, load)
    number = len(list(load.names))
    assert await installation.stored(load.keys.project_id) == dict.fromkeys(EVENT_TABLES, number)
