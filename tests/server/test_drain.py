"""A server that drains serves on, closes connections after their answers, and loses no request."""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from fanion.server.head import RequestHead
from fanion.server.request import FastPath, Request
from fanion.server.server import HttpServer
from fanion.web.application import error_response
from tests.support.server import free_port

WAIT_S = 60
REQUEST = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


@dataclass
class Draining:
    port: int
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    clients: list["Client"] = field(default_factory=list)

    async def answer(self, request: Request) -> None:
        request.response_bytes(200, [], b"done")

    def fast_path(self, head: RequestHead) -> FastPath | None:
        return None

    async def drain(self) -> None:
        self.draining.set()
        await asyncio.sleep(0)

    async def connect(self, connection: socket.socket | None = None) -> "Client":
        address = ("127.0.0.1", self.port) if connection is None else (None, None)
        streams = await asyncio.open_connection(*address, sock=connection)
        self.clients.append(Client(*streams))
        return self.clients[-1]


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def is_answered_and_closed(self) -> bool:
        """Send a request, and return whether its answer was the last one."""
        self.writer.write(REQUEST)
        async with asyncio.timeout(WAIT_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            assert await self.reader.readexactly(4) == b"done"
            if b"connection: close" not in head:
                return False
            assert await self.reader.read() == b""
            return True


@pytest.fixture
async def server() -> AsyncIterator[Draining]:
    server = Draining(free_port())
    http = HttpServer(
        ("127.0.0.1", server.port),
        server.stop,
        render_error=error_response,
        draining=server.draining,
    )
    await http.answer_with(server)
    yield server
    for client in server.clients:
        client.writer.close()
        await client.writer.wait_closed()
    server.stop.set()
    await http.wait_closed()


async def test_a_drain_answers_kept_and_new_connections_and_closes_each(server: Draining) -> None:
    kept, unused = await server.connect(), await server.connect()
    before = await kept.is_answered_and_closed()

    await server.drain()
    answers = [
        await kept.is_answered_and_closed(),
        await unused.is_answered_and_closed(),
        await (await server.connect()).is_answered_and_closed(),
    ]

    assert not before
    assert answers == [True, True, True]


async def test_requests_that_arrive_while_the_listener_closes_are_answered(
    server: Draining,
) -> None:
    idle = await server.connect()
    await server.drain()
    unseen = socket.create_connection(("127.0.0.1", server.port))
    # The system has made the connection, and the server has not accepted it.
    server.stop.set()
    unseen.setblocking(False)
    client = await server.connect(unseen)
    of_idle, of_new = await asyncio.gather(
        idle.is_answered_and_closed(), client.is_answered_and_closed()
    )

    assert of_idle
    assert of_new
    with pytest.raises(ConnectionRefusedError):
        await server.connect()


async def test_an_idle_connection_is_closed_after_the_drain(server: Draining) -> None:
    idle = await server.connect()
    await server.drain()
    server.stop.set()

    async with asyncio.timeout(WAIT_S):
        assert await idle.reader.read() == b""
