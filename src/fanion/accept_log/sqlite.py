"""The accept log in a SQLite file of its own, for one server and its web workers."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from fanion.accept_log.group_commit import GroupCommitLog
from fanion.accept_log.port import Backlog, Envelope, LogEntry
from fanion.accept_log.sqlite_file import DISK_FREE_BYTES_MIN, LogFileReader
from fanion.accept_log.writer_main import Open
from fanion.accept_log.writer_process import WriterClient, WriterProcess, has_ended

POLL_S = 0.1  # how late a consumer sees what another process appended

T = TypeVar("T")


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
        self, after: int, envelopes_max: int, bytes_max: int, *, historical: bool = False
    ) -> Sequence[LogEntry]:
        after = max(after, self._trimmed[historical])
        return await self._in_read_thread(
            partial(self._reader.read, after, envelopes_max, bytes_max, historical=historical)
        )

    async def trim(self, upto: int, *, historical: bool = False) -> None:
        """Groups go as a whole, in short transactions between which appends take their turn."""
        self._trimmed[historical] = max(self._trimmed[historical], upto)
        while await self.writer.trim_some(upto, historical=historical):
            pass

    async def backlog(self, after: int, *, historical: bool = False) -> Backlog:
        after = max(after, self._trimmed[historical])
        return await self.writer.backlog(after, historical=historical)

    async def appended(self, after: int, *, historical: bool = False) -> None:
        """Returns at once for appends of this process; those of others are polled for."""
        lane = self.lane(historical)
        while not await self.read(after, 1, 1, historical=historical):
            try:
                await asyncio.wait_for(lane.appended(after), self._poll_s)
            except TimeoutError:
                continue

    async def close(self) -> None:
        await self.close_lanes()
        await self.writer.close()
        await self._in_read_thread(self._reader.close)
        self._read_thread.shutdown()

    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        last = await self.writer.write(envelopes, historical=historical)
        return range(last - len(envelopes) + 1, last + 1)

    async def _in_read_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._read_thread, work)


async def open_sqlite_log(
    path: Path,
    *,
    bytes_max: int,
    disk_free_bytes_min: int = DISK_FREE_BYTES_MIN,
    after: int = 0,
    shared: bool = False,
) -> SqliteLog:
    """Start the process that writes the file, which it creates when it is missing.

    bytes_max:           compressed bytes at which appends raise LogFull; passed by one group
                         at most
    disk_free_bytes_min: with less on the disk, appends raise LogFull
    after:               where ingestion stands: a file that was lost begins behind it, or
                         what it takes would pass for ingested
    shared:              whether other processes append too, as `SqliteAppender`
    raises:              OSError
    """
    writer = WriterProcess(Open(str(path), bytes_max, disk_free_bytes_min, after))
    try:
        await writer.open()
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
        """line: of `WriterProcess.add_channel`"""
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
        last = await client.write(envelopes, historical=historical)
        return range(last - len(envelopes) + 1, last + 1)
