"""The accept log in a SQLite file of its own, for one process."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from fanion.log.group import GroupCommit
from fanion.log.port import Backlog, Entry, Envelope
from fanion.log.sqlite_file import DISK_FREE_BYTES_MIN, LogFile, LogReader

T = TypeVar("T")


class SqliteLog:
    """Group commit: one fsync for everything that arrived during the last one.

    The counts of the file are in memory, so only one process may have it open.
    """

    def __init__(self, file: LogFile, reader: LogReader) -> None:
        self._file = file
        self._reader = reader
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="accept-log-write")
        self._read_thread = ThreadPoolExecutor(1, thread_name_prefix="accept-log-read")
        self._live = GroupCommit(partial(self._commit, historical=False))
        self._historical = GroupCommit(partial(self._commit, historical=True))
        self._trimmed = {False: 0, True: 0}

    async def append(self, envelope: Envelope) -> int:
        return await self._lane(envelope.historical).append(envelope)

    async def read(
        self, after: int, envelopes_max: int, bytes_max: int, *, historical: bool = False
    ) -> Sequence[Entry]:
        after = max(after, self._trimmed[historical])
        return await _run(
            self._read_thread,
            partial(self._reader.read, after, envelopes_max, bytes_max, historical=historical),
        )

    async def trim(self, upto: int, *, historical: bool = False) -> None:
        """Groups go as a whole, in short transactions between which appends take their turn."""
        self._trimmed[historical] = max(self._trimmed[historical], upto)
        trim_some = partial(self._file.trim_some, upto, historical=historical)
        while await _run(self._write_thread, trim_some):
            pass

    async def backlog(self, after: int, *, historical: bool = False) -> Backlog:
        after = max(after, self._trimmed[historical])
        return await _run(
            self._write_thread, partial(self._file.backlog, after, historical=historical)
        )

    async def appended(self, after: int, *, historical: bool = False) -> None:
        if not await self.read(after, 1, 1, historical=historical):
            await self._lane(historical).appended(after)

    async def close(self) -> None:
        await self._live.close()
        await self._historical.close()
        await _run(self._write_thread, self._file.close)
        await _run(self._read_thread, self._reader.close)
        self._write_thread.shutdown()
        self._read_thread.shutdown()

    def _lane(self, historical: bool) -> GroupCommit:
        return self._historical if historical else self._live

    async def _commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        write = partial(self._file.write, envelopes, historical=historical)
        return await _run(self._write_thread, write)


async def _run(thread: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(thread, work)


async def open_sqlite_log(
    path: Path,
    *,
    bytes_max: int,
    disk_free_bytes_min: int = DISK_FREE_BYTES_MIN,
    after: int = 0,
) -> SqliteLog:
    """Make the file when it is not there.

    bytes_max:           compressed bytes at which appends raise LogFull; passed by one group
                         at most
    disk_free_bytes_min: with less on the disk, appends raise LogFull
    after:               where ingestion stands: a file that was lost begins behind it, or
                         what it takes would pass for ingested
    raises:              OSError
    """
    file = LogFile(path, bytes_max, disk_free_bytes_min, after)
    reader = await asyncio.to_thread(_open, file, path)
    return SqliteLog(file, reader)


def _open(file: LogFile, path: Path) -> LogReader:
    file.open()
    return LogReader(path)
