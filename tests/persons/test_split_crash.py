"""A real server that is killed while it splits persons.

Each request splits all of its distinct ids off or none, and all if it was answered. Past events
follow after the restart.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.persons.test_merge_crash import caught_up, events_of, person_of
from tests.support import plain_http
from tests.support.awaited import until_soon
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer, project_client

pytestmark = pytest.mark.long("starts real servers and kills them")

ROUNDS = 5
PERSONS = 3  # split in each round
IDS = 3  # of each person


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RealServer]:
    server = PreloadedServer(tmp_path / "data")
    yield server
    server.close()


async def test_a_kill_leaves_each_split_made_or_not_and_events_follow(server: RealServer) -> None:
    keys, chance = server.setup(), random.Random(23)
    server.start()
    people = [names(index) for index in range(ROUNDS * PERSONS)]
    await populate(server, keys, people)
    answered: set[int] = set()

    for number in range(ROUNDS):
        some = range(number * PERSONS, (number + 1) * PERSONS)
        splitting = asyncio.create_task(split(server, keys, [people[index] for index in some]))
        await asyncio.sleep(chance.uniform(0, 0.6))
        server.kill()
        answered.update(some[index] for index in await splitting)
        server.start()

    made = await split_people(server, keys, people)
    assert answered <= made
    assert made, "no split was made"


def names(index: int) -> list[str]:
    return [f"person {index}-{number}" for number in range(IDS)]


async def populate(server: RealServer, keys: Keys, people: list[list[str]]) -> None:
    seen = [{"event": "seen", "distinct_id": name} for ids in people for name in ids]
    merges = [
        {"event": "$merge_dangerously", "distinct_id": ids[0], "properties": {"alias": other}}
        for ids in people
        for other in ids[1:]
    ]
    async with plain_http.AsyncClient(base_url=server.url) as http:
        for batch in (seen, merges):
            body = {"api_key": keys.project_api_key, "batch": batch}
            answer = await http.post("/batch/", json=body)
            assert answer.status_code == 200, answer.text
    await caught_up(server)


async def split(server: RealServer, keys: Keys, people: list[list[str]]) -> list[int]:
    """Return the indexes of the requests that were answered before the kill."""
    async with project_client(server, keys) as http:

        async def one(ids: list[str]) -> bool:
            try:
                person = await person_of(http, ids[0])
                body = {"main_distinct_id": ids[0]}
                answer = await http.post(f"/persons/{person['id']}/split/", json=body)
            except httpx.TransportError:
                return False
            assert answer.status_code in {201, 202}, answer.text
            return True

        done = await asyncio.gather(*map(one, people))
    return [index for index, is_done in enumerate(done) if is_done]


async def split_people(server: RealServer, keys: Keys, people: list[list[str]]) -> set[int]:
    """Return the indexes of persons that were split, once past events have followed."""
    made = set()
    async with project_client(server, keys) as http:
        for index, ids in enumerate(people):
            found = {name: (await person_of(http, name))["id"] for name in ids}
            assert len(set(found.values())) in {1, IDS}, f"person {index} is split in part"
            if len(set(found.values())) == IDS:
                made.add(index)

            async def is_right(found: dict[str, str] = found) -> bool:
                for person in set(found.values()):
                    own = sorted(name for name, of in found.items() if of == person)
                    if await events_of(http, person) != own:
                        return False
                return True

            await until_soon(is_right, f"events of person {index} have not followed")
    return made
