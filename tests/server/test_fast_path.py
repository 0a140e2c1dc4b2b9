"""Requests that are answered without a task, on a real socket."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest

from fanion.errors import Unavailable
from fanion.observability.logging import LineWriter, Telemetry, open_logs
from fanion.observability.metrics import Metrics
from fanion.server.asgi_bridge import AsgiApp
from fanion.server.head import RequestHead
from fanion.server.request import LaterResponse, Reply, Request
from fanion.server.response import Response
from fanion.web.application import Application, FastRoute
from fanion.web.routes import Route, Routes
from tests.server.test_connection import Client, StubServer, serving, until

HEAD = b"POST /e HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n"


def post(body: bytes) -> bytes:
    return HEAD % len(body) + body


@dataclass
class ManualEndpoint:
    """An application with one route, whose fast endpoint holds replies for the test to send."""

    application: Application
    output: io.BytesIO
    lines: LineWriter
    replies: list[Reply] = field(default_factory=list)
    ordinary: list[bytes] = field(default_factory=list)
    fast: list[bytes] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def post(self, request: Request) -> Response:
        self.ordinary.append(request.body)
        return Response(200, b"ordinary")

    def take(self, body: bytes, peer: str, reply: Reply) -> Response | LaterResponse | bool:
        assert peer.startswith("127.0.0.1:")
        if body == b"no":
            return False
        if body == b"oh":
            raise ZeroDivisionError
        self.fast.append(body)
        if body.startswith(b"!"):
            return Response(201, body)
        if body.startswith(b"?"):
            return self.answer_later(body)
        self.replies.append(reply)
        return True

    async def answer_later(self, body: bytes) -> Response:
        await self.may_answer.wait()
        if body == b"?!":
            raise Unavailable("Not now.", retry_after_s=5)
        return Response(201, body)

    def logged(self) -> list[dict[str, object]]:
        self.lines.close()
        return [json.loads(line) for line in self.output.getvalue().splitlines()]


async def _nothing(*_: object) -> None:
    raise AssertionError


def manual_endpoint() -> ManualEndpoint:
    output = io.BytesIO()
    lines = open_logs("info", output)
    management: AsgiApp = _nothing
    telemetry = Telemetry(Metrics(), lines)
    endpoint = ManualEndpoint(Application(Routes({}), management, telemetry, 1000), output, lines)
    route = Route("captures", endpoint.post, find_fast_endpoint=lambda head: endpoint.take)
    endpoint.application = Application(Routes({"/e": route}), management, telemetry, 1000)
    return endpoint


@asynccontextmanager
async def opened_endpoint() -> AsyncIterator[tuple[ManualEndpoint, StubServer, Client]]:
    """Yield a server and a client whose head is known for bodies of two bytes."""
    endpoint = manual_endpoint()
    async with serving(endpoint.application.answer) as (stub, client):
        stub.head_cache.reset(endpoint.application.fast_path)
        client.writer.write(post(b"hi"))
        assert (await client.answer())[2] == b"ordinary"
        yield endpoint, stub, client
    endpoint.lines.close()


async def send_and_take_reply(endpoint: ManualEndpoint, client: Client, body: bytes) -> Reply:
    """Send a request and return the reply that it waits for."""
    client.writer.write(post(body))
    before = len(endpoint.replies)
    await until(lambda: len(endpoint.replies) > before)
    return endpoint.replies[-1]


async def test_the_first_request_with_a_head_has_a_task_and_the_others_none() -> None:
    async with opened_endpoint() as (endpoint, _, client):
        for body in (b"b1", b"b2"):
            (await send_and_take_reply(endpoint, client, body))(
                Response(201, body, (("x-a", "b"),))
            )
            status, headers, content = await client.answer()
            assert (status, content, headers["x-a"]) == (201, body, "b")
            assert headers["content-type"] == "application/json"
            assert headers["x-request-id"]

        assert (endpoint.ordinary, endpoint.fast) == ([b"hi"], [b"b1", b"b2"])
        requests = [line for line in endpoint.logged() if line["event"] == "request"]
        assert [(line["route"], line["status"], line["client"]) for line in requests] == [
            ("captures", 200, "127.0.0.1"),
            ("captures", 201, "127.0.0.1"),
            ("captures", 201, "127.0.0.1"),
        ]


async def test_a_request_that_the_endpoint_does_not_accept_has_a_task() -> None:
    async with opened_endpoint() as (endpoint, _, client):
        client.writer.write(post(b"no"))

        assert (await client.answer())[2] == b"ordinary"
        assert (endpoint.ordinary, endpoint.fast) == ([b"hi", b"no"], [])


async def test_an_endpoint_that_fails_is_logged_and_the_connection_stays_open() -> None:
    async with opened_endpoint() as (endpoint, _, client):
        for body, status in ((b"oh", 500), (b"no", 200)):
            client.writer.write(post(body))
            assert (await client.answer())[0] == status
        failed = [line for line in endpoint.logged() if line["event"] == "request_failed"]
        assert ["ZeroDivisionError" in str(line) for line in failed] == [True]


async def test_requests_after_it_wait_for_their_turn() -> None:
    async with opened_endpoint() as (endpoint, _, client):
        await send_and_take_reply(endpoint, client, b"b1")
        client.writer.write(post(b"b2") + post(b"b3"))
        await client.writer.drain()
        await asyncio.sleep(0.05)
        assert endpoint.fast == [b"b1"]

        for number, body in enumerate((b"b1", b"b2", b"b3")):
            await until(partial(_are_more_than, endpoint.replies, number))
            endpoint.replies[number](Response(200, body))
            assert (await client.answer())[2] == body
        assert (endpoint.ordinary, endpoint.fast) == ([b"hi"], [b"b1", b"b2", b"b3"])


async def test_an_endpoint_may_answer_at_once() -> None:
    async with opened_endpoint() as (endpoint, _, client):
        for body in (b"!1", b"!2"):
            client.writer.write(post(body))
            status, headers, content = await client.answer()
            assert (status, content) == (201, body)
            assert headers["x-request-id"]

        assert (endpoint.fast, endpoint.replies) == ([b"!1", b"!2"], [])
        statuses = [line["status"] for line in endpoint.logged() if line["event"] == "request"]
        assert statuses == [200, 201, 201]


async def test_an_answer_may_be_awaited() -> None:
    async with opened_endpoint() as (endpoint, _, client):
        client.writer.write(post(b"?1") + post(b"!2") + post(b"?!"))
        await until(lambda: endpoint.fast == [b"?1"])
        endpoint.may_answer.set()

        assert [(await client.answer())[::2] for _ in range(3)] == [
            (201, b"?1"),
            (201, b"!2"),
            (503, Unavailable("Not now.").body()),
        ]
        assert endpoint.ordinary == [b"hi"]


async def test_an_answer_awaited_for_a_client_that_has_gone_does_no_harm() -> None:
    async with opened_endpoint() as (endpoint, stub, client):
        client.writer.write(post(b"?1"))
        await until(lambda: endpoint.fast == [b"?1"])
        stub.open[0].abort()
        await until(lambda: not stub.open)

        endpoint.may_answer.set()

        other = await stub.client()
        other.writer.write(post(b"?2"))
        assert (await other.answer())[2] == b"?2"


async def test_pipelined_requests_are_answered_in_order_also_after_the_client_has_ended() -> None:
    async with opened_endpoint() as (endpoint, _, client):
        bodies = [b"!%d" % number for number in range(9)]
        bodies[3:3] = [b"no"]
        client.writer.write(b"".join(map(post, bodies)))
        client.writer.write_eof()

        for body in bodies:
            assert (await client.answer())[2] == (b"ordinary" if body == b"no" else body)
        assert await client.is_closed()
        assert endpoint.fast == [body for body in bodies if body != b"no"]


async def test_other_connections_have_their_turn_between_pipelined_requests() -> None:
    async with opened_endpoint() as (endpoint, stub, client):
        other = await stub.client()
        client.writer.write(b"".join(post(b"!%d" % (number % 10)) for number in range(2_000)))
        await until(lambda: len(endpoint.fast) > 0)
        other.writer.write(post(b"!x"))

        await until(lambda: b"!x" in endpoint.fast)
        assert len(endpoint.fast) < 2_000


async def test_a_server_that_ends_closes_after_an_answer_at_once() -> None:
    async with opened_endpoint() as (_, stub, client):
        stub.is_ending = True
        client.writer.write(post(b"!1"))

        _, headers, content = await client.answer()
        assert (headers["connection"], content) == ("close", b"!1")
        assert await client.is_closed()


def _are_more_than(replies: list[Reply], number: int) -> bool:
    return len(replies) > number


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_reply_to_a_disconnected_client_does_no_harm(is_known: bool) -> None:
    async with opened_endpoint() as (endpoint, stub, client):
        reply = await send_and_take_reply(endpoint, client, b"b1")
        client.writer.close()
        if is_known:
            stub.open[0].abort()
            await until(lambda: not stub.open)

        reply(Response(200, b"fast"))

        await until(lambda: not stub.open)
        other = await stub.client()
        (await send_and_take_reply(endpoint, other, b"b2"))(Response(200, b"other"))
        assert (await other.answer())[2] == b"other"


async def test_a_server_that_ends_sends_its_replies_first() -> None:
    async with opened_endpoint() as (endpoint, stub, client):
        reply = await send_and_take_reply(endpoint, client, b"b1")
        stub.is_ending = True
        for connection in stub.open:
            connection.end()

        reply(Response(200, b"fast"))

        _, headers, content = await client.answer()
        assert (headers["connection"], content) == ("close", b"fast")
        assert await client.is_closed()


async def test_a_client_that_sends_nothing_more_reads_its_answer() -> None:
    async with opened_endpoint() as (endpoint, _, client):
        reply = await send_and_take_reply(endpoint, client, b"b1")
        client.writer.write_eof()
        await asyncio.sleep(0.05)

        reply(Response(200, b"fast"))

        assert (await client.answer())[2] == b"fast"
        assert await client.is_closed()


async def test_an_error_in_place_of_a_response_is_sent() -> None:
    async with opened_endpoint() as (endpoint, _, client):
        (await send_and_take_reply(endpoint, client, b"b1"))(
            Unavailable("Not now.", retry_after_s=5)
        )
        status, headers, content = await client.answer()
        assert (status, headers["retry-after"]) == (503, "5")
        assert json.loads(content)["detail"] == "Not now."

        (await send_and_take_reply(endpoint, client, b"b2"))(ZeroDivisionError("secret"))
        status, _, content = await client.answer()
        assert (status, b"secret" in content) == (500, False)

        failed = [line for line in endpoint.logged() if line["event"] == "request_failed"]
        assert ["ZeroDivisionError" in str(line) for line in failed] == [True]


async def test_an_answer_that_cannot_be_written_ends_the_connection() -> None:
    async with opened_endpoint() as (endpoint, _, client):
        (await send_and_take_reply(endpoint, client, b"b1"))(
            Response(200, b"", (("x-a", "b\r\nx-c: d"),))
        )

        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.answer()
        assert [line["event"] for line in endpoint.logged()].count("request_failed") == 1


async def test_after_a_change_of_the_application_cached_heads_are_answered_by_the_new_one() -> None:
    async with opened_endpoint() as (endpoint, stub, client):
        heads: list[RequestHead] = []

        def fast_path(head: RequestHead) -> FastRoute | None:
            heads.append(head)
            return None

        stub.head_cache.reset(fast_path)
        for _ in range(2):
            client.writer.write(post(b"hi"))
            assert (await client.answer())[2] == b"ordinary"

        assert endpoint.fast == []
        assert [head.path for head in heads] == ["/e"]
