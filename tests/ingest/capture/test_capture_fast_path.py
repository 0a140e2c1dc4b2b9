"""Requests that are answered without a task have the same answers and stored events as others."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from fanion.ingest.capture.parsing import SHALLOW_ON_LOOP_BYTES_MAX
from fanion.server.server import HttpServer
from fanion.web.application import error_response
from tests.ingest.capture.test_capture import ENCODINGS, REFUSALS, SHAPES
from tests.ingest.capture.test_project_rules import set_rules
from tests.support import plain_http
from tests.support.application import Json, Tenant
from tests.support.server import free_port

EVENT = {"event": "paid", "distinct_id": "u", "properties": {"a": 1}}


@dataclass
class FastCaptureClient:
    """The application behind a socket. The first request with a head is answered by a task."""

    tenant: Tenant
    client: httpx.AsyncClient

    async def twice(self, **request: Any) -> tuple[httpx.Response, httpx.Response, int]:
        """Return two answers, and how many of them needed no task."""
        before = self.tenant.server.log.without_task
        answers = [await self.client.post("/e/", **request) for _ in range(2)]
        return answers[0], answers[1], self.tenant.server.log.without_task - before


@pytest.fixture
async def capture_client(tenant: Tenant) -> AsyncIterator[FastCaptureClient]:
    stop, port = asyncio.Event(), free_port()
    server = HttpServer(("127.0.0.1", port), stop, render_error=error_response)
    await server.answer_with(tenant.server.application)
    async with plain_http.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        # No project is known before this request.
        await client.post("/e/", json={"api_key": tenant.token, **EVENT, "distinct_id": "first"})
        yield FastCaptureClient(tenant, client)
    stop.set()
    await server.wait_closed()


def reported(answer: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    """Return the parts of an answer that do not differ from one request to another."""
    headers = {k: v for k, v in answer.headers.items() if k not in ("date", "x-request-id")}
    return answer.status_code, headers, answer.content


def stored(event: Json) -> Json:
    return {k: v for k, v in event.items() if k not in ("id", "uuid", "timestamp", "created_at")}


async def test_every_shape_in_every_encoding_is_stored_twice_alike(
    capture_client: FastCaptureClient,
) -> None:
    fast = 0
    for shape in SHAPES:
        for encode in ENCODINGS:
            name = f"{shape.__name__} {encode.__name__}"
            body = shape(capture_client.tenant.token, {**EVENT, "event": name, "distinct_id": name})
            first, second, without_task = await capture_client.twice(
                **encode(json.dumps(body).encode())
            )
            assert reported(first) == reported(second), name
            assert first.json() == {"status": 1}
            fast += without_task
    await capture_client.tenant.server.ingested()

    assert fast == len(SHAPES)  # only shapes that are plain JSON
    for shape in SHAPES:
        for encode in ENCODINGS:
            name = f"{shape.__name__} {encode.__name__}"
            one, other = await capture_client.tenant.events(distinct_id=name)
            assert stored(one) == stored(other)
            assert one["id"] != other["id"]


@pytest.mark.parametrize("name", REFUSALS)
async def test_refusals_are_the_same_the_second_time(
    capture_client: FastCaptureClient, name: str
) -> None:
    body, status, expected = REFUSALS[name]
    sent = body.replace(b"TOKEN", capture_client.tenant.token.encode())

    first, second, without_task = await capture_client.twice(content=sent)

    assert reported(first) == reported(second)
    assert (first.status_code, first.json()) == (status, expected)
    assert without_task == 0


async def test_a_browser_reads_the_second_answer_too(capture_client: FastCaptureClient) -> None:
    body = {"api_key": capture_client.tenant.token, **EVENT}
    headers = {"origin": "https://shop.example", "x-request-id": "mine"}

    first, second, without_task = await capture_client.twice(json=body, headers=headers)

    assert without_task == 1
    assert reported(first) == reported(second)
    assert second.headers["access-control-allow-origin"] == "https://shop.example"
    assert second.headers["x-request-id"] == "mine"
    assert await capture_client.tenant.server.metric("fanion_items_accepted_total") >= 3


async def test_what_the_head_says_is_stored_each_time(capture_client: FastCaptureClient) -> None:
    body = {"api_key": capture_client.tenant.token, **EVENT, "sent_at": "2024-05-06T07:08:09Z"}
    headers = {"user-agent": "shop/1"}
    sent = {"json": body, "headers": headers, "params": {"_": "1714978800000"}}

    _, _, without_task = await capture_client.twice(**sent)
    await capture_client.tenant.server.ingested()

    first, other = await capture_client.tenant.events(distinct_id="u")
    assert without_task == 1
    assert first["timestamp"] == other["timestamp"]
    assert first["properties"] == other["properties"]
    assert first["properties"]["$ip"] == "127.0.0.1"


@pytest.mark.parametrize(
    "query", ["?compression=gzip-js", "?" + "&".join(f"a{n}=1" for n in range(150))]
)
async def test_a_query_that_is_not_plain_takes_the_ordinary_way(
    capture_client: FastCaptureClient, query: str
) -> None:
    body = json.dumps({"api_key": capture_client.tenant.token, **EVENT}).encode()
    before = capture_client.tenant.server.log.without_task

    answers = [await capture_client.client.post(f"/e/{query}", content=body) for _ in range(2)]

    assert reported(answers[0]) == reported(answers[1])
    assert capture_client.tenant.server.log.without_task == before


async def test_a_project_with_limits_is_asked_for_room_each_time(
    capture_client: FastCaptureClient,
) -> None:
    await set_rules(capture_client.tenant, items_per_second=1, burst_seconds=2)

    body = {"api_key": capture_client.tenant.token, **EVENT}
    answers = [await capture_client.client.post("/e/", json=body) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200, 200, 503, 503]


async def test_a_large_body_is_read_outside_the_event_loop(
    capture_client: FastCaptureClient,
) -> None:
    text = "x" * SHALLOW_ON_LOOP_BYTES_MAX
    body = {"api_key": capture_client.tenant.token, **EVENT, "properties": {"text": text}}

    first, second, without_task = await capture_client.twice(json=body)

    assert reported(first) == reported(second)
    assert (first.status_code, without_task) == (200, 0)
