"""The HTTP server inside this process and event loop."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from granian.constants import Interfaces, TaskImpl
from granian.server.embed import Server

from fanion.server.application import Application
from fanion.server.connections import allow_connections
from fanion.server.rsgi import Exchange, Scope

BACKLOG = 1024
STARTED_POLL_S = 0.01


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


class Stage:
    """What answers requests; another application may take its place while they come in."""

    def __init__(self, application: Application) -> None:
        self.application = application

    def __rsgi__(self, scope: Scope, exchange: Exchange) -> Coroutine[Any, Any, None]:
        return self.application.__rsgi__(scope, exchange)


class HttpServer:
    """The address, listened on from the first `show` until `stop` is set."""

    def __init__(self, host: str, port: int, stop: asyncio.Event) -> None:
        self._host = host
        self._port = port
        self._stop = stop
        self._stage: Stage | None = None
        self._serving: asyncio.Task[None] | None = None

    async def show(self, application: Application) -> None:
        """Have this application answer from now on. raises: what the server cannot start for"""
        if self._stage is not None:
            self._stage.application = application
            return
        self._stage = Stage(application)
        listening = asyncio.Event()
        self._serving = asyncio.create_task(
            serve(self._stage, self._host, self._port, self._stop, listening.set)
        )
        waiting = asyncio.create_task(listening.wait())
        await asyncio.wait({self._serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not listening.is_set():
            await self._serving

    async def ended(self) -> None:
        if self._serving is not None:
            await self._serving


async def serve(
    application: Application | Stage,
    host: str,
    port: int,
    stop: asyncio.Event,
    started: Callable[[], None],
) -> None:
    """Answer requests until `stop` is set; what is under way then is answered first."""
    server = Server(
        application,
        address=host,
        port=port,
        interface=Interfaces.RSGI,
        # The alternative scheduler breaks asyncio's list of tasks, which shutdown needs.
        task_impl=TaskImpl.asyncio,
        backlog=BACKLOG,
        # Connections, not requests: past this number nobody else is let in.
        backpressure=allow_connections(),
        websockets=False,
        log_enabled=False,
    )
    serving = asyncio.create_task(server.serve(), name="http")
    stopping = asyncio.create_task(stop.wait(), name="stop")
    await _listening(host, port, serving)
    started()
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    server.stop()
    await serving


async def _listening(host: str, port: int, serving: asyncio.Task[None]) -> None:
    """Wait until the socket accepts connections."""
    target = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    while not serving.done():
        try:
            _, writer = await asyncio.open_connection(target, port)
        except OSError:
            await asyncio.sleep(STARTED_POLL_S)
            continue
        writer.close()
        await writer.wait_closed()
        return
    serving.result()
