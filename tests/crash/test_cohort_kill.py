"""The real server, killed while it calculates or imports, leaves nothing half done or stuck."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server import Keys, RealServer

PEOPLE = 5_000
ROUNDS = 4
DONE_S = 60
LEASE_S = 1

Json = dict[str, Any]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RealServer]:
    server = RealServer(
        tmp_path / "data",
        {"FANION_COHORT_LEASE_S": str(LEASE_S), "FANION_COHORTS_EVERY_S": "0.2"},
    )
    yield server
    server.close()


async def test_kills_leave_no_cohort_stuck_and_no_member_out(server: RealServer) -> None:
    keys = server.setup()
    server.start()
    await populate(server, keys)
    dynamic = await create(server, keys, json={"name": "Even", "filters": plan_is("even")})
    everybody = "\n".join(f"user {n}" for n in range(PEOPLE))
    files = {"csv": ("people.csv", everybody.encode(), "text/csv")}
    static = await create(server, keys, data={"name": "All", "is_static": "true"}, files=files)
    seen: set[int | None] = set()

    for round_number in range(ROUNDS):
        plan = "odd" if round_number % 2 == 0 else "even"
        await change(server, keys, dynamic, filters=plan_is(plan))
        await asyncio.sleep(0.03 * round_number)
        server.kill()
        server.start()
        found = await members(server, keys, dynamic)
        assert len({plan for plan, _ in found}) <= 1, "half of one result, half of another"
        seen.add((await cohort(server, keys, dynamic))["count"])
    done = await finished(server, keys, dynamic)
    imported = await finished(server, keys, static)

    assert (done["count"], done["errors_calculating"]) == (PEOPLE // 2, 0)
    assert {plan for plan, _ in await members(server, keys, dynamic)} == {"even"}
    assert (imported["count"], imported["errors_calculating"]) == (PEOPLE, 0)
    assert seen <= {None, PEOPLE // 2}


def plan_is(plan: str) -> Json:
    leaf = {"type": "person", "key": "plan", "operator": "exact", "value": plan}
    return {"properties": {"type": "AND", "values": [leaf]}}


def client(server: RealServer, keys: Keys) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"{server.url}/api/projects/{keys.project_id}/cohorts",
        headers={"Authorization": f"Bearer {keys.personal_api_key}"},
        timeout=30,
    )


async def populate(server: RealServer, keys: Keys) -> None:
    items = [
        {
            "event": "seen",
            "distinct_id": f"user {number}",
            "properties": {"$set": {"plan": "odd" if number % 2 else "even"}},
        }
        for number in range(PEOPLE)
    ]
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        body = {"api_key": keys.project_api_key, "batch": items}
        answer = await http.post("/batch/", json=body)
        assert answer.status_code == 200, answer.text
        async with asyncio.timeout(DONE_S):
            while True:
                if "\nfanion_log_lag_envelopes 0.0" in (await http.get("/metrics")).text:
                    return
                await asyncio.sleep(0.05)


async def create(server: RealServer, keys: Keys, **body: Any) -> int:
    async with client(server, keys) as http:
        answer = await http.post("/", **body)
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    return number


async def change(server: RealServer, keys: Keys, cohort_id: int, **fields: Any) -> None:
    async with client(server, keys) as http:
        answer = await http.patch(f"/{cohort_id}/", json=fields)
    assert answer.status_code == 200, answer.text


async def cohort(server: RealServer, keys: Keys, cohort_id: int) -> Json:
    async with client(server, keys) as http:
        found: Json = (await http.get(f"/{cohort_id}/")).json()
    return found


async def finished(server: RealServer, keys: Keys, cohort_id: int) -> Json:
    give_up = time.monotonic() + DONE_S
    while time.monotonic() < give_up:
        found = await cohort(server, keys, cohort_id)
        if not found["is_calculating"] and found["count"] is not None:
            return found
        await asyncio.sleep(0.1)
    raise AssertionError(f"still calculating after {DONE_S} s: {found}")


async def members(server: RealServer, keys: Keys, cohort_id: int) -> list[tuple[str, str]]:
    """Plan and UUID of each."""
    async with client(server, keys) as http:
        answer = await http.get(f"/{cohort_id}/persons/", params={"limit": PEOPLE})
    assert answer.status_code == 200, answer.text
    return [(one["properties"]["plan"], one["uuid"]) for one in answer.json()["results"]]
