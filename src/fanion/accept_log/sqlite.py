"""The accept log in its own SQLite file, for one server and its web workers."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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
    Appended,
    BacklogIs,
    Failed,
    GetBacklog,
    Open,
    Request,
    Trim,
    Watch,
    Write,
    WriteDone,
)
from fanion.errors import StartRefused
from fanion.processes.channel import Channel
from fanion.processes.child import Child
from fanion.runtime.background import seconds_in_step, wait_for_event

# For a checkpoint of the write-ahead log; acknowledged writes are durable anyway.
CLOSE_S_MAX = 30.0
# The longest delay until a consumer sees what another process has appended if the writer process
# ends; otherwise it is notified at once.
POLL_S = 2.0

T = TypeVar("T")


class WriterClient:
    """The client side of one channel to the writer process, which answers requests in order.

    Its calls raise what those of `LogFileWriter` raise, and OSError if the process ends before it
    answers.

    Args:
        appended: Called when a watched lane has been appended to.
    """

    def __init__(
        self, line: socket.socket, appended: Callable[[Appended], None] | None = None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._appended = appended
        self.watched: set[bool] = set()  # the lanes of whose next append the process will tell
        self._pending: deque[asyncio.Future[Answer]] = deque()
        # The unsent bytes need no limit: each caller awaits its answer, and a lane has one group in
        # transit.
        self.channel: Channel[Answer | Appended] = Channel(
            line, Answer | Appended, self._received, self._lost, unsent_bytes_max=None
        )

    async def open(self, request: Open) -> None:
        """Send the server's first request."""
        await self._ask(request)

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        """Write a group and return its ids."""
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

    async def watch(self, *, historical: bool) -> None:
        """Let the process tell of the next append to the lane over another channel."""
        await self._ask(Watch(historical))
        self.watched.add(historical)

    def add_channel(self) -> socket.socket:
        """Return one end of a new channel to the writer process, for another process."""
        ours, theirs = socket.socketpair()
        self.channel.send(AddChannel(), theirs.detach())
        return ours

    async def close(self) -> None:
        """Close the channel after the pending requests.

        Closing the server's own channel ends the process.
        """
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

    def _received(self, message: Answer | Appended, _: int | None) -> None:
        if isinstance(message, Appended):
            self.watched.discard(message.historical)
            if self._appended is not None:
                self._appended(message)
            return
        future = self._pending.popleft()
        if not future.done():
            future.set_result(message)

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
    """The writer process. `client` starts it, and starts it again after it has ended unexpectedly.

    Requests that were in progress when it ended have failed, though they may have been written.
    """

    def __init__(self, first: Open) -> None:
        """Prepare the process without starting it.

        Args:
            first: The first request, which opens the file.
        """
        self._first = first
        self._child = Child("fanion.accept_log.writer_main", end_s_max=CLOSE_S_MAX)
        self._client: WriterClient | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False
        self.appended: Callable[[Appended], None] | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid

    async def client(self) -> WriterClient:
        """Return a client of the running process, starting the process if necessary.

        Raises:
            OSError: The log is closed, or its file cannot be opened.
            StartRefused: The log belongs to another installation.
        """
        client = self._client
        return client if client is not None and client.channel.is_open else await self._start()

    def used_upto(self, last: int) -> None:
        """Let a file that replaces a lost one begin after this id."""
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
            await self._child.kill()  # the process has closed its channel
            client = WriterClient(await self._child.start(), self.appended)
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
    """The accept log as the server itself uses it.

    One fsync stores everything that arrived during the previous one.
    """

    def __init__(self, writer: WriterProcess, path: Path, *, shared: bool) -> None:
        """Open the file for reading.

        Args:
            shared: Whether other processes append too.
        """
        super().__init__()
        self.writer = writer
        self.writer.appended = self._note_appended
        self._is_shared = shared
        self._reader = LogFileReader(path)
        self._read_thread = ThreadPoolExecutor(1, thread_name_prefix="accept-log-read")
        self._trimmed = {False: 0, True: 0}

    @property
    def positions_prefix(self) -> str:
        return ""

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
        return entries if upto is None else [entry for entry in entries if entry.id <= upto[0]]

    async def trim(self, upto: Positions, *, historical: bool = False) -> None:
        """Delete whole groups, in short transactions between which appends take their turn."""
        last = upto[0]
        self._trimmed[historical] = max(self._trimmed[historical], last)
        self.writer.used_upto(last)  # other processes may have written these ids
        while await (await self.writer.client()).trim_some(last, historical=historical):
            pass

    def trimmed(self, *, historical: bool) -> int:
        """Return the id up to which this process has trimmed a lane, or failed to."""
        return self._trimmed[historical]

    async def backlog(self, after: Positions, *, historical: bool = False) -> Backlog:
        first = max(after[0], self._trimmed[historical])
        return await (await self.writer.client()).backlog(first, historical=historical)

    async def appended(self, after: Positions, *, historical: bool = False) -> None:
        """Wait for an entry after this position.

        The writer process notifies it of appends by other processes.
        """
        lane = self.lane(historical)
        while not await self.read(after, 1, 1, historical=historical):
            if await self._begin_watch(historical):
                continue  # what was appended before is read now
            with suppress(TimeoutError):
                limit_s = seconds_in_step(POLL_S) if self._is_shared else None
                await asyncio.wait_for(lane.appended(after[0]), limit_s)

    async def _begin_watch(self, historical: bool) -> bool:
        """Watch the appends of other processes to a lane, and return False if it is watched."""
        if not self._is_shared:
            return False
        with suppress(OSError):  # the process has ended; this is tried again after POLL_S
            client = await self.writer.client()
            if historical not in client.watched:
                await client.watch(historical=historical)
                return True
        return False

    def _note_appended(self, appended: Appended) -> None:
        self.lane(appended.historical).note_appended(appended.last)

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
        """Return a socket for `SqliteAppender.connect` in another process.

        Raises:
            OSError: The writer process cannot be started.
        """
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
    counts_decoded: bool = False,
) -> SqliteLog:
    """Start the process that writes the file. It creates the file if it is missing.

    Args:
        bytes_max: Size at which appends raise LogFull; one group may exceed it.
        disk_free_bytes_min: Appends raise LogFull if less is free on the disk.
        after: The position of ingestion. A new file instead of a lost one begins after it;
            otherwise its first entries would be taken for ingested ones.
        shared: Whether other processes append too, as `SqliteAppender`.
        installation: Id of the installation that must own the log. A log without an owner becomes
            this installation's.
        counts_decoded: Whether `bytes_max` is the size before compression.

    Raises:
        OSError: The file cannot be opened.
        StartRefused: The log belongs to another installation.
    """
    writer = WriterProcess(
        Open(str(path), bytes_max, disk_free_bytes_min, after, installation, counts_decoded)
    )
    try:
        await writer.client()
        return SqliteLog(writer, path, shared=shared)
    except BaseException:
        await writer.close()
        raise


