"""A TCP proxy between a server and a store: its connections can be cut or redirected."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

CHUNK_BYTES = 2**16


class Proxy:
    """A proxy.

    Attributes:
        port: The port on which it listens on loopback.
        target: The port to which it connects; None refuses connections.
    """

    def __init__(self, target: int) -> None:
        self.target: int | None = target
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()

    def connect_to(self, target: int | None) -> None:
        """Connect to another port from now on, and break open connections off."""
        self.target = target
        for writer in self._open:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            if self.target is not None:
                await self._connect(self.target, reader, writer)
        except OSError:
            pass  # refused: the client sees a connection that ends
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    async def _connect(
        self, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target)
        self._open.add(far_writer)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(reader, far_writer))
                both.create_task(_copy(far_reader, writer))
        except* OSError:
            pass
        finally:
            self._open.discard(far_writer)
            far_writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK_BYTES):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


@asynccontextmanager
async def proxy_to(target: int) -> AsyncIterator[Proxy]:
    proxy = Proxy(target)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.connect_to(None)
