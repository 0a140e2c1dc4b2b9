"""A change that was due while the real server was down is made once, after the next start."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from fanion.db.engine import open_records
from fanion.db.schema.flags import scheduled_changes
from tests.support.preloaded import PreloadedServer
from tests.support.server import RealServer, expect_created, project_client

pytestmark = pytest.mark.long("starts real servers and kills them")

DONE_S = 100

Json = dict[str, Any]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RealServer]:
    server = PreloadedServer(tmp_path / "data")
    yield server
    server.close()


async def test_what_came_due_while_no_server_ran_is_made_at_the_start(server: RealServer) -> None:
    keys = server.setup()
    server.start()
    begin = datetime.now(UTC)
    steps = [
        {"scheduled_at": (begin + timedelta(hours=hours)).isoformat(), "value": percentage}
        for hours, percentage in ((1, 10), (2, 60))
    ]
    async with project_client(server, keys, "/feature_flags") as http:
        flag = await expect_created(http, "/", key="beta")
        path = f"/{flag['id']}/scheduled_changes/"
        payload = {"operation": "update_rollout_percentage", "steps": steps}
        change = await expect_created(http, path, payload=payload)
    server.kill()
    await let_hours_pass(server, 3)

    server.start()
    async with project_client(server, keys, "/feature_flags") as http:
        done = await executed(http, f"{path}{change['id']}/")
        seen = (await http.get(f"/{flag['id']}/")).json()
        reported = (await http.get(f"/{flag['id']}/activity/")).json()["results"]

    assert seen["rollout_percentage"] == 60
    assert done["failure_reason"] is None
    made = [entry for entry in reported if entry["detail"]["trigger"] is not None]
    assert [entry["detail"]["trigger"]["payload"]["value"] for entry in made] == [60, 10]


async def let_hours_pass(server: RealServer, hours: int) -> None:
    """Move everything that is scheduled to so many hours earlier."""
    records = await open_records(f"sqlite:///{server.data}/records.db")
    earlier = timedelta(hours=-hours)
    table = scheduled_changes
    async with records.write() as connection:
        for row in (await connection.execute(select(table))).all():
            steps = [
                step | {"scheduled_at": _moved(step["scheduled_at"], earlier)} for step in row.steps
            ]
            moved = {"steps": steps, "due_at": row.due_at + earlier}
            await connection.execute(update(table).where(table.c.id == row.id).values(moved))
    await records.close()


def _moved(text: str, by: timedelta) -> str:
    return (datetime.fromisoformat(text) + by).isoformat()


async def executed(http: httpx.AsyncClient, path: str) -> Json:
    give_up = time.monotonic() + DONE_S
    while time.monotonic() < give_up:
        change: Json = (await http.get(path)).json()
        if change["executed_at"] is not None:
            return change
        await asyncio.sleep(0.05)
    raise AssertionError(f"not executed after {DONE_S} s: {change}")
