"""The real server, killed at random moments under load, loses and doubles nothing."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.outcome import CATCH_UP_S, ENOUGH, check
from tests.support.preloaded import PreloadedServer
from tests.support.server import project_client
from tests.support.traffic import Traffic

# As many again are in test_dead_letter_retry_crash.py, which another worker may run meanwhile.
ROUNDS, WRITERS = 12, 6


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PreloadedServer]:
    server = PreloadedServer(tmp_path / "data")
    yield server
    server.close()


async def test_what_was_acknowledged_is_there_once_after_12_kills(server: PreloadedServer) -> None:
    keys, traffic = server.setup(), Traffic(WRITERS, seed=25)
    chance = random.Random(25)

    for round_number in range(ROUNDS):
        server.start()
        writing = asyncio.create_task(traffic.write_until_killed(server, keys, round_number))
        await asyncio.sleep(chance.uniform(0.02, 0.4))
        server.kill()
        await writing
    server.start()

    async with project_client(server, keys) as http:
        await check(http, traffic)


async def test_sigterm_drains_and_exits_with_0(server: PreloadedServer) -> None:
    keys, traffic = server.setup(), Traffic(WRITERS, seed=0)

    server.start()
    writing = asyncio.create_task(traffic.write_until_killed(server, keys, 0))
    async with asyncio.timeout(CATCH_UP_S):
        while True:
            if sum(one.acknowledged > 0 for one in traffic.requests) >= ENOUGH:
                break
            await asyncio.sleep(0.01)
    code = await asyncio.to_thread(server.stop)
    await writing
    server.start()

    assert code == 0
    async with project_client(server, keys) as http:
        await check(http, traffic)
