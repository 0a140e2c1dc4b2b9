"""Background work of a real server: scheduled rollbacks, and counts of evaluations."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import plain_http
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer, expect_created, project_client

pytestmark = pytest.mark.long("starts real servers")

DONE_S = 100
POLL_S = 0.1
NEVER_PAID = {
    "threshold": 1,
    "threshold_type": "insight",
    "operator": "lt",
    "threshold_metric": {"insight": "trends", "events": [{"id": "paid"}]},
}

Json = dict[str, Any]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RealServer]:
    server = PreloadedServer(tmp_path / "data", {"FANION_ROLLBACKS_EVERY_S": "1"})
    yield server
    server.close()


async def decided(server: RealServer, keys: Keys) -> Json:
    body = {"api_key": keys.project_api_key, "distinct_id": "ann"}
    async with plain_http.AsyncClient() as http:
        answer = await http.post(f"{server.url}/decide/?v=3", json=body)
    values: Json = answer.json()["featureFlags"]
    return values


async def test_a_flag_is_rolled_back_while_the_server_runs(server: RealServer) -> None:
    keys = server.setup()
    server.start()
    async with project_client(server, keys, "/feature_flags") as http:
        flag = await expect_created(http, "/", key="beta", rollback_conditions=[NEVER_PAID])
        stored = await expect_created(
            http, "/", key="kept", rollback_conditions=[{**NEVER_PAID, "threshold": 0}]
        )
        give_up = time.monotonic() + DONE_S
        while (await http.get(f"/{flag['id']}/")).json()["active"]:
            assert time.monotonic() < give_up, server.log_path.read_text()[-4000:]
            await asyncio.sleep(POLL_S)

        seen = (await http.get(f"/{flag['id']}/")).json()
        other = (await http.get(f"/{stored['id']}/")).json()
        reported = (await http.get(f"/{flag['id']}/activity/")).json()["results"]

    assert (seen["active"], seen["performed_rollback"]) == (False, True)
    assert (other["active"], other["performed_rollback"]) == (True, None)
    assert reported[0]["user"] == {"first_name": "System", "email": None, "is_system": True}
    assert reported[0]["detail"]["trigger"]["job_type"] == "auto_rollback"
    assert await decided(server, keys) == {"kept": True}


async def test_evaluations_are_written_down_when_the_server_ends(server: RealServer) -> None:
    keys = server.setup()
    server.start()
    async with project_client(server, keys, "/feature_flags") as http:
        flag = await expect_created(http, "/", key="beta")
    for _ in range(3):
        assert await decided(server, keys) == {"beta": True}

    assert server.stop() == 0
    server.start()
    async with project_client(server, keys, "/feature_flags") as http:
        usage = (await http.get(f"/{flag['id']}/usage/")).json()

    assert usage["last_evaluated_at"] is not None
    [evaluations] = usage["evaluations"]
    assert (evaluations["value"], sum(evaluations["data"])) == ("true", 3)
