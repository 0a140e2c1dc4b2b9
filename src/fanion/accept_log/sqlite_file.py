"""The file of the embedded accept log: one process writes it, the server reads it. A row is a group
of envelopes, encoded and compressed."""

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

from fanion.accept_log.port import Backlog, Envelope, LogEntry, LogFull
from fanion.errors import StartRefused

# The writer process of a server that was killed finishes its requests first.
LOCK_WAIT_S_MAX = 10.0
BUSY_TIMEOUT_S = 5.0  # an operator's sqlite3 shell, for example
TRIM_GROUPS = 64  # a transaction; appends wait for one of them at most
FREE_PAGES_MAX = 16_384  # 64 MB for the next backlog; more is returned to the disk
# On a full disk not even trimming works, since it too goes through the write-ahead log.
DISK_FREE_BYTES_MIN = 64 * 1024**2
DISK_CHECK_S = 0.05  # at 4 MB a group and 30 ms each, some 8 MB are written meanwhile
WAL_BYTES_MAX = 64 * 1024**2
ROW_BYTES = 32  # size of a group without its content

_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    f"journal_size_limit = {WAL_BYTES_MAX}",
)
# A group is the envelopes of one commit. Their ids have no gaps, so the last id and the
# number of envelopes determine all of them. With AUTOINCREMENT no id is used again after the table
# was emptied.
_CREATE = """
CREATE TABLE IF NOT EXISTS {lane} (
  last_id   INTEGER PRIMARY KEY AUTOINCREMENT,
  envelopes INTEGER NOT NULL,
  bytes     INTEGER NOT NULL,
  oldest    INTEGER NOT NULL,
  content   BLOB NOT NULL
)
"""
# No BEGIN and COMMIT around it: a single statement is a transaction of its own.
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
_IS_MARKED = "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'installation'"
_MARK = "CREATE TABLE IF NOT EXISTS installation (id TEXT PRIMARY KEY)"

_NEWEST = "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence"

_EVERY_ID = 2**63 - 1

# Level 1 takes 31 µs for 256 envelopes of 200 bytes, which become 1.2 KB, and 38 µs for one of
# 22 KB, which becomes 2.4 KB. Small groups are those of a busy server with few connections,
# where each time that the compressor releases the GIL costs a tenth of the commit.
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
    """What one commit writes to a lane.

    envelopes: how many
    oldest:    the earliest arrival, microseconds since 1970
    rows:      the envelopes, encoded
    """

    envelopes: int
    oldest: int
    rows: bytes


