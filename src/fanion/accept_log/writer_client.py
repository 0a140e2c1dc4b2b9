"""A line to the program that writes the file of the embedded accept log."""

import asyncio
import socket
from collections import deque
from collections.abc import Sequence
from typing import cast

import msgspec

from fanion.accept_log.codec import group
from fanion.accept_log.port import Backlog, Envelope, LogFull
from fanion.accept_log.writer_main import (
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


class WriterChannel(asyncio.Protocol):
    """Answers come in the order of the questions."""

    def __init__(self) -> None:
        self._asked: deque[asyncio.Future[Answer]] = deque()
        self._received = bytearray()
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._transport: asyncio.WriteTransport | None = None

    @property
    def is_lost(self) -> bool:
        return self._ended.is_set()

    def _send(self, message: Open | Asked) -> "asyncio.Future[Answer]":
        """raises: OSError by the future, when the process ends before it answers"""
        future: asyncio.Future[Answer] = self._loop.create_future()
        if self._transport is None or self.is_lost:
            future.set_exception(_gone())
            return future
        self._asked.append(future)
        self._transport.write(frame(message))
        return future

    async def open(self, wanted: Open) -> None:
        """Of the server's own line, before anything else. raises: OSError"""
        _checked(await self._send(wanted))

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> int:
        answer = await self._ask(Write(group(envelopes), historical))
        assert isinstance(answer, Done)
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
        """What was asked is done first. Closing the server's own line ends the program."""
        if self._transport is not None:
            self._transport.close()
        await self._ended.wait()

    async def _ask(self, asked: Asked) -> Answer:
        return _checked(await self._send(asked))

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


async def connect(line: socket.socket) -> WriterChannel:
    line.setblocking(False)
    channel = WriterChannel()
    await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=line)
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
