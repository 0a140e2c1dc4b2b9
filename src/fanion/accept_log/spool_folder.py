"""The files of a spool, and the sending on of what they hold.

A file serves from the first capture that PostgreSQL does not take until everything is sent on, and
is deleted then. In PostgreSQL the spool has the file's name, so that must not be changed.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Never, Protocol
from uuid import uuid4

import msgspec
import structlog
import zstandard

from fanion.accept_log.port import (
    SINGLE,
    START,
    Backlog,
    Envelope,
    LogEntry,
    LogFull,
    sum_backlogs,
)
from fanion.accept_log.spool import SpoolSwitch
from fanion.accept_log.sqlite import SqliteLog, open_sqlite_log
from fanion.accept_log.sqlite_file import LogFileReader, read_content
from fanion.errors import StartRefused
from fanion.runtime.background import run_loop
from fanion.runtime.clock import utc_now

# What is sent in one transaction.
ENVELOPES_MAX: Final = 1_000
BYTES_MAX: Final = 4 * 1024**2
# After a smaller batch the spool is almost empty, and captures wait until it is.
LAST_ENVELOPES_MAX: Final = 500
LOOK_EVERY_S: Final = 1.0
RETRY_S: Final = 0.2  # between attempts to send while PostgreSQL is away
LANES: Final = (False, True)  # live events first

_SUFFIXES: Final = (".db", ".db-wal", ".db-shm", ".lock")


class Destination(Protocol):
    """The log that takes what a spool holds; see `PostgresLog`."""

    async def append_spooled(
        self, spool: str, entries: Sequence[LogEntry], *, historical: bool
    ) -> None: ...

    async def ping(self) -> None: ...


class SpoolUnreadable(Exception):
    """The error when a file of a spool cannot be read, for example because it is damaged."""


@dataclass(frozen=True, slots=True)
class SpoolFile:
    """An open file of a spool."""

    path: Path
    log: SqliteLog

    async def send_some(self, destination: Destination) -> int:
        """Send a batch and return its number of envelopes; 0 if there are none.

        Raises:
            SpoolUnreadable: The file cannot be read.
            LogFull: The destination is full.
            OSError: The destination fails.
        """
        for historical in LANES:
            with _reading(self.path):
                entries = await self.log.read(
                    START, ENVELOPES_MAX, BYTES_MAX, historical=historical
                )
            if entries:
                await destination.append_spooled(self.path.stem, entries, historical=historical)
                with suppress(OSError):  # on a full disk: the file is deleted at the end
                    await self.log.trim({SINGLE: entries[-1].id}, historical=historical)
                return len(entries)
        return 0

    async def send_everything(self, destination: Destination) -> int:
        """Send all batches and return their number of envelopes."""
        total = 0
        while sent := await self.send_some(destination):
            total += sent
        return total

    async def backlog(self) -> Backlog:
        return sum_backlogs(
            [await self.log.backlog(START, historical=historical) for historical in LANES]
        )

    async def close(self) -> bool:
        """Close the file, delete it if everything in it is sent, and return whether that is so."""
        sent = {historical: self.log.trimmed(historical=historical) for historical in LANES}
        await self.log.close()
        return await asyncio.to_thread(_delete_if_sent, self.path, sent)


async def send_file(path: Path, installation: str, destination: Destination) -> int:
    """Send everything in a file that no server writes, delete it, and return its envelopes.

    Raises:
        SpoolUnreadable: The file cannot be read.
        StartRefused: The file is another installation's.
        LogFull: The destination is full.
        OSError: The destination fails.
    """
    file = await _open_file(path, installation)
    try:
        return await file.send_everything(destination)
    finally:
        await file.close()


async def _open_file(path: Path, installation: str) -> SpoolFile:
    with _reading(path):
        return SpoolFile(path, await open_sqlite_log(path, bytes_max=0, installation=installation))


class Spool:
    """The spool of one server: a folder, and the file in it that captures are written to.

    Attributes:
        bytes_max: The size before compression at which captures are refused.
    """

    def __init__(
        self,
        folder: Path,
        bytes_max: int,
        left: Mapping[Path, Backlog],
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Create a spool that sends its files of earlier starts first.

        Args:
            left: The content of these files.
        """
        self.switch = SpoolSwitch()
        self.bytes_max: Final = bytes_max
        self._destination: Destination | None = None
        self._installation = ""
        self._folder = folder
        self._now = now
        self._left = dict(left)
        self._kept: dict[Path, Backlog] = {}  # files that cannot be sent
        self._sending: SpoolFile | None = None  # a file of an earlier start
        self._current: SpoolFile | None = None
        self._opening = asyncio.Lock()
        self._wake = asyncio.Event()
        if left:
            self.switch.count()

    def attach(self, destination: Destination, installation: str) -> None:
        """Send to this log from now on.

        Args:
            installation: The id of its installation, which must own the files.
        """
        self._destination, self._installation = destination, installation

    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        """Write a group; see `GroupCommitLog.commit`."""
        return await (await self._open()).log.commit(envelopes, historical=historical)

    async def add_channel(self) -> socket.socket:
        """Return a socket for `SqliteAppender.connect` in another process of this server.

        Raises:
            OSError: The file cannot be opened.
        """
        return await (await self._open()).log.add_channel()

    async def backlog(self) -> Backlog:
        """Return what is not sent yet.

        Raises:
            OSError: The file cannot be read.
        """
        sizes = {**self._kept, **self._left}
        for file in (self._sending, self._current):
            if file is not None:
                sizes[file.path] = await file.backlog()
        return sum_backlogs(sizes.values())

    async def run(self) -> Never:
        """Send on what is spooled, whenever PostgreSQL takes it."""
        await run_loop(
            self.send,
            LOOK_EVERY_S,
            "spool_not_sent",
            (OSError, LogFull, SpoolUnreadable),
            wake=self._wake,
            retry_s=RETRY_S,
        )

    async def send(self) -> None:
        """Send on everything, and let captures go to PostgreSQL again.

        Raises:
            SpoolUnreadable: The file cannot be read.
            LogFull: The destination is full.
            OSError: The destination fails.
        """
        if not self.switch.is_on:
            await self._close_current()
            return
        destination = self._destination
        assert destination is not None, "there is no log to send to"
        for path in list(self._left):
            await destination.ping()
            await self._send_left(path, destination)
        await self._send_current(destination)

    async def close(self) -> None:
        """Close the files. What they hold is sent after the next start."""
        if self._sending is not None:
            await self._sending.close()
        await self._close_current()

    async def _open(self) -> SpoolFile:
        async with self._opening:
            if self._current is None:
                await asyncio.to_thread(self._folder.mkdir, 0o700, True, True)
                path = self._folder / f"{self._now():%Y%m%dT%H%M%S%f}-{uuid4().hex[:12]}.db"
                earlier = sum_backlogs([*self._left.values(), *self._kept.values()])
                log = await open_sqlite_log(
                    path,
                    bytes_max=max(0, self.bytes_max - earlier.bytes),
                    installation=self._installation,
                    counts_decoded=True,
                )
                self._current = SpoolFile(path, log)
                self._wake.set()
            return self._current

    async def _send_left(self, path: Path, destination: Destination) -> None:
        """Send on a file of an earlier start, or keep it for an operator if it cannot be read."""
        try:
            if self._sending is None:
                self._sending = await _open_file(path, self._installation)
            sent = await self._sending.send_everything(destination)
        except (SpoolUnreadable, StartRefused) as error:
            structlog.get_logger().error("spool_file_kept", file=str(path), reason=str(error))
            self._kept[path] = self._left.pop(path)
        else:
            structlog.get_logger().info("spool_sent", file=str(path), requests=sent)
            del self._left[path]
        file, self._sending = self._sending, None
        if file is not None:
            await file.close()

    async def _send_current(self, destination: Destination) -> None:
        total = 0
        try:
            while self.switch.is_on:
                written = self.switch.written
                sent = await self._current.send_some(destination) if self._current else 0
                total += sent
                if not sent:
                    await destination.ping()
                    self.switch.sent(written)
                elif sent < LAST_ENVELOPES_MAX:
                    self.switch.pause(True)
        finally:
            self.switch.pause(False)
        structlog.get_logger().info("spool_sent", requests=total)

    async def _close_current(self) -> None:
        file, self._current = self._current, None
        if file is None or await file.close():
            return
        self._left[file.path] = await asyncio.to_thread(read_content, file.path)
        self.switch.count()
        self._wake.set()


async def open_spool(folder: Path, bytes_max: int) -> Spool:
    """Return a spool, with what earlier starts have left in its folder."""
    return Spool(folder, bytes_max, await asyncio.to_thread(files_in, folder))


def files_in(folder: Path) -> Mapping[Path, Backlog]:
    """Return the content of each file of a spool, the oldest file first.

    A file that cannot be read counts as empty.
    """
    contents: dict[Path, Backlog] = {}
    for path in sorted(folder.glob("*.db")):
        contents[path] = Backlog(0, 0, None)
        with suppress(OSError):
            contents[path] = read_content(path)
    return contents


def _delete_if_sent(path: Path, sent: Mapping[bool, int]) -> bool:
    reader = LogFileReader(path)
    try:
        with _reading(path):
            if any(reader.read(upto, 1, 1, historical=lane) for lane, upto in sent.items()):
                return False
    except SpoolUnreadable:
        return False
    finally:
        reader.close()
    for suffix in _SUFFIXES:
        path.with_name(path.stem + suffix).unlink(missing_ok=True)
    return True


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, zstandard.ZstdError, msgspec.DecodeError) as error:
        raise SpoolUnreadable(f"{path}: {error}") from error
