"""Who prepares the runs of a server that catches up: a process of its own, asked over a socket."""

import asyncio
import socket
import sys
from collections.abc import Mapping, Sequence

from fanion.accept_log.port import Entry
from fanion.ingest.pipeline.batch import PreparedRun
from fanion.ingest.pipeline.preparer_codec import question, read
from fanion.ingest.pipeline.preparer_main import LENGTH, receive, send
from fanion.ingest.pipeline.types import ProjectRules


class Preparer:
    """Started when it is first asked, and again when it is asked after it has ended.

    geoip_db: the path of the database, or ""
    """

    def __init__(self, geoip_db: str = "") -> None:
        self._geoip_db = geoip_db
        self._running: _Running | None = None
        self._turn = asyncio.Lock()

    async def prepare(
        self,
        entries: Sequence[Entry],
        rules: Mapping[int, ProjectRules],
        types: Mapping[int, Mapping[str, int]],
    ) -> PreparedRun | None:
        """None when the caller has to do it: the program is not there yet, or any more, or the
        run needs more than can be known ahead.

        rules and types (group type → index): by project
        raises: OSError when the program cannot be started
        """
        async with self._turn:
            running = self._running
            if running is None or running.process.returncode is not None:
                await self._end()
                self._running = await _start(self._geoip_db)
                return None
            try:
                if not running.is_ready():
                    return None
                return await asyncio.to_thread(_ask, running.line, entries, rules, types)
            except OSError:
                await self._end()
                return None
            except BaseException:
                await self._end()  # what it still answers is no answer to the next question
                raise

    async def close(self) -> None:
        async with self._turn:
            await self._end()

    async def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.end()


class _Running:
    def __init__(self, process: asyncio.subprocess.Process, line: socket.socket) -> None:
        self.process = process
        self.line = line
        self._has_greeted = False

    def is_ready(self) -> bool:
        """raises: OSError when it has gone"""
        if not self._has_greeted:
            try:
                self._has_greeted = bool(self.line.recv(LENGTH.size, socket.MSG_DONTWAIT))
            except BlockingIOError:
                return False
            if not self._has_greeted:
                raise _gone()
        return True

    async def end(self) -> None:
        """At once: it keeps nothing."""
        self.line.shutdown(socket.SHUT_RDWR)  # a thread may wait for it
        self.line.close()
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


async def _start(geoip_db: str) -> _Running:
    """raises: OSError"""
    line, its_line = socket.socketpair()
    with its_line:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fanion.ingest.pipeline.preparer_main",
            str(its_line.fileno()), geoip_db,
            stdin=asyncio.subprocess.DEVNULL, pass_fds=[its_line.fileno()],
        )  # fmt: skip
    return _Running(process, line)


def _ask(
    line: socket.socket,
    entries: Sequence[Entry],
    rules: Mapping[int, ProjectRules],
    types: Mapping[int, Mapping[str, int]],
) -> PreparedRun | None:
    """raises: OSError"""
    send(line, question(entries, rules, types))
    answered = receive(line)
    if answered is None:
        raise _gone()
    return read(entries, answered) if answered else None


def _gone() -> OSError:
    return OSError("the program that prepares runs has ended")
