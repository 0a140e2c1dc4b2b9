"""The HTTP server of this process: listens, limits connections, checks timeouts and drains."""

import asyncio
import errno
import os
import resource
import socket
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any, Protocol

from fanion.server.connection import Connection, PassOn
from fanion.server.errors import HttpError, Overloaded
from fanion.server.flow_control import SharedBudget
from fanion.server.forwarded import TrustedProxies, network_of, read_address
from fanion.server.head import RequestHead
from fanion.server.parser import HeadCache
from fanion.server.port_user import find_port_user
from fanion.server.request import FastPath, Request
from fanion.server.response import DateLine, Response

# Each connection takes a file descriptor and a few kilobytes, even while it is idle.
CONNECTIONS_MAX = 16_384
# File descriptors for stores, logs and libraries.
RESERVED_FILES = 512
CONNECTIONS_MIN = 128
# An office or a mobile operator behind one address opens some hundreds.
CONNECTIONS_PER_ADDRESS_MAX = 2_000


def allow_connections() -> int:
    """Raise this process's limit of open files, usually 1,024, as far as it may.

    Returns:
        The number of connections that the limit allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = CONNECTIONS_MAX + RESERVED_FILES
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(CONNECTIONS_MIN, min(CONNECTIONS_MAX, allowed - RESERVED_FILES))


class ConnectionCount:
    """The number of open connections, limited in all and by address."""

    def __init__(self, connections_max: int, is_proxy: Callable[[str], bool]) -> None:
        """Count connections.

        Args:
            is_proxy: Returns whether an address is a proxy's, which many clients share.
        """
        self._connections_max = connections_max
        self._is_proxy = is_proxy
        self._all = 0
        self._of_network: Counter[str] = Counter()

    def opened(self, address: str) -> HttpError | None:
        """Count a connection, and return an error if it exceeds a limit."""
        self._all += 1
        network = network_of(read_address(address))
        self._of_network[network] += 1
        if self._all > self._connections_max:
            return Overloaded("Too many connections are open. Please retry.")
        if self._of_network[network] > CONNECTIONS_PER_ADDRESS_MAX and not self._is_proxy(address):
            return Overloaded(
                "Too many connections are open from your address. Please retry.",
                "too_many_connections",
            )
        return None

    def closed(self, address: str) -> None:
        self._all -= 1
        network = network_of(read_address(address))
        self._of_network[network] -= 1
        if not self._of_network[network]:
            del self._of_network[network]


BACKLOG = 1024
TIMEOUT_CHECK_S = 5.0
# Bytes on disk for the requests of one process; a server with another limit of uploads has another.
FILE_BYTES_MAX = 1024 * 1024 * 1024
DRAIN_S_MAX = 5.0  # for the requests in progress when the server ends
# After a drain, for requests on connections that were made just before the listener closed.
LAST_REQUESTS_S = 0.5


class PortTaken(Exception):
    """An address that the server cannot listen on.

    Attributes:
        problem: Has the address, the reason, and who listens there if that can be found.
        advice: Says what to do.
    """

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem}. {advice}")
        self.problem = problem
        self.advice = advice


def check_port(host: str, port: int, chosen_by: str) -> None:
    """Check that a port is free, before anything else is opened.

    Args:
        chosen_by: The settings that name another address.

    Raises:
        PortTaken: The server cannot listen on the address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            user = find_port_user(port) if error.errno == errno.EADDRINUSE else ""
            by_whom = f" by {user}" if user else ""
            raise PortTaken(
                f"cannot listen on {host}:{port}: {error.strerror}{by_whom}",
                f"Stop the process that uses it, or choose another address with {chosen_by}.",
            ) from None


def accepted_by_system(server: asyncio.Server) -> Iterator[socket.socket]:
    """Yield the connections that would be reset if the listeners were closed now."""
    for listening in server.sockets:
        with socket.socket(fileno=os.dup(listening.fileno())) as listener:
            listener.setblocking(False)
            with suppress(OSError):  # there are no more
                for _ in range(BACKLOG):
                    yield listener.accept()[0]


Answer = Callable[[Request], Coroutine[Any, Any, bool | None]]
RenderError = Callable[[HttpError], Response]


class Handler(Protocol):
    """An application that answers requests."""

    def answer(self, request: Request) -> Coroutine[Any, Any, bool | None]:
        """Answer a request, and return True if that held the GIL for tens of milliseconds."""

    def fast_path(self, head: RequestHead) -> FastPath | None:
        """Return the fast path of requests with this head, or None if they need a task."""


