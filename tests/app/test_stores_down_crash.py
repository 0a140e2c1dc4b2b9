"""While a store fails, clients are asked to retry, and nothing acknowledged is ever lost."""

import asyncio
import os
import resource
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fanion.events.storage.store import EventStore
from tests.support import plain_http
from tests.support.application import Json, Tenant, error, open_app_server, open_tenant
from tests.support.postgres import Outage, Postgres
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("starts real servers and kills them")

UNAVAILABLE = error(
    "server_error", "unavailable", "The service is temporarily unavailable. Please retry."
)
NOT_STORED = error("server_error", "unavailable", "Events cannot be stored now. Please retry.")
LOG_FULL = error("server_error", "log_full", "The ingestion backlog is full. Please retry.")
NO_PROJECT = error("server_error", "fetch_team_fail", "Unable to fetch team from database.")


@pytest.fixture
async def tenant(
    records_url: str, events: EventStore, tmp_path: Path, project_id: int
) -> AsyncIterator[Tenant]:
    """Yield an application of the test's own, whose log takes 200 kB."""
    async with (
        open_app_server(records_url, events, tmp_path, accept_log_bytes_max=200_000) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        yield tenant


async def send(tenant: Tenant, name: str, **properties: Any) -> httpx.Response:
    body = {"api_key": tenant.token, "event": name, "distinct_id": "u", "properties": properties}
    return await tenant.public.post("/capture/", json=body)


def expect_refused(answer: httpx.Response, body: Json) -> None:
    assert (answer.status_code, answer.json()) == (503, body)
    assert answer.headers["retry-after"] == "5"


async def stored_event_names(tenant: Tenant) -> list[str]:
    return sorted(event["event"] for event in await tenant.events())


async def test_while_the_event_store_is_down_capture_goes_on(tenant: Tenant) -> None:
    await tenant.create_flag(key="on")
    tenant.server.events.is_down = True

    captured = [(await send(tenant, name)).status_code for name in ("a", "b", "c")]
    listed = await tenant.api.get("/events/")
    decided = await tenant.decide("u")
    tenant.server.events.is_down = False
    await tenant.server.ingested()

    assert captured == [200, 200, 200]
    expect_refused(listed, UNAVAILABLE)
    assert decided["featureFlags"] == {"on": True}
    assert await stored_event_names(tenant) == ["a", "b", "c"]


async def test_a_full_log_refuses_and_takes_again_once_it_is_drained(tenant: Tenant) -> None:
    tenant.server.events.is_down = True
    acknowledged = []
    for number in range(100):
        # Random, since compressible text would not fill the log.
        answer = await send(tenant, f"{number:03}", noise=os.urandom(5_000).hex())
        if answer.status_code != 200:
            break
        acknowledged.append(f"{number:03}")
    ready = await tenant.public.get("/_ready")
    tenant.server.events.is_down = False
    await tenant.server.ingested()
    again = await send(tenant, "again")
    await tenant.server.ingested()

    expect_refused(answer, LOG_FULL)
    assert 0 < len(acknowledged) < 100
    assert ready.status_code == 503
    assert again.status_code == 200
    assert await stored_event_names(tenant) == [*acknowledged, "again"]


@pytest.mark.postgresql
async def test_while_postgresql_is_down_captures_are_kept_and_other_clients_asked_to_retry(
    tenant: Tenant, postgres: Postgres, records_url: str
) -> None:
    leaf = {"key": "plan", "value": "pro", "type": "person"}
    await tenant.create_flag(key="on")
    await tenant.create_flag(key="pro", filters={"groups": [{"properties": [leaf]}]})
    assert (await send(tenant, "before")).status_code == 200
    assert (await tenant.decide("u"))["featureFlags"] == {"on": True, "pro": False}

    async with Outage(postgres, records_url):
        captured = await send(tenant, "during")
        unknown = await tenant.public.post(
            "/capture/", json={"api_key": "phc_other", "event": "a", "distinct_id": "u"}
        )
        listed = await tenant.api.get("/feature_flags/")
        decided = await tenant.decide("u")
        reported = await tenant.decide("u", person_properties={"plan": "pro"})
        ready = await tenant.public.get("/_ready")
    spool = tenant.server.running.public.spool
    assert spool is not None
    await spool.send()
    after = await send(tenant, "after")
    await tenant.server.ingested()

    assert captured.status_code == 200
    expect_refused(unknown, NO_PROJECT)
    expect_refused(listed, UNAVAILABLE)
    assert (decided["featureFlags"], decided["errorComputingFlags"]) == ({"on": True}, True)
    assert reported["featureFlags"] == {"on": True, "pro": True}
    assert reported["errorsWhileComputingFlags"] is False
    assert ready.status_code == 503
    assert ready.json()["checks"]["records"] != "ok"
    assert after.status_code == 200
    assert await stored_event_names(tenant) == ["after", "before", "during"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    server = PreloadedServer(tmp_path / "data")
    yield server
    server.close()


async def test_on_a_full_disk_capture_refuses_and_nothing_acknowledged_is_lost(
    server: RealServer,
) -> None:
    keys = server.setup()
    server.start()
    pid = server.pid
    async with plain_http.AsyncClient(base_url=server.url) as client:
        first = await capture(client, keys, range(20))
        await stored_names(client, keys, len(first))

        # No file may grow beyond this, which looks like a full disk to a store.
        before = limit_files(pid, (65_536, resource.RLIM_INFINITY))
        full = await capture(client, keys, range(20, 40))
        last = await client.post("/capture/", json=large_item(keys, 99))
        limit_files(pid, before)

        again = await capture(client, keys, range(40, 60))
        stored = await stored_names(client, keys, len(first) + len(again))

    assert (len(first), full, len(again)) == (20, [], 20)
    expect_refused(last, NOT_STORED)
    assert stored == first + again


def limit_files(server: int, limits: tuple[int, int]) -> tuple[int, int]:
    """Limit the files of a server and its children, and return the server's former limits."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    for child in children:
        resource.prlimit(int(child), resource.RLIMIT_FSIZE, limits)
    return resource.prlimit(server, resource.RLIMIT_FSIZE, limits)


def large_item(keys: Keys, number: int) -> Json:
    """Return an item of 100 kB that cannot be compressed."""
    properties = {"noise": os.urandom(50_000).hex()}
    key = {"api_key": keys.project_api_key, "distinct_id": "u"}
    return {**key, "event": f"{number:03}", "properties": properties}


async def capture(client: httpx.AsyncClient, keys: Keys, numbers: range) -> list[str]:
    """Return the names of the items that were acknowledged."""
    answers = [await client.post("/capture/", json=large_item(keys, number)) for number in numbers]
    assert {answer.status_code for answer in answers} <= {200, 503}
    return [f"{n:03}" for n, answer in zip(numbers, answers, strict=True) if answer.is_success]


async def stored_names(client: httpx.AsyncClient, keys: Keys, count: int) -> list[str]:
    """Return the names of all stored events, once there are `count`."""
    headers = {"authorization": f"Bearer {keys.personal_api_key}"}
    async with asyncio.timeout(60):
        while True:
            answer = await client.get("/api/projects/@current/events/", headers=headers)
            if answer.is_success and len(answer.json()["results"]) >= count:
                return sorted(event["event"] for event in answer.json()["results"])
            await asyncio.sleep(0.05)
