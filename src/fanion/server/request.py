"""A request, from the end of its head to its response, and the endpoints that answer it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from fanion.server.errors import ClientDisconnected, ContentTooLarge, HttpError, Overloaded
from fanion.server.forwarded import network_of
from fanion.server.head import RequestHead
from fanion.server.response import (
    BODILESS,
    CONTINUE,
    LAST_CHUNK,
    Response,
    encode_chunk,
    response_head,
)

if TYPE_CHECKING:
    from fanion.server.connection import Connection

# The bytes of a body that no endpoint has asked for. The socket is not read beyond them.
BUFFERED_BYTES_MAX = 256 * 1024
# The bytes of each body that the budget of the process does not count, so that small requests are
# answered even when it is used up.
UNCOUNTED_BYTES_MAX = 16 * 1024
# The rest of a body after its response is discarded up to here, so that the client can use the
# connection again. Beyond it the connection is closed.
DISCARDED_BYTES_MAX = 256 * 1024 * 1024
# Smaller pieces of a body are joined as they arrive: a bytes object takes 33 bytes more than its
# content, which two million pieces of ten bytes would multiply.
PIECE_BYTES_MIN, JOINED_BYTES_MAX = 1024, 64 * 1024


class FastRequest:
    """A complete request that is answered without a task; base class of the application's."""

    __slots__ = ("_connection", "is_answered", "is_lost", "keep_alive")

    is_complete = True

    def __init__(self, connection: "Connection", *, keep_alive: bool) -> None:
        self._connection = connection
        self.keep_alive = keep_alive
        self.is_answered = self.is_lost = False

    def lose(self) -> None:
        """Note that the connection is closed."""
        self.is_lost = True
        self.keep_alive = False

    def begin(self) -> None:
        """Note that the connection answers this request now. It may be answered at once."""


# Accepts requests with one head: connection, its peer, `keep_alive` and body. The connection calls
# `begin` of the request next. Returns None, with nothing done, for a request that needs a task.
# Never raises.
FastPath = Callable[["Connection", str, bool, bytes], FastRequest | None]
# Takes the response, or the error in its place, once, in the event loop. Never raises.
Reply = Callable[[Response | Exception], None]
# The rest of an answer, which is awaited in a task.
LaterResponse = Coroutine[Any, Any, Response]
# Answers a request by its body, its peer and a reply, without a `Request`. Returns the response; or
# one that is awaited; or True if it calls the reply later, never before it returns; or False, with
# nothing done, for a request that needs an ordinary endpoint.
FastEndpoint = Callable[[bytes, str, Reply], Response | LaterResponse | bool]
# Returns the endpoint of all requests with this head, or None if they need a task.
FindFastEndpoint = Callable[[RequestHead], FastEndpoint | None]


