"""Addresses of clients and of the server are taken from trusted proxies, and from no other peer."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from fanion.accept_log.port import USER_AGENT_CHARS_MAX
from fanion.cli.import_posthog import http_sink
from fanion.events.storage.store import EventStore
from fanion.ingest.capture.parsing import SHALLOW_ON_LOOP_BYTES_MAX
from fanion.server.server import HttpServer
from fanion.web.application import error_response
from fanion.web.proxy_warning import IgnoredForwarding, ignored_headers
from tests.support import plain_http
from tests.support.application import (
    BASE_URL,
    AppServer,
    Json,
    Tenant,
    error,
    open_app_server,
    open_tenant,
)
from tests.support.awaited import until
from tests.support.exchange import MemoryTransport
from tests.support.server import free_port

FORWARDED = {
    "x-forwarded-for": "192.0.2.44",
    "x-forwarded-host": "evil.example.com",
    "x-forwarded-proto": "https",
    "x-forwarded-prefix": "/evil",
}
PROXY, STRANGER = "127.0.0.1:50000", "203.0.113.9:50000"
NO_ADDRESS = {"fanion-client-address": "none"}


@pytest.fixture(scope="module")
async def proxied_app_server(
    sqlite_template: Path, events: EventStore, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AppServer]:
    """Yield an application behind a proxy on this machine."""
    folder = tmp_path_factory.mktemp("proxied")
    shutil.copyfile(sqlite_template, folder / "records.db")
    url = f"sqlite:///{folder}/records.db"
    async with open_app_server(url, events, folder, trusted_proxies="127.0.0.1") as app_server:
        yield app_server


@pytest.fixture
async def proxied(proxied_app_server: AppServer, project_id: int) -> AsyncIterator[Tenant]:
    async with open_tenant(proxied_app_server, project_id) as tenant:
        yield tenant


def client_at(tenant: Tenant, peer: str) -> httpx.AsyncClient:
    transport = MemoryTransport(tenant.server.application, peer)
    headers = {"authorization": f"Bearer {tenant.key}"}
    return httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=headers)


V1 = "/i/v1/analytics/events"
PATHS = ["/capture/", "/batch/", "/engage/", V1]


async def send(tenant: Tenant, path: str, name: str, peer: str, headers: dict[str, str]) -> int:
    body: Json = {"event": name, "distinct_id": name, "properties": {}}
    own = {"authorization": f"Bearer {tenant.token}"} if path == V1 else {}
    if path in ("/batch/", V1):
        body = {"batch": [body]}
    if path != V1:
        body |= {"api_key": tenant.token}
    async with client_at(tenant, peer) as client:
        answer = await client.post(path, json=body, headers={**own, **headers})
    return answer.status_code


async def stored_addresses(tenant: Tenant) -> dict[str, object]:
    await tenant.server.ingested()
    return {event["distinct_id"]: event["properties"].get("$ip") for event in await tenant.events()}


async def test_on_every_path_only_a_trusted_proxy_sets_the_client_address(proxied: Tenant) -> None:
    for path in PATHS:
        assert await send(proxied, path, f"stranger {path}", STRANGER, FORWARDED) == 200
        assert await send(proxied, path, f"proxy {path}", PROXY, FORWARDED) == 200
        unknown = {"x-forwarded-for": "192.0.2.44, unknown"}
        assert await send(proxied, path, f"unknown {path}", PROXY, unknown) == 200

    addresses = await stored_addresses(proxied)
    assert addresses == {
        **{f"stranger {path}": "203.0.113.9" for path in PATHS},
        **{f"proxy {path}": "192.0.2.44" for path in PATHS},
        **{f"unknown {path}": None for path in PATHS},
    }


async def test_by_default_forwarded_headers_are_ignored(tenant: Tenant) -> None:
    await send(tenant, "/capture/", "a", PROXY, FORWARDED)
    async with client_at(tenant, PROXY) as client:
        path = f"/api/projects/{tenant.project_id}/events/?limit=1"
        await send(tenant, "/capture/", "b", PROXY, FORWARDED)
        addresses = await stored_addresses(tenant)
        plain = (await client.get(path)).json()
        forwarded = (await client.get(path, headers=FORWARDED)).json()

    assert addresses == {"a": "127.0.0.1", "b": "127.0.0.1"}
    assert forwarded["next"].startswith(f"{BASE_URL}/api/projects/")
    assert forwarded == plain


@pytest.mark.parametrize("path", PATHS)
async def test_a_copy_may_say_that_its_sender_is_not_the_client(tenant: Tenant, path: str) -> None:
    assert await send(tenant, path, "copied", STRANGER, NO_ADDRESS) == 200

    assert await stored_addresses(tenant) == {"copied": None}


async def test_only_one_thing_can_be_said_of_the_address(tenant: Tenant) -> None:
    headers = {"fanion-client-address": "192.0.2.44"}
    async with client_at(tenant, STRANGER) as client:
        body = {"api_key": tenant.token, "event": "a", "distinct_id": "u"}
        answer = await client.post("/capture/", json=body, headers=headers)

    detail = "fanion-client-address: '192.0.2.44' is not allowed, only none."
    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_payload", detail)


@asynccontextmanager
async def listening(tenant: Tenant) -> AsyncIterator[str]:
    """Yield the address of the application on a socket."""
    stop, port = asyncio.Event(), free_port()
    server = HttpServer(("127.0.0.1", port), stop, render_error=error_response)
    await server.answer_with(tenant.server.application)
    yield f"http://127.0.0.1:{port}"
    stop.set()
    await server.wait_closed()


HEADS: list[tuple[dict[str, str], str | None]] = [
    ({}, "127.0.0.1"),
    ({"x-forwarded-for": "6.6.6.6, 192.0.2.44"}, "192.0.2.44"),
    ({"x-forwarded-for": "192.0.2.44:80, 127.0.0.1"}, "192.0.2.44"),
    ({"x-forwarded-for": "192.0.2.44, garbage"}, None),
    ({"x-forwarded-proto": "https"}, "127.0.0.1"),
    (NO_ADDRESS, None),
]


@pytest.mark.parametrize(("headers", "address"), HEADS)
async def test_captures_without_a_task_follow_the_same_rule(
    proxied: Tenant, headers: dict[str, str], address: str | None
) -> None:
    """The first request with a head is answered by a task, and the others are not."""
    before = proxied.server.log.without_task
    async with listening(proxied) as url, plain_http.AsyncClient(base_url=url) as client:
        for name in ("first", "second", "third"):
            event = {"event": "a", "distinct_id": name, "properties": {"of": name}}
            body = json.dumps({"api_key": proxied.token, **event})
            answer = await client.post("/e/", content=body.ljust(500), headers=headers)
            assert answer.status_code == 200

    assert proxied.server.log.without_task > before
    assert await stored_addresses(proxied) == dict.fromkeys(("first", "second", "third"), address)


@pytest.mark.parametrize("size", [100, SHALLOW_ON_LOOP_BYTES_MAX])
async def test_a_header_of_any_size_costs_an_event_nothing(proxied: Tenant, size: int) -> None:
    """Each of many events would store the header."""
    huge = "x" * 60_000
    events = [{"event": "a", "distinct_id": "u", "properties": {"n": "y" * size}}]
    body = json.dumps({"api_key": proxied.token, "batch": events * 2})
    headers = {"x-forwarded-for": huge, "user-agent": huge}
    async with client_at(proxied, PROXY) as client:
        assert (await client.post("/batch/", content=body, headers=headers)).status_code == 200
    await proxied.server.ingested()

    envelope = proxied.server.log.last
    assert envelope is not None
    assert (envelope.client_ip, envelope.user_agent) == ("", "x" * USER_AGENT_CHARS_MAX)
    assert [event["properties"] for event in await proxied.events()] == [{"n": "y" * size}] * 2


async def test_the_first_ignored_header_is_reported_once(
    sqlite_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    async with (
        open_app_server(sqlite_url, events, tmp_path, trusted_proxies="10.0.0.0/8") as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        await send(tenant, "/e/", "a", "10.1.1.1:1", FORWARDED)
        assert ignored_headers(tmp_path) is None
        for path in PATHS:
            await send(tenant, path, "a", STRANGER, FORWARDED)
        until(lambda: ignored_headers(tmp_path) is not None, "nothing is noted")
        await send(tenant, "/e/", "a", "198.51.100.7:1", FORWARDED)
        await tenant.server.ingested()

    ignored = ignored_headers(tmp_path)
    assert isinstance(ignored, IgnoredForwarding)
    assert ignored.peer == "203.0.113.9"


async def test_events_that_a_command_copies_are_not_given_its_address(tenant: Tenant) -> None:
    """The server trusts no proxy on this machine."""
    project = await tenant.server.running.public.flags.projects.by_token(tenant.token)
    without = {"event": "a", "distinct_id": "without", "properties": {}}
    with_one = {"event": "a", "distinct_id": "with", "properties": {"$ip": "192.0.2.44"}}
    async with listening(tenant) as url, AsyncExitStack() as stack:
        sink = await http_sink(stack, url, project.api_token, 10**6)
        assert (
            await sink.write_events([json.dumps(event).encode() for event in (without, with_one)])
            == 0
        )

    assert await stored_addresses(tenant) == {"without": None, "with": "192.0.2.44"}
