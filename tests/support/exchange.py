"""An httpx transport that calls the application in memory, as a connection would."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx


class Answering(Protocol):
    async def answer(self, scope: Any, exchange: Any) -> Any: ...


@dataclass
class Scope:
    method: str
    path: str
    query_string: str
    headers: httpx.Headers
    authority: str | None
    proto: str = "http"
    http_version: str = "1.1"
    scheme: str = "http"
    client: str = "127.0.0.1:50000"
    server: str = "127.0.0.1:8000"


@dataclass
class Stream(httpx.AsyncByteStream):
    """What the application sends while it runs; closing it is the client that goes away."""

    chunks: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    answering: asyncio.Task[None] | None = None

    async def send_bytes(self, data: bytes) -> None:
        self.chunks.put_nowait(data)

    async def send_str(self, data: str) -> None:
        self.chunks.put_nowait(data.encode())

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


@dataclass
class Proto:
    request_body: bytes
    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    content: bytes = b""
    stream: Stream | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    def received(self) -> bytes | None:
        return None

    async def body(self, bytes_max: int) -> bytes:
        return self.request_body

    async def pieces(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.request_body), 65536):
            yield self.request_body[start : start + 65536]

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        assert self.status == 0, "answered twice"
        self.status, self.headers, self.content = status, headers, body

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        self.response_bytes(status, headers, b"")
        self.stream = Stream()
        self.begun.set()
        return self.stream


@dataclass
class MemoryTransport(httpx.AsyncBaseTransport):
    app: Answering
    client: str = "127.0.0.1:50000"

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        proto = Proto(await request.aread())
        scope = Scope(
            request.method,
            request.url.raw_path.partition(b"?")[0].decode(),
            request.url.query.decode(),
            request.headers,
            request.url.netloc.decode(),
            client=self.client,
        )
        answering = asyncio.ensure_future(self.app.answer(scope, proto))
        begun = asyncio.create_task(proto.begun.wait())
        try:
            await asyncio.wait({answering, begun}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            answering.cancel()
            raise
        finally:
            begun.cancel()
        if proto.stream is None:
            await answering
            return httpx.Response(proto.status, headers=proto.headers, content=proto.content)
        proto.stream.answering = answering
        return httpx.Response(proto.status, headers=proto.headers, stream=proto.stream)
