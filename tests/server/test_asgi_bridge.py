"""An ASGI application behind the server: its scope and messages, and the responses."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from litestar import Litestar, get

from fanion.rest.endpoints import Streamed
from fanion.server.asgi_bridge import ResponseAborted, run_asgi_app
from fanion.server.errors import ClientDisconnected
from tests.support.exchange import MemoryRequest


async def test_the_application_gets_the_request_and_the_client_the_headers() -> None:
    received_scope: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        received_scope.update(scope)
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b"made"})

    request = MemoryRequest("POST", "/api/x%20y/", "a=1", {"accept": "*/*"}, "127.0.0.1:50000")

    state = {"request_id": "abc-1"}

    status = await run_asgi_app(
        app,
        request,
        state,
        path="/api/x y/",
        headers=[("x-request-id", "abc-1")],
    )

    assert (status, request.status, request.content) == (201, 201, b"made")
    assert received_scope["state"] is state
    assert (received_scope["path"], received_scope["query_string"]) == ("/api/x y/", b"a=1")
    assert request.response_headers == [("x-request-id", "abc-1")]


async def test_a_header_that_the_application_sets_is_sent_once() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        own = [(b"cache-control", b"no-cache"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
        await send({"type": "http.response.start", "status": 200, "headers": own})
        await send({"type": "http.response.body", "body": b""})

    request = MemoryRequest("GET", "/api/x/", "", {}, "127.0.0.1:50000")
    bridge_headers = [("cache-control", "no-store"), ("x-content-type-options", "nosniff")]

    await run_asgi_app(app, request, {}, path="/api/x/", headers=bridge_headers)

    assert request.response_headers == [
        ("cache-control", "no-cache"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("x-content-type-options", "nosniff"),
    ]


async def answered(
    app: Any, kind: type[MemoryRequest] = MemoryRequest
) -> tuple[int, MemoryRequest]:
    request = kind("GET", "/api/table", "", {}, "127.0.0.1:50000")
    return await run_asgi_app(app, request, {}, path="/api/table", headers=[]), request


def serving(pieces: Callable[[], AsyncGenerator[bytes]]) -> Any:
    @get("/api/table", sync_to_thread=False)
    def table() -> Streamed:
        return Streamed(pieces(), "text/csv")

    return Litestar([table], openapi_config=None, logging_config=None)


async def test_a_response_in_pieces_ends_with_the_last_one() -> None:
    closed: list[bool] = []

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            yield b"a,b\r\n"
            yield b"1,2\r\n"
        finally:
            closed.append(True)

    async with asyncio.timeout(60):
        status, request = await answered(serving(pieces))

    assert status == request.status == 200
    assert ("content-type", "text/csv; charset=utf-8") in request.response_headers
    assert request.stream is not None
    assert [request.stream.chunks.get_nowait() for _ in range(2)] == [b"a,b\r\n", b"1,2\r\n"]
    assert closed == [True]


async def test_a_response_that_fails_midway_is_aborted() -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        yield b"a,b\r\n"
        raise ValueError("no more rows")

    with pytest.raises(ResponseAborted):
        await answered(serving(pieces))


async def test_a_client_that_disconnects_ends_the_pieces() -> None:
    closed: list[bool] = []

    class Leaving(MemoryRequest):
        async def send_bytes(self, data: bytes) -> None:
            raise ClientDisconnected

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            while True:
                yield b"a,b\r\n"
        finally:
            closed.append(True)

    with pytest.raises(ClientDisconnected):
        await answered(serving(pieces), Leaving)

    assert closed == [True]


async def test_an_application_that_waits_for_it_is_told_that_the_client_has_left() -> None:
    messages: list[str] = []
    request = MemoryRequest("POST", "/api/x", "", {}, "127.0.0.1:50000")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        messages.append((await receive())["type"])
        asyncio.get_running_loop().call_soon(request.end_input)
        messages.append((await receive())["type"])
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b"too late"})

    with pytest.raises(ClientDisconnected):
        await run_asgi_app(app, request, {}, path="/api/x", headers=[])

    assert messages == ["http.request", "http.disconnect"]
    assert request.status == 0
