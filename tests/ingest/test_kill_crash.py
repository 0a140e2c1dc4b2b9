"""The real server, killed at random moments under load, neither loses nor doubles anything."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.awaited import until_soon
from tests.support.outcome import ENOUGH, check_outcome
from tests.support.preloaded import PreloadedServer
from tests.support.server import project_client
from tests.support.traffic import Traffic

pytestmark = pytest.mark.long("starts real servers and kills them")

# As many again are in test_dead_letter_retry_crash.py, which another worker may run meanwhile.
KILLS = [pytest.param(1, marks=pytest.mark.quick), 12]
WRITERS = 6


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PreloadedServer]:
    server = PreloadedServer(tmp_path / "data")
    yield server
    server.close()


@pytest.mark.parametrize("kills", KILLS)
async def test_what_was_acknowledged_is_there_once_after_kills(
    server: PreloadedServer, kills: int
) -> None:
    """Kill the embedded accept log and the embedded event store with the server that holds them."""
    keys, traffic = server.setup(), Traffic(WRITERS, seed=25)
    chance = random.Random(25)

    for round_number in range(kills):
        server.start()
        writing = asyncio.create_task(traffic.write_until_killed(server, keys, round_number))
        # Only a slow machine has to be waited for; others acknowledged more in the previous rounds.
        await acknowledged(traffic, ENOUGH * (round_number + 1) // kills)
        await asyncio.sleep(chance.uniform(0.02, 0.4))
        server.kill()
        await writing
    server.start()

    async with project_client(server, keys) as http:
        await check_outcome(http, traffic)


async def acknowledged(traffic: Traffic, number: int) -> None:
    """Wait until a number of requests are acknowledged."""

    async def are_enough() -> bool:
        return sum(request.acknowledged > 0 for request in traffic.requests) >= number

    await until_soon(are_enough, "too few requests are acknowledged")


@pytest.mark.quick
async def test_sigterm_drains_and_exits_with_0(server: PreloadedServer) -> None:
    keys, traffic = server.setup(), Traffic(WRITERS, seed=0)

    server.start()
    writing = asyncio.create_task(traffic.write_until_killed(server, keys, 0))
    await acknowledged(traffic, ENOUGH)
    code = await asyncio.to_thread(server.stop)
    await writing
    server.start()

    assert code == 0
    async with project_client(server, keys) as http:
        await check_outcome(http, traffic)
