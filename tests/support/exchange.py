"""An httpx transport that calls the application in memory, like a connection would."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import unquote

import httpx

from fanion.server import asgi_bridge
from fanion.server.asgi_bridge import AsgiApp
from fanion.server.errors import ContentTooLarge
from fanion.server.request import Request


class Answering(Protocol):
    async def answer(self, request: Request) -> Any: ...


@dataclass
class Stream(httpx.AsyncByteStream):
    """The pieces that the application sends while it runs; closing it disconnects the client."""

    chunks: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    answering: asyncio.Task[None] | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert self.answering
        while not (self.answering.done() and self.chunks.empty()):
            next_one = asyncio.create_task(self.chunks.get())
            await asyncio.wait({next_one, self.answering}, return_when=asyncio.FIRST_COMPLETED)
            if next_one.done():
                yield next_one.result()
            else:
                next_one.cancel()

    async def aclose(self) -> None:
        assert self.answering
        self.answering.cancel()
        await asyncio.wait({self.answering})


class MemoryRequest(Request):
    """A request that collects its answer.

    Attributes:
        status: 0 until there is an answer.
    """

    def __init__(
        self, method: str, path: str, query: str, headers: Mapping[str, str], peer: str,
        body: bytes | None = b"",
    ) -> None:  # fmt: skip
        super().__init__(method, path, query, headers, peer, body)
        self.server = "127.0.0.1:8000"
        self.status = 0
        self.response_headers: list[tuple[str, str]] = []
        self.content = b""
        self.stream: Stream | None = None
        self.begun = asyncio.Event()

    async def read(self, bytes_max: int) -> bytes:
        if len(self.body) > bytes_max:
            raise ContentTooLarge(bytes_max)
        return self.body

    async def read_small(self, bytes_max: int) -> bytes | None:
        return self.body if len(self.body) <= bytes_max else None

    def keep(self, memory: int, disk: int) -> None:
        """Count nothing, because there is no connection."""

    async def pieces(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.body), 65536):
            yield self.body[start : start + 65536]

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        assert self.status == 0, "answered twice"
        self.status, self.response_headers, self.content = status, headers, body

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.response_bytes(status, headers, b"")
        self.stream = Stream()
        self.begun.set()

    async def send_bytes(self, data: bytes) -> None:
        assert self.stream
        self.stream.chunks.put_nowait(data)


@dataclass
class OnlyManagement:
    """The management API without the rest of the application."""

    app: AsgiApp

    async def answer(self, request: Request) -> int:
        state = {"is_head": request.method == "HEAD"}
        path = unquote(request.path)
        return await asgi_bridge.run_asgi_app(self.app, request, state, path=path, headers=[])


def management_transport(app: AsgiApp, address: str = "127.0.0.1") -> "MemoryTransport":
    """Return a transport to the management API.

    Args:
        address: The client's.
    """
    return MemoryTransport(OnlyManagement(app), f"{address}:1")


@dataclass
class MemoryTransport(httpx.AsyncBaseTransport):
    app: Answering
    client: str = "127.0.0.1:50000"

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        memory_request = MemoryRequest(
            request.method,
            request.url.raw_path.partition(b"?")[0].decode(),
            request.url.query.decode(),
            request.headers,
            self.client,
            await request.aread(),
        )
        answering = asyncio.ensure_future(self.app.answer(memory_request))
        begun = asyncio.create_task(memory_request.begun.wait())
        try:
            await asyncio.wait({answering, begun}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            answering.cancel()
            raise
        finally:
            begun.cancel()
        headers = memory_request.response_headers
        if memory_request.stream is None:
            await answering
            return httpx.Response(
                memory_request.status, headers=headers, content=memory_request.content
            )
        memory_request.stream.answering = answering
        return httpx.Response(memory_request.status, headers=headers, stream=memory_request.stream)
