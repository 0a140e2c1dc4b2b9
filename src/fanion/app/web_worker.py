"""The program of a front: answers capture and flags on the connections that the server hands it.

It ends when the server says so, or at once when the server is no more.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Coroutine
from functools import partial
from typing import Any, assert_never

import uvloop

from fanion.accept_log.postgres import PostgresLog, open_postgres_log
from fanion.accept_log.sqlite import SqliteAppender
from fanion.app.parts import EVALUATING, FrontParts, build_front_parts
from fanion.config import Settings, read_settings
from fanion.db.engine import Records, unopened_records
from fanion.observability.logging import open_logs
from fanion.observability.metrics import Metrics
from fanion.processes.channel import Channel
from fanion.processes.messages import (
    AskRoom,
    Begin,
    Changed,
    Counted,
    End,
    FromFront,
    LogLine,
    Ready,
    Room,
    Take,
    ToFront,
    WantLogLine,
)
from fanion.processes.shared_counters import Board
from fanion.projects.model import Project
from fanion.runtime.background import beside
from fanion.runtime.clock import utc_now
from fanion.runtime.interpreter import collect_garbage, hand_over_often
from fanion.server.connection import Connection
from fanion.server.exchange import Exchange, RequestHead, Scope
from fanion.server.server import HttpServer
from fanion.web.fast_path import Prompt
from fanion.wire.endpoint import PromptEndpoint, Reply

# To PostgreSQL: reads of flags share statements, two at a time for each kind of thing; both lanes.
RECORDS_CONNECTIONS, LOG_CONNECTIONS = 4, 2
COUNT_S = 1.0  # how old what the server knows of this process's metrics may be


class Front:
    """files: where numbers are shared; number: which of the fronts this is"""

    def __init__(self, line: socket.socket, file: int, number: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._board = Board(file, number + 1)
        self._answered = self._board.answered(number)
        self._closed = self._board.closed(number)
        self._stop = asyncio.Event()
        self._http = HttpServer(None, self._stop, is_proxy=self._is_proxy)
        self._begun: asyncio.Future[Begin] = self._loop.create_future()
        self._changes = 0  # of which this process was told
        self._caught_up = asyncio.Event()
        self._questions: dict[int, asyncio.Future[int]] = {}
        self._asked = 0
        self._metrics = Metrics()
        self._log: SqliteAppender | PostgresLog | None = None
        self._parts: FrontParts | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._channel: Channel[ToFront] = Channel(line, ToFront, self._receive, _leave)

    async def run(self) -> None:
        begin = await self._begun
        settings = read_settings({}, begin.settings)
        lines = open_logs(settings.log_level)
        records = unopened_records(settings.records_url, RECORDS_CONNECTIONS)
        records.count_writes(self._board.writes, here=False)
        try:
            log = self._log = await self._open_log(settings, records)
            parts = self._parts = build_front_parts(
                settings, records, log, self, self._metrics, lines, utc_now
            )
            async with beside(*parts.flags.followers, self._count):
                await self._serve()
            await log.close()
        finally:
            self._tell(Counted(self._metrics.measured()))
            await records.close()
            lines.close()

    async def answer(self, scope: Scope, exchange: Exchange) -> bool:
        """With everything that had changed when it was asked."""
        if self._changes < self._board.changes:
            await self._catch_up(self._board.changes)
        assert self._parts is not None
        costly = await self._parts.application.answer(scope, exchange)
        self._answered[0] += 1
        return costly

    def prompt(self, head: RequestHead) -> Prompt | None:
        """As `answer`."""
        assert self._parts is not None
        prompt = self._parts.application.prompt(head)
        if prompt is not None:
            prompt.endpoint = partial(self._answer_promptly, prompt.endpoint)
        return prompt

    def _is_proxy(self, address: str) -> bool:
        """No connection comes before there are parts."""
        assert self._parts is not None
        return self._parts.flags.proxies.is_trusted(address)

    async def take(self, project: Project, items: int, size: int, now: float) -> int:
        """As `ingest.capture.endpoints.Room`: the server knows what all processes have taken."""
        self._asked += 1
        answer = self._questions[self._asked] = self._loop.create_future()
        self._tell(AskRoom(self._asked, project.id, items, size, now))
        return int(await answer)

    def _answer_promptly(
        self, endpoint: PromptEndpoint, body: bytes, peer: str, reply: Reply
    ) -> bool:
        if self._changes < self._board.changes or not endpoint(body, peer, reply):
            return False
        self._answered[0] += 1
        return True

    async def _open_log(self, settings: Settings, records: Records) -> SqliteAppender | PostgresLog:
        if records.dialect == "postgresql":
            bytes_max = settings.accept_log_bytes_max
            return await open_postgres_log(
                settings.records_url, bytes_max=bytes_max, connections=LOG_CONNECTIONS
            )
        self._tell(WantLogLine())
        return SqliteAppender(partial(self._tell, WantLogLine()))

    async def _serve(self) -> None:
        self._http.pass_on = self._pass_back
        self._http.on_closed = self._count_closed
        await self._http.show(self)
        collect_garbage()
        self._tell(Ready())
        await self._http.ended()

    async def _count(self) -> None:
        while True:
            self._tell(Counted(self._metrics.measured()))
            await asyncio.sleep(COUNT_S)

    async def _catch_up(self, changes: int) -> None:
        while self._changes < changes:
            self._caught_up.clear()
            await self._caught_up.wait()

    def _pass_back(self, connection: Connection, path: str, first: bytes) -> bool:
        """To the server, what it alone answers."""
        assert self._parts is not None
        route = self._parts.routes.find(path)
        if route is not None and not (route.name in EVALUATING and connection.is_costly):
            return False
        client = connection.leave()
        if client is None:
            return False
        self._channel.send(Take(first), client)
        return True

    def _count_closed(self, _: Connection) -> None:
        self._closed[0] += 1

    def _receive(self, message: ToFront, file: int | None) -> None:
        match message:
            case Take(first):
                assert file is not None
                self._do(self._adopt(socket.socket(fileno=file), first))
            case Changed(what, changed):
                self._apply(what, changed)
                self._changes += 1
                self._caught_up.set()
            case Room(question, seconds):
                answer = self._questions.pop(question)
                if not answer.done():
                    answer.set_result(seconds)
            case LogLine():
                assert file is not None
                self._do(self._join(socket.socket(fileno=file)))
            case Begin():
                self._changes = message.changes
                self._begun.set_result(message)
            case End():
                self._stop.set()
            case _:
                assert_never(message)

    def _apply(self, what: str, changed: int) -> None:
        if self._parts is None:
            return  # nothing is known yet
        flags = self._parts.flags
        match what:
            case "flags":
                flags.flag_sets.changed(changed)
            case "project":
                flags.projects.forget(changed)
            case _:
                flags.authentication.forget()

    async def _adopt(self, client: socket.socket, first: bytes) -> None:
        try:
            await self._http.adopt(client, first)
        except OSError:  # the client has gone
            self._closed[0] += 1

    async def _join(self, line: socket.socket) -> None:
        assert isinstance(self._log, SqliteAppender)
        await self._log.connect(line)

    def _tell(self, message: FromFront) -> None:
        self._channel.send(message)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _leave() -> None:
    """The server is no more: whatever is under way here has nobody to answer for it."""
    os._exit(1)


async def _run(line: int, file: int, number: int) -> None:
    await Front(socket.socket(fileno=line), file, number).run()


if __name__ == "__main__":
    # The server that started it says when to end.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    hand_over_often()
    uvloop.run(_run(*map(int, sys.argv[1:4])))