def encode_group(envelopes: Sequence[Envelope]) -> LogGroup:
    """raises: UnicodeEncodeError for a text with lone surrogates"""
    rows = _encode(
        [
            (e.project_id, e.received_at, e.client_ip, e.user_agent, e.sent_at, e.body)
            for e in envelopes
        ]
    )
    oldest = min(e.received_at for e in envelopes)
    return LogGroup(len(envelopes), (oldest - _EPOCH) // _MICROSECOND, rows)


class Compressor:
    """For one thread. Adds a checksum, by which `decode_group` detects damage."""

    def __init__(self) -> None:
        self._zstd = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress

    def compress(self, rows: bytes) -> bytes:
        if len(rows) > _UNCOMPRESSED_BYTES_MAX:
            return self._zstd(rows)
        return _UNCOMPRESSED + _CHECKSUM.pack(crc32(rows)) + rows


def from_microseconds(microseconds: int) -> datetime:
    """raises: OverflowError"""
    return _EPOCH + microseconds * _MICROSECOND


def decode_group(content: bytes, *, historical: bool) -> list[Envelope]:
    """raises: zstandard.ZstdError, msgspec.DecodeError when the content is damaged"""
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
    """For the one writer. Opens the file on demand, and again after a failure."""

    def __init__(
        self,
        path: Path,
        bytes_max: int,
        disk_free_bytes_min: int,
        after: int = 0,
        installation: str = "",
    ) -> None:
        """after:        ids up to here have been used, whatever the file knows
        installation: the id of the only one whose file it may be; a file without any becomes its
        """
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
        """raises: OSError; StartRefused for the file of another installation"""
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
            # Only in an empty file: setting it writes, which a full disk refuses.
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
        """Later, if the disk is full: what it holds can be read and trimmed all the same."""
        if self._installation:
            with suppress(sqlite3.OperationalError):
                db.execute(_MARK)
                db.execute("INSERT OR IGNORE INTO installation VALUES (?)", (self._installation,))

    def write(self, group: LogGroup, *, historical: bool) -> int:
        """Return the last id once the group is on disk; the ids have no gap.

        An import may fill half of the log: the rest is reserved for live events.
        raises: LogFull, OSError
        """
        lane = lane_table(historical)
        self._require_room(lane)
        db = self.open()
        content = self._compressor.compress(group.rows)
        size = len(content) + ROW_BYTES
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
        """Checked every DISK_CHECK_S, and for every group while the disk is short."""
        if monotonic() >= self._disk_checked_at + DISK_CHECK_S:
            free = disk_usage(self._path.parent).free
            if free < self._disk_free_bytes_min:
                return True
            self._disk_checked_at = monotonic()
        return False

    def trim_some(self, upto: int, *, historical: bool) -> bool:
        """Delete the oldest groups that end at `upto` or before; whether more may be left."""
        lane = lane_table(historical)
        try:
            db = self.open()
            gone = db.execute(_TRIM.format(lane=lane), (upto, TRIM_GROUPS)).fetchall()
            self._envelopes[lane] -= sum(row[0] for row in gone)
            self._bytes[lane] -= sum(row[1] for row in gone)
            [free] = db.execute("PRAGMA freelist_count").fetchone()
            if free > FREE_PAGES_MAX:
                db.execute(f"PRAGMA incremental_vacuum({free - FREE_PAGES_MAX})").fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return len(gone) == TRIM_GROUPS

    def backlog(self, after: int, *, historical: bool) -> Backlog:
        """From counts in memory; only groups that are read and not trimmed yet are queried."""
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
        # The consumer may stand within a group.
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

        A write-ahead log that could not grow is checkpointed first, if there is room, so that it
        is written from its beginning again.
        """
        with suppress(sqlite3.Error):
            if self._db is not None:
                self._db.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        self._disconnect()
        return OSError(f"accept log: {error}")


def _require_mark(db: sqlite3.Connection, path: Path, installation: str) -> None:
    """That of the installation, or none. raises: StartRefused"""
    if db.execute(_IS_MARKED).fetchone() == (0,):
        return
    owner = db.execute("SELECT id FROM installation").fetchone()
    if owner not in (None, (installation,)):
        raise StartRefused(
            f"FANION_DATA and FANION_DATABASE_URL disagree: {path} has accepted events of "
            f"installation {owner[0]}, these records belong to {installation}. Correct one of "
            "them; if both are right, `fanion stores adopt` makes it that of these records."
        )


def check_mark(path: Path, installation: str) -> None:
    """Of a file that a server may be writing. raises: OSError; StartRefused"""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            _require_mark(db, path, installation)
    except sqlite3.Error as error:
        raise OSError(f"accept log: {error}") from error


def forget_mark(path: Path) -> None:
    """Let the next installation that opens the file have it. raises: OSError"""
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)) as db, db:
            db.execute("DROP TABLE IF EXISTS installation")
    except sqlite3.Error as error:
        raise OSError(f"accept log: {error}") from error


def _lock_file(path: Path) -> IO[bytes]:
    """One writer at a time, because it has the counts in memory. raises: OSError"""
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
    """For one thread of the server."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA query_only = ON")

    def read(
        self, after: int, envelopes_max: int, bytes_max: int, *, historical: bool
    ) -> list[LogEntry]:
        """raises: OSError"""
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
