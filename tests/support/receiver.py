"""A real HTTP server on loopback that receives webhooks."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import msgspec

from fanion.webhooks.model import is_signed

RECEIVED_S = 60


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    def is_signed_with(self, secret: str) -> bool:
        return is_signed(secret, self.headers, self.body)


@dataclass
class Receiver:
    """The receiver of webhooks; answers to /slow wait until `let_go` is set.

    Attributes:
        statuses: The statuses of the next answers; after them 200.
        extra: Further headers of every answer.
    """

    port: int = 0
    scheme: str = "http"
    requests: list[Received] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    extra: str = ""
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)

    def url(self, path: str = "/", host: str = "localhost") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def received(self, number: int, within_s: float = RECEIVED_S) -> list[Received]:
        """Return the requests, once at least `number` have come."""
        async with asyncio.timeout(within_s), self._came:
            await self._came.wait_for(lambda: len(self.requests) >= number)
        return self.requests

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read(reader)
            async with self._came:
                self.requests.append(request)
                self._came.notify_all()
            if request.path.startswith("/slow"):
                await self.let_go.wait()
            status = self.statuses.pop(0) if self.statuses else 200
            head = f"HTTP/1.1 {status} Said\r\nContent-Length: 2\r\n{self.extra}\r\nok"
            writer.write(head.encode())
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has hung up
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {
        name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])
    }
    body = await reader.readexactly(int(headers["content-length"]))
    return Received(head[0].split(" ")[1], headers, body)


@asynccontextmanager
async def open_receiver(
    certificate: ssl.SSLContext | None = None, port: int = 0
) -> AsyncGenerator[Receiver]:
    receiver = Receiver(scheme="http" if certificate is None else "https")
    server = await asyncio.start_server(
        receiver.answer, "127.0.0.1", port, ssl=certificate, ssl_handshake_timeout=None
    )
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        receiver.let_go.set()
        server.close()
        await server.wait_closed()


@dataclass(frozen=True)
class ThreadedReceiver:
    """A receiver whose loop runs in a thread, for tests that have no loop."""

    receiver: Receiver
    loop: asyncio.AbstractEventLoop

    def url(self, path: str = "/") -> str:
        return self.receiver.url(path)

    def received(self, number: int) -> list[Received]:
        """Return the requests, once at least `number` have come."""
        coming = self.receiver.received(number)
        return asyncio.run_coroutine_threadsafe(coming, self.loop).result()


@contextmanager
def threaded_receiver() -> Generator[ThreadedReceiver]:
    """Open a receiver in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    opened = open_receiver()
    try:
        receiver = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result()
        try:
            yield ThreadedReceiver(receiver, loop)
        finally:
            closing = opened.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(closing, loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
