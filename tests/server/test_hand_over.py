"""Connections that one server hands to another between two requests, on real sockets."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fanion.server.connection import Connection
from fanion.server.head import RequestHead
from fanion.server.request import FastPath, Request
from fanion.server.server import HttpServer
from fanion.web.application import error_response
from tests.support.server import free_port

WAIT_S = 60
BODY_MAX = 100_000_000
ANN = b"GET /ann HTTP/1.1\r\nhost: a\r\n\r\n"
BEN = b"POST /ben HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody"


@dataclass
class Process:
    """A server that answers paths that begin with its name, and passes all others on."""

    name: str
    http: HttpServer
    other: "Process | None" = None
    requested_paths: list[str] = field(default_factory=list)
    adopting: list["asyncio.Task[None]"] = field(default_factory=list)
    is_held: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: Request) -> None:
        body = await request.read(BODY_MAX)
        self.requested_paths.append(request.path)
        if request.path.endswith("/held"):
            await self.is_held.wait()
        received = [self.name, request.path, body.decode(), request.peer]
        request.response_bytes(200, [], json.dumps(received).encode())

    def fast_path(self, head: RequestHead) -> FastPath | None:
        return None

    def pass_on(self, connection: Connection, path: str, first: bytes) -> bool:
        if path.startswith(f"/{self.name}"):
            return False
        client = connection.detach()
        if client is None or self.other is None:
            return False
        adopting = self.other.http.adopt(socket.socket(fileno=client), first)
        self.adopting.append(asyncio.create_task(adopting))
        return True


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def address(self) -> str:
        host, port = self.writer.get_extra_info("sockname")
        return f"{host}:{port}"

    async def answer(self) -> list[str]:
        async with asyncio.timeout(WAIT_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            assert head.startswith("HTTP/1.1 200 "), head
            length = head.lower().partition("content-length: ")[2].partition("\r\n")[0]
            received: list[str] = json.loads(await self.reader.readexactly(int(length)))
            return received

    async def send_request(self, *parts: bytes) -> list[str]:
        """Send parts, and return the names of the processes that answered.

        Args:
            parts: Each is sent in its own packet.
        """
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(0.01)
        return await self.answer()


@dataclass
class Processes:
    ann: Process
    ben: Process
    clients: list[Client] = field(default_factory=list)
    port: int = 0

    async def client(self) -> Client:
        self.clients.append(Client(*await asyncio.open_connection("127.0.0.1", self.port)))
        return self.clients[-1]


@pytest.fixture
async def processes() -> AsyncIterator[Processes]:
    """Yield two processes: Ann listens, and Ben has the connections that Ann hands over."""
    stop, port = asyncio.Event(), free_port()
    ann = Process("ann", HttpServer(("127.0.0.1", port), stop, render_error=error_response))
    ben = Process("ben", HttpServer(None, stop, render_error=error_response), other=ann)
    ann.other = ben
    for process in (ann, ben):
        await process.http.answer_with(process)
        process.http.share_connections(process.pass_on)
    started = Processes(ann, ben, port=port)
    yield started
    for client in started.clients:
        client.writer.close()
        with suppress(ConnectionError):
            await client.writer.wait_closed()
    stop.set()
    await ann.http.wait_closed()
    await ben.http.wait_closed()


async def test_a_connection_is_handed_to_the_process_that_answers(processes: Processes) -> None:
    client = await processes.client()

    received = [await client.send_request(request) for request in (BEN, BEN, ANN, BEN, ANN, ANN)]

    ann, ben = ["ann", "/ann", "", client.address], ["ben", "/ben", "body", client.address]
    assert received == [ben, ben, ann, ben, ann, ann]


async def test_a_request_in_pieces_is_handed_over_whole(processes: Processes) -> None:
    client = await processes.client()

    first = await client.send_request(BEN[:3], BEN[3:7], BEN[7:30], BEN[30:-3], BEN[-3:])
    second = await client.send_request(ANN[:6], ANN[6:])

    assert (first[:3], second[:3]) == (["ben", "/ben", "body"], ["ann", "/ann", ""])


async def test_a_large_body_is_read_after_the_hand_over(processes: Processes) -> None:
    client = await processes.client()
    body = b"x" * 5_000_000
    head = b"POST /ben HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % len(body)

    client.writer.write(head + body)
    received = await client.answer()

    assert (received[0], len(received[2])) == ("ben", len(body))


async def test_a_pipelined_request_is_handed_to_the_process_that_answers(
    processes: Processes,
) -> None:
    client = await processes.client()

    client.writer.write(b"GET /ben/held HTTP/1.1\r\nhost: a\r\n\r\n" + ANN + BEN)
    await until(lambda: bool(processes.ben.requested_paths))
    processes.ben.is_held.set()
    received = [await client.answer() for _ in range(3)]
    afterwards = await client.send_request(ANN)

    assert [(request[0], request[1]) for request in received] == [
        ("ben", "/ben/held"), ("ann", "/ann"), ("ben", "/ben")
    ]  # fmt: skip
    assert afterwards[0] == "ann"


async def test_an_incomplete_request_line_after_a_slow_request_waits_for_its_end(
    processes: Processes,
) -> None:
    client = await processes.client()

    client.writer.write(b"GET /ben/held HTTP/1.1\r\nhost: a\r\n\r\n")
    await until(lambda: bool(processes.ben.requested_paths))
    client.writer.write(ANN[:6])
    await asyncio.sleep(0.05)  # it arrives while the first request is being answered
    processes.ben.is_held.set()
    first = await client.answer()
    second = await client.send_request(ANN[6:])

    assert (first[1], second[:2]) == ("/ben/held", ["ann", "/ann"])


async def test_many_connections_are_handed_over_at_once(processes: Processes) -> None:
    before = open_files()
    clients = [await processes.client() for _ in range(40)]

    for _ in range(5):
        received = await asyncio.gather(*(client.send_request(BEN) for client in clients))
        assert {request[0] for request in received} == {"ben"}
        received = await asyncio.gather(*(client.send_request(ANN) for client in clients))
        assert {request[0] for request in received} == {"ann"}
    for client in clients:
        client.writer.close()

    await until(lambda: open_files() == before)


async def test_a_client_that_disconnects_during_the_hand_over_does_no_harm(
    processes: Processes,
) -> None:
    for _ in range(20):
        client = await processes.client()
        client.writer.write(BEN)
        client.writer.transport.abort()

    assert (await (await processes.client()).send_request(BEN))[0] == "ben"
    await asyncio.gather(*processes.ann.adopting, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
