"""A real server that is killed while it merges persons by request.

Each request merges all of its persons or none, and all if it was answered.
"""

import asyncio
import random
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import has_caught_up, until_soon
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer, project_client

pytestmark = pytest.mark.long("starts real servers and kills them")

ROUNDS = 8
GROUPS, SIZE = 6, 4  # requests of each round, and persons of each request
POLL_S = 0.001

# Finds a batch that is being ingested.
CLAIMED = "SELECT count(*) FROM log_positions WHERE consumer = 'live' AND claimed > position"

Json = dict[str, Any]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RealServer]:
    server = PreloadedServer(tmp_path / "data")
    yield server
    server.close()


async def test_a_kill_leaves_all_persons_of_a_request_merged_or_none(server: RealServer) -> None:
    keys, chance = server.setup(), random.Random(17)
    server.start()
    groups = [group(index) for index in range(ROUNDS * GROUPS)]
    await populate(server, keys, groups)
    ids = await ids_of(server, keys, groups)
    answered: set[int] = set()
    met = 0

    for number in range(ROUNDS):
        some = range(number * GROUPS, (number + 1) * GROUPS)
        merging = asyncio.create_task(
            merge(server, keys, [ids[group_index] for group_index in some])
        )
        met += await asyncio.to_thread(kill_in_a_batch, server, merging, chance.uniform(0, 0.03))
        answered.update(some[index] for index in await merging)
        server.start()
    await caught_up(server)

    merged = await merged_groups(server, keys, groups)
    assert met, "no kill met a batch"
    assert answered <= merged
    assert merged, "no merge was accepted"


def group(index: int) -> list[str]:
    return [f"person {index}-{number}" for number in range(SIZE)]


def kill_in_a_batch(server: RealServer, merging: "asyncio.Task[Any]", later_s: float) -> bool:
    """Kill the server a moment after a batch was claimed, or when no request waits any more.

    Returns:
        Whether a batch was claimed.
    """
    path, met = f"file:{server.data}/records.db?mode=ro", False
    with closing(sqlite3.connect(path, uri=True)) as connection:
        while not met and not merging.done():
            met = connection.execute(CLAIMED).fetchone()[0] > 0
            time.sleep(POLL_S)
    time.sleep(later_s)
    server.kill()
    return met


async def populate(server: RealServer, keys: Keys, groups: list[list[str]]) -> None:
    items = [
        {"event": "seen", "distinct_id": name, "properties": {"$set": {name: 1}}}
        for names in groups
        for name in names
    ]
    async with plain_http.AsyncClient(base_url=server.url) as http:
        body = {"api_key": keys.project_api_key, "batch": items}
        answer = await http.post("/batch/", json=body)
        assert answer.status_code == 200, answer.text
    await caught_up(server)


async def caught_up(server: RealServer) -> None:
    async with plain_http.AsyncClient(base_url=server.url) as http:

        async def is_done() -> bool:
            return has_caught_up((await http.get("/metrics")).text)

        await until_soon(is_done, "not everything was ingested")


async def ids_of(server: RealServer, keys: Keys, groups: list[list[str]]) -> list[list[str]]:
    async with project_client(server, keys, "/persons") as http:
        listed = (await http.get("/", params={"limit": 10_000})).json()["results"]
    by_name = {person["distinct_ids"][0]: person["id"] for person in listed}
    return [[by_name[name] for name in names] for names in groups]


async def merge(server: RealServer, keys: Keys, groups: list[list[str]]) -> list[int]:
    """Return the indexes of the requests that were answered before the kill."""
    async with project_client(server, keys, "/persons") as http:

        async def one(ids: list[str]) -> bool:
            try:
                answer = await http.post(f"/{ids[0]}/merge/", json={"ids": ids[1:]})
            except httpx.TransportError:
                return False
            assert answer.status_code in {201, 202}, answer.text
            return True

        done = await asyncio.gather(*map(one, groups))
    return [index for index, is_done in enumerate(done) if is_done]


async def merged_groups(server: RealServer, keys: Keys, groups: list[list[str]]) -> set[int]:
    """Return the indexes of groups that are one person, and check that all others are as before."""
    merged = set()
    async with project_client(server, keys) as http:
        for index, names in enumerate(groups):
            persons = [await person_of(http, name) for name in names]
            ids = {person["id"] for person in persons}
            assert len(ids) in {1, SIZE}, f"group {index} is merged in part"
            own = [sorted(person["properties"]) for person in persons]
            events = [await events_of(http, person["id"]) for person in persons]
            if len(ids) == 1:
                merged.add(index)
                assert own == [names] * SIZE
                assert events == [sorted(names)] * SIZE
            else:
                assert own == [[name] for name in names]
                assert events == [[name] for name in names]
    return merged


async def person_of(http: httpx.AsyncClient, distinct_id: str) -> Json:
    [person] = (await http.get("/persons/", params={"distinct_id": distinct_id})).json()["results"]
    body: Json = person
    return body


async def events_of(http: httpx.AsyncClient, person_id: str) -> list[str]:
    query = {"person_id": person_id, "event": "seen"}
    listed = (await http.get("/events/", params=query)).json()["results"]
    return sorted(event["distinct_id"] for event in listed)
