"""One request while it comes in and is answered: what `exchange.Scope` and `Exchange` promise."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Protocol

from fanion.server.exchange import ClientGone
from fanion.server.head import CONTINUE, LAST_CHUNK, chunk, has_body, response_head
from fanion.server.request_head import RequestHead

# More of a body that nobody has asked for yet waits at the client.
BUFFERED_BYTES_MAX = 256 * 1024
# What is left of a body after its answer is thrown away up to here, so that the client gets its
# answer on a connection that it can use again; past it the connection is closed.
DISCARDED_BYTES_MAX = 256 * 1024 * 1024


class Line(Protocol):
    """What a request needs of its connection."""

    def write(self, data: bytes) -> None: ...

    async def writable(self) -> None:
        """Until the client has taken most of what was written. raises: ClientGone"""

    def read_on(self) -> None: ...

    def read_no_more(self) -> None: ...

    def date(self) -> str: ...

    def answered(self) -> None: ...


class Incoming:
    __slots__ = (
        "_buffered", "_discarding", "_gone", "_is_asked_on", "_is_chunked", "_line", "_parts",
        "_waiter", "_whole", "client", "headers", "http_version", "is_complete", "is_ended",
        "is_head_sent", "keep_alive", "method", "path", "query_string", "scheme", "server",
    )  # fmt: skip

    def __init__(self, line: Line, client: str, server: str, head: RequestHead) -> None:
        self.client = client
        self.server = server
        self.scheme = "http"
        self.method = head.method
        self.path = head.path
        self.query_string = head.query_string
        self.http_version = head.http_version
        self.headers = head.headers
        self.keep_alive = head.keep_alive
        self._is_asked_on = not head.expects_continue
        self.is_complete = False
        self.is_head_sent = False
        self.is_ended = False
        self._line = line
        self._parts: deque[bytes] = deque()
        self._buffered = 0
        self._whole = self._discarding = self._gone = self._is_chunked = False
        self._waiter: asyncio.Future[None] | None = None

    # What the connection tells.

    def feed(self, data: bytes) -> None:
        self._buffered += len(data)
        if self._discarding:
            if self._buffered > DISCARDED_BYTES_MAX:
                self.lose()
                self._line.answered()
            return
        self._parts.append(data)
        if self._buffered > BUFFERED_BYTES_MAX and not self._whole:
            self._line.read_no_more()
        if self._waiter is not None:
            self._wake()

    def complete(self) -> None:
        self.is_complete = True
        if self._waiter is not None:
            self._wake()

    def lose(self) -> None:
        """The connection is no more."""
        self._gone = True
        self.keep_alive = False
        self._wake()

    @property
    def is_lost(self) -> bool:
        return self._gone

    # What the application asks.

    def received(self) -> bytes | None:
        if not self.is_complete:
            return None
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    async def body(self) -> bytes:
        self._whole = True
        while (received := self.received()) is None:
            await self._more()
        return received

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            while self._parts:
                piece = self._parts.popleft()
                self._buffered -= len(piece)
                yield piece
            if self.is_complete:
                return
            await self._more()

    async def client_disconnect(self) -> None:
        while not self._gone and not self.is_ended:
            await self._wait()

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        head = self._head(status, headers, len(body))
        self._line.write(head + body if has_body(self.method, status) else head)
        self.end()

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> "Incoming":
        is_told = any(name == "content-length" for name, _ in headers)
        if not is_told and has_body(self.method, status):
            if self.http_version == "1.0":
                self.keep_alive = False  # the end of the connection is the end of the body
            else:
                self._is_chunked = True
                headers = [*headers, ("transfer-encoding", "chunked")]
        self._line.write(self._head(status, headers, None))
        return self

    async def send_bytes(self, data: bytes) -> None:
        if self._gone:
            raise ClientGone
        if data and self.method != "HEAD":
            self._line.write(chunk(data) if self._is_chunked else data)
            await self._line.writable()

    def end(self) -> None:
        """The answer is out. What is left of the body is thrown away."""
        if self._is_chunked and self.method != "HEAD":
            self._line.write(LAST_CHUNK)
        self.is_ended = True
        if not self.is_complete:
            self._discarding = True
            self._parts.clear()
            self._line.read_on()
        self._wake()
        self._line.answered()

    def _head(self, status: int, headers: list[tuple[str, str]], length: int | None) -> bytes:
        if self.is_head_sent:
            raise RuntimeError("the request has been answered")
        date = self._line.date()
        head = response_head(status, headers, date, length, keep_alive=self.keep_alive)
        self.is_head_sent = True
        return head

    async def _more(self) -> None:
        """Until there is more of the body. raises: ClientGone"""
        if self._gone:
            raise ClientGone
        if not self._is_asked_on and not self.is_head_sent:
            self._line.write(CONTINUE)
        self._is_asked_on = True
        self._line.read_on()
        await self._wait()
        if self.is_lost and not self.is_complete:
            raise ClientGone

    async def _wait(self) -> None:
        if self._waiter is None or self._waiter.done():
            self._waiter = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._waiter)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
