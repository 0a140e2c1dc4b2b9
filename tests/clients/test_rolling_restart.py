"""Servers behind a proxy that are restarted one after another: no client notices."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.awaited import until_soon
from tests.support.outcome import all_events, until_caught_up
from tests.support.postgres import Postgres
from tests.support.preloaded import PreloadedServer
from tests.support.proxies import (
    PUBLIC,
    SAMPLES_BELOW_A_PATH,
    SAMPLES_OF_NAMES,
    SHARED,
    TRUSTING,
    Ports,
    started_proxy,
)
from tests.support.server import Keys, project_client

pytestmark = pytest.mark.long("restarts real servers behind real proxies")

CLIENTS, PAUSE_S = 4, 0.005
# Longer than HAProxy needs to see twice that a server is not ready.
DRAIN_S = "3"


@dataclass(frozen=True)
class Installation:
    """Servers that answer clients, and one that does the rest."""

    web: list[PreloadedServer]
    back: PreloadedServer
    keys: Keys


@dataclass
class Load:
    """Clients that capture and ask for flags, one request after another.

    Attributes:
        failures: What clients got instead of an answer with the status 200.
        processes: The processes that have answered, by the start of their request ids.
    """

    url: str
    host: str
    keys: Keys
    event: str
    acknowledged: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    processes: Counter[str] = field(default_factory=Counter)
    _is_over: bool = False

    @asynccontextmanager
    async def sent(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            for number in range(CLIENTS):
                tasks.create_task(self._send(f"client-{number}"))
            try:
                yield
            finally:
                self._is_over = True

    async def wait_for_more(self, requests: int) -> None:
        enough = self.processes.total() + requests

        async def are_enough() -> bool:
            return self.processes.total() >= enough or bool(self.failures)

        await until_soon(are_enough, "too few requests are answered")

    async def _send(self, distinct_id: str) -> None:
        headers = {"host": self.host}
        async with httpx.AsyncClient(verify=False, headers=headers, timeout=30) as http:
            while not self._is_over:
                event = {"event": self.event, "distinct_id": distinct_id, "uuid": str(uuid4())}
                if await self._is_answered(http, "/capture/", event):
                    self.acknowledged.append(event["uuid"])
                await self._is_answered(http, "/flags/?v=2", {"distinct_id": distinct_id})
                await asyncio.sleep(PAUSE_S)

    async def _is_answered(self, http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> bool:
        try:
            key = {"api_key": self.keys.project_api_key}
            answer = await http.post(f"{self.url}{path}", json=key | body)
        except httpx.TransportError as error:
            self.failures.append(f"{path}: {error!r}")
            return False
        if answer.status_code != 200:
            self.failures.append(f"{path}: {answer.status_code} {answer.text[:200]}")
            return False
        self.processes[answer.headers["x-request-id"].partition("-")[0]] += 1
        return True


@pytest.fixture(scope="module")
async def installation(
    postgres: Postgres, postgres_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Installation]:
    folder = tmp_path_factory.mktemp("rolling")
    url = postgres.url(await postgres.create_database(postgres_template))
    every = {"FANION_DATABASE_URL": url, "FANION_DRAIN_S": DRAIN_S, **TRUSTING}
    of_back = every | {"FANION_ROLE": "api,ingest,jobs"}
    # The first one answers in one process, the second one with a web worker.
    of_web = [every | {"FANION_ROLE": "web", "FANION_PROCESSES": number} for number in ("1", "2")]
    back = PreloadedServer(folder / "back", of_back)
    web = [PreloadedServer(folder / f"web-{n}", settings) for n, settings in enumerate(of_web)]
    with ExitStack() as stack:
        for server in (back, *web):
            stack.callback(server.close)
        keys = await asyncio.to_thread(back.setup_anew)
        for server in (back, *web):
            await asyncio.to_thread(server.start)
        yield Installation(web, back, keys)


@pytest.mark.parametrize(
    "sample", [SAMPLES_OF_NAMES[0], SAMPLES_BELOW_A_PATH[1], SAMPLES_OF_NAMES[2]]
)
async def test_a_rolling_restart_fails_no_request_and_loses_no_event(
    installation: Installation, sample: str, tmp_path: Path
) -> None:
    web, keys, is_below = installation.web, installation.keys, sample in SAMPLES_BELOW_A_PATH
    ports = Ports([server.port for server in web], [installation.back.port])
    url = f"https://127.0.0.1:{ports.proxy}{'/fanion' if is_below else ''}"
    load = Load(url, SHARED if is_below else PUBLIC, keys, f"behind {sample}")

    with started_proxy(sample, tmp_path, ports):
        async with load.sent():
            for server in web:
                await load.wait_for_more(100)
                assert await asyncio.to_thread(server.stop) == 0
                await asyncio.to_thread(server.start)
            await load.wait_for_more(100)

    assert Counter(load.failures) == {}
    assert len(load.processes) >= 4, load.processes  # each server before and after its restart
    async with project_client(installation.back, keys) as http:
        await until_caught_up(http)
        stored = await all_events(http, event=load.event)
    assert Counter(event["id"] for event in stored) == Counter(load.acknowledged)
