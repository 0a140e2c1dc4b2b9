"""A proxy for the client of an object store, which connects only to public addresses.

The client resolves names by itself, and follows where it is sent. Behind this proxy each of its
connections goes to an address that was checked, so that a later DNS response has no effect (DNS
rebinding). What is sent through it stays encrypted from end to end.
"""

import asyncio
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from hmac import compare_digest
from typing import Final

from fanion.webhooks.client import ADDRESSES_MAX, Refused, Resolve
from fanion.webhooks.destination import refusal

_CONNECT_S: Final = 10.0
_HEAD_S: Final = 10.0
_PIECE_BYTES: Final = 64 * 1024
_USER: Final = "export"


async def checked_addresses(resolve: Resolve, host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host, at most ADDRESSES_MAX.

    Raises:
        Refused: One of them is not public.
        OSError: There is none.
    """
    addresses = await resolve(host, port)
    for address in addresses:
        if (kind := refusal(address)) is not None:
            raise Refused(f"Nothing is sent to {host}: it has {kind}.")
    if not addresses:
        raise OSError(f"{host} has no address.")
    return addresses[:ADDRESSES_MAX]


@asynccontextmanager
async def checking_proxy(resolve: Resolve) -> AsyncIterator[str]:
    """Run a proxy on loopback, and yield its address with the password that it asks for."""
    password = secrets.token_urlsafe(24)
    proxy = _Proxy(resolve, password)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        yield f"http://{_USER}:{password}@127.0.0.1:{port}"
    finally:
        server.close()
        await proxy.close()


class _Proxy:
    def __init__(self, resolve: Resolve, password: str) -> None:
        self._resolve = resolve
        self._accepted = b"Basic " + b64encode(f"{_USER}:{password}".encode())
        self._tasks: set[asyncio.Task[None]] = set()

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End all connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, EOFError, ValueError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_HEAD_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(head, reader, writer)
        finally:
            writer.close()

    async def _answer(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        request, *lines = head.split(b"\r\n")
        method, _, target = request.partition(b" ")
        sent = next((line.partition(b":")[2] for line in lines if _is_password(line)), b"")
        if not compare_digest(sent.strip(), self._accepted):
            return await _refuse(writer, b"407 Proxy Authentication Required")
        if method != b"CONNECT":
            return await _refuse(writer, b"405 Method Not Allowed")
        host, _, port = target.partition(b" ")[0].decode("ascii").rpartition(":")
        try:
            far_reader, far_writer = await self._connect(host.strip("[]"), int(port))
        except (Refused, OSError, TimeoutError):
            return await _refuse(writer, b"403 Forbidden")
        try:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await _join((reader, writer), (far_reader, far_writer))
        finally:
            far_writer.close()

    async def _connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the first address that accepts a connection."""
        error: OSError = OSError()
        for address in await checked_addresses(self._resolve, host, port):
            try:
                async with asyncio.timeout(_CONNECT_S):
                    return await asyncio.open_connection(address, port)
            except OSError as failed:
                error = failed
        raise error


def _is_password(line: bytes) -> bool:
    return line.lower().startswith(b"proxy-authorization:")


async def _refuse(writer: asyncio.StreamWriter, status: bytes) -> None:
    writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    await writer.drain()


_Side = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _join(near: _Side, far: _Side) -> None:
    """Pass on what either side sends, until both have ended."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_pass_on(near[0], far[1]))
        tasks.create_task(_pass_on(far[0], near[1]))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
