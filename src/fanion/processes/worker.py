"""One front, as the server sees it: a process, the line to it, and what it was handed."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from typing import Final

from fanion.observability.metrics import Measured
from fanion.processes.channel import Channel
from fanion.processes.messages import Begin, Counted, End, FromFront, Ready, ToFront
from fanion.processes.shared_counters import Board

END_S_MAX = 8.0  # for answers, counts and the log, whose own limits come to less

Receive = Callable[["FrontProcess", FromFront, int | None], None]


class FrontProcess:
    """measured: as it last told"""

    def __init__(self, number: int, board: Board, receive: Receive) -> None:
        self.number: Final = number
        self.is_ready = False
        self.measured: Measured = {}
        self._board = board
        self._closed = board.closed(number)
        self._given = 0
        self._receive = receive
        self._channel: Channel[FromFront] | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def connections(self) -> int:
        """That it has open, as far as is known."""
        return self._given - self._closed[0]

    async def run(self, begin: Begin) -> int:
        """Until the process ends; its exit code."""
        self._board.begin(self.number)
        self._given = 0
        line, its_line = socket.socketpair()
        self._channel = Channel(line, FromFront, self._received, self._lost)
        self._channel.send(begin)
        fds = [its_line.fileno(), self._board.file]
        with its_line:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "fanion.app.web_worker", *map(str, (*fds, self.number)),
                stdin=asyncio.subprocess.DEVNULL, pass_fds=fds,
            )  # fmt: skip
        try:
            return await self._process.wait()
        finally:
            self._lost()

    def send(self, message: ToFront, file: int | None = None) -> None:
        """file: is closed here"""
        if self._channel is not None:
            self._channel.send(message, file)
        elif file is not None:
            os.close(file)

    def give(self, message: ToFront, connection: int) -> None:
        self._given += 1
        self.send(message, connection)

    async def end(self) -> None:
        """Let it answer what it was asked."""
        self.is_ready = False
        self.send(End())
        process = self._process
        if process is None or process.returncode is not None:
            return
        try:
            await asyncio.wait_for(process.wait(), END_S_MAX)
        except TimeoutError:
            process.kill()
            await process.wait()

    def _received(self, message: FromFront, file: int | None) -> None:
        match message:
            case Ready():
                self.is_ready = True
            case Counted(measured):
                self.measured = measured
        self._receive(self, message, file)

    def _lost(self) -> None:
        self.is_ready = False
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None and self._process.returncode is None:
            self._process.kill()  # whoever does not listen any more