class SqliteAppender(GroupCommitLog):
    """The accept log as another process of the server uses it.

    It appends over its own channel.
    """

    def __init__(self, request_channel: Callable[[], None], wait_s: float = 0.0) -> None:
        """Create an appender that raises OSError until `connect` is called.

        Args:
            request_channel: Called when appends need another channel because the writer process has
                ended, or is not started yet.
            wait_s: The longest wait for a channel that was requested.
        """
        super().__init__()
        self._request_channel = request_channel
        self._wait_s = wait_s
        self._client: WriterClient | None = None
        self._connected = asyncio.Event()

    async def connect(self, line: socket.socket) -> None:
        """Use this channel, which `SqliteLog.add_channel` returned, instead of the former one."""
        former, self._client = self._client, WriterClient(line)
        self._connected.set()
        if former is not None:
            await former.close()

    async def close(self) -> None:
        """Write the pending appends and refuse later ones (OSError)."""
        await self.close_lanes()
        if self._client is not None:
            await self._client.close()

    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        client = self._open_client()
        if client is None:
            self._connected.clear()
            self._request_channel()
            if self._wait_s:
                await wait_for_event(self._connected, self._wait_s)
                client = self._open_client()
        if client is None:
            raise has_ended()
        return await client.write(envelopes, historical=historical)

    def _open_client(self) -> WriterClient | None:
        client = self._client
        return client if client is not None and client.channel.is_open else None
