"""Who writes the file of the embedded accept log: a process of its own, asked over a socket."""

import asyncio
import socket
import sys
from collections import deque
from collections.abc import Sequence
from typing import cast

import msgspec
import structlog

from fanion.log.pack import group
from fanion.log.port import Backlog, Envelope, LogFull
from fanion.log.writer_main import (
    LENGTH,
    Answer,
    Asked,
    Count,
    Counted,
    Done,
    Failed,
    Open,
    Trim,
    Write,
    frame,
)

_decode = msgspec.msgpack.Decoder(Answer).decode


class WriterProcess:
    """Started at `open`, and again by the next call after it has ended of itself. What it was
    asked then has failed for the callers, and may have been written."""

    def __init__(self, wanted: Open) -> None:
        self._wanted = wanted
        self._channel: _Channel | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """raises: OSError"""
        await self._opened()

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> int:
        answer = await self._ask(Write(group(envelopes), historical))
        assert isinstance(answer, Done)
        self._wanted.after = answer.value
        return answer.value

    async def trim_some(self, upto: int, *, historical: bool) -> bool:
        answer = await self._ask(Trim(upto, historical))
        assert isinstance(answer, Done)
        return bool(answer.value)

    async def backlog(self, after: int, *, historical: bool) -> Backlog:
        answer = await self._ask(Count(after, historical))
        assert isinstance(answer, Counted)
        return answer.backlog

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def _ask(self, asked: Asked) -> Answer:
        channel = self._channel
        if channel is None or channel.is_lost:
            channel = await self._opened()
        return _checked(await channel.ask(asked))

    async def _opened(self) -> "_Channel":
        async with self._opening:
            if self._channel is not None:
                if not self._channel.is_lost:
                    return self._channel
                structlog.get_logger().warning("accept_log_writer_started_again")
                await self._channel.close()
                self._channel = None
            channel = await _start()
            try:
                _checked(await channel.ask(self._wanted))
            except BaseException:
                await channel.close()
                raise
            self._channel = channel
            return channel


class _Channel(asyncio.Protocol):
    """Answers come in the order of the questions."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._asked: deque[asyncio.Future[Answer]] = deque()
        self._received = bytearray()
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._transport: asyncio.WriteTransport | None = None

    @property
    def is_lost(self) -> bool:
        return self._ended.is_set()

    def ask(self, message: Open | Asked) -> "asyncio.Future[Answer]":
        """raises: OSError by the future, when the process ends before it answers"""
        future: asyncio.Future[Answer] = self._loop.create_future()
        if self._transport is None or self.is_lost:
            future.set_exception(_gone())
            return future
        self._asked.append(future)
        self._transport.write(frame(message))
        return future

    async def close(self) -> None:
        """Ends the process, which first does what it was asked."""
        if self._transport is not None:
            self._transport.close()
        await self._ended.wait()
        await self._process.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self._received)[0]
            if len(self._received) < end:
                return
            answer = _decode(self._received[LENGTH.size : end])
            del self._received[:end]
            future = self._asked.popleft()
            if not future.done():
                future.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        self._ended.set()
        while self._asked:
            future = self._asked.popleft()
            if not future.done():
                future.set_exception(_gone())


async def _start() -> _Channel:
    """raises: OSError"""
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fanion.log.writer_main", str(theirs.fileno()),
            stdin=asyncio.subprocess.DEVNULL, pass_fds=[theirs.fileno()],
        )  # fmt: skip
    ours.setblocking(False)
    channel = _Channel(process)
    await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=ours)
    return channel


def _checked(answer: Answer) -> Answer:
    if isinstance(answer, Failed):
        match answer.kind:
            case "full":
                raise LogFull(answer.reason)
            case "store":
                raise OSError(answer.reason)
            case _:
                raise RuntimeError(answer.reason)
    return answer


def _gone() -> OSError:
    return OSError("accept log: its writer has ended")
