"""The accept log in a SQLite file of its own, for one server and its web workers."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from fanion.accept_log.group_commit import GroupCommitLog
from fanion.accept_log.port import Backlog, Envelope, LogEntry, LogFull, Positions
from fanion.accept_log.sqlite_file import DISK_FREE_BYTES_MIN, LogFileReader, encode_group
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
from fanion.errors import StartRefused
from fanion.processes.channel import Channel
from fanion.processes.child import Child

CLOSE_S_MAX = 30.0  # a checkpoint of the write-ahead log; what was acknowledged is durable anyway
POLL_S = 0.1  # how late a consumer sees what another process appended

T = TypeVar("T")


class WriterClient:
    """Sends requests to the writer process over one channel, which answers them in their order. The
    calls raise what those of `LogFileWriter` do, and OSError when the process ends before it
    answers."""

    def __init__(self, line: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._pending: deque[asyncio.Future[Answer]] = deque()
        # Each caller awaits its answer, and a lane has one group on its way.
        self.channel: Channel[Answer] = Channel(
            line, Answer, self._answered, self._lost, unsent_bytes_max=None
        )

    async def open(self, request: Open) -> None:
        """The first request of the server."""
        await self._ask(request)

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        """Their ids."""
        answer = await self._ask(Write(encode_group(envelopes), historical))
        assert isinstance(answer, WriteDone)
        return range(answer.value - len(envelopes) + 1, answer.value + 1)

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
        case "refused":
            return StartRefused(failed.reason)
        case _:
            return RuntimeError(failed.reason)


class WriterProcess:
    """Started by `client`, and again after it has ended by itself. Requests that were under way
    then have failed, and may have been written.

    first: the first request, which opens the file
    """

    def __init__(self, first: Open) -> None:
        self._first = first
        self._child = Child("fanion.accept_log.writer_main", end_s_max=CLOSE_S_MAX)
        self._client: WriterClient | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        return self._child.pid

    async def client(self) -> WriterClient:
        """raises: OSError"""
        client = self._client
        return client if client is not None and client.channel.is_open else await self._start()

    def used_upto(self, last: int) -> None:
        """A file that is lost begins again behind this id."""
        self._first.after = max(self._first.after, last)

    async def close(self) -> None:
        self._is_closed = True
        if self._client is not None:
            await self._client.close()
        await self._child.end()

    async def _start(self) -> WriterClient:
        async with self._starting:
            if self._is_closed:
                raise OSError("the accept log is closed")
            if self._client is not None and self._client.channel.is_open:
                return self._client
            await self._child.kill()  # it has closed its channel
            client = WriterClient(await self._child.start())
            if self._client is not None:
                structlog.get_logger().warning("accept_log_writer_started_again")
            try:
                await client.open(self._first)
            except BaseException:
                await client.close()
                await self._child.end()
                raise
            self._client = client
            return client


class SqliteLog(GroupCommitLog):
    """One fsync for everything that arrived during the last one."""

    def __init__(self, writer: WriterProcess, path: Path, poll_s: float | None) -> None:
        """poll_s: None when no other process appends"""
        super().__init__()
        self.writer = writer
        self._poll_s = poll_s
        self._reader = LogFileReader(path)
        self._read_thread = ThreadPoolExecutor(1, thread_name_prefix="accept-log-read")
        self._trimmed = {False: 0, True: 0}

    async def read(
        self,
        after: Positions,
        envelopes_max: int,
        bytes_max: int,
        *,
        historical: bool = False,
        upto: Positions | None = None,
    ) -> Sequence[LogEntry]:
        first = max(after[0], self._trimmed[historical])
        entries = await self._in_read_thread(
            partial(self._reader.read, first, envelopes_max, bytes_max, historical=historical)
        )
        return entries if upto is None else [one for one in entries if one.id <= upto[0]]

    async def trim(self, upto: Positions, *, historical: bool = False) -> None:
        """Groups go as a whole, in short transactions between which appends take their turn."""
        last = upto[0]
        self._trimmed[historical] = max(self._trimmed[historical], last)
        self.writer.used_upto(last)  # other processes may have written these
        while await (await self.writer.client()).trim_some(last, historical=historical):
            pass

    async def backlog(self, after: Positions, *, historical: bool = False) -> Backlog:
        first = max(after[0], self._trimmed[historical])
        return await (await self.writer.client()).backlog(first, historical=historical)

    async def appended(self, after: Positions, *, historical: bool = False) -> None:
        """Returns at once for appends of this process; those of others are polled for."""
        lane = self.lane(historical)
        while not await self.read(after, 1, 1, historical=historical):
            try:
                await asyncio.wait_for(lane.appended(after[0]), self._poll_s)
            except TimeoutError:
                continue

    async def close(self) -> None:
        await self.close_lanes()
        await self.writer.close()
        await self._in_read_thread(self._reader.close)
        self._read_thread.shutdown()

    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        ids = await (await self.writer.client()).write(envelopes, historical=historical)
        self.writer.used_upto(ids[-1])
        return ids

    async def add_channel(self) -> socket.socket:
        """For `SqliteAppender.connect` in another process. raises: OSError"""
        return (await self.writer.client()).add_channel()

    async def _in_read_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._read_thread, work)


async def open_sqlite_log(
    path: Path,
    *,
    bytes_max: int,
    disk_free_bytes_min: int = DISK_FREE_BYTES_MIN,
    after: int = 0,
    shared: bool = False,
    installation: str = "",
) -> SqliteLog:
    """Start the process that writes the file, which it creates when it is missing.

    bytes_max:           compressed bytes at which appends raise LogFull; passed by one group
                         at most
    disk_free_bytes_min: with less on the disk, appends raise LogFull
    after:               where ingestion stands: a file that was lost begins behind it, or
                         what it takes would pass for ingested
    shared:              whether other processes append too, as `SqliteAppender`
    installation:        the id of the only one whose log it may be; one without any becomes its
    raises:              OSError; StartRefused for the log of another installation
    """
    writer = WriterProcess(Open(str(path), bytes_max, disk_free_bytes_min, after, installation))
    try:
        await writer.client()
        return SqliteLog(writer, path, POLL_S if shared else None)
    except BaseException:
        await writer.close()
        raise


class SqliteAppender(GroupCommitLog):
    """The same log for another process of the server, which appends over a channel of its own to
    the writer process.

    request_channel: is called when appends need another channel, because the writer process has
                     ended; until `connect` they raise OSError
    """

    def __init__(self, request_channel: Callable[[], None]) -> None:
        super().__init__()
        self._request_channel = request_channel
        self._client: WriterClient | None = None

    async def connect(self, line: socket.socket) -> None:
        """line: of `SqliteLog.add_channel`"""
        former, self._client = self._client, WriterClient(line)
        if former is not None:
            await former.close()

    async def close(self) -> None:
        """Write what still waits, and refuse what comes later (OSError)."""
        await self.close_lanes()
        if self._client is not None:
            await self._client.close()

    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        client = self._client
        if client is None or not client.channel.is_open:
            self._request_channel()
            raise has_ended()
        return await client.write(envelopes, historical=historical)
