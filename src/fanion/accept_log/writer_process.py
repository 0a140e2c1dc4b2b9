"""The writer process of the embedded accept log, for the processes that use it."""

import asyncio
import socket
from collections import deque
from collections.abc import Sequence

import structlog

from fanion.accept_log.codec import encode_group
from fanion.accept_log.port import Backlog, Envelope, LogFull
from fanion.accept_log.writer_main import (
    AddChannel,
    Answer,
    BacklogIs,
    Failed,
    GetBacklog,
    Open,
    Request,
    Trim,
    Write,
    WriteDone,
)
from fanion.processes.channel import Channel
from fanion.processes.child import Child

CLOSE_S_MAX = 30.0  # a checkpoint of the write-ahead log; what was acknowledged is durable anyway


class WriterClient:
    """Requests to the writer process over one channel; answers come in their order. The calls
    raise what those of `LogFileWriter` do, and OSError when the process ends before it answers."""

    def __init__(self, line: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._pending: deque[asyncio.Future[Answer]] = deque()
        # Each caller awaits its answer, and a lane has one group on its way.
        self.channel: Channel[Answer] = Channel(
            line, Answer, self._answered, self._lost, unsent_bytes_max=None
        )

    async def open(self, wanted: Open) -> None:
        """The first request of the server."""
        await self._ask(wanted)

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> int:
        """The last id."""
        answer = await self._ask(Write(encode_group(envelopes), historical))
        assert isinstance(answer, WriteDone)
        return answer.value

    async def trim_some(self, upto: int, *, historical: bool) -> bool:
        answer = await self._ask(Trim(upto, historical))
        assert isinstance(answer, WriteDone)
        return bool(answer.value)

    async def backlog(self, after: int, *, historical: bool) -> Backlog:
        answer = await self._ask(GetBacklog(after, historical))
        assert isinstance(answer, BacklogIs)
        return answer.backlog

    def add_channel(self) -> socket.socket:
        """The end of a channel to the same process, for another process."""
        ours, theirs = socket.socketpair()
        self.channel.send(AddChannel(), theirs.detach())
        return ours

    async def close(self) -> None:
        """After the pending requests. Closing the server's own channel ends the process."""
        if self._pending:
            await asyncio.wait(self._pending, timeout=CLOSE_S_MAX)
        self.channel.close()
        self._lost()

    async def _ask(self, request: Open | Request) -> Answer:
        if not self.channel.is_open:
            raise has_ended()
        future: asyncio.Future[Answer] = self._loop.create_future()
        self._pending.append(future)
        self.channel.send(request)
        answer = await future
        if isinstance(answer, Failed):
            raise _error(answer)
        return answer

    def _answered(self, answer: Answer, _: int | None) -> None:
        future = self._pending.popleft()
        if not future.done():
            future.set_result(answer)

    def _lost(self) -> None:
        while self._pending:
            future = self._pending.popleft()
            if not future.done():
                future.set_exception(has_ended())


def has_ended() -> OSError:
    return OSError("accept log: the writer process has ended")


def _error(failed: Failed) -> Exception:
    match failed.kind:
        case "full":
            return LogFull(failed.reason)
        case "store":
            return OSError(failed.reason)
        case _:
            return RuntimeError(failed.reason)


class WriterProcess:
    """Started by `open`, and by the next call after it has ended by itself. Requests that were
    under way then have failed, and may have been written."""

    def __init__(self, wanted: Open) -> None:
        self._wanted = wanted
        self._child = Child("fanion.accept_log.writer_main", end_s_max=CLOSE_S_MAX)
        self._client: WriterClient | None = None
        self._opening = asyncio.Lock()
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        return self._child.pid

    async def open(self) -> WriterClient:
        """raises: OSError"""
        async with self._opening:
            if self._is_closed:
                raise OSError("the accept log is closed")
            if self._client is not None and self._client.channel.is_open:
                return self._client
            await self._child.kill()  # it has closed its channel
            client = WriterClient(await self._child.start())
            if self._client is not None:
                structlog.get_logger().warning("accept_log_writer_started_again")
            try:
                await client.open(self._wanted)
            except BaseException:
                await client.close()
                await self._child.end()
                raise
            self._client = client
            return client

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> int:
        last = await (await self._opened()).write(envelopes, historical=historical)
        self._wanted.after = last
        return last

    async def trim_some(self, upto: int, *, historical: bool) -> bool:
        # Other processes may have written it: a file that is lost still begins behind it.
        self._wanted.after = max(self._wanted.after, upto)
        return await (await self._opened()).trim_some(upto, historical=historical)

    async def backlog(self, after: int, *, historical: bool) -> Backlog:
        return await (await self._opened()).backlog(after, historical=historical)

    async def add_channel(self) -> socket.socket:
        """As `WriterClient.add_channel`. raises: OSError"""
        return (await self.open()).add_channel()

    async def close(self) -> None:
        self._is_closed = True
        if self._client is not None:
            await self._client.close()
        await self._child.end()

    async def _opened(self) -> WriterClient:
        client = self._client
        return client if client is not None and client.channel.is_open else await self.open()
