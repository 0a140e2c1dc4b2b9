"""One request while it comes in and is answered: what `exchange.Scope` and `Exchange` promise."""

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from fanion.server.buffers import BufferBudget
from fanion.server.errors import ClientGone, ContentTooLarge, HttpError
from fanion.server.exchange import RequestHead
from fanion.server.response import (
    CONTINUE,
    LAST_CHUNK,
    chunk,
    has_body,
    response_head,
    start_of_head,
)

# More of a body that nothing has asked for yet waits at the client.
BUFFERED_BYTES_MAX = 256 * 1024
# Of each body, which the budget of the process does not count: small requests are answered also
# while it is used up.
UNCOUNTED_BYTES_MAX = 16 * 1024
# What is left of a body after its answer is thrown away up to here, so that the client gets its
# answer on a connection that it can use again; past it the connection is closed.
DISCARDED_BYTES_MAX = 256 * 1024 * 1024
# Smaller pieces of a body are joined while they come in: a bytes object has 33 bytes beside its
# own, which two million pieces of ten bytes would multiply.
PIECE_BYTES_MIN, JOINED_BYTES_MAX = 1024, 64 * 1024


class Line(Protocol):
    """What a request needs of its connection."""

    def write(self, data: bytes) -> None: ...

    async def writable(self) -> None:
        """Until the client has taken most of what was written. raises: ClientGone"""

    def read_on(self) -> None: ...

    def read_no_more(self) -> None: ...

    def date(self) -> str: ...

    def respond(self, head: str, body: bytes) -> None:
        """The whole answer. head: without what depends on the time and the connection"""

    def answered(self) -> None: ...

    def abort(self) -> None: ...

    @property
    def buffers(self) -> BufferBudget: ...


class FastRequest:
    """A whole request that is answered without a task; the application's own is derived from it."""

    __slots__ = ("_line", "is_ended", "is_lost", "keep_alive")

    is_complete = True

    def __init__(self, line: Line, *, keep_alive: bool) -> None:
        self._line = line
        self.keep_alive = keep_alive
        self.is_ended = self.is_lost = False

    def lose(self) -> None:
        """The connection is no more."""
        self.is_lost = True
        self.keep_alive = False

    def begin(self, body: bytes) -> bool:
        """Take the request, to answer it now or later. False for one that needs a task after all;
        then nothing has happened. Never raises."""
        raise NotImplementedError


class FastPath(Protocol):
    """How all requests with one head are answered without a task."""

    def request(self, line: Line, peer: str, *, keep_alive: bool) -> FastRequest: ...


