"""Two real servers on one PostgreSQL: events keep their persons, and edits of persons hold.

They share the partitions of the accept log.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.support import plain_http
from tests.support.awaited import until_soon
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("starts real servers")

Json = dict[str, Any]

HOLDERS = "SELECT COUNT(DISTINCT holder) FROM log_positions WHERE holder <> ''"
INGESTED = "SELECT NOT EXISTS (SELECT FROM accept_log_entries)"


@dataclass
class ServerPair:
    first: RealServer
    second: RealServer
    keys: Keys
    database: str

    async def capture(self, server: RealServer, *items: Json, **common: Any) -> None:
        body = {"api_key": self.keys.project_api_key, "batch": list(items), **common}
        async with plain_http.AsyncClient(base_url=server.url) as client:
            answer = await client.post("/batch/", json=body)
        assert answer.status_code == 200, answer.text

    async def send_request(self, server: RealServer, method: str, path: str, **more: Any) -> Json:
        headers = {"Authorization": f"Bearer {self.keys.personal_api_key}"}
        url = f"{server.url}/api/projects/{self.keys.project_id}{path}"
        async with plain_http.AsyncClient(headers=headers) as client:
            answer = await client.request(method, url, **more)
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body

    async def persons(self, distinct_id: str) -> list[Json]:
        """Return the person of a distinct id; none at the moment when it is merged away."""
        params = {"distinct_id": distinct_id}
        page = await self.send_request(self.first, "GET", "/persons/", params=params)
        return list(page["results"])

    async def person(self, distinct_id: str) -> Json:
        [person] = await self.persons(distinct_id)
        return person

    async def events(self, **query: str) -> list[str]:
        page = await self.send_request(self.first, "GET", "/events/", params=query)
        return sorted(event["event"] for event in page["results"])

    async def stored(self, name: str) -> None:
        """Wait until an event is stored with its person."""

        async def is_there() -> bool:
            return await self.events(event=name) == [name] and await self.returned(INGESTED)

        await until_soon(is_there, f"{name} is not stored")

    async def both_ingest(self) -> bool:
        return bool(await self.returned(HOLDERS) == 2)

    async def returned(self, question: str) -> Any:
        connection = await asyncpg.connect(self.database)
        try:
            return await connection.fetchval(question)
        finally:
            await connection.close()


@pytest.fixture
def two(tmp_path: Path, postgres_url: str, own_events_url: str) -> Iterator[ServerPair]:
    settings = {"FANION_DATABASE_URL": postgres_url, "FANION_EVENTS_URL": own_events_url}
    first, second = (PreloadedServer(tmp_path / name, settings) for name in ("first", "second"))
    try:
        keys = first.setup()
        first.start()
        second.start()
        pair = ServerPair(first, second, keys, postgres_url)
        asyncio.run(until_soon(pair.both_ingest, "one server ingests everything"))
        yield pair
    finally:
        first.close()
        second.close()


async def test_a_merge_of_an_import_counts_for_live_events(two: ServerPair) -> None:
    """The server that remembers a person may be another one than that which merges it."""
    await two.capture(two.first, {"event": "seen p", "distinct_id": "p"})
    await two.capture(two.first, {"event": "seen q", "distinct_id": "q"})
    await two.stored("seen p")
    await two.stored("seen q")

    merge = {"event": "$identify", "distinct_id": "q", "properties": {"$anon_distinct_id": "p"}}
    await two.capture(two.second, merge, historical_migration=True)

    async def is_merged() -> bool:
        return [sorted(person["distinct_ids"]) for person in await two.persons("p")] == [["p", "q"]]

    await until_soon(is_merged, "p is not merged into q")
    await two.capture(two.first, {"event": "after", "distinct_id": "p"})
    await two.stored("after")

    survivor = await two.person("p")
    assert "after" in await two.events(person_id=survivor["id"])


async def test_a_set_after_an_edit_on_the_other_server_is_written(two: ServerPair) -> None:
    free = {"distinct_id": "u", "$set": {"plan": "free"}}
    await two.capture(two.first, {"event": "first", **free})
    await two.stored("first")
    person = await two.person("u")

    change = {"properties": {"plan": "pro"}}
    await two.send_request(two.second, "PATCH", f"/persons/{person['id']}/", json=change)
    edited = (await two.person("u"))["properties"]["plan"]
    await two.capture(two.first, {"event": "second", **free})
    await two.stored("second")

    assert edited == "pro"
    assert (await two.person("u"))["properties"]["plan"] == "free"
