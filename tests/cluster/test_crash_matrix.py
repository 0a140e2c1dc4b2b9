"""Servers with different roles lose, double and orphan nothing, whatever happens to them.

`FANION_TEST_CLUSTER_SEEDS=100 make test-cluster` runs each fault with that many seeds.
"""

import os
import random
from collections.abc import AsyncIterator

import pytest

from tests.cluster.faults import FAULTS, WITHOUT_POSTGRESQL
from tests.cluster.installation import Cluster, open_cluster
from tests.cluster.load import Load
from tests.cluster.outcome import check
from tests.support.postgres import NoPostgres
from tests.support.server import project_client

# By the other servers' clocks, leases of a server whose clock is ahead last that long.
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(400),
    pytest.mark.long("many servers, and PostgreSQL with a standby"),
]

SEEDS = int(os.environ.get("FANION_TEST_CLUSTER_SEEDS", "1"))
# The requests before a fault and after it.
REQUESTS = 60


@pytest.fixture(scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    try:
        async with open_cluster(tmp_path_factory.mktemp("cluster")) as opened:
            yield opened
    except NoPostgres as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("fault", FAULTS)
async def test_nothing_is_lost_doubled_or_orphaned(cluster: Cluster, fault: str, seed: int) -> None:
    alternates = fault not in WITHOUT_POSTGRESQL
    load = Load(await cluster.new_project(), cluster.urls, seed, alternates=alternates)
    chance = random.Random(f"{fault} {seed}")

    async with load.sending():
        await load.wait_for_more(REQUESTS)
        await FAULTS[fault](cluster, chance)
        await load.wait_for_more(REQUESTS)

    front = next(member for member in cluster.members if member.serves_clients)
    async with project_client(front.server, load.keys) as http:
        await check(http, load)
