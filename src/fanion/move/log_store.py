"""The accept log of the source, sent on to the target: each envelope once, in order.

How far it was sent on is written in the transaction that appends the envelopes.
"""

import asyncio
import fcntl
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import IO, Final, Protocol

import asyncpg

from fanion.accept_log import postgres_partitions
from fanion.accept_log.port import LogEntry, LogFull
from fanion.accept_log.postgres import NAME as NAME_OF_LOGS
from fanion.accept_log.postgres import plain_url
from fanion.accept_log.sqlite_file import LogFileReader, LogFileWriter, encode_group
from fanion.ingest.partitioning import cut
from fanion.ingest.pipeline.position_store import HISTORICAL, LANES, LONG_AGO, consumer_of
from fanion.move.records_store import NAME, SENT_ON, Positions

# What is sent on in one transaction.
ENVELOPES_MAX: Final = 500
BYTES_MAX: Final = 8 * 1024**2
APPEND_S: Final = 30.0

_READ_POSITIONS = "SELECT consumer, position FROM log_positions WHERE consumer LIKE $1"
_MOVE_POSITION = """
INSERT INTO log_positions (consumer, position, claimed, holder, held_until)
     VALUES ($1, $2, $2, '', $3)
ON CONFLICT (consumer) DO UPDATE SET position = excluded.position, claimed = excluded.claimed
"""
# Connections of servers have these names: for the records, and for the log.
_SERVERS = """
SELECT COUNT(*)
  FROM pg_stat_activity
 WHERE datname = CURRENT_DATABASE() AND application_name IN ('fanion', $1)
"""
_CREATE_SENT_ON = """
CREATE TABLE IF NOT EXISTS sent_on (consumer TEXT PRIMARY KEY, position INTEGER NOT NULL)
"""
_READ_SENT_ON = "SELECT consumer, position FROM sent_on"
_MOVE_SENT_ON = "INSERT OR REPLACE INTO sent_on VALUES (?, ?)"


class SourceLog(Protocol):
    """The log that servers may still append to."""

    async def read(self, lane: str, after: Positions) -> Sequence[LogEntry]:
        """Return the next entries of a lane, in order; none if there are none.

        Args:
            after: The last entries that were read, by the names of consumers.
        """

    async def is_left(self) -> bool:
        """Return whether no server can append any more."""


class TargetLog(Protocol):
    """The log that takes the entries."""

    async def positions(self) -> Positions:
        """Return how far the source was sent on, by the names of consumers."""

    async def append(self, entries: Sequence[LogEntry], lane: str, sent_on: Positions) -> None:
        """Append entries, and note in the same transaction how far the source was sent on.

        Raises:
            LogFull: Nothing was appended.
            OSError: The store failed.
        """


async def send_on(source: SourceLog, target: TargetLog) -> int:
    """Send on all that waits, and return the number of envelopes."""
    positions = dict(await target.positions())
    total = 0
    for lane in LANES:
        while entries := await source.read(lane, positions):
            sent_on = {consumer_of(lane, entry.partition): entry.id for entry in entries}
            await target.append(entries, lane, sent_on)
            positions |= sent_on
            total += len(entries)
    return total


class LogFile:
    """A log in SQLite, as the source."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: IO[bytes] | None = None

    async def read(self, lane: str, after: Positions) -> Sequence[LogEntry]:
        return await asyncio.to_thread(self._read, lane, after.get(lane, 0))

    def _read(self, lane: str, after: int) -> Sequence[LogEntry]:
        if not self._path.exists():
            return ()
        with closing(LogFileReader(self._path)) as reader:
            return reader.read(after, ENVELOPES_MAX, BYTES_MAX, historical=lane == HISTORICAL)

    async def is_left(self) -> bool:
        """Return whether no process writes the file, and keep others from doing so from now on."""
        if self._lock is None:
            lock = self._path.with_suffix(".lock").open("ab")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                return False
            self._lock = lock
        return True

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()


class NewLogFile:
    """A log in SQLite, as the target. No server can open it meanwhile."""

    def __init__(self, path: Path, bytes_max: int, sent_on: Positions, installation: str) -> None:
        """Open the file, and create it if it is missing.

        Args:
            sent_on: What was read with the records; later entries are sent on.

        Raises:
            OSError: The file cannot be opened, or a server has it open.
            StartRefused: The file is another installation's.
        """
        last = max(sent_on.values(), default=0)
        self._sent_on = dict(sent_on)
        self._writer = LogFileWriter(path, bytes_max, 0, last, installation)
        self._writer.open().execute(_CREATE_SENT_ON)

    async def positions(self) -> Positions:
        return {**self._sent_on, **dict(self._writer.open().execute(_READ_SENT_ON).fetchall())}

    async def append(self, entries: Sequence[LogEntry], lane: str, sent_on: Positions) -> None:
        await asyncio.to_thread(self._append, entries, lane, sent_on)

    def _append(self, entries: Sequence[LogEntry], lane: str, sent_on: Positions) -> None:
        group = encode_group([entry.envelope for entry in entries])
        try:
            db = self._writer.open()
            db.execute("BEGIN IMMEDIATE")
            try:
                self._writer.write(group, historical=lane == HISTORICAL)
                db.executemany(_MOVE_SENT_ON, list(sent_on.items()))
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise OSError(f"accept log: {error}") from error

    def close(self) -> None:
        self._writer.close()


class LogTables:
    """A log in PostgreSQL, as the source or the target."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", bytes_max: int) -> None:
        self._pool = pool
        self._bytes_max = bytes_max
        self._partitions = range(1, postgres_partitions.PARTITIONS + 1)

    async def read(self, lane: str, after: Positions) -> Sequence[LogEntry]:
        of_lane = {part: after.get(consumer_of(lane, part), 0) for part in self._partitions}
        async with self._pool.acquire() as connection:
            return await postgres_partitions.read(
                connection, of_lane, ENVELOPES_MAX, BYTES_MAX, lane == HISTORICAL, None
            )

    async def is_left(self) -> bool:
        return bool(await self._pool.fetchval(_SERVERS, NAME_OF_LOGS) == 0)

    async def positions(self) -> Positions:
        rows = await self._pool.fetch(_READ_POSITIONS, f"{SENT_ON}%")
        return {row[0].removeprefix(SENT_ON): row[1] for row in rows}

    async def append(self, entries: Sequence[LogEntry], lane: str, sent_on: Positions) -> None:
        count = len(self._partitions)
        pieces = [piece for entry in entries for piece in cut(entry.envelope, count)]
        moved = [(f"{SENT_ON}{name}", upto, LONG_AGO) for name, upto in sent_on.items()]
        async with self._pool.acquire() as connection, connection.transaction():
            ids = await postgres_partitions.append(
                connection, pieces, lane == HISTORICAL, self._bytes_max, APPEND_S
            )
            if not ids:
                raise LogFull(f"the accept log has reached its limit of {self._bytes_max} bytes")
            await connection.executemany(_MOVE_POSITION, moved)


@asynccontextmanager
async def open_log_tables(url: str, bytes_max: int) -> AsyncGenerator[LogTables]:
    """Open the log of a migrated PostgreSQL database.

    Raises:
        OSError: The database does not answer.
    """
    settings = {"application_name": NAME, "jit": "off", "enable_bitmapscan": "off"}
    try:
        async with asyncpg.create_pool(
            plain_url(url), min_size=0, max_size=2, server_settings=settings
        ) as pool:
            yield LogTables(pool, bytes_max)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise OSError(f"accept log: {error}") from error
