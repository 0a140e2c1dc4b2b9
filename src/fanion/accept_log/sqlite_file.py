"""The file of the embedded accept log: one process writes it, and the server reads it.

A row is a group of envelopes, encoded and compressed.
"""

import fcntl
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import disk_usage
from struct import Struct
from time import monotonic, sleep
from typing import IO
from zlib import crc32

import msgspec
import zstandard

from fanion.accept_log.port import Backlog, Envelope, LogEntry, LogFull, sum_backlogs
from fanion.errors import StartRefused

# The writer process of a server that was killed finishes its requests before it ends.
LOCK_WAIT_S_MAX = 10.0
BUSY_TIMEOUT_S = 5.0  # enough for an operator's sqlite3 shell, for example
TRIM_GROUPS = 64  # in one transaction; an append waits for at most one of them
FREE_PAGES_MAX = 16_384  # 64 MB for the next backlog; more is returned to the disk
# On a full disk not even trimming works, since it too goes through the write-ahead log.
DISK_FREE_BYTES_MIN = 64 * 1024**2
DISK_CHECK_S = 0.05  # at 4 MB a group and 30 ms each, some 8 MB are written in this time
WAL_BYTES_MAX = 64 * 1024**2
ROW_BYTES = 32  # size of a group without its content

_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    f"journal_size_limit = {WAL_BYTES_MAX}",
    "secure_delete = ON",  # the default only of some builds of SQLite
)
# A group is the envelopes of one commit. Their ids have no gaps, so the last id and the number of
# envelopes determine all of them. AUTOINCREMENT ensures that no id is reused after the table was
# emptied.
_CREATE = """
CREATE TABLE IF NOT EXISTS {lane} (
  last_id   INTEGER PRIMARY KEY AUTOINCREMENT,
  envelopes INTEGER NOT NULL,
  bytes     INTEGER NOT NULL,
  oldest    INTEGER NOT NULL,
  content   BLOB NOT NULL
)
"""
# Without BEGIN and COMMIT: a single statement is its own transaction.
_INSERT = """
INSERT INTO {lane} (last_id, envelopes, bytes, oldest, content) VALUES (?, ?, ?, ?, ?)
"""
_READ = """
  SELECT last_id, envelopes, content
    FROM {lane}
   WHERE last_id > ?
ORDER BY last_id
"""
_FIRST = """
  SELECT last_id, envelopes, bytes, oldest
    FROM {lane}
   WHERE last_id > ?
ORDER BY last_id
   LIMIT 1
"""
_SIZE_UPTO = """
SELECT COALESCE(SUM(envelopes), 0), COALESCE(SUM(bytes), 0) FROM {lane} WHERE last_id <= ?
"""
_TRIM = """
DELETE FROM {lane}
      WHERE last_id IN (SELECT last_id FROM {lane} WHERE last_id <= ? ORDER BY last_id LIMIT ?)
  RETURNING envelopes, bytes
"""
_LANES = "SELECT name FROM sqlite_schema WHERE name IN ('live', 'historical')"
_CONTENT = """
SELECT COALESCE(SUM(envelopes), 0), COALESCE(SUM(bytes), 0), MIN(oldest) FROM {lane}
"""
_IS_MARKED = "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'installation'"
_MARK = "CREATE TABLE IF NOT EXISTS installation (id TEXT PRIMARY KEY)"

_NEWEST = "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence"

_EVERY_ID = 2**63 - 1

# Level 1 takes 31 µs for 256 envelopes of 200 bytes, which shrink to 1.2 KB, and 38 µs for one of
# 22 KB, which shrinks to 2.4 KB. Small groups occur on a busy server with few connections, where
# releasing the GIL for the compressor costs a tenth of a commit each time.
_LEVEL = 1
_UNCOMPRESSED_BYTES_MAX = 16 * 1024
_UNCOMPRESSED = b"\x00"
_CHECKSUM = Struct("<I")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_Row = tuple[int, datetime, str, str, datetime | None, bytes]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_Row]).decode


