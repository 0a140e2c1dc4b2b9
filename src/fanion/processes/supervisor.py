"""The server's side of its fronts: keeps them running, hands connections to them, and tells them
what has changed before whoever changed it is answered."""

import asyncio
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, assert_never

import structlog

from fanion.accept_log.sqlite import SqliteLog
from fanion.app.parts import EVALUATING
from fanion.app.services import PublicParts
from fanion.db.engine import RecordsUnavailable
from fanion.observability.metrics import Measured, added
from fanion.processes.messages import (
    AskRoom,
    Begin,
    Changed,
    Counted,
    FromFront,
    LogLine,
    Ready,
    Room,
    Take,
    WantLogLine,
)
from fanion.processes.shared_counters import Board
from fanion.processes.worker import FrontProcess
from fanion.server.connection import Connection
from fanion.server.server import HttpServer
from fanion.web.routes import Routes

# A front that has ended of itself is started again, each time later when it ends soon.
START_AGAIN_S = 0.5
START_AGAIN_S_MAX = 30.0
# How long this process leaves flags to its fronts after it has compiled or answered very many.
COSTLY_S = 10.0


class Hall:
    """Connections that ask for `shared` go to the front that has the fewest of them; those that
    ask for flags stay here when this process has fewer. All others stay, and come back when they
    ask for something else.

    Captures are left to fronts: beside ingestion, which takes the interpreter for 10 to 25 ms at a
    time, they wait twice as long. Whoever asks for very many flags asks this process, and
    meanwhile the other flags are left to fronts too.
    """

    def __init__(
        self,
        board: Board,
        fronts: int,
        settings: Mapping[str, Any],
        shared: Routes,
        public: PublicParts,
        http: HttpServer,
    ) -> None:
        self._board = board
        self._fronts = [FrontProcess(number, board, self._receive) for number in range(fronts)]
        self._settings = dict(settings)
        self._shared = shared
        self._public = public
        self._http = http
        self._kept: set[Connection] = set()
        self._ended: Measured = {}  # what fronts had measured that are no more
        self._busy_until = 0.0
        self._is_ending = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    def begin(self) -> None:
        """Share numbers and connections from now on."""
        public, flags = self._public, self._public.flags
        public.records.count_writes(self._board.writes, here=True)
        public.metrics.elsewhere = self._measured
        public.metrics.hot.answered_elsewhere = self._answered
        flags.flag_sets.on_changed = lambda project_id: self._tell("flags", project_id)
        flags.flag_sets.on_large = self._be_busy
        flags.projects.on_changed = lambda project_id: self._tell("project", project_id)
        flags.authentication.listen(lambda: self._tell("keys", 0))
        self._http.pass_on = self._pass_on
        self._http.on_closed = self._kept.discard
        for front in self._fronts:
            self._do(self._keep(front))

    async def end(self) -> None:
        """Let the fronts answer what they were asked."""
        self._is_ending = True
        await asyncio.gather(*(front.end() for front in self._fronts))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _keep(self, front: FrontProcess) -> None:
        """Start it again when it ends of itself."""
        again_s = START_AGAIN_S
        while True:
            began = monotonic()
            try:
                code = await front.run(Begin(self._settings, self._board.changes))
            except OSError as error:
                self._log.error("front_not_started", reason=str(error))
            else:
                if self._is_ending:
                    return
                self._log.error("front_ended", front=front.number, code=code)
            self._ended = added([self._ended, front.measured])
            front.measured = {}
            if monotonic() - began > START_AGAIN_S_MAX:
                again_s = START_AGAIN_S
            await asyncio.sleep(again_s)
            again_s = min(again_s * 2, START_AGAIN_S_MAX)

    def _pass_on(self, connection: Connection, path: str, first: bytes) -> bool:
        ready = [front for front in self._fronts if front.is_ready]
        if not ready:
            return False
        front = ready[0] if len(ready) == 1 else min(ready, key=lambda one: one.connections)
        is_kept, kept = connection in self._kept, len(self._kept)
        is_busy = self._http.now() < self._busy_until
        if is_kept and not is_busy and front.connections + 1 >= kept:
            return False
        route = self._shared.find(path)
        if route is None:
            return False
        if route.name in EVALUATING:
            if connection.is_costly:
                self._be_busy()
                return False
            if not is_kept and not is_busy and front.connections >= kept:
                self._kept.add(connection)
                return False
        client = connection.leave()
        if client is None:
            return False
        front.give(Take(first), client)
        return True

    def _be_busy(self) -> None:
        self._busy_until = self._http.now() + COSTLY_S

    def _receive(self, front: FrontProcess, message: FromFront, file: int | None) -> None:
        match message:
            case Take(first):
                assert file is not None
                self._do(self._take_back(socket.socket(fileno=file), first))
            case AskRoom():
                self._do(self._answer(front, message))
            case WantLogLine():
                self._do(self._send_log_line(front))
            case Ready() | Counted():
                pass
            case _:
                assert_never(message)

    async def _take_back(self, client: socket.socket, first: bytes) -> None:
        with suppress(OSError):  # the client has gone
            await self._http.adopt(client, first)

    async def _answer(self, front: FrontProcess, asked: AskRoom) -> None:
        """A project that cannot be read has no limits, as for the server's own requests."""
        seconds = 0
        with suppress(RecordsUnavailable):
            project = await self._public.flags.projects.by_id(asked.project_id)
            if project is not None:
                room = self._public.capture.room
                seconds = await room.take(project, asked.items, asked.size, asked.now)
        front.send(Room(asked.question, seconds))

    async def _send_log_line(self, front: FrontProcess) -> None:
        log = self._public.log
        assert isinstance(log, SqliteLog)  # others need none
        try:
            line = await log.writer.add_channel()
        except OSError as error:
            self._log.error("accept_log_unavailable", reason=str(error))
        else:
            front.send(LogLine(), line.detach())

    def _tell(self, what: str, changed: int) -> None:
        for front in self._fronts:
            front.send(Changed(what, changed))
        self._board.changes += 1

    def _measured(self) -> Iterable[Measured]:
        return [self._ended, *(front.measured for front in self._fronts)]

    def _answered(self) -> int:
        return sum(self._board.answered(front.number)[0] for front in self._fronts)

    def _do(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
