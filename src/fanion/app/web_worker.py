"""The web worker process and its messages: it answers capture and flags on handed-over connections.

It ends when the server sends `Stop`, or at once when the server has ended.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Coroutine
from functools import partial
from typing import Any, assert_never

import msgspec
import uvloop

from fanion.accept_log.group_commit import GroupCommitLog
from fanion.accept_log.shared import SharedLog
from fanion.accept_log.spool import SpooledLog, SpoolSwitch
from fanion.accept_log.sqlite import SqliteAppender
from fanion.app.accept_logs import kafka_log
from fanion.app.application import Readiness, build_application
from fanion.app.loops import observed_loops
from fanion.app.services import AppContext, build_capture, build_flag_services
from fanion.app.telemetry import open_tracing
from fanion.config import Settings, read_otel_settings, read_settings
from fanion.db.engine import Records, unopened_records
from fanion.ingest.items import are_named
from fanion.ingest.partitioning import cut
from fanion.observability.logging import open_logs
from fanion.observability.metrics import Measured, Metrics
from fanion.processes.channel import Channel, receive_first, socket_to_parent
from fanion.processes.shared_counters import SharedCounters
from fanion.projects.model import Project
from fanion.runtime.background import BackgroundTask, background_tasks, run_loop
from fanion.runtime.interpreter import enable_garbage_collection, shorten_switch_interval
from fanion.runtime.loaded_pages import release_loaded_pages
from fanion.server.connection import Connection
from fanion.server.head import RequestHead
from fanion.server.request import FastEndpoint, LaterResponse, Reply, Request
from fanion.server.response import Response
from fanion.server.server import HttpServer
from fanion.web.application import FastRoute, error_response
from fanion.web.routes import AnsweredBy

# Connections to PostgreSQL: batched reads of flags run two at a time of each kind, and the log has
# two lanes.
RECORDS_CONNECTIONS, LOG_CONNECTIONS = 4, 2
REPORT_S = 1.0  # how old this process's metrics in the server may be
IDLE_REPORT_S = 5.0  # how old they may be while it answers nothing
# How often the worker itself polls for changes by other servers. The server notifies it of changes
# that it has already seen.
FOLLOW_S = 5.0
# How long a capture waits for the process that writes the spool to start.
SPOOL_OPEN_S = 5.0


class WorkerStart(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The first message to a web worker.

    Attributes:
        settings: The fields of `config.Settings`.
        changes: The number of `Changed` messages sent before.
        installation: The id of the installation.
    """

    settings: dict[str, Any]
    changes: int
    installation: str = ""


