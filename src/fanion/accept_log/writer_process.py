"""Who writes the file of the embedded accept log: a process of its own, asked over a socket."""

import asyncio
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from fanion.accept_log.port import Backlog, Envelope
from fanion.accept_log.writer_client import WriterChannel, connect
from fanion.accept_log.writer_main import Open


class WriterProcess:
    """Started at `open`, and again by the next call after it has ended of itself. What it was
    asked then has failed for the callers, and may have been written."""

    def __init__(self, wanted: Open) -> None:
        self._wanted = wanted
        self._running: _Running | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """raises: OSError"""
        await self._opened()

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> int:
        last = await (await self._channel()).write(envelopes, historical=historical)
        self._wanted.after = last
        return last

    async def trim_some(self, upto: int, *, historical: bool) -> bool:
        # Others may have written it: a file that is lost begins behind it all the same.
        self._wanted.after = max(self._wanted.after, upto)
        return await (await self._channel()).trim_some(upto, historical=historical)

    async def backlog(self, after: int, *, historical: bool) -> Backlog:
        return await (await self._channel()).backlog(after, historical=historical)

    async def another_line(self) -> socket.socket:
        """The end of a further line to the same program, for another process.

        raises: OSError
        """
        running = await self._opened()
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(running.door, [b"\0"], [theirs.fileno()])
        return ours

    async def close(self) -> None:
        if self._running is not None:
            await self._running.close()
            self._running = None

    async def _channel(self) -> WriterChannel:
        running = self._running
        if running is None or running.channel.is_lost:
            running = await self._opened()
        return running.channel

    async def _opened(self) -> "_Running":
        async with self._opening:
            if self._running is not None:
                if not self._running.channel.is_lost:
                    return self._running
                structlog.get_logger().warning("accept_log_writer_started_again")
                await self._running.close()
                self._running = None
            running = await _start()
            try:
                await running.channel.open(self._wanted)
            except BaseException:
                await running.close()
                raise
            self._running = running
            return running


@dataclass(frozen=True, slots=True)
class _Running:
    """door: where lines for other processes are handed in"""

    process: asyncio.subprocess.Process
    channel: WriterChannel
    door: socket.socket

    async def close(self) -> None:
        """The program first does what it was asked."""
        await self.channel.close()
        self.door.close()
        await self.process.wait()


async def _start() -> _Running:
    """raises: OSError"""
    line, its_line = socket.socketpair()
    door, its_door = socket.socketpair()
    with its_line, its_door:
        fds = [its_line.fileno(), its_door.fileno()]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fanion.accept_log.writer_main", *map(str, fds),
            stdin=asyncio.subprocess.DEVNULL, pass_fds=fds,
        )  # fmt: skip
    return _Running(process, await connect(line), door)
