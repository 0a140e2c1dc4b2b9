"""One client's connection: HTTP/1.1 requests, answered one after another in their order."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, cast

from fanion.errors import AppError, Unavailable
from fanion.server.exchange import ClientGone, Exchange, Scope
from fanion.server.first_line import path_of
from fanion.server.head import response_head
from fanion.server.incoming import Incoming
from fanion.server.known_heads import KnownHead, KnownHeads
from fanion.server.prompt import PromptAnswer
from fanion.server.request_head import RequestHead
from fanion.server.request_reader import RequestReader, UpgradeAsked

IDLE_S_MAX = 75.0  # between two requests; browsers and SDKs keep theirs for a minute at most
HEAD_S_MAX = 30.0
STALLED_S_MAX = 60.0  # a body that does not go on, an answer that is not taken
LINE_BYTES_MAX = 8 * 1024  # of a request's first line, while it is waited for

_JSON = ("content-type", "application/json")

# Says whether the answer held this process up.
Answer = Callable[[Scope, Exchange], Coroutine[Any, Any, bool | None]]


# Is told a connection, the path that is asked for on it and how the request begins; whether
# another process has all that now.
PassOn = Callable[["Connection", str, bytes], bool]


class Connections(Protocol):
    """What a connection needs of its server."""

    @property
    def answer(self) -> Answer: ...

    @property
    def is_ending(self) -> bool: ...

    @property
    def pass_on(self) -> "PassOn | None":
        """None when all connections stay."""

    @property
    def known_heads(self) -> KnownHeads: ...

    def now(self) -> float:
        """Seconds of a clock that only goes forward."""

    def date(self) -> str: ...

    def opened(self, connection: "Connection") -> bool:
        """False when there are too many."""

    def closed(self, connection: "Connection") -> None: ...


class Connection(asyncio.Protocol):
    """since:     when something last happened that the client did
    is_costly: whether an answer to it has held this process up
    """

    def __init__(self, connections: Connections, first: bytes = b"") -> None:
        """first: what another process has read of a request"""
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._reader = RequestReader(self, connections.known_heads)
        self._transport: asyncio.Transport | None = None
        self._client = self._server = ""
        self._coming: Incoming | None = None  # its body is not whole
        self._waiting: deque[Incoming] = deque()
        self._answering: Incoming | PromptAnswer | None = None
        self._task: asyncio.Task[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._is_paused = False
        self._takes_no_more = False
        self._refusal: AppError | None = None
        self._first = first
        self.since = 0.0
        self.is_costly = False

    @property
    def is_reading(self) -> bool:
        """A request has begun that is not whole."""
        return self._reader.is_in_message

    @property
    def is_answering(self) -> bool:
        return self._answering is not None

    # The transport's calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._client = _address(transport.get_extra_info("peername"))
        self._server = _address(transport.get_extra_info("sockname"))
        self.since = self._connections.now()
        if not self._connections.opened(self):
            self._refuse(Unavailable("Too many connections are open. Please retry."))
        elif self._first:
            self._loop.call_soon(self._read_first)

    def connection_lost(self, error: Exception | None) -> None:
        for incoming in (self._coming, self._answering, *self._waiting):
            if incoming is not None:
                incoming.lose()
        self._waiting.clear()
        self._transport = None
        self.resume_writing()
        self._connections.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._takes_no_more:
            return
        if self._connections.pass_on is not None and self._is_between_requests():
            data = self._first + data
            if b"\n" not in data and len(data) <= LINE_BYTES_MAX:
                self._first = data  # which process it goes to is not known yet
                return
            self._first = b""
            known = self._connections.known_heads.find(data)
            path = path_of(data) if known is None else known.head.path
            if self._connections.pass_on(self, path, data):
                return
            self._feed(data, known)
        else:
            self._feed(data)

    def _read_first(self) -> None:
        data, self._first = self._first, b""
        if self._transport is not None:
            self._feed(data)

    def _feed(self, data: bytes, known: KnownHead | None = None) -> None:
        if not self._reader.is_in_head:  # which has to come as a whole within its time
            self.since = self._connections.now()
        try:
            self._reader.feed(data, known)
        except UpgradeAsked:
            # Nothing else is spoken here: the request is answered, what follows it is not read.
            self._takes_no_more = True
            self._end_after_last()
        except AppError as error:
            self._refuse(error)

    def eof_received(self) -> bool:
        """A client that has said all may still read its answers."""
        self._takes_no_more = True
        if self._coming is not None:
            self._coming.lose()
        answering = self._answering  # with the answer out, it waited for what was left of a body
        return answering is not None and not answering.is_ended

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None
        self.since = self._connections.now()
        if self._answering is None:
            self._go_on()

    # What the reader tells of each request, in this order.

    def on_request(self, known: KnownHead, body: bytes) -> None:
        if known.prompt is not None and self._answering is None:
            goes_on = not self._connections.is_ending
            self._answering = answer = PromptAnswer(known.prompt, self, keep_alive=goes_on)
            try:
                if known.prompt.endpoint(body, self._client, answer):
                    return
            except Exception as error:
                answer(error)
                return
            self._answering = None
        incoming = Incoming(self, self._client, self._server, known.head)
        incoming.feed(body)
        incoming.is_complete = True
        self._take(incoming)

    def on_head(self, head: RequestHead) -> None:
        self._coming = Incoming(self, self._client, self._server, head)
        self._take(self._coming)

    def on_body(self, data: bytes) -> None:
        assert self._coming is not None
        self._coming.feed(data)

    def on_end(self) -> None:
        incoming, self._coming = self._coming, None
        assert incoming is not None
        incoming.complete()
        if incoming is self._answering and incoming.is_ended:
            self._finish(incoming)

    # What a request asks of its line.

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    async def writable(self) -> None:
        if self._writable is not None:
            await asyncio.shield(self._writable)
        if self._transport is None:
            raise ClientGone

    def read_on(self) -> None:
        if self._is_paused and not self._waiting and (transport := self._open_transport()):
            self._is_paused = False
            transport.resume_reading()

    def read_no_more(self) -> None:
        if not self._is_paused and (transport := self._open_transport()):
            self._is_paused = True
            transport.pause_reading()

    def date(self) -> str:
        return self._connections.date()

    def answered(self) -> None:
        incoming = self._answering
        if incoming is not None and (incoming.is_complete or incoming.is_lost):
            self._finish(incoming)

    # What the server asks.

    def end(self) -> None:
        """Close at once, or after what has been asked."""
        if self._answering is None and not self._reader.is_in_message:
            self.close()
        else:
            self._end_after_last()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def leave(self) -> int | None:
        """Give up the connection, between two requests, without its client's noticing. Its socket,
        which the caller closes; None when answers are not out yet."""
        transport = self._open_transport()
        if transport is None or transport.get_write_buffer_size():
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
        quiet_s = now - self.since
        if self._is_waited_for():
            if quiet_s > STALLED_S_MAX:
                self.abort()
        elif self._answering is None and quiet_s > self._silence_s_max():
            self.close()

    def _silence_s_max(self) -> float:
        return HEAD_S_MAX if self._reader.is_in_message else IDLE_S_MAX

    def _is_waited_for(self) -> bool:
        """It is the client's turn: to take what was written, or to send more of a body."""
        if self._writable is not None or self._open_transport() is None:
            return True
        incoming = self._answering
        return incoming is not None and not incoming.is_complete and not self._is_paused

    def _open_transport(self) -> asyncio.Transport | None:
        transport = self._transport
        return None if transport is None or transport.is_closing() else transport

    def _take(self, incoming: Incoming) -> None:
        if self._connections.is_ending:
            incoming.keep_alive = False
        if self._answering is None:
            self._begin(incoming)
        else:
            self._waiting.append(incoming)
            self.read_no_more()

    def _begin(self, incoming: Incoming) -> None:
        self._answering = incoming
        self._task = self._loop.create_task(self._answer(incoming))

    async def _answer(self, incoming: Incoming) -> None:
        try:
            if await self._connections.answer(incoming, incoming):
                self.is_costly = True
            if incoming.is_head_sent and not incoming.is_ended:
                incoming.end()
        except ClientGone:
            pass  # nobody is there to be told
        finally:
            if not incoming.is_ended:
                # Half an answer must not pass for a whole one.
                incoming.lose()
                if self._refusal is not None and not incoming.is_head_sent:
                    self._tell(self._refusal)
                elif self._transport is not None:
                    self._transport.abort()

    def _finish(self, incoming: Incoming | PromptAnswer) -> None:
        """After the last byte of a request and of its answer."""
        self._answering = None
        if incoming.keep_alive:
            self._go_on()
        else:
            self._takes_no_more = True
            self.close()

    def _go_on(self) -> None:
        if self._transport is None:
            return
        if self._writable is not None:
            self.read_no_more()  # until the client has taken its answers
        elif self._waiting:
            self._begin(self._waiting.popleft())
        elif self._refusal is not None:
            self._tell(self._refusal)
        elif self._takes_no_more:
            self.close()
        else:
            self.read_on()

    def _end_after_last(self) -> None:
        """A head that is coming in will say so itself."""
        last = self._waiting[-1] if self._waiting else self._coming or self._answering
        if last is not None and not self._reader.is_in_head:
            last.keep_alive = False

    def _is_between_requests(self) -> bool:
        return self._answering is None and not self._reader.is_in_message and not self._waiting

    def _refuse(self, error: AppError) -> None:
        """Nothing that follows can be read; what came before is answered first."""
        self._takes_no_more = True
        self._refusal = error
        if self._coming is not None:
            self._coming.lose()
        if self._answering is None:
            self._tell(error)

    def _tell(self, error: AppError) -> None:
        body, headers = error.body(), [_JSON, *error.headers()]
        head = response_head(error.status, headers, self.date(), len(body), keep_alive=False)
        self.write(head + body)
        self.close()


def _address(name: object) -> str:
    """host:port; IPv6 in brackets"""
    if not isinstance(name, tuple):
        return ""
    host, port = str(name[0]), name[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
