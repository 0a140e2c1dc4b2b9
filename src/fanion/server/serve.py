"""The HTTP server inside this process and event loop."""

import asyncio
import socket
from collections.abc import Callable

from granian.constants import Interfaces, TaskImpl
from granian.server.embed import Server

from fanion.server.application import Application

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


async def serve(
    application: Application,
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
