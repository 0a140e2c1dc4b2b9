"""One client's connection: HTTP/1.1 requests, answered one after another in order."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from fanion.server.errors import ClientDisconnected, HttpError, RequestTimeout
from fanion.server.flow_control import STALLED_S_MAX, FlowControl, Pace, SharedBudget
from fanion.server.forwarded import TrustedProxies
from fanion.server.head import RequestHead, path_of
from fanion.server.parser import CachedHead, HeadCache, RequestParser
from fanion.server.request import FastRequest, Request
from fanion.server.response import CLOSE, KEEP_ALIVE, Response, response_head

IDLE_S_MAX = 75.0  # between two requests; browsers and SDKs keep connections for a minute at most
HEAD_S_MAX = 30.0
LINE_BYTES_MAX = 8 * 1024  # the longest request line that may be incomplete
FLUSH_S = 0.01  # how often a connection to be handed over is checked for unsent bytes

# Called with a connection, the path of its next request and the bytes read of that request. Returns
# True if another process has the connection now.
PassOn = Callable[["Connection", str, bytes], bool]


class ConnectionServer(Protocol):
    """The server, as its connections need it.

    Attributes:
        is_ending: Whether each connection is closed after its next response.
        pass_on: None if all connections stay in this process.
        buffers: The budget in memory.
        files: The budget on disk, such as for large fields of forms.
        proxies: The proxies whose headers name their clients.
        now: Seconds of a monotonic clock.
        date: The header line.
        answer: Returns True if it held the GIL for tens of milliseconds.
        render_error: Makes the response to a request that the server refuses by itself.
        opened: Returns why the connection cannot be served, or None.
    """

    is_ending: bool
    pass_on: PassOn | None
    head_cache: HeadCache
    buffers: SharedBudget
    files: SharedBudget
    proxies: TrustedProxies

    def now(self) -> float: ...
    def date(self) -> str: ...
    def answer(self, request: Request, /) -> Coroutine[Any, Any, bool | None]: ...
    def render_error(self, error: HttpError, /) -> Response: ...
    def opened(self, connection: "Connection") -> HttpError | None: ...
    def closed(self, connection: "Connection") -> None: ...


class Connection(FlowControl):
    """A connection on which one request is read and answered at a time.

    The bytes after the current request are not parsed, and are at most one read of the socket, so
    that they can go to another process.

    Attributes:
        answering: The request that is being answered; None between two requests.
        is_costly: Whether an answer on this connection has held the GIL for tens of milliseconds.
    """

    def __init__(self, server: ConnectionServer, first: bytes = b"") -> None:
        """Serve a connection.

        Args:
            first: The bytes of a request that another process has read.
        """
        super().__init__(server.now, server.buffers)
        self._server = server
        self.files = server.files
        self.proxies = server.proxies
        self.parser = RequestParser(server.head_cache)
        self._receiving: Request | None = None  # the request whose body is incomplete
        self.answering: Request | FastRequest | None = None
        self._task: asyncio.Task[None] | None = None
        self._unparsed = first
        self._is_parsing_scheduled = False
        self._is_input_ignored = False
        self._is_at_eof = False  # the client will not send anything more
        self._refusal: HttpError | None = None
        self._idle_since = 0.0
        self.is_costly = False

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._idle_since = self.now()
        refusal = self._server.opened(self)
        if refusal is not None:
            self._refuse(refusal)
        elif self._unparsed:
            self._schedule_parsing()

    def connection_lost(self, error: Exception | None) -> None:
        for request in (self._receiving, self.answering):
            if request is not None:
                request.lose()
        self._receiving = None
        self._unparsed = b""
        self._transport = None
        self.resume_writing()
        self._server.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._is_input_ignored:
            return
        if not self._unparsed and (self.answering is None or self._receiving is not None):
            self._read(data)
        else:
            self._unparsed += data
        if self._unparsed:
            if self.answering is not None or self._is_parsing_scheduled:
                self.pause_reading()
            else:
                self._parse_unparsed()

    def eof_received(self) -> bool:
        """Keep the connection open for a response: a client may still read after its end."""
        self._is_at_eof = True
        if isinstance(self.answering, Request):
            self.answering.end_input()
        return self._is_parsing_scheduled or self._owes_response()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._idle_since = self.now()
        if self.answering is None:
            self._read_next()

    # Reading.

    def _schedule_parsing(self, delay_s: float = 0.0) -> None:
        self._is_parsing_scheduled = True
        if delay_s:
            self._loop.call_later(delay_s, self._parse_unparsed)
        else:
            self._loop.call_soon(self._parse_unparsed)

    def _parse_unparsed(self) -> None:
        """Parse until a request has to be answered before the next one is read."""
        self._is_parsing_scheduled = False
        while self._unparsed and not self._is_parsing_scheduled:
            if self._is_input_ignored or self._transport is None:
                break
            if self.answering is not None and not self.parser.is_in_message:
                break
            data, self._unparsed = self._unparsed, b""
            if not self._read(data):
                return
        if self._is_parsing_scheduled:
            return
        if self._is_at_eof:
            if not self._owes_response():
                self.close()
        elif self._writable is None and (self._receiving is None or not self._receiving.is_full):
            self.read_more()

    def _owes_response(self) -> bool:
        """Return whether a response is owed to a client that will not send anything more.

        An incomplete request is lost.
        """
        if self._receiving is not None:
            self._receiving.lose()
        answering = self.answering  # an answered request was waiting for the rest of its body
        return answering is not None and not answering.is_answered

    def _read(self, data: bytes) -> bool:
        """Return False if the data has to wait, or belongs to another process."""
        cached = None
        if self._server.pass_on is not None and not self.parser.is_in_message:
            if b"\n" not in data and len(data) <= LINE_BYTES_MAX:
                self._unparsed = data  # without a path it is not known which process answers
                if self._is_at_eof:
                    self.close()
                else:
                    self.resume_reading()
                return False
            if self._unsent_bytes():
                self._unparsed = data
                self._schedule_parsing(FLUSH_S)
                return False
            cached = self._server.head_cache.find(data)
            path = path_of(data) if cached is None else cached.head.path
            if self._server.pass_on(self, path, data):
                return False
        self._parse(data, cached)
        return True

    def _parse(self, data: bytes, cached: CachedHead | None) -> None:
        if not self.parser.is_in_message:
            self._idle_since = self.now()
        try:
            begun, body, is_last, unparsed = self.parser.feed(data, cached)
            if isinstance(begun, CachedHead):
                self._unparsed = unparsed  # read as soon as the request is answered
                self._begin_complete(begun, body)
                return
            if begun is not None:
                self._begin_receiving(begun)
                _, body, is_last, unparsed = self.parser.feed(unparsed)
            self._receive(body, is_last=is_last)
        except HttpError as error:
            self._unparsed = b""
            self._refuse(error)
            return
        self._unparsed = unparsed
        if unparsed and self.parser.is_in_message:  # let other connections have their turn first
            self.pause_reading()
            self._schedule_parsing()

    def _begin_complete(self, cached: CachedHead, body: bytes) -> None:
        """Begin a complete request, without a task if it has a fast path.

        Raises:
            HttpError: The request cannot be served.
        """
        if cached.fast_path is not None:
            keep_alive = not self._server.is_ending
            request = cached.fast_path(self, self.peer, keep_alive, body)
            if request is not None:
                self.answering = request
                request.begin()
                return
        self._begin(Request.begin(self, self.peer, self.local, cached.head, body))

    def _begin_receiving(self, head: RequestHead) -> None:
        self._receive_pace = Pace(self.now())
        self._receiving = Request.begin(self, self.peer, self.local, head)
        self._begin(self._receiving)

    def _receive(self, body: bytes, *, is_last: bool) -> None:
        """Pass a part of the body to the request that is being received.

        Raises:
            HttpError: The request cannot be served.
        """
        request = self._receiving
        if request is None:
            return  # the request was refused
        if body:
            self._receive_pace.received(len(body), self.now())
            request.feed(body)
        if is_last:
            self._receiving = None
            request.complete()
            if request is self.answering and request.is_answered:
                self._finish(request)

    # Called by a request.

    def holder(self) -> str:
        answering = self.answering
        return answering.holder if isinstance(answering, Request) else super().holder()

    def read_more(self) -> None:
        if not self._unparsed and self._paused_at is not None:
            self.resume_reading()

    def respond(self, head: str, body: bytes) -> None:
        """Send a whole response.

        Args:
            head: The result of `response_head`.
        """
        answering = self.answering
        if answering is not None:
            self.write_head(head, answering.keep_alive, body)
            answering.is_answered = True
            self.answered()

    def write_head(self, head: str, keep_alive: bool, body: bytes = b"") -> None:
        end = KEEP_ALIVE if keep_alive else CLOSE
        if self._transport is not None:
            self._transport.write(f"{head}{self._server.date()}{end}".encode("latin-1") + body)

    def answered(self) -> None:
        request = self.answering
        if request is None:
            return
        if request.is_complete or request.is_lost:
            self._finish(request)
        elif not request.keep_alive and (transport := self._open_transport()):
            transport.write_eof()  # the rest of the body is discarded until the client closes

    # Called by the server.

    def end(self) -> None:
        """Close at once, or after the current response."""
        if self.answering is None and not self.parser.is_in_message and not self._unparsed:
            self.close()
        elif self.answering is not None and not self.parser.is_in_head:
            self.answering.keep_alive = False  # a request with an incomplete head sets it later

    def detach(self) -> int | None:
        """Give up the connection between two requests without closing it.

        Returns:
            A file descriptor of its socket, which the caller closes; None if the connection is
            closing.
        """
        transport = self._open_transport()
        if transport is None or self._unsent_bytes():
            return None
        descriptor = os.dup(transport.get_extra_info("socket").fileno())
        self._is_input_ignored = True
        transport.close()
        return descriptor

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()
        super().abort()

    def check_timeouts(self, now: float) -> None:
        if self._writable is not None:
            if self._is_send_late(now):
                self.abort()
        elif self._open_transport() is None:  # the client does not read its last response
            if now - self._idle_since > STALLED_S_MAX:
                self.abort()
        elif self.parser.is_in_message and not self.parser.is_in_head:
            if self._is_receive_late(now):
                self._time_out_body()
        elif self.answering is None:
            if self.parser.is_in_head and now - self._idle_since > HEAD_S_MAX:
                self._refuse(RequestTimeout())
            elif now - self._idle_since > IDLE_S_MAX:
                self.close()

    def _time_out_body(self) -> None:
        if isinstance(self.answering, Request) and not self.answering.is_head_sent:
            self._refuse(RequestTimeout())
        else:
            self.abort()

    # Answering.

    def _begin(self, request: Request) -> None:
        if self._server.is_ending:
            request.keep_alive = False
        if self._is_at_eof:
            request.end_input()
        self.answering = request
        self._task = self._loop.create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        try:
            # The bytes that came with the head may have caused a refusal already.
            if self._refusal is None and await self._server.answer(request):
                self.is_costly = True
            if request.is_head_sent and not request.is_answered:
                request.end()
        except ClientDisconnected:
            pass
        finally:
            self._task = None
            request.release()
            if not request.is_answered:
                # Abort, since the client must not take a part of a response for the whole.
                request.lose()
                if self._refusal is not None and not request.is_head_sent:
                    self._send_error(self._refusal)
                else:
                    super().abort()

    def _finish(self, request: Request | FastRequest) -> None:
        """Go on after the last byte of a request and of its response."""
        self.answering = None
        if isinstance(request, Request):
            self._idle_since = self.now()
        if request.keep_alive:
            self._read_next()
        else:
            self._is_input_ignored = True
            self.close()

    def _read_next(self) -> None:
        if self._transport is None or self._is_parsing_scheduled:
            return
        if self._writable is not None:
            self.pause_reading()  # until the client has read its responses
        elif self._is_input_ignored:
            self.close()
        elif self._unparsed:
            self._schedule_parsing()
        elif self._is_at_eof:
            self.close()
        else:
            self.read_more()

    def _refuse(self, error: HttpError) -> None:
        """Refuse the request; the rest of the input cannot be parsed."""
        self._is_input_ignored = True
        self._refusal = error
        receiving, self._receiving = self._receiving, None
        if receiving is not None:
            receiving.lose()
        if self.answering is None:
            self._send_error(error)
        elif self.answering.is_answered:
            self.abort()

    def _send_error(self, error: HttpError) -> None:
        response = self._server.render_error(error)
        headers = [("content-type", response.content_type), *response.headers]
        head = response_head(response.status, headers, len(response.body))
        self.write_head(head, False, response.body)
        self.close()
