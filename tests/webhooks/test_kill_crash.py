"""The real server, killed after a change, still notifies the webhook."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.preloaded import PreloadedServer
from tests.support.receiver import open_receiver
from tests.support.server import RealServer, expect_created, free_port, project_client

pytestmark = pytest.mark.long("starts real servers and kills them")

# A delivery in flight at the kill is sent again when its lease ends; then others follow.
DONE_S = 100

Json = dict[str, Any]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RealServer]:
    server = PreloadedServer(tmp_path / "data", {"FANION_WEBHOOKS_ALLOW_PRIVATE": "true"})
    yield server
    server.close()


async def test_what_was_changed_before_a_kill_is_delivered_after_it(server: RealServer) -> None:
    keys, port = server.setup(), free_port()
    server.start()
    async with project_client(server, keys) as http:
        webhook = await expect_created(http, "/webhooks/", url=f"http://127.0.0.1:{port}/in")
        for number in range(3):
            await expect_created(http, "/feature_flags/", key=f"flag-{number}")
    server.kill()

    async with open_receiver(port=port) as receiver:
        await asyncio.to_thread(server.start)
        requests = await receiver.received(3, DONE_S)
        code = await asyncio.to_thread(server.stop)

    assert code == 0
    assert sorted(request.json()["data"]["name"] for request in requests) == [
        f"flag-{number}" for number in range(3)
    ]
    assert all(request.is_signed_with(webhook["secret"]) for request in requests)
