"""The supervisor of web workers: processes that answer capture and flags on other cores.

The server hands connections to them, and sends them each change before it answers the request that
made the change.
"""

import asyncio
import os
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, assert_never

import msgspec
import structlog

from fanion.accept_log.shared import SharedLog
from fanion.accept_log.spool import SERVER
from fanion.accept_log.spool_folder import Spool
from fanion.accept_log.sqlite import SqliteLog
from fanion.app.application import web_worker_routes
from fanion.app.services import Services
from fanion.app.web_worker import (
    Changed,
    Drain,
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
from fanion.db.engine import RecordsUnavailable
from fanion.observability.metrics import Measured, sum_metrics, without_ages
from fanion.processes.channel import Channel
from fanion.processes.child import Child
from fanion.processes.shared_counters import SharedCounters
from fanion.runtime.change_bus import Topic
from fanion.server.connection import Connection
from fanion.server.server import HttpServer
from fanion.web.routes import AnsweredBy

# How long this process leaves flags to its workers after it has compiled or answered very many
# flags.
COSTLY_S = 10.0


@asynccontextmanager
async def web_workers(
    public: Services, http: HttpServer, stop: asyncio.Event
) -> AsyncGenerator[None]:
    """Run the web workers that the settings ask for.

    Args:
        stop: The workers end too when it is set.
    """
    count = public.context.settings.answering - 1
    if count < 1:
        yield
        return
    with tempfile.TemporaryFile() as file:
        workers = WebWorkers(SharedCounters.create(file.fileno(), count), count, public, http)
        workers.start()
        ending = asyncio.create_task(_end_workers(workers, stop))
        try:
            yield
        finally:
            stop.set()
            await ending


async def _end_workers(workers: "WebWorkers", stop: asyncio.Event) -> None:
    await stop.wait()
    await workers.end()


class WebWorkers:
    """The web workers of a server; each connection goes to the worker with the fewest.

    Only connections with captures and flags are handed over, and a worker hands them back when
    they ask for something else. All captures go to workers: in this process, where ingestion holds
    the GIL for 10 to 25 ms at a time, they wait twice as long. Connections that ask for flags stay
    here while fewer of them are here than at each worker. Requests for very many flags are
    answered in this process, and meanwhile all other flags go to workers too.
    """

    def __init__(
        self, counters: SharedCounters, count: int, public: Services, http: HttpServer
    ) -> None:
        settings: dict[str, Any] = msgspec.to_builtins(public.context.settings, enc_hook=str)
        installation = public.log.installation if isinstance(public.log, SharedLog) else ""
        self._counters = counters
        self._workers = [
            WebWorkerProcess(number, counters, settings, installation, self._receive)
            for number in range(count)
        ]
        self._shared = web_worker_routes(public.context.settings, public.capture, public.flags)
        self._public = public
        self._http = http
        self._own: set[Connection] = set()  # the connections that ask for flags and stay here
        self._measured_before: Measured = {}  # the metrics of workers that have ended
        self._busy_until = 0.0
        self._is_ending = False
        self._draining = public.context.draining
        self._tasks: set[asyncio.Task[None]] = set()
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    def start(self) -> None:
        """Start the workers, and share counters and connections from now on."""
        public, metrics, bus = self._public, self._public.context.metrics, self._public.flags.bus
        public.records.count_writes(self._counters.writes, here=True)
        metrics.elsewhere = self._measured
        metrics.hot.answered_elsewhere = self._answered
        if public.spool is not None:
            public.spool.switch.share(self._counters.spool, SERVER)
        bus.subscribe(Topic.FLAGS, partial(self._publish, "flags"))
        bus.subscribe(Topic.LARGE_FLAG_SET, self._be_busy)
        bus.subscribe(Topic.PROJECT, partial(self._publish, "project"))
        bus.subscribe(Topic.PERSONAL_KEYS, partial(self._publish, "keys"))
        public.flags.feed.tell(partial(self._publish, "feed", 0))
        self._http.share_connections(self._pass_on, self._own.discard)
        self._spawn(self._drain())
        for worker in self._workers:
            self._spawn(self._supervise(worker))

    async def end(self) -> None:
        """Let the workers answer the requests in progress, and end them."""
        self._is_ending = True
        await asyncio.gather(*(worker.end() for worker in self._workers))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _drain(self) -> None:
        await self._draining.wait()
        for worker in self._workers:
            worker.send(Drain())

    async def _supervise(self, worker: "WebWorkerProcess") -> None:
        """Run the worker, and start it again whenever it ends by itself."""
        while True:
            try:
                code = await worker.run()
            except OSError as error:
                self._log.error("web_worker_not_started", reason=str(error))
            else:
                if self._is_ending:
                    return
                self._log.error("web_worker_ended", worker=worker.number, code=code)
            self._measured_before = sum_metrics(
                [self._measured_before, without_ages(worker.measured)]
            )
            worker.measured = {}

    def _pass_on(self, connection: Connection, path: str, first: bytes) -> bool:
        ready = [worker for worker in self._workers if worker.is_ready]
        if not ready:
            return False
        worker = (
            ready[0] if len(ready) == 1 else min(ready, key=lambda candidate: candidate.connections)
        )
        if self._stays(connection, path, worker):
            return False
        client = connection.detach()
        if client is None:
            return False
        worker.hand_over(client, first)
        return True

    def _stays(self, connection: Connection, path: str, worker: "WebWorkerProcess") -> bool:
        """Return whether this process answers the request.

        Args:
            worker: The worker with the fewest connections.
        """
        is_own, own = connection in self._own, len(self._own)
        is_busy = self._http.now() < self._busy_until
        if is_own and not is_busy and worker.connections + 1 >= own:
            return True
        route = self._shared.find(path)
        if route is None:
            return True
        if route.answered_by is not AnsweredBy.HERE:
            return False
        if connection.is_costly:
            self._be_busy()
            return True
        if is_own or is_busy or worker.connections < own:
            return False
        self._own.add(connection)
        return True

    def _be_busy(self, _: int = 0) -> None:
        self._busy_until = self._http.now() + COSTLY_S

    def _receive(
        self, worker: "WebWorkerProcess", message: ToServer, descriptor: int | None
    ) -> None:
        match message:
            case HandOver(first):
                assert descriptor is not None
                self._spawn(self._take_back(socket.socket(fileno=descriptor), first))
            case RateLimitRequest():
                self._spawn(self._answer(worker, message))
            case NeedLogChannel():
                self._spawn(self._send_log_channel(worker))
            case Ready():
                if self._draining.is_set():
                    worker.send(Drain())
            case MetricsReport():
                pass
            case _:
                assert_never(message)

    async def _take_back(self, client: socket.socket, first: bytes) -> None:
        with suppress(OSError):  # the client has gone
            await self._http.adopt(client, first)

    async def _answer(self, worker: "WebWorkerProcess", request: RateLimitRequest) -> None:
        """Answer a worker's rate-limit request.

        A project that cannot be read has no limits, as for the server's own requests.
        """
        seconds = 0
        with suppress(RecordsUnavailable):
            project = await self._public.flags.projects.by_id(request.project_id)
            if project is not None:
                limits = self._public.capture.limits
                seconds = await limits.take_tokens(
                    project, request.items, request.size, request.now
                )
        worker.send(RateLimitAnswer(request.request_id, seconds))

    async def _send_log_channel(self, worker: "WebWorkerProcess") -> None:
        log = self._public.spool or self._public.log
        assert isinstance(log, Spool | SqliteLog)  # the log in PostgreSQL has no writer process
        try:
            line = await log.add_channel()
        except OSError as error:
            self._log.error("accept_log_unavailable", reason=str(error))
        else:
            worker.send(LogChannel(), line.detach())

    def _publish(self, what: str, changed: int) -> None:
        for worker in self._workers:
            worker.send(Changed(what, changed))
        self._counters.changes += 1

    def _measured(self) -> Iterable[Measured]:
        return [self._measured_before, *(worker.measured for worker in self._workers)]

    def _answered(self) -> int:
        return sum(self._counters.answered(worker.number)[0] for worker in self._workers)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


Receive = Callable[["WebWorkerProcess", ToServer, int | None], None]


class WebWorkerProcess:
    """One web worker and the channel to it.

    Attributes:
        measured: Its metrics, as last reported.
    """

    def __init__(
        self,
        number: int,
        counters: SharedCounters,
        settings: Mapping[str, Any],
        installation: str,
        receive: Receive,
    ) -> None:
        self.number: Final = number
        self.is_ready = False
        self.measured: Measured = {}
        self._counters = counters
        self._closed = counters.closed(number)
        self._handed_over = 0
        self._settings = dict(settings)
        self._installation = installation
        self._receive = receive
        self._channel: Channel[ToServer] | None = None
        arguments = map(str, (counters.file, number))
        self._child = Child("fanion.app.web_worker", tuple(arguments), [counters.file])

    @property
    def connections(self) -> int:
        """The number of connections the worker has open, as far as is known."""
        return self._handed_over - self._closed[0]

    async def run(self) -> int:
        """Start the process and wait until it ends.

        Returns:
            The exit code.

        Raises:
            OSError: The process cannot be started.
        """
        self._counters.reset(self.number)
        self._handed_over = 0
        line = await self._child.start_when_due()
        self._channel = Channel(line, ToServer, self._received, self._lost)
        # The changes are counted and the message sent without waiting in between, so later changes
        # follow it.
        self._channel.send(WorkerStart(self._settings, self._counters.changes, self._installation))
        try:
            return await self._child.wait()
        finally:
            self._lost()

    def send(self, message: ToWorker, descriptor: int | None = None) -> None:
        """Send a message, or drop it if the worker is gone.

        Args:
            descriptor: Closed here in either case.
        """
        if self._channel is not None:
            self._channel.send(message, descriptor)
        elif descriptor is not None:
            os.close(descriptor)

    def hand_over(self, connection: int, first: bytes) -> None:
        self._handed_over += 1
        self.send(HandOver(first), connection)

    async def end(self) -> None:
        """Let the worker answer the requests in progress, and end it."""
        self.is_ready = False
        self.send(Stop())
        await self._child.end()

    def _received(self, message: ToServer, descriptor: int | None) -> None:
        match message:
            case Ready():
                self.is_ready = True
            case MetricsReport(measured):
                self.measured = measured
        self._receive(self, message, descriptor)

    def _lost(self) -> None:
        self.is_ready = False
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        self._child.send_kill()  # the process may still run without reading any more
