"""The real server, killed at random moments under load, loses and doubles nothing."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid5

import httpx
import pytest

from tests.server import Keys, RealServer

ROUNDS = 20
WRITERS = 8
USERS = 40
ENOUGH = 200
CATCH_UP_S = 60
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = UUID("5f6d1d0c-3f6f-4a63-9c39-8f9f9e7f3a11")


@dataclass
class Sent:
    """Every event that was tried, and those of them that were answered with 200."""

    tried: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    def acknowledge(self, uuids: set[str]) -> None:
        self.acknowledged |= uuids
        if len(self.acknowledged) >= ENOUGH:
            self.enough.set()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    server = RealServer(tmp_path / "data")
    yield server
    server.close()


async def test_every_acknowledged_event_is_there_once_after_20_kills(server: RealServer) -> None:
    keys = server.setup()
    sent = Sent()
    chance = random.Random(20)

    for round_number in range(ROUNDS):
        server.start()
        writing = asyncio.create_task(write_until_killed(server, keys, sent, round_number))
        await asyncio.sleep(chance.uniform(0.05, 0.6))
        server.kill()
        await writing
    server.start()
    stored = await stored_events(server, keys)

    counts = Counter(event["id"] for event in stored)
    assert len(sent.acknowledged) > ROUNDS
    assert sent.acknowledged - counts.keys() == set()
    assert counts.keys() - sent.tried == set()
    assert [uuid for uuid, count in counts.items() if count > 1] == []
    await check_persons(server, keys, stored)
    await check_definitions(server, keys, stored)


async def test_sigterm_drains_and_exits_with_0(server: RealServer) -> None:
    keys = server.setup()
    sent = Sent()

    server.start()
    writing = asyncio.create_task(write_until_killed(server, keys, sent, 0))
    await asyncio.wait_for(sent.enough.wait(), CATCH_UP_S)
    code = await asyncio.to_thread(server.stop)
    await writing
    server.start()
    stored = await stored_events(server, keys)

    assert code == 0
    assert sent.acknowledged - {event["id"] for event in stored} == set()


async def write_until_killed(server: RealServer, keys: Keys, sent: Sent, round_number: int) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=10) as client:
        await asyncio.gather(
            *(writer(client, keys, sent, round_number, number) for number in range(WRITERS))
        )


async def writer(
    client: httpx.AsyncClient, keys: Keys, sent: Sent, round_number: int, number: int
) -> None:
    for count in range(10_000):
        items = [item(round_number, number, count, place) for place in range(3)]
        uuids = {str(entry["uuid"]) for entry in items}
        sent.tried |= uuids
        try:
            answer = await client.post(
                "/batch/", json={"api_key": keys.project_api_key, "batch": items}
            )
        except httpx.TransportError:
            return
        if answer.status_code != 200:
            return
        sent.acknowledge(uuids)


def item(round_number: int, number: int, count: int, place: int) -> dict[str, object]:
    name = f"{round_number}.{number}.{count}.{place}"
    # Pages go on before the time of their last row, so that no two events may share one.
    since = ((round_number * WRITERS + number) * 10_000 + count) * 3 + place
    return {
        "timestamp": (BEGIN + timedelta(microseconds=since)).isoformat(),
        "event": f"event {place}",
        "uuid": str(uuid5(NAMESPACE, name)),
        "distinct_id": f"user {(number * 7 + count + place) % USERS}",
        "properties": {"name": name, "$set": {"last": name}, "$set_once": {"first": name}},
    }


async def stored_events(server: RealServer, keys: Keys) -> list[dict[str, object]]:
    """Everything stored, once ingestion has caught up."""
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    found: list[dict[str, object]] = []
    async with httpx.AsyncClient(base_url=server.url, timeout=30, headers=headers) as client:
        await caught_up(client)
        page: str | None = f"/api/projects/{keys.project_id}/events/?limit=5000"
        while page is not None:
            answer = await client.get(page)
            assert answer.status_code == 200, answer.text
            found += answer.json()["results"]
            page = answer.json()["next"]
    return found


async def caught_up(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(CATCH_UP_S):
        while True:
            metrics = (await client.get("/metrics")).text
            if "\nfanion_log_lag_envelopes 0.0" in metrics:
                return
            await asyncio.sleep(0.05)


async def check_persons(server: RealServer, keys: Keys, stored: list[dict[str, object]]) -> None:
    """One person for each distinct id, whose events all carry it."""
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        answer = await client.get(
            f"/api/projects/{keys.project_id}/persons/?limit=1000",
            headers={"Authorization": f"Bearer {keys.personal_api_key}"},
        )
    persons = answer.json()["results"]
    names = {str(event["properties"]["name"]) for event in stored}  # type: ignore[index]

    assert sorted(i for person in persons for i in person["distinct_ids"]) == sorted(
        {str(event["distinct_id"]) for event in stored}
    )
    for person in persons:
        assert {person["properties"]["first"], person["properties"]["last"]} <= names


async def check_definitions(
    server: RealServer, keys: Keys, stored: list[dict[str, object]]
) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        answer = await client.get(
            f"/api/projects/{keys.project_id}/event_definitions/",
            headers={"Authorization": f"Bearer {keys.personal_api_key}"},
        )
    names = [definition["name"] for definition in answer.json()["results"]]

    assert sorted(names) == sorted({str(event["event"]) for event in stored})
