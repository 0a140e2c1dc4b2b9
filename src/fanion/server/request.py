"""A request, from the end of its head to its answer: read whole, in pieces, or not at all."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING

from fanion.server.errors import ClientDisconnected, ContentTooLarge, HttpError
from fanion.server.head import RequestHead
from fanion.server.response import (
    CONTINUE,
    LAST_CHUNK,
    chunk,
    has_body,
    response_head,
    start_of_head,
)

if TYPE_CHECKING:
    from fanion.server.connection import Connection

# More of a body that nothing has asked for yet waits at the client.
BUFFERED_BYTES_MAX = 256 * 1024
# Of each body, which the budget of the process does not count: small requests are answered also
# while it is used up.
UNCOUNTED_BYTES_MAX = 16 * 1024
# What is left of a body after its answer is thrown away up to here, so that the client gets its
# answer on a connection that it can use again; past it the connection is closed.
DISCARDED_BYTES_MAX = 256 * 1024 * 1024
# Smaller pieces of a body are joined while they come in: a bytes object has 33 bytes more than
# its content, which two million pieces of ten bytes would multiply.
PIECE_BYTES_MIN, JOINED_BYTES_MAX = 1024, 64 * 1024


class FastRequest:
    """A whole request that is answered without a task; the application's own is derived from it."""

    __slots__ = ("_connection", "is_answered", "is_lost", "keep_alive")

    is_complete = True

    def __init__(self, connection: "Connection", *, keep_alive: bool) -> None:
        self._connection = connection
        self.keep_alive = keep_alive
        self.is_answered = self.is_lost = False

    def lose(self) -> None:
        """The connection is no more."""
        self.is_lost = True
        self.keep_alive = False

    def begin(self, body: bytes) -> bool:
        """Take the request, to answer it now or later. False for one that needs a task after all;
        then nothing has happened. Never raises."""
        raise NotImplementedError


# How all requests with one head are answered without a task, on a connection with a peer;
# the last argument is `keep_alive`.
FastPath = Callable[["Connection", str, bool], FastRequest]


