"""A client of the stream of live events, on its own socket."""

import asyncio
from dataclasses import dataclass, field

from tests.support.server import Keys, RealServer
from tests.support.sse import Message, parsed


@dataclass
class Viewer:
    """One connection whose messages are read one by one."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: str
    found: list[Message] = field(default_factory=list)

    @classmethod
    async def open(
        cls, server: RealServer, keys: Keys, query: str = "", last: str = ""
    ) -> "Viewer":
        """Open a stream; it reads 64 KiB ahead."""
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        lines = [
            f"GET /api/projects/{keys.project_id}/events/stream/{query} HTTP/1.1",
            "Host: test",
            f"Authorization: Bearer {keys.personal_api_key}",
            *([f"Last-Event-ID: {last}"] if last else []),
        ]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        assert head.startswith("HTTP/1.1 200 "), head
        return cls(reader, writer, head)

    async def next(self) -> Message:
        while True:
            chunk = await self._chunk()
            assert chunk, "the stream has ended"
            # The server sends each message as its own chunk.
            message = parsed(chunk.decode().removesuffix("\n\n"))
            if message is not None:
                return message

    async def messages_until(self, event: str) -> list[Message]:
        """Return all messages up to the first event of this name, which is the last of them."""
        messages = [await self.next()]
        while messages[-1].event != "message" or messages[-1].data["event"] != event:
            messages.append(await self.next())
        return messages

    async def ends(self) -> None:
        """Wait until the server has ended the response."""
        while await self._chunk():
            pass

    async def _chunk(self) -> bytes:
        size = int(await self.reader.readline(), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    def close(self) -> None:
        self.writer.close()
