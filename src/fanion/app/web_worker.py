"""The web worker process: answers capture and flags on connections that the server hands over.

It ends when the server says so, or at once when the server has ended.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Coroutine
from functools import partial
from typing import Any, assert_never

import uvloop

from fanion.accept_log.postgres import PostgresLog, open_postgres_log
from fanion.accept_log.sqlite import SqliteAppender
from fanion.app.application import WebWorkerServices, build_web_worker_services
from fanion.app.web_worker_messages import (
    Changed,
    HandOver,
    LogChannel,
    MetricsReport,
    NeedLogChannel,
    RateLimitAnswer,
    RateLimitRequest,
    Ready,
    Stop,
    ToServer,
    ToWorker,
    WorkerStart,
)
from fanion.config import Settings, read_settings
from fanion.db.engine import Records, unopened_records
from fanion.observability.logging import open_logs
from fanion.observability.metrics import Metrics
from fanion.processes.channel import Channel, socket_to_parent
from fanion.processes.shared_counters import SharedCounters
from fanion.projects.model import Project
from fanion.runtime.background import background_tasks, run_loop
from fanion.runtime.clock import utc_now
from fanion.runtime.interpreter import enable_garbage_collection, shorten_switch_interval
from fanion.server.connection import Connection
from fanion.server.head import RequestHead
from fanion.server.request import FastEndpoint, Reply, Request
from fanion.server.server import HttpServer
from fanion.web.application import FastRoute, error_response
from fanion.web.routes import AnsweredBy

# To PostgreSQL: batched reads of flags, two at a time of each kind; both lanes of the log.
RECORDS_CONNECTIONS, LOG_CONNECTIONS = 4, 2
COUNT_S = 1.0  # how old this process's metrics in the server may be


class WebWorker:
    """line: to the server; file: of the shared counters; number: which of the workers this is"""

    def __init__(self, line: socket.socket, file: int, number: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._counters = SharedCounters(file, number + 1)
        self._answered = self._counters.answered(number)
        self._closed = self._counters.closed(number)
        self._stop = asyncio.Event()
        self._http = HttpServer(
            None, self._stop, render_error=error_response, is_proxy=self._is_proxy
        )
        self._started: asyncio.Future[WorkerStart] = self._loop.create_future()
        self._changes = 0  # that have been received
        self._caught_up = asyncio.Event()
        self._rate_limit_answers: dict[int, asyncio.Future[int]] = {}
        self._rate_limit_requests = 0
        self._metrics = Metrics()
        self._log: SqliteAppender | PostgresLog | None = None
        self._parts: WebWorkerServices | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._channel: Channel[ToWorker] = Channel(line, ToWorker, self._receive, _exit)

    async def run(self) -> None:
        start = await self._started
        settings = read_settings({}, start.settings)
        lines = open_logs(settings.log_level)
        records = unopened_records(settings.records_url, RECORDS_CONNECTIONS)
        records.count_writes(self._counters.writes, here=False)
        try:
            log = self._log = await self._open_log(settings, records)
            parts = self._parts = build_web_worker_services(
                settings, records, log, self, self._metrics, lines, utc_now
            )
            async with background_tasks(*parts.flags.background, self._count):
                await self._serve()
            await log.close()
        finally:
            self._send(MetricsReport(self._metrics.measured()))
            await records.close()
            lines.close()

    async def answer(self, request: Request) -> bool:
        """Every change that was made before the request is seen."""
        if self._changes < self._counters.changes:
            await self._catch_up(self._counters.changes)
        assert self._parts is not None
        costly = await self._parts.application.answer(request)
        self._answered[0] += 1
        return costly

    def fast_path(self, head: RequestHead) -> FastRoute | None:
        """As `answer`."""
        assert self._parts is not None
        fast = self._parts.application.fast_path(head)
        if fast is not None:
            fast.endpoint = partial(self._answer_fast, fast.endpoint)
        return fast

    def _is_proxy(self, address: str) -> bool:
        """There are parts before there is a connection."""
        assert self._parts is not None
        return self._parts.flags.proxies.is_trusted(address)

    async def take(self, project: Project, items: int, size: int, now: float) -> int:
        """As `RateLimiter` of captures: the server knows what all processes have taken."""
        self._rate_limit_requests += 1
        request_id = self._rate_limit_requests
        answer = self._rate_limit_answers[request_id] = self._loop.create_future()
        self._send(RateLimitRequest(request_id, project.id, items, size, now))
        return int(await answer)

    def _answer_fast(self, endpoint: FastEndpoint, body: bytes, peer: str, reply: Reply) -> bool:
        if self._changes < self._counters.changes or not endpoint(body, peer, reply):
            return False
        self._answered[0] += 1
        return True

    async def _open_log(self, settings: Settings, records: Records) -> SqliteAppender | PostgresLog:
        if records.dialect == "postgresql":
            bytes_max = settings.accept_log_bytes_max
            return await open_postgres_log(
                settings.records_url, bytes_max=bytes_max, connections=LOG_CONNECTIONS
            )
        self._send(NeedLogChannel())
        return SqliteAppender(partial(self._send, NeedLogChannel()))

    async def _serve(self) -> None:
        self._http.pass_on = self._pass_back
        self._http.on_closed = self._count_closed
        await self._http.show(self)
        enable_garbage_collection()
        self._send(Ready())
        await self._http.ended()

    async def _count(self) -> None:
        await run_loop(self._report_metrics, COUNT_S, "metrics_not_reported", ())

    async def _report_metrics(self) -> None:
        self._send(MetricsReport(self._metrics.measured()))

    async def _catch_up(self, changes: int) -> None:
        while self._changes < changes:
            self._caught_up.clear()
            await self._caught_up.wait()

    def _pass_back(self, connection: Connection, path: str, first: bytes) -> bool:
        """To the server, what it alone answers."""
        assert self._parts is not None
        route = self._parts.routes.find(path)
        if route is not None and (
            route.answered_by is AnsweredBy.WORKER or not connection.is_costly
        ):
            return False
        client = connection.detach()
        if client is None:
            return False
        self._channel.send(HandOver(first), client)
        return True

    def _count_closed(self, _: Connection) -> None:
        self._closed[0] += 1

    def _receive(self, message: ToWorker, descriptor: int | None) -> None:
        match message:
            case HandOver(first):
                assert descriptor is not None
                self._spawn(self._adopt(socket.socket(fileno=descriptor), first))
            case Changed(what, changed):
                self._apply(what, changed)
                self._changes += 1
                self._caught_up.set()
            case RateLimitAnswer(request_id, seconds):
                answer = self._rate_limit_answers.pop(request_id)
                if not answer.done():
                    answer.set_result(seconds)
            case LogChannel():
                assert descriptor is not None
                self._spawn(self._connect_log(socket.socket(fileno=descriptor)))
            case WorkerStart():
                self._changes = message.changes
                self._started.set_result(message)
            case Stop():
                self._stop.set()
            case _:
                assert_never(message)

    def _apply(self, what: str, changed: int) -> None:
        if self._parts is None:
            return  # nothing is cached yet
        flags = self._parts.flags
        match what:
            case "flags":
                flags.flag_sets.invalidate(changed)
            case "project":
                flags.projects.forget(changed)
            case _:
                flags.authentication.forget()

    async def _adopt(self, client: socket.socket, first: bytes) -> None:
        try:
            await self._http.adopt(client, first)
        except OSError:  # the client has gone
            self._closed[0] += 1

    async def _connect_log(self, line: socket.socket) -> None:
        assert isinstance(self._log, SqliteAppender)
        await self._log.connect(line)

    def _send(self, message: ToServer) -> None:
        self._channel.send(message)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _exit() -> None:
    """The server has ended, and with it the connections and the log of the requests under way."""
    os._exit(1)


async def _run(line: socket.socket, file: int, number: int) -> None:
    await WebWorker(line, file, number).run()


if __name__ == "__main__":
    parent = socket_to_parent()
    shorten_switch_interval()
    uvloop.run(_run(parent, *map(int, sys.argv[2:4])))