class HttpServer:
    """An HTTP server that listens from the first `answer_with` until `stop` is set.

    Without an address it serves only connections that it adopts. Its handler may be replaced at
    any time.
    """

    def __init__(
        self,
        address: tuple[str, int] | None,
        stop: asyncio.Event,
        connections_max: int | None = None,
        *,
        render_error: RenderError,
        proxies: TrustedProxies | None = None,
        file_bytes_max: int = FILE_BYTES_MAX,
        draining: asyncio.Event | None = None,
    ) -> None:
        """Prepare to listen.

        Args:
            connections_max: By default as many as the limit of open files allows.
            render_error: Makes the response to a request that the server refuses by itself.
            proxies: The proxies that many clients share, and whose headers name their clients.
            file_bytes_max: The most that requests may hold on disk.
            draining: Closes each connection after its next response when set, before `stop`.
        """
        self._address = address
        self.render_error = render_error
        self._stop = stop
        self._draining = draining or asyncio.Event()
        self._open: set[Connection] = set()
        self._all_closed = asyncio.Event()
        allowed = allow_connections() if connections_max is None else connections_max
        self.proxies = proxies or TrustedProxies()
        self._connections = ConnectionCount(allowed, self.proxies.is_trusted)
        self._serving: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        self.date = DateLine(self.now).text
        self.answer: Answer = _no_handler
        self.is_ending = False
        self.pass_on: PassOn | None = None
        self.head_cache = HeadCache()
        self.buffers = SharedBudget()
        self.files = SharedBudget(file_bytes_max)
        self._on_closed: Callable[[Connection], None] | None = None

    async def answer_with(self, handler: Handler) -> None:
        """Answer with this handler from now on.

        Raises:
            OSError: The server cannot listen.
        """
        self.answer = handler.answer
        self.head_cache.reset(handler.fast_path)
        if self._serving is None:
            server = None
            if self._address is not None:
                server = await self._loop.create_server(
                    lambda: Connection(self), *self._address, backlog=BACKLOG
                )
            self._serving = asyncio.create_task(self._serve(server), name="http")

    def share_connections(
        self, pass_on: PassOn, on_closed: Callable[[Connection], None] | None = None
    ) -> None:
        """Offer connections to other processes, until the server ends."""
        self.pass_on = pass_on
        self._on_closed = on_closed

    async def adopt(self, connection: socket.socket, first: bytes) -> None:
        """Serve a connection of another process.

        Args:
            first: The bytes of a request that were read there.

        Raises:
            OSError: The client has disconnected.
        """
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(lambda: Connection(self, first), connection)
        except BaseException:
            connection.close()
            raise

    async def wait_closed(self) -> None:
        if self._serving is not None:
            await self._serving

    def opened(self, connection: Connection) -> HttpError | None:
        self._open.add(connection)
        return self._connections.opened(connection.address)

    def closed(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._connections.closed(connection.address)
        if self._on_closed is not None:
            self._on_closed(connection)
        if not self._open:
            self._all_closed.set()

    async def _serve(self, server: asyncio.Server | None) -> None:
        checking = asyncio.create_task(self._check_timeouts())
        draining = asyncio.create_task(self._close_after_responses())
        accepted: list[socket.socket] = []
        try:
            await self._stop.wait()
        finally:
            checking.cancel()
            draining.cancel()
            if server is not None:
                accepted += accepted_by_system(server) if self._draining.is_set() else ()
                server.close()
        if self._draining.is_set():
            await self._answer_last_requests(accepted)
        self.pass_on = None
        await self._drain()

    async def _close_after_responses(self) -> None:
        await self._draining.wait()
        self.is_ending = True

    async def _answer_last_requests(self, accepted: list[socket.socket]) -> None:
        """Answer clients that connected, or sent a request, before they could see the end."""
        for connection in accepted:
            with suppress(OSError):  # the client has gone
                await self.adopt(connection, b"")
        await asyncio.sleep(LAST_REQUESTS_S)

    async def _check_timeouts(self) -> None:
        while True:
            await asyncio.sleep(TIMEOUT_CHECK_S)
            now = self.now()
            for connection in list(self._open):
                connection.check_timeouts(now)

    async def _drain(self) -> None:
        """Answer the requests in progress, and close."""
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


async def _no_handler(*_: object) -> None:
    raise AssertionError("requests are answered before answer_with was called")
