"""Listeners on a real socket are notified, counted, and disconnected at the end."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.support import plain_http
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("starts real servers")

SOON_S = 60
LISTENERS = 40


class Listener:
    """A connection that is read line by line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, server: RealServer, keys: Keys) -> "Listener":
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        path = f"/api/projects/{keys.project_id}/feature_flags/stream/"
        key = f"Authorization: Bearer {keys.personal_api_key}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: test\r\n{key}\r\n\r\n".encode())
        assert b" 200 " in (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
        return cls(reader, writer)

    async def version(self) -> int:
        """Return the version in the next message."""
        while line := await self._reader.readline():
            if match := re.match(rb"id: (\d+)", line):
                return int(match[1])
        raise AssertionError("the stream has ended")

    async def over(self) -> None:
        """Wait until the server has ended the response."""
        while (line := await self._reader.readline()) != b"0\r\n":
            assert line, "the connection has ended within the answer"
        self.close()

    def close(self) -> None:
        self._writer.close()

    async def end(self) -> None:
        await self._reader.read()
        self._writer.close()


async def test_listeners_are_notified_of_changes_and_disconnected_at_the_end(
    tmp_path: Path,
) -> None:
    server = PreloadedServer(tmp_path / "data")
    keys = server.setup()
    server.start()
    try:
        async with asyncio.timeout(SOON_S * 3):
            await follow(server, keys)
    finally:
        server.close()


async def follow(server: RealServer, keys: Keys) -> None:
    listeners = [await Listener.open(server, keys) for _ in range(LISTENERS)]
    before = [await listener.version() for listener in listeners]
    await create_flag(server, keys)
    after = [await listener.version() for listener in listeners]
    counted = await gauge(server)

    stopping = asyncio.create_task(asyncio.to_thread(server.stop))
    await asyncio.gather(*(listener.end() for listener in listeners))

    assert await stopping == 0
    assert after == [version + 1 for version in before]
    assert counted == LISTENERS


async def create_flag(server: RealServer, keys: Keys) -> None:
    async with plain_http.AsyncClient() as client:
        answer = await client.post(
            f"{server.url}/api/projects/{keys.project_id}/feature_flags/",
            json={"key": "f", "filters": {"groups": [{}]}},
            headers={"Authorization": f"Bearer {keys.personal_api_key}"},
        )
    assert answer.status_code == 201, answer.text


async def gauge(server: RealServer) -> float:
    async with plain_http.AsyncClient() as client:
        text = (await client.get(f"{server.url}/metrics")).text
    match = re.search(r"^fanion_flag_listeners (\S+)$", text, re.MULTILINE)
    assert match
    return float(match[1])
