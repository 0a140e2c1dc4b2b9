"""The management application behind the server: what it is told, and what the client gets."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

import httpx
import pytest
from litestar import Litestar, get

from fanion.rest.endpoints import Streamed
from fanion.server.asgi_bridge import BrokenOff, answer
from fanion.server.errors import ClientGone
from tests.support.exchange import Proto, Scope


async def test_the_application_gets_the_request_and_the_client_the_headers() -> None:
    seen: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope)
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b"made"})

    scope = Scope("POST", "/api/x%20y/", "a=1", httpx.Headers({"accept": "*/*"}), "example")
    exchange = Proto(b"")

    state = {"request_id": "abc-1"}

    status = await answer(
        app,
        cast(Any, scope),
        cast(Any, exchange),
        b"",
        state,
        path="/api/x y/",
        headers=[("x-request-id", "abc-1")],
    )

    assert (status, exchange.status, exchange.content) == (201, 201, b"made")
    assert seen["state"] is state
    assert (seen["path"], seen["query_string"]) == ("/api/x y/", b"a=1")
    assert exchange.headers == [("x-request-id", "abc-1")]


async def answered(app: Any, exchange: Any = None) -> tuple[int, Proto]:
    proto = exchange or Proto(b"")
    scope = Scope("GET", "/api/table", "", httpx.Headers(), "example")
    return await answer(
        app, cast(Any, scope), cast(Any, proto), b"", {}, path="/api/table", headers=[]
    ), proto


def serving(pieces: Callable[[], AsyncGenerator[bytes]]) -> Any:
    @get("/api/table", sync_to_thread=False)
    def table() -> Streamed:
        return Streamed(pieces(), "text/csv")

    return Litestar([table], openapi_config=None, logging_config=None)


async def test_an_answer_in_pieces_ends_with_the_last_of_them() -> None:
    closed: list[bool] = []

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            yield b"a,b\r\n"
            yield b"1,2\r\n"
        finally:
            closed.append(True)

    async with asyncio.timeout(20):
        status, proto = await answered(serving(pieces))

    assert status == proto.status == 200
    assert ("content-type", "text/csv; charset=utf-8") in proto.headers
    assert proto.stream is not None
    assert [proto.stream.chunks.get_nowait() for _ in range(2)] == [b"a,b\r\n", b"1,2\r\n"]
    assert closed == [True]


async def test_an_answer_that_fails_midway_is_broken_off() -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        yield b"a,b\r\n"
        raise ValueError("no more rows")

    with pytest.raises(BrokenOff):
        await answered(serving(pieces))


async def test_a_client_that_goes_away_ends_the_pieces() -> None:
    closed: list[bool] = []

    class Leaving(Proto):
        def response_stream(self, status: int, headers: list[tuple[str, str]]) -> Any:
            return self

        async def send_bytes(self, data: bytes) -> None:
            raise ClientGone

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            while True:
                yield b"a,b\r\n"
        finally:
            closed.append(True)

    with pytest.raises(ClientGone):
        await answered(serving(pieces), Leaving(b""))

    assert closed == [True]