class Request:
    """One request, from the end of its head to its answer. It is complete when its body has been
    received whole, answered when its answer is out, and lost when its connection is no more or
    unreadable; what is not read of a body is thrown away when the answer is out.

    path:            as sent, percent-encoded, without the query
    query:           raw, as sent
    peer, server:    addresses and ports of the two ends of the connection
    body:            once it was received whole
    key_id, user_id: of a personal or a secret key, once it was found, for the log
    """

    __slots__ = (
        "_body_bytes", "_connection", "_discarded", "_discarding", "_error", "_held",
        "_is_asked_on", "_is_chunked", "_parts", "_waiter", "_whole_bytes_max", "body", "headers",
        "http_version", "is_answered", "is_complete", "is_head_sent", "is_lost", "keep_alive",
        "key_id", "method", "path", "peer", "query", "server", "user_id",
    )  # fmt: skip

    _connection: "Connection"

    def __init__(
        self, method: str, path: str, query: str, headers: Mapping[str, str], peer: str,
        body: bytes | None = b"",
    ) -> None:  # fmt: skip
        """A request for an endpoint alone, without a connection to be answered on.

        headers: names in lower case
        body:    None when it is still to be received
        """
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.peer = peer
        self.body = body or b""
        self.key_id = ""
        self.user_id: int | None = None
        self.server = ""
        self.http_version = "1.1"
        self.keep_alive = self._is_asked_on = True
        self.is_complete = body is not None
        self.is_head_sent = self.is_answered = self.is_lost = False
        self._parts: list[bytes | bytearray] = [] if body is None else [body]
        self._body_bytes: int | None = None
        self._held = 0  # bytes in the parts
        self._discarded = 0
        self._whole_bytes_max = 0  # of a body that is wanted in one piece
        self._discarding = self._is_chunked = False
        self._error: HttpError | None = None
        self._waiter: asyncio.Future[None] | None = None

    @classmethod
    def begin(
        cls, connection: "Connection", peer: str, server: str, head: RequestHead
    ) -> "Request":
        """The request that begins with this head on a connection; its body is still to come."""
        request = cls(head.method, head.path, head.query, head.headers, peer, None)
        request._connection = connection
        request.server = server
        request.http_version = head.http_version
        request.keep_alive = head.keep_alive
        request._body_bytes = head.body_bytes
        request._is_asked_on = not head.expects_continue
        return request

    # Called by the connection.

    def feed(self, data: bytes) -> bool:
        """False when there is no room for it."""
        if self._discarding:
            self._discard(len(data))
            return True
        if self.is_lost or self._error is not None:
            return True
        if not self._hold(self._held + len(data)):
            return False
        self._append(data)
        if self._whole_bytes_max:
            self._refuse_too_large()
        elif self.is_full:
            self._connection.read_no_more()
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
        self.is_lost = True
        self.keep_alive = False
        self._release()
        self._wake()

    @property
    def is_full(self) -> bool:
        """What comes next is to wait at the client."""
        return self._held > BUFFERED_BYTES_MAX and not self._whole_bytes_max

    # Called by the application.

    def received(self) -> bytes | None:
        """The whole body, if it has been received; it is `body` from now on."""
        if not self.is_complete or self.is_lost:
            return None
        if len(self._parts) != 1 or isinstance(self._parts[0], bytearray):
            self._parts = [b"".join(self._parts)]
        whole = self._parts[0]
        assert isinstance(whole, bytes)
        self.body = whole
        return whole

    async def read(self, bytes_max: int) -> bytes:
        """The whole body. raises: ContentTooLarge, ClientDisconnected"""
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
        """The body while it is received. raises: ClientDisconnected"""
        while True:
            while self._parts:
                piece = bytes(self._parts.pop(0))
                self._hold(self._held - len(piece))
                yield piece
            if self.is_complete and not self.is_lost:
                return
            await self._more()

    async def client_disconnect(self) -> None:
        """Until the client has disconnected, or has its answer."""
        while not self.is_lost and not self.is_answered:
            await self._wait()

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self._begin_head()
        head = start_of_head(status, headers, len(body))
        self.is_head_sent = True
        self._end_reading()
        self._connection.respond(head, body if has_body(self.method, status) else b"")

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Send the head of an answer whose body follows by `send_bytes`."""
        has_length = any(name == "content-length" for name, _ in headers)
        if not has_length and has_body(self.method, status):
            if self.http_version == "1.0":
                self.keep_alive = False  # the end of the connection is the end of the body
            else:
                self._is_chunked = True
                headers = [*headers, ("transfer-encoding", "chunked")]
        self._begin_head()
        date = self._connection.date()
        self._connection.write(
            response_head(status, headers, date, None, keep_alive=self.keep_alive)
        )
        self.is_head_sent = True

    async def send_bytes(self, data: bytes) -> None:
        """Returns when the client may have more. raises: ClientDisconnected"""
        if self.is_lost:
            raise ClientDisconnected
        if data and self.method != "HEAD":
            self._connection.write(chunk(data) if self._is_chunked else data)
            await self._connection.writable()

    def end(self) -> None:
        """The answer is out. What is left of the body is thrown away."""
        if self._is_chunked and self.method != "HEAD":
            self._connection.write(LAST_CHUNK)
        self.is_answered = True
        self._end_reading()
        self._connection.answered()

    def _end_reading(self) -> None:
        self._release()
        if not self.is_complete:
            self._discarding = True
            self._connection.read_on()
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
            self._connection.answered()

    def _release(self) -> None:
        self._parts = []
        if self._held > UNCOUNTED_BYTES_MAX:
            self._hold(0)
        self._held = 0

    def _hold(self, size: int) -> bool:
        """False when there is no room for that much."""
        more = max(0, size - UNCOUNTED_BYTES_MAX) - max(0, self._held - UNCOUNTED_BYTES_MAX)
        if more > 0 and not self._connection.buffers.take(more):
            return False
        if more < 0:
            self._connection.buffers.give(-more)
        self._held = size
        return True

    async def _more(self) -> None:
        """Until there is more of the body. raises: ClientDisconnected"""
        if self.is_lost:
            raise ClientDisconnected
        if not self._is_asked_on and not self.is_head_sent:
            self._connection.write(CONTINUE)
        self._is_asked_on = True
        self._connection.read_on()
        await self._wait()
        if self.is_lost:
            raise ClientDisconnected

    async def _wait(self) -> None:
        if self._waiter is None or self._waiter.done():
            self._waiter = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._waiter)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
