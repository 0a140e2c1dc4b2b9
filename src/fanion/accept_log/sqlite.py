"""The accept log in a SQLite file of its own, for one server."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from fanion.accept_log.codec import group
from fanion.accept_log.group_commit import GroupCommit
from fanion.accept_log.port import Backlog, Entry, Envelope, Receipt
from fanion.accept_log.sqlite_file import DISK_FREE_BYTES_MIN, LogFile, LogReader
from fanion.accept_log.writer_main import Open
from fanion.accept_log.writer_process import WriterProcess

T = TypeVar("T")


class Writer(Protocol):
    """One thing at a time, in the order of the calls. The calls raise what `LogFile`'s do."""

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> int: ...

    async def trim_some(self, upto: int, *, historical: bool) -> bool: ...

    async def backlog(self, after: int, *, historical: bool) -> Backlog: ...

    async def close(self) -> None: ...


class WriterThread:
    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="accept-log-write")

    async def open(self) -> None:
        """raises: OSError"""
        await run_in(self._thread, self._file.open)

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> int:
        return await run_in(
            self._thread, lambda: self._file.write(group(envelopes), historical=historical)
        )

    async def trim_some(self, upto: int, *, historical: bool) -> bool:
        return await run_in(
            self._thread, partial(self._file.trim_some, upto, historical=historical)
        )

    async def backlog(self, after: int, *, historical: bool) -> Backlog:
        return await run_in(self._thread, partial(self._file.backlog, after, historical=historical))

    async def close(self) -> None:
        await run_in(self._thread, self._file.close)
        self._thread.shutdown()


async def run_in(thread: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(thread, work)


POLL_S = 0.1  # how late a consumer sees what another process appended


class SqliteLog:
    """Group commit: one fsync for everything that arrived during the last one."""

    def __init__(self, writer: Writer, path: Path, poll_s: float | None) -> None:
        """poll_s: None when nobody else appends"""
        self._writer = writer
        self._poll_s = poll_s
        self._reader = LogReader(path)
        self._read_thread = ThreadPoolExecutor(1, thread_name_prefix="accept-log-read")
        self._live = GroupCommit(partial(self._commit, historical=False))
        self._historical = GroupCommit(partial(self._commit, historical=True))
        self._trimmed = {False: 0, True: 0}

    def append(self, envelope: Envelope) -> Awaitable[int]:
        return self._lane(envelope.historical).append(envelope)

    def append_for(self, receipt: Receipt, envelope: Envelope) -> None:
        self._lane(envelope.historical).append_for(receipt, envelope)

    async def read(
        self, after: int, envelopes_max: int, bytes_max: int, *, historical: bool = False
    ) -> Sequence[Entry]:
        after = max(after, self._trimmed[historical])
        return await run_in(
            self._read_thread,
            partial(self._reader.read, after, envelopes_max, bytes_max, historical=historical),
        )

    async def trim(self, upto: int, *, historical: bool = False) -> None:
        """Groups go as a whole, in short transactions between which appends take their turn."""
        self._trimmed[historical] = max(self._trimmed[historical], upto)
        while await self._writer.trim_some(upto, historical=historical):
            pass

    async def backlog(self, after: int, *, historical: bool = False) -> Backlog:
        after = max(after, self._trimmed[historical])
        return await self._writer.backlog(after, historical=historical)

    async def appended(self, after: int, *, historical: bool = False) -> None:
        """Told at once of this process's own appends, others are looked for."""
        lane = self._lane(historical)
        while not await self.read(after, 1, 1, historical=historical):
            try:
                await asyncio.wait_for(lane.appended(after), self._poll_s)
            except TimeoutError:
                continue

    async def another_line(self) -> socket.socket:
        """For another process that appends, as `joined.open_joined_log` does.

        raises: OSError, also where a thread of this process writes
        """
        if not isinstance(self._writer, WriterProcess):
            raise OSError("the accept log is written by this process")
        return await self._writer.another_line()

    async def close(self) -> None:
        await self._live.close()
        await self._historical.close()
        await self._writer.close()
        await run_in(self._read_thread, self._reader.close)
        self._read_thread.shutdown()

    def _lane(self, historical: bool) -> GroupCommit:
        return self._historical if historical else self._live

    async def _commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        last = await self._writer.write(envelopes, historical=historical)
        return range(last - len(envelopes) + 1, last + 1)


async def open_sqlite_log(
    path: Path,
    *,
    bytes_max: int,
    disk_free_bytes_min: int = DISK_FREE_BYTES_MIN,
    after: int = 0,
    apart: bool = False,
    shared: bool = False,
) -> SqliteLog:
    """Make the file when it is not there.

    bytes_max:           compressed bytes at which appends raise LogFull; passed by one group
                         at most
    disk_free_bytes_min: with less on the disk, appends raise LogFull
    after:               where ingestion stands: a file that was lost begins behind it, or
                         what it takes would pass for ingested
    apart:               whether a process of its own writes, so that a commit waits for nothing
                         else that this process computes
    shared:              whether other processes append too, by `another_line`
    raises:              OSError
    """
    writer: WriterProcess | WriterThread
    if apart:
        writer = WriterProcess(Open(str(path), bytes_max, disk_free_bytes_min, after))
    else:
        writer = WriterThread(LogFile(path, bytes_max, disk_free_bytes_min, after))
    try:
        await writer.open()
        return SqliteLog(writer, path, POLL_S if shared else None)
    except BaseException:
        await writer.close()
        raise