class Request:
    """One request, from the end of its head to its response.

    It is complete when its body was received, answered when its response was sent, and lost when
    its connection is closed or unreadable. The unread rest of a body is discarded after the
    response.

    Attributes:
        path: As sent, percent-encoded, without the query.
        query: Raw, as sent.
        peer: Address and port of the client's end of the connection.
        server: Address and port of the server's end.
        body: Set once the request is complete.
        is_taken: Whether an endpoint has read the body, or is reading it.
        key_id: The personal or secret key, once it was found, for the log.
        user_id: The owner of a personal key, once it was found, for the log.
    """

    __slots__ = (
        "_body_bytes",
        "_connection",
        "_discarded",
        "_discarding",
        "_error",
        "_held",
        "_holder",
        "_is_chunked",
        "_kept",
        "_kept_on_disk",
        "_may_send_body",
        "_parts",
        "_waiter",
        "_whole_bytes_max",
        "body",
        "headers",
        "http_version",
        "is_answered",
        "is_complete",
        "is_head_sent",
        "is_input_over",
        "is_lost",
        "is_taken",
        "keep_alive",
        "key_id",
        "method",
        "path",
        "peer",
        "query",
        "server",
        "user_id",
    )  # fmt: skip

    _connection: "Connection"

    def __init__(
        self, method: str, path: str, query: str, headers: Mapping[str, str], peer: str,
        body: bytes | None = b"",
    ) -> None:  # fmt: skip
        """Create a request for use without a connection.

        Args:
            headers: Names in lower case.
            body: None if it is still to be received.
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
        self.keep_alive = self._may_send_body = True
        self.is_complete = body is not None
        self.is_head_sent = self.is_answered = self.is_lost = self.is_input_over = False
        self.is_taken = False
        self._parts: list[bytes | bytearray] = [] if body is None else [body]
        self._body_bytes: int | None = None
        self._held = 0  # bytes in the parts
        self._kept = self._kept_on_disk = 0  # bytes that an endpoint has, besides the parts
        self._holder: str | None = None
        self._discarded = 0
        self._whole_bytes_max = 0  # the limit of a body that is read in one piece
        self._discarding = self._is_chunked = False
        self._error: HttpError | None = None
        self._waiter: asyncio.Future[None] | None = None

    @classmethod
    def begin(
        cls,
        connection: "Connection",
        peer: str,
        server: str,
        head: RequestHead,
        body: bytes | None = None,
    ) -> "Request":
        """Create the request with this head on a connection.

        Args:
            body: None if it is still to be received.

        Raises:
            Overloaded: The buffers have no room for the body.
        """
        request = cls(head.method, head.path, head.query, head.headers, peer, None)
        request._connection = connection
        if body is not None:
            if len(body) > UNCOUNTED_BYTES_MAX:
                request._hold(len(body), 0)
            request._held = len(body)
            request._parts = [body]
            request.is_complete = True
        request.server = server
        request.http_version = head.http_version
        request.keep_alive = head.keep_alive
        request._body_bytes = head.body_bytes
        request._may_send_body = not head.expects_continue
        return request

    # Called by the connection.

    def feed(self, data: bytes) -> None:
        """Add received bytes to the body.

        Raises:
            Overloaded: The buffers have no room for them.
        """
        if self._discarding:
            self._discard(len(data))
            return
        if self.is_lost or self._error is not None:
            return
        self._hold(self._held + len(data), self._kept)
        self._append(data)
        if self._whole_bytes_max:
            self._refuse_too_large()
        elif self.is_full:
            self._connection.pause_reading()
        if self._waiter is not None:
            self._wake()

    def complete(self) -> None:
        self.is_complete = True
        if self._waiter is not None:
            self._wake()

    def lose(self) -> None:
        """Note that the connection is closed or unreadable.

        An incomplete body is released at once. A complete one may be in use until its endpoint has
        ended.
        """
        self.is_lost = True
        self.keep_alive = False
        if not self.is_complete:
            self._release_parts()
        self._wake()

    def release(self) -> None:
        """Give back what the request holds, because its endpoint has ended."""
        self._release_parts()
        self.keep(0, 0)

    @property
    def holder(self) -> str:
        """The network whose share of the buffers the request takes (`SharedBudget.reserve`)."""
        if self._holder is None:
            proxies = self._connection.proxies
            self._holder = network_of(proxies.client_address(self.peer, self.headers))
        return self._holder

    def end_input(self) -> None:
        """Note that the client will not send anything more.

        Most such clients have disconnected; some still read the response.
        """
        self.is_input_over = True
        if self._waiter is not None:
            self._wake()

    @property
    def is_full(self) -> bool:
        """True if the socket must not be read until an endpoint asks for the body."""
        return self._held > BUFFERED_BYTES_MAX and not self._whole_bytes_max

    # Called by the application.

    def received(self) -> bytes | None:
        """Return the body if it is complete; it is `body` from now on."""
        if not self.is_complete or self.is_lost:
            return None
        if len(self._parts) != 1 or isinstance(self._parts[0], bytearray):
            self._parts = [b"".join(self._parts)]
        whole = self._parts[0]
        assert isinstance(whole, bytes)
        self.is_taken = True
        self.body = whole
        return whole

    async def read(self, bytes_max: int) -> bytes:
        """Return the whole body.

        Raises:
            ContentTooLarge: The body is larger than `bytes_max`.
            ClientDisconnected: The body is incomplete.
        """
        if self._body_bytes is not None and self._body_bytes > bytes_max:
            raise ContentTooLarge(bytes_max)
        self._whole_bytes_max = bytes_max
        self._refuse_too_large()
        while (received := self.received()) is None:
            if self._error is not None:
                raise self._error
            await self._more()
        return received

    async def read_small(self, bytes_max: int) -> bytes | None:
        """Return the whole body, or None for a larger one, which can still be read afterwards.

        Args:
            bytes_max: At most BUFFERED_BYTES_MAX, beyond which the socket is not read.

        Raises:
            ClientDisconnected: The body is incomplete.
        """
        if self._body_bytes is not None and self._body_bytes > bytes_max:
            return None
        while self._held <= bytes_max:
            if (received := self.received()) is not None:
                return received
            await self._more()
        return None

    def keep(self, memory: int, disk: int) -> None:
        """Count bytes that an endpoint has made of the body, until the request is answered.

        Args:
            memory: All that it has in memory now, in bytes.
            disk: All that it has on disk now, in bytes.

        Raises:
            Overloaded: The client's share of either is used up.
        """
        if (memory, disk) == (self._kept, self._kept_on_disk):
            return
        files, more = self._connection.files, disk - self._kept_on_disk
        if more > 0 and not files.reserve(more, self.holder):
            raise Overloaded(
                "There is no room for more files from your address now. Please retry.", "files_full"
            )
        if more < 0:
            files.release(-more, self.holder)
        self._kept_on_disk = disk
        self._hold(self._held, memory)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces as they are received.

        Raises:
            ClientDisconnected: The body is incomplete.
        """
        self.is_taken = True
        while True:
            while self._parts:
                piece = bytes(self._parts.pop(0))
                self._hold(self._held - len(piece), self._kept)
                yield piece
            if self.is_complete and not self.is_lost:
                return
            await self._more()

    async def client_disconnect(self) -> None:
        """Wait until the client has disconnected or ended its side, or the response was sent."""
        while not (self.is_lost or self.is_answered or self.is_input_over):
            await self._wait()

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self._begin_head()
        head = response_head(status, headers, len(body))
        self.is_head_sent = True
        self._end_reading()
        self._connection.respond(head, body if self._has_body(status) else b"")

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Send the head of a response whose body follows by `send_bytes`."""
        has_length = any(name == "content-length" for name, _ in headers)
        if not has_length and self._has_body(status):
            if self.http_version == "1.0":
                self.keep_alive = False  # the end of the connection marks the end of the body
            else:
                self._is_chunked = True
                headers = [*headers, ("transfer-encoding", "chunked")]
        self._begin_head()
        self._connection.write_head(response_head(status, headers, None), self.keep_alive)
        self.is_head_sent = True

    async def send_bytes(self, data: bytes) -> None:
        """Send a part of the body, and return when the transport accepts more.

        Raises:
            ClientDisconnected: The client has disconnected.
        """
        if self.is_lost:
            raise ClientDisconnected
        if data and self.method != "HEAD":
            self._connection.write(encode_chunk(data) if self._is_chunked else data)
            await self._connection.writable()

    def end(self) -> None:
        """End the response, and discard the rest of the request's body."""
        if self._is_chunked and self.method != "HEAD":
            self._connection.write(LAST_CHUNK)
        self.is_answered = True
        self._end_reading()
        self._connection.answered()

    def _end_reading(self) -> None:
        self.release()
        if not self.is_complete:
            self._discarding = True
            self._connection.read_more()
        if self._waiter is not None:
            self._wake()

    def _has_body(self, status: int) -> bool:
        return self.method != "HEAD" and status not in BODILESS

    def _begin_head(self) -> None:
        if self.is_head_sent:
            raise RuntimeError("the request has been answered")
        if not self._may_send_body and not self.is_complete:
            # Without 100 Continue the client may or may not send the body.
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
            self._release_parts()

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > DISCARDED_BYTES_MAX:
            self.lose()
            self._connection.answered()

    def _release_parts(self) -> None:
        self._parts = []
        if self._held + self._kept > UNCOUNTED_BYTES_MAX:
            self._hold(0, self._kept)
        self._held = 0

    def _hold(self, held: int, kept: int) -> None:
        """Charge held and kept bytes to the budget.

        Raises:
            Overloaded: The budget has no room for them.
        """
        before = self._held + self._kept - UNCOUNTED_BYTES_MAX
        more = max(0, held + kept - UNCOUNTED_BYTES_MAX) - max(0, before)
        if more > 0 and not self._connection.buffers.reserve(more, self.holder):
            raise Overloaded(
                "The buffers for request bodies are full. Please retry.", "buffers_full"
            )
        if more < 0:
            self._connection.buffers.release(-more, self.holder)
        self._held, self._kept = held, kept

    async def _more(self) -> None:
        """Wait for more of the body.

        Raises:
            ClientDisconnected: The client has disconnected.
        """
        if self.is_lost:
            raise ClientDisconnected
        if not self._may_send_body and not self.is_head_sent:
            self._connection.write(CONTINUE)
        self._may_send_body = True
        self._connection.read_more()
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


Endpoint = Callable[[Request], Awaitable[Response]]
