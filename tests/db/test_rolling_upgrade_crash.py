"""Servers of the version before are replaced by this one under load, and replaced back again.

It follows "Several servers without downtime" of docs/upgrade.md, whose commands it runs.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from fanion.cli.migrate import UP_TO_DATE
from tests.cluster.load import Load
from tests.cluster.outcome import check
from tests.support import plain_http
from tests.support.awaited import until_soon
from tests.support.postgres import Postgres
from tests.support.preloaded import PreloadedServer
from tests.support.releases import VERSION_BEFORE, check_out_version, documented_commands
from tests.support.server import Keys, RealServer, expect_created, project_client

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.long("replaces servers of two versions under load"),
]

KEY = "rolled"
HEADING = "Several servers without downtime"
# Enough for each server of a phase to have ingested, and answered for what the other has written.
REQUESTS, CHANGES = 30, 4
ASKING = 2
# Between two requests of a client, so that starting servers get the processor.
PAUSE_S = 0.1

Json = dict[str, Any]


@dataclass
class FlagClients:
    """Clients that ask for a flag at any server, and one that changes it.

    Each answer must be 200. The flag's payload is the number of its last change, which all servers
    in service must answer soon.

    Attributes:
        steps: How often each client has come round.
    """

    keys: Keys
    urls: list[str]
    flag_id: int = 0
    number: int = 0
    steps: list[int] = field(default_factory=lambda: [0] * (ASKING + 1))

    async def ask(self, place: int, stopping: asyncio.Event) -> None:
        async with plain_http.AsyncClient() as http:
            while not stopping.is_set():
                acknowledged = self.number
                answered = await self._answered(http, random.choice(self.urls))
                # A server may not have heard of the last change yet, and of another one already.
                assert acknowledged - 1 <= answered <= self.number + 1
                self.steps[place] += 1
                await asyncio.sleep(PAUSE_S)

    async def change(self, stopping: asyncio.Event) -> None:
        headers = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        async with plain_http.AsyncClient(headers=headers) as http:
            while not stopping.is_set():
                await self._write(http)
                await until_soon(lambda: self.agree(http), "servers answer a former flag")
                self.steps[-1] += 1
                await asyncio.sleep(PAUSE_S)

    async def _write(self, http: httpx.AsyncClient) -> None:
        flags = f"{random.choice(self.urls)}/api/projects/{self.keys.project_id}/feature_flags/"
        changes = {"filters": {"groups": [{}], "payloads": {"true": self.number + 1}}}
        answer = await http.patch(f"{flags}{self.flag_id}/", json=changes)
        assert answer.status_code == 200, answer.text
        self.number += 1

    async def agree(self, http: httpx.AsyncClient) -> bool:
        return {await self._answered(http, url) for url in (*self.urls,)} == {self.number}

    async def _answered(self, http: httpx.AsyncClient, url: str) -> int:
        body = {"api_key": self.keys.project_api_key, "distinct_id": "ann"}
        answer = await http.post(f"{url}/flags/?v=2", json=body)
        assert answer.status_code == 200, answer.text
        flags = answer.json()
        assert not flags["errorsWhileComputingFlags"]
        return int(flags["flags"][KEY]["metadata"]["payload"])


@dataclass
class Traffic:
    """All clients, which use the servers in `urls`."""

    keys: Keys
    urls: list[str]
    load: Load = field(init=False)
    flags: FlagClients = field(init=False)

    def __post_init__(self) -> None:
        self.load = Load(self.keys, self.urls, seed=12, pause_s=PAUSE_S)
        self.flags = FlagClients(self.keys, self.urls)

    @asynccontextmanager
    async def running(self, made_by: RealServer) -> AsyncIterator[None]:
        """Run all clients; an error of one of them ends the block."""
        stopping = asyncio.Event()
        async with project_client(made_by, self.keys) as http:
            filters = {"groups": [{}], "payloads": {"true": 0}}
            made = await expect_created(http, "/feature_flags/", key=KEY, filters=filters)
        self.flags.flag_id = made["id"]
        async with asyncio.TaskGroup() as tasks, self.load.sending():
            for place in range(ASKING):
                tasks.create_task(self.flags.ask(place, stopping))
            tasks.create_task(self.flags.change(stopping))
            try:
                yield
            finally:
                stopping.set()

    async def go_on(self) -> None:
        """Let each client do some of its work with the servers in service."""
        await self.load.wait_for_more(REQUESTS)
        await self._come_round(CHANGES)

    async def take_out(self, server: RealServer) -> None:
        """Take a server out of service, as a proxy does, and stop it once it is idle."""
        self.urls.remove(server.url)
        await self._come_round(2)
        assert await asyncio.to_thread(server.stop) == 0

    async def _come_round(self, times: int) -> None:
        """Wait until each client has sent this many further requests."""
        before = self._rounds()

        async def has_gone_on() -> bool:
            pairs = zip(before, self._rounds(), strict=True)
            return all(now >= then + times for then, now in pairs)

        await until_soon(has_gone_on, "a client has stopped")

    def _rounds(self) -> list[int]:
        return [*(writer.acknowledged for writer in self.load.writers), *self.flags.steps]


@pytest.fixture
async def stores(postgres: Postgres, own_events_url: str) -> dict[str, str]:
    """Return the settings of servers on empty stores."""
    url = postgres.url(await postgres.create_database())
    return {"FANION_DATABASE_URL": url, "FANION_EVENTS_URL": own_events_url}


async def test_servers_are_replaced_and_replaced_back_without_a_loss(
    stores: dict[str, str], tmp_path: Path
) -> None:
    source = str(check_out_version(VERSION_BEFORE, tmp_path / "released"))
    with (
        closing(RealServer(tmp_path / "old", {**stores, "PYTHONPATH": source})) as old,
        closing(PreloadedServer(tmp_path / "new", stores)) as new,
    ):
        keys = await asyncio.to_thread(old.setup_anew)
        await asyncio.to_thread(old.start)
        traffic = Traffic(keys, [old.url])

        async with traffic.running(made_by=old):
            await traffic.go_on()
            await asyncio.to_thread(run_documented_commands, new, old)
            await put_into_service(traffic, new)
            added = await add_a_dashboard(new, keys)
            await check_it_is_shown_and_changed(old, keys, added)
            await traffic.take_out(old)
            await traffic.go_on()

            await put_into_service(traffic, old)
            await traffic.take_out(new)
            await traffic.go_on()
        await check_all_is_there(old, traffic)

        await asyncio.to_thread(new.start)
        await check_all_is_there(new, traffic)
        async with project_client(new, keys) as http:
            assert (await http.get("/")).json()["primary_dashboard"] == added["id"]
            board = (await http.get(f"/dashboards/{added['id']}/")).json()
            assert board["name"] == "Renamed"
            assert [bool(tile.get("text")) for tile in board["tiles"]] == [False, True]


def run_documented_commands(new: RealServer, old: RealServer) -> None:
    """Run the two commands of the section, the first of the new version, the second of the old."""
    migrate, check_old = documented_commands(HEADING)

    assert new.command(*migrate).strip() == UP_TO_DATE
    assert old.command(*check_old).strip() == UP_TO_DATE


async def put_into_service(traffic: Traffic, server: RealServer) -> None:
    """Start another server, and let clients use all of them."""
    await asyncio.to_thread(server.start)
    traffic.urls.append(server.url)
    await traffic.go_on()


async def add_a_dashboard(new: RealServer, keys: Keys) -> Json:
    """Make a dashboard with a text, that is the home of its project, and an alert by mail."""
    async with project_client(new, keys) as http:
        trend = {"insight": "TRENDS", "events": [{"id": "seen"}]}
        insight = await expect_created(http, "/insights/", name="Seen", filters=trend)
        board = await expect_created(http, "/dashboards/", name="Overview")
        path = f"/dashboards/{board['id']}/"
        put = await http.patch(f"/insights/{insight['id']}/", json={"dashboards": [board["id"]]})
        written = await http.patch(path, json={"tiles": [{"text": {"body": "By day"}}]})
        home = await http.patch("/", json={"primary_dashboard": board["id"]})
        me = (await http.get(http.base_url.join("/api/users/@me/"))).json()
        alert = {"name": "Much", "insight": insight["id"], "condition": "above", "threshold": 0}
        await expect_created(http, "/alerts/", **alert, subscribed_users=[me["id"]])
    assert (put.status_code, written.status_code, home.status_code) == (200, 200, 200)
    return board


async def check_it_is_shown_and_changed(old: RealServer, keys: Keys, board: Json) -> None:
    """Check that the old version shows what the new one has added, and changes it."""
    async with project_client(old, keys) as http:
        shown = await http.get(f"/dashboards/{board['id']}/")
        renamed = await http.patch(f"/dashboards/{board['id']}/", json={"name": "Renamed"})
        [alert] = (await http.get("/alerts/")).json()["results"]
        raised = await http.patch(f"/alerts/{alert['id']}/", json={"threshold": 1})
    assert (shown.status_code, len(shown.json()["tiles"])) == (200, 2)
    assert (renamed.status_code, raised.status_code) == (200, 200)


async def check_all_is_there(server: RealServer, traffic: Traffic) -> None:
    assert (traffic.load.refusals, traffic.load.broken) == (0, 0)
    async with project_client(server, traffic.keys) as http:
        await check(http, traffic.load)
    async with plain_http.AsyncClient() as http:
        flags = FlagClients(traffic.keys, [server.url], number=traffic.flags.number)
        await until_soon(lambda: flags.agree(http), "the flag is a former one")
