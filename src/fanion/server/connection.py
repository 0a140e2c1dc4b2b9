"""One client's connection: HTTP/1.1 requests, answered one after another in their order."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, cast

from fanion.server.buffers import STALLED_S_MAX, BufferBudget, Pace, Sending
from fanion.server.endpoint import Response
from fanion.server.errors import ClientDisconnected, HttpError, Overloaded, RequestTimeout
from fanion.server.head import RequestHead, path_of
from fanion.server.parser import CachedHead, HeadCache, Part, RequestParser
from fanion.server.request import FastRequest, Request
from fanion.server.response import end_of_head, response_head

IDLE_S_MAX = 75.0  # between two requests; browsers and SDKs keep theirs for a minute at most
HEAD_S_MAX = 30.0
LINE_BYTES_MAX = 8 * 1024  # of a request's first line, while it is waited for
FLUSH_S = 0.01  # how often a connection that goes to another process is looked at for its answers

# Says whether the answer held this process up.
Answer = Callable[[Request], Coroutine[Any, Any, bool | None]]


# Makes a response of what the server refuses by itself.
RenderError = Callable[[HttpError], Response]

# Is told a connection, the path that is asked for on it and how the request begins; whether
# another process has all that now.
PassOn = Callable[["Connection", str, bytes], bool]


class Connections(Protocol):
    """What a connection needs of its server."""

    @property
    def answer(self) -> Answer: ...

    @property
    def render_error(self) -> RenderError: ...

    @property
    def is_ending(self) -> bool: ...

    @property
    def pass_on(self) -> "PassOn | None":
        """None when all connections stay."""

    @property
    def head_cache(self) -> HeadCache: ...

    @property
    def buffers(self) -> BufferBudget: ...

    def now(self) -> float:
        """Seconds of a clock that only goes forward."""

    def date(self) -> str: ...

    def opened(self, connection: "Connection") -> HttpError | None:
        """Why it cannot be served."""

    def closed(self, connection: "Connection") -> None: ...


class Connection(asyncio.Protocol):
    """One request is read and answered at a time: what follows it waits as it came, up to one
    read, so that it can go to another process.

    address:   of the client, without its port
    is_costly: whether an answer to it has held this process up
    """

    def __init__(self, connections: Connections, first: bytes = b"") -> None:
        """first: what another process has read of a request"""
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._parser = RequestParser(connections.head_cache)
        self._transport: asyncio.Transport | None = None
        self._client = self._server = self.address = ""
        self._coming: Request | None = None  # its body is not whole
        self._answering: Request | FastRequest | None = None
        self._task: asyncio.Task[None] | None = None
        self._rest = first  # has come, and is not read
        self._is_rest_due = False  # and will be without more of it
        self._writable: asyncio.Future[None] | None = None
        self._sending = Sending(connections.buffers)
        self._receiving = Pace(0.0)
        self._paused_at: float | None = None
        self._takes_no_more = False
        self._has_ended = False  # the client has: it sends nothing more
        self._refusal: HttpError | None = None
        self._idle_since = 0.0
        self.is_costly = False

    @property
    def buffers(self) -> BufferBudget:
        return self._connections.buffers

    @property
    def is_reading(self) -> bool:
        """A request has begun that is not whole."""
        return self._parser.is_in_message

    @property
    def is_answering(self) -> bool:
        return self._answering is not None

    # The transport's calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self._client, self.address = _address(peer), _host(peer)
        self._server = _address(transport.get_extra_info("sockname"))
        self._idle_since = self._connections.now()
        refusal = self._connections.opened(self)
        if refusal is not None:
            self._refuse(refusal)
        elif self._rest:
            self._read_rest_soon()

    def connection_lost(self, error: Exception | None) -> None:
        for request in (self._coming, self._answering):
            if request is not None:
                request.lose()
        self._coming = None
        self._rest = b""
        self._transport = None
        self.resume_writing()
        self._connections.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._takes_no_more:
            return
        if not self._rest and (self._answering is None or self._coming is not None):
            self._read(data)
        else:
            self._rest += data
        if self._rest:
            if self._answering is not None or self._is_rest_due:
                self.read_no_more()
            else:
                self._read_rest()

    def eof_received(self) -> bool:
        """A client that has said all may still read its answers."""
        self._has_ended = True
        return self._is_rest_due or self._owes_answer()

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()
        if not self._sending.begin(self._unsent(), self._connections.now()):
            self.abort()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None
        self._sending.end()
        self._idle_since = self._connections.now()
        if self._answering is None:
            self._go_on()

    # Reading.

    def _read_rest_soon(self, later_s: float = 0.0) -> None:
        self._is_rest_due = True
        if later_s:
            self._loop.call_later(later_s, self._read_rest)
        else:
            self._loop.call_soon(self._read_rest)

    def _read_rest(self) -> None:
        """What has come, until a request has to be answered before the next one is read."""
        self._is_rest_due = False
        while self._rest and not self._is_rest_due and self._may_read():
            data, self._rest = self._rest, b""
            if not self._read(data):
                return
        if self._is_rest_due:
            return
        if self._has_ended:
            if not self._owes_answer():
                self.close()
        elif self._writable is None and (self._coming is None or not self._coming.is_full):
            self.read_on()

    def _owes_answer(self) -> bool:
        """To a client that sends nothing more: half a request is lost."""
        if self._coming is not None:
            self._coming.lose()
        answering = self._answering  # with the answer out, it waited for what was left of a body
        return answering is not None and not answering.is_answered

    def _may_read(self) -> bool:
        if self._takes_no_more or self._transport is None:
            return False
        return self._answering is None or self._parser.is_in_message

    def _read(self, data: bytes) -> bool:
        """False when that has to wait, or is another process's."""
        cached = None
        if self._connections.pass_on is not None and not self._parser.is_in_message:
            if b"\n" not in data and len(data) <= LINE_BYTES_MAX:
                self._rest = data  # which process it goes to is not known yet
                if self._has_ended:
                    self.close()
                else:
                    self._resume_reading()
                return False
            if self._unsent():
                self._rest = data
                self._read_rest_soon(FLUSH_S)
                return False
            cached = self._connections.head_cache.find(data)
            path = path_of(data) if cached is None else cached.head.path
            if self._connections.pass_on(self, path, data):
                return False
        self._feed(data, cached)
        return True

    def _feed(self, data: bytes, cached: CachedHead | None = None) -> None:
        if not self._parser.is_in_message:
            self._idle_since = self._connections.now()
        try:
            self._rest = self._take(self._parser.feed(data, cached))
        except HttpError as error:
            self._refuse(error)
            return
        if self._rest and self._parser.is_in_message:  # others have their turn before it goes on
            self.read_no_more()
            self._read_rest_soon()

    def _take(self, part: Part) -> bytes:
        """What is not read yet. raises: HttpError"""
        begun, body, is_last, rest = part
        if isinstance(begun, CachedHead):
            self._begin_whole(begun, body)
            return rest
        if begun is not None:
            self._begin_reading(begun)
            return self._take(self._parser.feed(rest))
        if body:
            self._add_body(body)
        if is_last:
            self._end_body()
        return rest

    def _begin_whole(self, cached: CachedHead, body: bytes) -> None:
        if cached.fast_path is not None:
            goes_on = not self._connections.is_ending
            fast = cached.fast_path(self, self._client, goes_on)
            self._answering = fast
            if fast.begin(body):
                return
            self._answering = None
        request = Request.begin(self, self._client, self._server, cached.head)
        if not request.take_whole(body):
            self._refuse(_full())
            return
        self._begin(request)

    def _begin_reading(self, head: RequestHead) -> None:
        self._receiving = Pace(self._connections.now())
        self._coming = Request.begin(self, self._client, self._server, head)
        self._begin(self._coming)

    def _add_body(self, data: bytes) -> None:
        if self._coming is None:
            return  # it was refused
        self._receiving.moved(len(data), self._connections.now())
        if not self._coming.feed(data):
            self._refuse(_full())

    def _end_body(self) -> None:
        request, self._coming = self._coming, None
        if request is None:
            return
        request.complete()
        if request is self._answering and request.is_answered:
            self._finish(request)

    # Called by a request.

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    async def writable(self) -> None:
        if self._writable is not None:
            await asyncio.shield(self._writable)
        if self._transport is None:
            raise ClientDisconnected

    def read_on(self) -> None:
        if not self._rest:
            self._resume_reading()

    def _resume_reading(self) -> None:
        if self._paused_at is not None and (transport := self._open_transport()):
            self._receiving.postpone(self._connections.now() - self._paused_at)
            self._paused_at = None
            transport.resume_reading()

    def read_no_more(self) -> None:
        if self._paused_at is None and (transport := self._open_transport()):
            self._paused_at = self._connections.now()
            transport.pause_reading()

    def date(self) -> str:
        return self._connections.date()

    def respond(self, head: str, body: bytes) -> None:
        """The whole answer. head: without what depends on the time and the connection"""
        answering = self._answering
        if answering is None:
            return
        end = end_of_head(self._connections.date(), keep_alive=answering.keep_alive)
        self.write((head + end).encode("latin-1") + body)
        answering.is_answered = True
        self.answered()

    def answered(self) -> None:
        request = self._answering
        if request is None:
            return
        if request.is_complete or request.is_lost:
            self._finish(request)
        elif not request.keep_alive and (transport := self._open_transport()):
            transport.write_eof()  # what is left of the body is thrown away until the client ends

    # Called by the server.

    def end(self) -> None:
        """Close at once, or after what is being answered."""
        if self._answering is None and not self._parser.is_in_message:
            self.close()
        elif self._answering is not None and not self._parser.is_in_head:
            self._answering.keep_alive = False  # a head that is coming in will say so itself

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def leave(self) -> int | None:
        """Give up the connection, between two requests, without its client's noticing. Its socket,
        which the caller closes; None when it is closing."""
        transport = self._open_transport()
        if transport is None or self._unsent():
            return None
        socket = os.dup(transport.get_extra_info("socket").fileno())
        self._takes_no_more = True
        transport.close()
        return socket

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._transport is not None:
            self._transport.abort()

    def look(self, now: float) -> None:
        """Give up a client that has stopped doing its part."""
        if self._writable is not None:
            if self._sending.is_late(self._unsent(), now):
                self.abort()
        elif self._open_transport() is None:  # the last of its answers is not taken
            if now - self._idle_since > STALLED_S_MAX:
                self.abort()
        elif self._parser.is_in_message and not self._parser.is_in_head:
            if self._paused_at is None and self._receiving.is_late(now):
                self._give_up_body()
        elif self._answering is None:
            if self._parser.is_in_head and now - self._idle_since > HEAD_S_MAX:
                self._refuse(RequestTimeout())
            elif now - self._idle_since > IDLE_S_MAX:
                self.close()

    def _unsent(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def _give_up_body(self) -> None:
        answering = self._answering
        if isinstance(answering, Request) and not answering.is_head_sent:
            self._refuse(RequestTimeout())
        else:
            self.abort()

    def _open_transport(self) -> asyncio.Transport | None:
        transport = self._transport
        return None if transport is None or transport.is_closing() else transport

    # Answering.

    def _begin(self, request: Request) -> None:
        if self._connections.is_ending:
            request.keep_alive = False
        self._answering = request
        self._task = self._loop.create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        try:
            if await self._connections.answer(request):
                self.is_costly = True
            if request.is_head_sent and not request.is_answered:
                request.end()
        except ClientDisconnected:
            pass  # there is no client to answer
        finally:
            self._task = None
            if not request.is_answered:
                # Half an answer must not pass for a whole one.
                request.lose()
                if self._refusal is not None and not request.is_head_sent:
                    self._tell(self._refusal)
                elif self._transport is not None:
                    self._transport.abort()

    def _finish(self, request: Request | FastRequest) -> None:
        """After the last byte of a request and of its answer."""
        self._answering = None
        if isinstance(request, Request):
            self._idle_since = self._connections.now()
        if request.keep_alive:
            self._go_on()
        else:
            self._takes_no_more = True
            self.close()

    def _go_on(self) -> None:
        if self._transport is None or self._is_rest_due:
            return
        if self._writable is not None:
            self.read_no_more()  # until the client has taken its answers
        elif self._takes_no_more:
            self.close()
        elif self._rest:
            self._read_rest_soon()
        elif self._has_ended:
            self.close()
        else:
            self.read_on()

    def _refuse(self, error: HttpError) -> None:
        """Nothing that follows can be read."""
        self._takes_no_more = True
        self._refusal = error
        coming, self._coming = self._coming, None
        if coming is not None:
            coming.lose()
        if self._answering is None:
            self._tell(error)
        elif self._answering.is_answered:
            self.abort()

    def _tell(self, error: HttpError) -> None:
        response = self._connections.render_error(error)
        headers, size = (
            [("content-type", response.content_type), *response.headers],
            len(response.body),
        )
        head = response_head(response.status, headers, self.date(), size, keep_alive=False)
        self.write(head + response.body)
        self.close()


def _full() -> HttpError:
    return Overloaded("Too much is being received. Please retry.", "buffers_full")


def _address(name: object) -> str:
    """host:port; IPv6 in brackets"""
    if not isinstance(name, tuple):
        return ""
    host, port = str(name[0]), name[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _host(name: object) -> str:
    return str(name[0]) if isinstance(name, tuple) else ""