class LogChannel(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A message that carries a channel to the writer process of the accept log or the spool."""


class Changed(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A message that something cached has changed.

    Attributes:
        what: "flags" or "project", with the project's id, "keys", or "feed" if other servers have
            changed something.
    """

    what: str
    id: int


class RateLimitAnswer(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The answer to a `RateLimitRequest`.

    Attributes:
        seconds: Until the project may send that much; 0 if it may now, and then it is counted.
    """

    request_id: int
    seconds: int


class Drain(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A message that tells the worker to close each connection after its next response."""


class Stop(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A message that tells the worker to answer the requests in progress, and end."""


class Ready(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A message that the web worker answers connections."""


class NeedLogChannel(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A message that the web worker has no channel to the writer process of the log or spool."""


class RateLimitRequest(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A question whether a project may send that much now.

    Attributes:
        size: In bytes.
        now: In seconds.
    """

    request_id: int
    project_id: int
    items: int
    size: int
    now: float


class MetricsReport(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The metrics of a web worker.

    Attributes:
        measured: Since the worker was started.
    """

    measured: Measured


class HandOver(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A message that carries a client's connection.

    Attributes:
        first: The bytes of a request already read from it.
    """

    first: bytes


ToWorker = LogChannel | Changed | RateLimitAnswer | Drain | Stop | HandOver
ToServer = Ready | NeedLogChannel | RateLimitRequest | MetricsReport | HandOver


class WebWorker:
    """A web worker: answers capture and flags, and keeps up with the server's changes.

    Args:
        line: Leads to the server.
        start: The server's first message.
        counters: Shared with the server.
        number: Which of the workers this is.
        log: The log that servers share; None where a file is the log, to whose writer the server
            provides a channel.
    """

    def __init__(
        self,
        line: socket.socket,
        start: WorkerStart,
        counters: SharedCounters,
        number: int,
        context: AppContext,
        records: Records,
        log: SharedLog | None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._counters = counters
        self._answered = counters.answered(number)
        self._closed = counters.closed(number)
        self._changes = start.changes  # the number of changes received
        self._caught_up = asyncio.Event()
        self._rate_limit_answers: dict[int, asyncio.Future[int]] = {}
        self._rate_limit_requests = 0
        self._stop, self._draining = asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._metrics = context.metrics
        self._is_reported = True  # whether the server has, or will soon get, the latest counts
        self._report = asyncio.Event()
        self._feed_moved = asyncio.Event()
        self._channel: Channel[ToWorker] = Channel(line, ToWorker, self._receive, _exit_at_once)
        self._file = SqliteAppender(
            partial(self._send, NeedLogChannel()), 0.0 if log is None else SPOOL_OPEN_S
        )
        self._log: GroupCommitLog = log or self._file
        self._shared = log
        if log is not None and context.settings.has_spool:
            switch = SpoolSwitch()
            switch.share(counters.spool, number + 1)
            self._log = SpooledLog(log, self._file, switch, are_named)
        self._flags = build_flag_services(context, records)
        capture = build_capture(context, self._flags, self._log, self)
        self._application = build_application(
            context, self._flags, capture, Readiness.WEB_WORKER, {}
        )
        self._http = HttpServer(
            None,
            self._stop,
            render_error=error_response,
            proxies=self._flags.proxies,
            draining=self._draining,
        )
        self._http.share_connections(self._pass_back, self._count_closed)

    async def run(self) -> None:
        try:
            if self._shared is None:
                self._send(NeedLogChannel())
            async with background_tasks(*self._loops()):
                await self._http.answer_with(self)
                enable_garbage_collection()
                release_loaded_pages()
                self._send(Ready())
                await self._http.wait_closed()
            await self._log.close_lanes()
            await self._file.close()
            if self._shared is not None:
                await self._shared.close()
        finally:
            self._send_metrics()

    def _loops(self) -> list[BackgroundTask]:
        feed, failed = self._flags.feed, "metrics_not_reported"
        own: dict[str, BackgroundTask] = {
            **self._flags.loops,
            "changes": partial(feed.run, FOLLOW_S, self._feed_moved),
        }
        loops: dict[str, BackgroundTask] = {
            **observed_loops(own, self._metrics),
            "reports": partial(
                run_loop, self._report_metrics, IDLE_REPORT_S, failed, (), wake=self._report
            ),
        }
        return list(loops.values())

    async def answer(self, request: Request) -> bool:
        """Answer the request once every change made before it has been received."""
        if self._changes < self._counters.changes:
            await self._catch_up(self._counters.changes)
        costly = await self._application.answer(request)
        self._answered[0] += 1
        if self._is_reported:
            self._report_soon()
        return costly

    def fast_path(self, head: RequestHead) -> FastRoute | None:
        """Return the request's fast route, which declines until all changes have been received."""
        fast = self._application.fast_path(head)
        if fast is not None:
            fast.endpoint = partial(self._answer_fast, fast.endpoint)
        return fast

    async def take_tokens(self, project: Project, items: int, size: int, now: float) -> int:
        """Ask the server to apply the rate limit, since it counts for all its processes."""
        self._rate_limit_requests += 1
        request_id = self._rate_limit_requests
        answer = self._rate_limit_answers[request_id] = self._loop.create_future()
        self._send(RateLimitRequest(request_id, project.id, items, size, now))
        return int(await answer)

    def _answer_fast(
        self, endpoint: FastEndpoint, body: bytes, peer: str, reply: Reply
    ) -> Response | LaterResponse | bool:
        if self._changes < self._counters.changes:
            return False
        answer = endpoint(body, peer, reply)
        if answer is not False:
            self._answered[0] += 1
            if self._is_reported:
                self._report_soon()
        return answer

    async def _catch_up(self, changes: int) -> None:
        while self._changes < changes:
            self._caught_up.clear()
            await self._caught_up.wait()

    def _report_soon(self) -> None:
        self._is_reported = False
        self._loop.call_later(REPORT_S, self._report.set)

    async def _report_metrics(self) -> None:
        self._is_reported = True
        self._send_metrics()

    def _send_metrics(self) -> None:
        self._send(MetricsReport(self._metrics.measured()))

    def _pass_back(self, connection: Connection, path: str, first: bytes) -> bool:
        """Hand the connection to the server if a worker does not answer this path."""
        route = self._application.routes.find(path)
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
                self._spawn(self._file.connect(socket.socket(fileno=descriptor)))
            case Drain():
                self._draining.set()
            case Stop():
                self._spawn(self._stop_after(list(self._tasks)))
            case _:
                assert_never(message)

    def _apply(self, what: str, changed: int) -> None:
        match what:
            case "flags":
                self._flags.flag_sets.invalidate(changed)
            case "project":
                self._flags.projects.forget(changed)
            case "feed":
                self._feed_moved.set()
            case _:
                self._flags.authentication.forget()

    async def _stop_after(self, adopting: "list[asyncio.Task[None]]") -> None:
        """Stop once the connections that were handed over before are open here."""
        await asyncio.gather(*adopting, return_exceptions=True)
        self._stop.set()

    async def _adopt(self, client: socket.socket, first: bytes) -> None:
        try:
            await self._http.adopt(client, first)
        except OSError:  # the client has gone
            self._closed[0] += 1

    def _send(self, message: ToServer) -> None:
        self._channel.send(message)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _exit_at_once() -> None:
    """End at once: the server has ended, and with it the connections and the log in use."""
    os._exit(1)


async def run_worker(line: socket.socket, start: WorkerStart, file: int, number: int) -> None:
    """Run a web worker until the server tells it to stop.

    Args:
        file: The descriptor of the shared counters.
    """
    settings = read_settings({}, start.settings)
    counters = SharedCounters(file, number + 1)
    tracing = open_tracing(settings, read_otel_settings(os.environ))
    context = AppContext(settings, Metrics(), open_logs(settings.log_level), tracing=tracing)
    records = unopened_records(settings.records_url, RECORDS_CONNECTIONS)
    records.count_writes(counters.writes, here=False)
    try:
        log = await _open_shared_log(settings, start) if records.dialect == "postgresql" else None
        await WebWorker(line, start, counters, number, context, records, log).run()
    finally:
        await records.close()
        await asyncio.to_thread(tracing.close)
        context.lines.close()


async def _open_shared_log(settings: Settings, start: WorkerStart) -> SharedLog:
    if settings.kafka is not None:
        return kafka_log(settings.kafka, start.installation)
    from fanion.accept_log.postgres import open_postgres_log

    bytes_max = settings.accept_log_bytes_max
    return await open_postgres_log(
        settings.records_url, bytes_max=bytes_max, cut=cut, connections=LOG_CONNECTIONS
    )


def main() -> None:
    line = socket_to_parent()
    shorten_switch_interval()
    first = receive_first(line)
    if first is not None:
        start = msgspec.msgpack.decode(first, type=WorkerStart)
        uvloop.run(run_worker(line, start, *map(int, sys.argv[2:4])))


if __name__ == "__main__":
    main()
