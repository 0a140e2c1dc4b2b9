"""While PostgreSQL is away captures go on, and what was accepted is stored once and in order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import asyncpg
import httpx
import pytest

from tests.cluster.installation import DATABASE
from tests.cluster.load import Load
from tests.cluster.outcome import check
from tests.cluster.postgres_pair import Node, lone_postgres
from tests.support import plain_http
from tests.support.awaited import until_soon
from tests.support.postgres import NoPostgres
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer, project_client

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(400),
    pytest.mark.long("servers whose PostgreSQL crashes and comes back"),
]

Json = dict[str, Any]

REQUESTS = 60  # before the outage, during it and after it
SPOOLED = 300  # requests that wait when it is killed
FLAG = "answered-from-memory"


@dataclass
class Installation:
    """A server that captures, with a web worker, and one with the other roles."""

    postgres: Node
    web: RealServer
    back: RealServer
    keys: Keys

    async def new_load(self) -> Load:
        """Return clients of a new project, which the captures' server knows."""
        headers = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        async with plain_http.AsyncClient(base_url=self.back.url, headers=headers) as http:
            answer = await http.post("/api/projects/", json={"name": "One of many"})
            assert answer.status_code == 201, answer.text
            made = answer.json()
            path = f"/api/projects/{made['id']}/feature_flags/"
            assert (await http.post(path, json={"key": FLAG})).status_code == 201
        keys = Keys(made["id"], made["api_token"], self.keys.personal_api_key)

        async def is_answered() -> bool:
            return await decide(self.web, keys) == {FLAG: True}

        await until_soon(is_answered, "the flag is not answered")
        return Load(keys, [self.web.url], 1)

    def crash_postgresql(self) -> None:
        self.postgres.crash()

    async def start_postgresql(self) -> None:
        await asyncio.to_thread(self.postgres.start)

    async def count_spools(self) -> int:
        """Return the number of spools of which anything was sent."""
        url = f"postgresql://fanion@127.0.0.1:{self.postgres.port}/{DATABASE}"
        connection = await asyncpg.connect(url)
        try:
            count: int = await connection.fetchval(
                "SELECT COUNT(*) FROM log_positions WHERE consumer LIKE 'spool/%' AND position > 0"
            )
            return count
        finally:
            await connection.close()

    async def check(self, load: Load) -> None:
        async with project_client(self.back, load.keys) as http:
            await check(http, load)

    async def metrics(self) -> dict[str, float]:
        """Return the metrics of the server that captures, without labels."""
        async with plain_http.AsyncClient(base_url=self.web.url) as http:
            lines = (await http.get("/metrics")).text.splitlines()
        samples = (line.split(" ") for line in lines if line[0] != "#")
        return {name: float(value) for name, value in samples if "{" not in name}


async def decide(server: RealServer, keys: Keys) -> Json:
    body = {"api_key": keys.project_api_key, "distinct_id": "u"}
    async with plain_http.AsyncClient(base_url=server.url, timeout=30) as http:
        answer = await http.post("/decide/?v=3", json=body)
    assert answer.status_code == 200, answer.text
    flags: Json = answer.json()["featureFlags"]
    return flags


async def capture(server: RealServer, key: str) -> httpx.Response:
    body = {"api_key": key, "event": "seen", "distinct_id": "u"}
    async with plain_http.AsyncClient(base_url=server.url, timeout=30) as http:
        return await http.post("/capture/", json=body)


async def ready(server: RealServer) -> tuple[int, Json]:
    async with plain_http.AsyncClient(base_url=server.url, timeout=30) as http:
        answer = await http.get("/_ready")
    return answer.status_code, answer.json()


@pytest.fixture(scope="module")
async def installation(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Installation]:
    folder = tmp_path_factory.mktemp("spool")
    try:
        with lone_postgres() as postgres:
            url = f"postgresql://fanion@127.0.0.1:{postgres.port}/{DATABASE}"
            settings = {"FANION_DATABASE_URL": url}
            web = {**settings, "FANION_ROLE": "web", "FANION_PROCESSES": "2"}
            back = {**settings, "FANION_ROLE": "api,ingest,jobs"}
            with (
                closing(PreloadedServer(folder / "web", web)) as front,
                closing(PreloadedServer(folder / "back", back)) as behind,
            ):
                keys = await asyncio.to_thread(behind.setup_anew)
                await asyncio.gather(
                    *(asyncio.to_thread(server.start) for server in (front, behind))
                )
                yield Installation(postgres, front, behind, keys)
    except NoPostgres as missing:
        pytest.skip(str(missing))


async def test_captures_go_on_while_postgresql_is_away(installation: Installation) -> None:
    load = await installation.new_load()

    async with load.sending():
        await load.wait_for_more(REQUESTS)
        installation.crash_postgresql()
        await load.wait_for_more(REQUESTS)
        during = await ready(installation.web)
        exposed = await installation.metrics()
        found = await asyncio.to_thread(installation.web.run, "doctor")
        flags = await decide(installation.web, load.keys)
        unknown = await capture(installation.web, "phc_of_nobody")
        await installation.start_postgresql()
        await load.wait_for_more(REQUESTS)

    assert load.refusals == 0
    assert during[0] == 200
    assert during[1]["checks"] == {
        "records": "unreachable",
        "accept_log": "unreachable",
        "spool": "spooling",
    }
    assert 0 < during[1]["spool_bytes"] <= exposed["fanion_spool_bytes"]
    assert exposed["fanion_spool_requests"] >= REQUESTS
    assert exposed["fanion_spool_seconds"] > 0
    assert "requests of" in found.stdout
    assert flags == {FLAG: True}
    assert (unknown.status_code, unknown.json()["code"]) == (503, "fetch_team_fail")
    await installation.check(load)
    assert (await installation.metrics())["fanion_spool_requests"] == 0


async def test_a_server_that_is_killed_during_the_outage_sends_its_spool_after_its_start(
    installation: Installation,
) -> None:
    """It accepts captures of the projects that it knows before PostgreSQL is back."""
    load = await installation.new_load()

    async with load.sending():
        await load.wait_for_more(REQUESTS)
        await until_soon(partial(is_kept, installation.web, load.keys), "the flags are not kept")
        installation.crash_postgresql()
        await load.wait_for_more(REQUESTS)
        await asyncio.to_thread(installation.web.kill)
        installation.web.launch()
        await load.wait_for_more(REQUESTS)
        await asyncio.to_thread(installation.web.kill)
        installation.web.launch()
        await load.wait_for_more(REQUESTS)
        await installation.start_postgresql()
        await load.wait_for_more(REQUESTS)

    await installation.check(load)


async def is_kept(server: RealServer, keys: Keys) -> bool:
    files = server.data.glob("kept-flags.db*")
    return any(keys.project_api_key.encode() in file.read_bytes() for file in files)


async def test_a_server_that_is_killed_while_it_sends_doubles_nothing(
    installation: Installation,
) -> None:
    """It is killed three times, each time as soon as a part of its spool is in PostgreSQL."""
    load = await installation.new_load()

    async with load.sending():
        await load.wait_for_more(REQUESTS)
        for _ in range(3):
            sent_before = await installation.count_spools()
            installation.crash_postgresql()
            await load.wait_for_more(SPOOLED)
            await installation.start_postgresql()

            async def is_sending(before: int = sent_before) -> bool:
                return await installation.count_spools() > before

            await until_soon(is_sending, "nothing is sent")
            await asyncio.to_thread(installation.web.kill)
            await asyncio.to_thread(installation.web.start)

    await installation.check(load)