class LogGroup(msgspec.Struct, frozen=True):
    """The envelopes that one commit writes to a lane.

    Attributes:
        envelopes: Their number.
        oldest: The earliest arrival, in microseconds since 1970.
        rows: The envelopes, encoded.
    """

    envelopes: int
    oldest: int
    rows: bytes


def encode_group(envelopes: Sequence[Envelope]) -> LogGroup:
    """Encode envelopes for `LogFileWriter.write`.

    Raises:
        UnicodeEncodeError: A text has lone surrogates.
    """
    rows = _encode(
        [
            (e.project_id, e.received_at, e.client_ip, e.user_agent, e.sent_at, e.body)
            for e in envelopes
        ]
    )
    oldest = min(e.received_at for e in envelopes)
    return LogGroup(len(envelopes), (oldest - _EPOCH) // _MICROSECOND, rows)


class Compressor:
    """A compressor for one thread. It adds a checksum, by which `decode_group` detects damage."""

    def __init__(self) -> None:
        self._zstd = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress

    def compress(self, rows: bytes) -> bytes:
        if len(rows) > _UNCOMPRESSED_BYTES_MAX:
            return self._zstd(rows)
        return _UNCOMPRESSED + _CHECKSUM.pack(crc32(rows)) + rows


def from_microseconds(microseconds: int) -> datetime:
    return _EPOCH + microseconds * _MICROSECOND


def decode_group(content: bytes, *, historical: bool) -> list[Envelope]:
    """Decode what `Compressor.compress` returned.

    Raises:
        zstandard.ZstdError: The compressed content is damaged.
        msgspec.DecodeError: The content is damaged.
    """
    rows = _checked(content) if content[:1] == _UNCOMPRESSED else zstandard.decompress(content)
    return [Envelope(*row, historical) for row in _decode(rows)]


def _checked(content: bytes) -> bytes:
    [checksum] = _CHECKSUM.unpack_from(content, 1)
    rows = content[1 + _CHECKSUM.size :]
    if crc32(rows) != checksum:
        raise msgspec.DecodeError("accept log: the checksum of a group does not match")
    return rows


def lane_table(historical: bool) -> str:
    return "historical" if historical else "live"


class LogFileWriter:
    """The log's single writer. It opens the file on demand, and again after a failure."""

    def __init__(
        self,
        path: Path,
        bytes_max: int,
        disk_free_bytes_min: int,
        after: int = 0,
        installation: str = "",
        *,
        counts_decoded: bool = False,
    ) -> None:
        """Prepare to write the file without opening it.

        Args:
            after: Ids up to this one have been used, whatever the file says.
            installation: Id of the installation that must own the file. A file without an owner
                becomes this installation's.
            counts_decoded: Whether a group counts with its size before compression, and not with
                the size on disk, which is never much larger.
        """
        self._counts_decoded = counts_decoded
        self._path = path
        self._installation = installation
        self._disk_free_bytes_min = disk_free_bytes_min
        self._limits = {"live": bytes_max, "historical": bytes_max // 2}
        self._compressor = Compressor()
        self._db: sqlite3.Connection | None = None
        self._lock: IO[bytes] | None = None
        self._newest = self._used = after
        self._disk_checked_at = -DISK_CHECK_S
        self._envelopes = {"live": 0, "historical": 0}
        self._bytes = {"live": 0, "historical": 0}

    def open(self) -> sqlite3.Connection:
        """Open the file unless it is open, and return the connection.

        Raises:
            OSError: The file cannot be opened.
            StartRefused: The file belongs to another installation.
        """
        if self._db is not None:
            return self._db
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = self._lock or _lock_file(self._path.with_suffix(".lock"))
        db = None
        try:
            db = sqlite3.connect(
                self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            if self._installation:
                _require_mark(db, self._path, self._installation)
            # Set only in an empty file, because setting it writes, which a full disk refuses.
            if db.execute("PRAGMA page_count").fetchone() == (0,):
                db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            for setting in _SETTINGS:
                db.execute(f"PRAGMA {setting}")
            self._load_counts(db)
            self._mark(db)
        except sqlite3.Error as error:
            if db is not None:
                db.close()
            raise OSError(f"accept log: {error}") from error
        except StartRefused:
            if db is not None:
                db.close()
            self.close()
            raise
        self._db = db
        return db

    def _mark(self, db: sqlite3.Connection) -> None:
        """Mark the file as this installation's.

        On a full disk the mark is left for later, because what the file holds can still be read and
        trimmed.
        """
        if self._installation:
            with suppress(sqlite3.OperationalError):
                db.execute(_MARK)
                db.execute("INSERT OR IGNORE INTO installation VALUES (?)", (self._installation,))

    def write(self, group: LogGroup, *, historical: bool) -> int:
        """Return the last id once the group is on disk. The group's ids have no gaps.

        An import may fill half of the log; the rest is reserved for live events.

        Raises:
            LogFull: A limit is reached.
            OSError: The file cannot be written.
        """
        lane = lane_table(historical)
        self._require_room(lane)
        db = self.open()
        content = self._compressor.compress(group.rows)
        size = len(group.rows if self._counts_decoded else content) + ROW_BYTES
        last = self._newest + group.envelopes
        row = (last, group.envelopes, size, group.oldest, content)
        try:
            db.execute(_INSERT.format(lane=lane), row)
        except sqlite3.Error as error:
            raise self._failed(error) from error
        self._newest = last
        self._envelopes[lane] += group.envelopes
        self._bytes[lane] += size
        return last

    def _require_room(self, lane: str) -> None:
        used = sum(self._bytes.values())
        if used >= self._limits["live"]:
            limit = self._limits["live"]
            raise LogFull(f"the accept log has {used} bytes; its limit is {limit}")
        if (used := self._bytes[lane]) >= (limit := self._limits[lane]):
            raise LogFull(
                f"the {lane} lane of the accept log has {used} bytes; its limit is {limit}"
            )
        if self._is_disk_short():
            raise LogFull(f"less than {self._disk_free_bytes_min} bytes are free on the disk")

    def _is_disk_short(self) -> bool:
        """Return whether too little is free on the disk.

        This is checked every DISK_CHECK_S, and for every group while space is short.
        """
        if monotonic() >= self._disk_checked_at + DISK_CHECK_S:
            free = disk_usage(self._path.parent).free
            if free < self._disk_free_bytes_min:
                return True
            self._disk_checked_at = monotonic()
        return False

    def trim_some(self, upto: int, *, historical: bool) -> bool:
        """Delete the oldest groups up to the id `upto`; return whether more may be left."""
        lane = lane_table(historical)
        try:
            db = self.open()
            trimmed = db.execute(_TRIM.format(lane=lane), (upto, TRIM_GROUPS)).fetchall()
            self._envelopes[lane] -= sum(row[0] for row in trimmed)
            self._bytes[lane] -= sum(row[1] for row in trimmed)
            [free] = db.execute("PRAGMA freelist_count").fetchone()
            if free > FREE_PAGES_MAX:
                db.execute(f"PRAGMA incremental_vacuum({free - FREE_PAGES_MAX})").fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return len(trimmed) == TRIM_GROUPS

    def backlog(self, after: int, *, historical: bool) -> Backlog:
        """Return the backlog, from counts in memory.

        Only groups that are read and not trimmed yet are queried.
        """
        lane = lane_table(historical)
        try:
            db = self.open()
            first = db.execute(_FIRST.format(lane=lane), (after,)).fetchone()
            if first is None:
                return Backlog(0, 0, None)
            passed = db.execute(_SIZE_UPTO.format(lane=lane), (after,)).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        last_id, envelopes, group_bytes, oldest = first
        # The consumer may be within a group.
        passed_here = max(0, after - (last_id - envelopes))
        return Backlog(
            self._envelopes[lane] - passed[0] - passed_here,
            self._bytes[lane] - passed[1] - group_bytes * passed_here // envelopes,
            from_microseconds(oldest),
        )

    def close(self) -> None:
        self._disconnect()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _disconnect(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _load_counts(self, db: sqlite3.Connection) -> None:
        for lane in self._envelopes:
            db.execute(_CREATE.format(lane=lane))
            size = db.execute(_SIZE_UPTO.format(lane=lane), (_EVERY_ID,)).fetchone()
            self._envelopes[lane], self._bytes[lane] = size
        [newest] = db.execute(_NEWEST).fetchone()
        self._newest = max(newest, self._used)

    def _failed(self, error: sqlite3.Error) -> OSError:
        """Drop the connection: after a failure, its state and the file may differ.

        If there is room, a write-ahead log that could not grow is checkpointed first, so that it is
        written from its beginning again.
        """
        with suppress(sqlite3.Error):
            if self._db is not None:
                self._db.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        self._disconnect()
        return OSError(f"accept log: {error}")


def _require_mark(db: sqlite3.Connection, path: Path, installation: str) -> None:
    """Raise StartRefused if the file is another installation's. Unmarked files are accepted."""
    if db.execute(_IS_MARKED).fetchone() == (0,):
        return
    owner = db.execute("SELECT id FROM installation").fetchone()
    if owner not in (None, (installation,)):
        raise StartRefused(
            f"FANION_DATA and FANION_DATABASE_URL disagree: {path} has accepted events of "
            f"installation {owner[0]}, these records belong to {installation}. Correct one of "
            "them; if both are right, `fanion stores adopt` assigns it to these records."
        )


def check_mark(path: Path, installation: str) -> None:
    """Raise StartRefused if a file, which a server may be writing, is another installation's.

    Raises:
        OSError: The file cannot be read.
        StartRefused: The file belongs to another installation.
    """
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            _require_mark(db, path, installation)
    except sqlite3.Error as error:
        raise OSError(f"accept log: {error}") from error


def read_content(path: Path) -> Backlog:
    """Return the content of both lanes of a file, which a server may be writing.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            lanes = [lane for [lane] in db.execute(_LANES)]
            rows = [db.execute(_CONTENT.format(lane=lane)).fetchone() for lane in lanes]
    except sqlite3.Error as error:
        raise OSError(f"accept log: {path}: {error}") from error
    return sum_backlogs(
        Backlog(envelopes, size, None if oldest is None else from_microseconds(oldest))
        for envelopes, size, oldest in rows
    )


def forget_mark(path: Path) -> None:
    """Remove the mark, so that the next installation that opens the file becomes its owner.

    Raises:
        OSError: The file cannot be written.
    """
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)) as db, db:
            db.execute("DROP TABLE IF EXISTS installation")
    except sqlite3.Error as error:
        raise OSError(f"accept log: {error}") from error


def _lock_file(path: Path) -> IO[bytes]:
    """Lock the file for a single writer, because the writer keeps the counts in memory.

    Raises:
        OSError: Another process holds the lock for longer than LOCK_WAIT_S_MAX.
    """
    lock = path.open("ab")
    give_up = monotonic() + LOCK_WAIT_S_MAX
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if monotonic() >= give_up:
                lock.close()
                raise OSError(f"accept log: {path} is locked by another process") from None
            sleep(0.02)


class LogFileReader:
    """A read-only connection to the file, used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA query_only = ON")

    def read(
        self, after: int, envelopes_max: int, bytes_max: int, *, historical: bool
    ) -> list[LogEntry]:
        """Return the entries of a lane after an id, at least one if there is one.

        Raises:
            OSError: The file cannot be read.
        """
        entries: list[LogEntry] = []
        body_bytes = 0
        statement = _READ.format(lane=lane_table(historical))
        try:
            with closing(self._db.execute(statement, (after,))) as rows:
                for last_id, count, content in rows:
                    group = decode_group(content, historical=historical)
                    for entry_id, envelope in enumerate(group, last_id - count + 1):
                        if entry_id <= after:
                            continue
                        body_bytes += len(envelope.body)
                        if entries and body_bytes > bytes_max:
                            return entries
                        entries.append(LogEntry(entry_id, envelope))
                        if len(entries) >= envelopes_max:
                            return entries
        except sqlite3.Error as error:
            raise OSError(f"accept log: {error}") from error
        return entries

    def close(self) -> None:
        self._db.close()
