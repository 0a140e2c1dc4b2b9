"""The HTTP server inside this process and event loop."""

import asyncio
import resource
import socket
from collections import Counter
from collections.abc import Callable, Coroutine
from email.utils import formatdate
from typing import Any, Protocol

from fanion.server.connection import Answer, Connection, PassOn, RenderError
from fanion.server.errors import HttpError, Overloaded
from fanion.server.flow_control import BufferBudget
from fanion.server.forwarded import network_of, read_address
from fanion.server.head import RequestHead
from fanion.server.parser import HeadCache
from fanion.server.request import FastPath, Request

# Each takes a file descriptor and a few kilobytes, idle ones between two requests included.
CONNECTIONS_MAX = 16_384
# For stores, logs and libraries.
FILES_APART = 512
CONNECTIONS_MIN = 128
# An office or a mobile operator behind one address keeps some hundreds open.
CONNECTIONS_PER_ADDRESS_MAX = 2_000


def allow_connections() -> int:
    """Raise this process's own limit of open files as far as it may, and say what it allows.

    A soft limit of 1,024 is usual, and an idle listener counts as much as a busy client.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX + FILES_APART
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(CONNECTIONS_MIN, min(CONNECTIONS_MAX, allowed - FILES_APART))


class ConnectionCount:
    def __init__(self, connections_max: int, is_proxy: Callable[[str], bool]) -> None:
        """is_proxy: whether connections from an address are many clients'"""
        self._connections_max = connections_max
        self._is_proxy = is_proxy
        self._all = 0
        self._of_address: Counter[str] = Counter()

    def opened(self, address: str) -> HttpError | None:
        """Why a connection from there is one too many."""
        self._all += 1
        place = network_of(read_address(address))
        self._of_address[place] += 1
        if self._all > self._connections_max:
            return Overloaded("Too many connections are open. Please retry.")
        if self._of_address[place] > CONNECTIONS_PER_ADDRESS_MAX and not self._is_proxy(address):
            return Overloaded(
                "Too many connections are open from your address. Please retry.",
                "too_many_connections",
            )
        return None

    def closed(self, address: str) -> None:
        self._all -= 1
        place = network_of(read_address(address))
        self._of_address[place] -= 1
        if not self._of_address[place]:
            del self._of_address[place]


BACKLOG = 1024
LOOK_EVERY_S = 5.0  # for connections that are idle or stalled
DRAIN_S_MAX = 5.0  # of what is being answered when the server ends


def _is_no_proxy(_: str) -> bool:
    return False


class PortTaken(Exception):
    """The address cannot be listened on; the text says which and why."""


def check_port(host: str, port: int) -> None:
    """raises: PortTaken, before anything else is opened"""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise PortTaken(f"cannot listen on {host}:{port}: {error.strerror}") from None


class Answering(Protocol):
    """What requests are answered by."""

    def answer(self, request: Request) -> Coroutine[Any, Any, bool | None]:
        """As `connection.Answer`."""

    def fast_path(self, head: RequestHead) -> FastPath | None:
        """How requests with this head are answered without a task, if they are."""


class HttpServer:
    """The address, listened on from the first `show` until `stop` is set; without an address,
    connections that are adopted.

    The application that answers may be replaced while requests come in.
    """

    def __init__(
        self,
        address: tuple[str, int] | None,
        stop: asyncio.Event,
        connections_max: int | None = None,
        *,
        render_error: RenderError,
        is_proxy: Callable[[str], bool] = _is_no_proxy,
    ) -> None:
        """connections_max: as many as the limit of open files allows, unless told
        render_error:    makes a response of what the server refuses by itself
        is_proxy:        whether connections from an address are many clients'
        """
        self._address = address
        self.render_error = render_error
        self._stop = stop
        self._open: set[Connection] = set()
        self._all_closed = asyncio.Event()
        allowed = allow_connections() if connections_max is None else connections_max
        self._connections = ConnectionCount(allowed, is_proxy)
        self._serving: asyncio.Task[None] | None = None
        self._dated = (-1, "")
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        self.answer: Answer = _nobody
        self.is_ending = False
        self.pass_on: PassOn | None = None
        self.head_cache = HeadCache()
        self.buffers = BufferBudget()
        self.on_closed: Callable[[Connection], None] = _told_nobody

    async def show(self, answering: Answering) -> None:
        """Have this answer from now on. raises: OSError when it cannot listen"""
        self.answer = answering.answer
        self.head_cache.reset(answering.fast_path)
        if self._serving is None:
            server = None
            if self._address is not None:
                server = await self._loop.create_server(
                    lambda: Connection(self), *self._address, backlog=BACKLOG
                )
            self._serving = asyncio.create_task(self._serve(server), name="http")

    async def adopt(self, connection: socket.socket, first: bytes) -> None:
        """Go on with another process's connection. first: what that has read of a request

        raises: OSError when the client has gone
        """
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(lambda: Connection(self, first), connection)
        except BaseException:
            connection.close()
            raise

    async def ended(self) -> None:
        if self._serving is not None:
            await self._serving

    def opened(self, connection: Connection) -> HttpError | None:
        self._open.add(connection)
        return self._connections.opened(connection.address)

    def closed(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._connections.closed(connection.address)
        self.on_closed(connection)
        if not self._open:
            self._all_closed.set()

    def date(self) -> str:
        """Written once a second."""
        second = int(self.now())
        if second != self._dated[0]:
            self._dated = (second, f"date: {formatdate(usegmt=True)}\r\n")
        return self._dated[1]

    async def _serve(self, server: asyncio.Server | None) -> None:
        looking = asyncio.create_task(self._look())
        try:
            await self._stop.wait()
        finally:
            looking.cancel()
            self.pass_on = None
            if server is not None:
                server.close()
        await self._drain()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            now = self.now()
            for connection in list(self._open):
                connection.check_timeouts(now)

    async def _drain(self) -> None:
        """Answer what has been asked, and close."""
        self.is_ending = True
        for connection in list(self._open):
            connection.end()
        self._all_closed.clear()
        if self._open:
            try:
                await asyncio.wait_for(self._all_closed.wait(), DRAIN_S_MAX)
            except TimeoutError:
                for connection in list(self._open):
                    connection.abort()


async def _nobody(*_: object) -> None:
    raise AssertionError("nothing is shown yet")


def _told_nobody(_: Connection) -> None:
    pass