class Incoming:
    __slots__ = (
        "_body_bytes", "_discarded", "_discarding", "_error", "_gone", "_held", "_is_asked_on",
        "_is_chunked", "_line", "_parts", "_waiter", "_whole_bytes_max", "client", "headers",
        "http_version", "is_complete", "is_ended", "is_head_sent", "keep_alive", "method", "path",
        "query_string", "scheme", "server",
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
        self._body_bytes = head.body_bytes
        self._is_asked_on = not head.expects_continue
        self.is_complete = False
        self.is_head_sent = False
        self.is_ended = False
        self._line = line
        self._parts: list[bytes | bytearray] = []
        self._held = 0  # bytes in the parts
        self._discarded = 0
        self._whole_bytes_max = 0  # of a body that is wanted in one piece
        self._discarding = self._gone = self._is_chunked = False
        self._error: HttpError | None = None
        self._waiter: asyncio.Future[None] | None = None

    # What the connection tells.

    def feed(self, data: bytes) -> bool:
        """False when there is no room for it."""
        if self._discarding:
            self._discard(len(data))
            return True
        if self._gone or self._error is not None:
            return True
        if not self._hold(self._held + len(data)):
            return False
        self._append(data)
        if self._whole_bytes_max:
            self._refuse_too_large()
        elif self.is_full:
            self._line.read_no_more()
        if self._waiter is not None:
            self._wake()
        return True

    def take_whole(self, body: bytes) -> bool:
        """In place of `feed` and `complete`. False when there is no room for it."""
        if len(body) > UNCOUNTED_BYTES_MAX and not self._hold(len(body)):
            return False
        self._held = len(body)
        self._parts = [body]
        self.is_complete = True
        return True

    def complete(self) -> None:
        self.is_complete = True
        if self._waiter is not None:
            self._wake()

    def lose(self) -> None:
        """The connection is no more, or what follows cannot be read: releases what has come."""
        self._gone = True
        self.keep_alive = False
        self._release()
        self._wake()

    @property
    def is_lost(self) -> bool:
        return self._gone

    @property
    def is_full(self) -> bool:
        """What comes next is to wait at the client."""
        return self._held > BUFFERED_BYTES_MAX and not self._whole_bytes_max

    # What the application asks.

    def received(self) -> bytes | None:
        if not self.is_complete or self._gone:
            return None
        if len(self._parts) != 1 or isinstance(self._parts[0], bytearray):
            self._parts = [b"".join(self._parts)]
        whole = self._parts[0]
        assert isinstance(whole, bytes)
        return whole

    async def body(self, bytes_max: int) -> bytes:
        if self._body_bytes is not None and self._body_bytes > bytes_max:
            raise ContentTooLarge(bytes_max)
        self._whole_bytes_max = bytes_max
        self._refuse_too_large()
        while (received := self.received()) is None:
            if self._error is not None:
                raise self._error
            await self._more()
        return received

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            while self._parts:
                piece = bytes(self._parts.pop(0))
                self._hold(self._held - len(piece))
                yield piece
            if self.is_complete and not self._gone:
                return
            await self._more()

    async def client_disconnect(self) -> None:
        while not self._gone and not self.is_ended:
            await self._wait()

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self._begin_head()
        head = start_of_head(status, headers, len(body))
        self.is_head_sent = True
        self._end_reading()
        self._line.respond(head, body if has_body(self.method, status) else b"")

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> "Incoming":
        is_told = any(name == "content-length" for name, _ in headers)
        if not is_told and has_body(self.method, status):
            if self.http_version == "1.0":
                self.keep_alive = False  # the end of the connection is the end of the body
            else:
                self._is_chunked = True
                headers = [*headers, ("transfer-encoding", "chunked")]
        self._begin_head()
        date = self._line.date()
        self._line.write(response_head(status, headers, date, None, keep_alive=self.keep_alive))
        self.is_head_sent = True
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
        self._end_reading()
        self._line.answered()

    def _end_reading(self) -> None:
        self._release()
        if not self.is_complete:
            self._discarding = True
            self._line.read_on()
        if self._waiter is not None:
            self._wake()

    def _begin_head(self) -> None:
        if self.is_head_sent:
            raise RuntimeError("the request has been answered")
        if not self._is_asked_on and not self.is_complete:
            # Whether the body follows, for which the client was not given leave, is not known.
            self.keep_alive = False

    def _append(self, data: bytes) -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, bytearray) and len(last) < JOINED_BYTES_MAX:
            last += data
        elif len(data) < PIECE_BYTES_MIN and last is not None:
            self._parts.append(bytearray(data))
        else:
            self._parts.append(data)

    def _refuse_too_large(self) -> None:
        if self._held > self._whole_bytes_max:
            self._error = ContentTooLarge(self._whole_bytes_max)
            self._release()

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > DISCARDED_BYTES_MAX:
            self.lose()
            self._line.answered()

    def _release(self) -> None:
        self._parts = []
        if self._held > UNCOUNTED_BYTES_MAX:
            self._hold(0)
        self._held = 0

    def _hold(self, size: int) -> bool:
        """False when there is no room for that much."""
        more = max(0, size - UNCOUNTED_BYTES_MAX) - max(0, self._held - UNCOUNTED_BYTES_MAX)
        if more > 0 and not self._line.buffers.take(more):
            return False
        if more < 0:
            self._line.buffers.give(-more)
        self._held = size
        return True

    async def _more(self) -> None:
        """Until there is more of the body. raises: ClientGone"""
        if self._gone:
            raise ClientGone
        if not self._is_asked_on and not self.is_head_sent:
            self._line.write(CONTINUE)
        self._is_asked_on = True
        self._line.read_on()
        await self._wait()
        if self._gone:
            raise ClientGone

    async def _wait(self) -> None:
        if self._waiter is None or self._waiter.done():
            self._waiter = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._waiter)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
