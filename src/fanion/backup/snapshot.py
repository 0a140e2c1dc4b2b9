"""One moment of a data folder, held while it is copied and while the server goes on.

For a few milliseconds nobody can write to the records store. In that time its snapshot and that of
the accept log are opened, and the parts of the event store are linked. What ingestion or a job was
doing then is in the same state as if the server had been killed at that moment, and is repeated
in the same way: events are stored before they are committed to the records, and deleted from the
accept log after that.
"""

import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from fanion.accept_log.sqlite_file import DISK_FREE_BYTES_MIN
from fanion.backup.model import BackupRefused
from fanion.config import Settings
from fanion.events.storage.linked_parts import LinkedParts, remove_folder
from fanion.runtime.data_dir import events_folder, records_file

# Beside the records store, for copies of it and of the accept log.
STAGED: Final = "backup.tmp"
# Within the event store's folder, since links cannot leave a disk. The engine leaves it alone.
_LINKED: Final = Path("shadow", "fanion-backup")
RECORDS, ACCEPT_LOG, EVENTS = "records.db", "accept-log.db", "events"

_LOCK_WAIT_S = 30.0
_PAGES = 2_048  # copied at a time, during which no other thread can use the connection


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder to be copied into a backup.

    Attributes:
        path: Its path in the data folder.
        copy: Where its content lies until the end of the snapshot.
        key: Equal for the same content at the same path; "" if only the content tells.
    """

    path: str
    copy: Path
    key: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of a data folder at one moment.

    Attributes:
        links: Symbolic links, with their targets.
    """

    installation: UUID
    taken_at: datetime
    sources: tuple[Source, ...]
    links: Mapping[str, str]


@contextmanager
def snapshot(settings: Settings) -> Iterator[Snapshot]:
    """Hold one moment of the data folder until the end of the block.

    Raises:
        BackupRefused: The stores are not embedded, or there is nothing to back up.
        OSError: A file cannot be read, linked or written.
    """
    records, events = _embedded_stores(settings)
    staged, linked = settings.data.resolve() / STAGED, events / _LINKED
    with ExitStack() as stack:
        stack.callback(remove_folder, linked)
        stack.callback(remove_folder, staged)
        remove_folder(linked)
        remove_folder(staged)
        staged.mkdir(mode=0o700)
        _require_space(staged, (records, settings.accept_log_path))
        parts = LinkedParts(events, linked)
        parts.link_some()  # most of them before anybody has to wait
        try:
            files = _copied_files(settings, records, staged, parts)
            yield _snapshot(*files, staged, parts)
        except sqlite3.Error as error:
            raise BackupRefused(f"the records store or the accept log: {error}") from error


def remove_leftovers(settings: Settings) -> None:
    """Remove what a backup that was killed has left."""
    remove_folder(settings.data.resolve() / STAGED)
    if (events := events_folder(settings)) is not None:
        remove_folder(events / _LINKED)


def _embedded_stores(settings: Settings) -> tuple[Path, Path]:
    records, events = records_file(settings), events_folder(settings)
    if records is None or events is None:
        raise BackupRefused(
            "only stores in a data folder can be backed up with this command; for PostgreSQL and "
            "ClickHouse use their own tools, as docs/backup.md says"
        )
    if not records.is_file():
        raise BackupRefused(f"there is no records store {records}; name the data folder by --data")
    return records, events


def _require_space(folder: Path, files: Iterable[Path]) -> None:
    """Check that copies of these files fit, and leave what capture needs.

    Raises:
        BackupRefused: They do not.
    """
    needed = DISK_FREE_BYTES_MIN + sum(file.stat().st_size for file in files if file.exists())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BackupRefused(
            f"{folder.parent} needs {needed // 1024**2} MB of free space for a while, and has "
            f"{free // 1024**2} MB: the records store is copied there first"
        )


def _copied_files(
    settings: Settings, records: Path, staged: Path, parts: LinkedParts
) -> tuple[UUID, datetime]:
    """Copy the two SQLite files and link the rest, all in the state of one moment.

    Returns:
        The id of the installation, and the moment.
    """
    with ExitStack() as readers:
        with closing(_connect(records)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            opened = {RECORDS: readers.enter_context(_reader(records))}
            if settings.accept_log_path.exists():
                opened[ACCEPT_LOG] = readers.enter_context(_reader(settings.accept_log_path))
            parts.link_all()
            parts.copy_small_files(staged / EVENTS)
            moment = datetime.now(UTC)
            writer.execute("ROLLBACK")
        installation = _installation(opened[RECORDS], records)
        for name in reversed(opened):  # the accept log grows while its snapshot is open
            _copy_database(opened[name], staged / name)
            opened[name].close()
    return installation, moment


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_LOCK_WAIT_S, isolation_level=None)


@contextmanager
def _reader(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file and hold its present state, which later writes do not change."""
    with closing(_connect(path)) as reader:
        reader.execute("PRAGMA query_only = ON")
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        yield reader


def _installation(reader: sqlite3.Connection, path: Path) -> UUID:
    try:
        [value] = reader.execute("SELECT id FROM installation").fetchone()
    except sqlite3.OperationalError:
        raise BackupRefused(f"{path} is not set up, or of a version before 0.9") from None
    return UUID(value)


def _copy_database(reader: sqlite3.Connection, target: Path) -> None:
    """Copy the state that a connection holds, page by page."""
    with closing(sqlite3.connect(target, isolation_level=None)) as copy:
        copy.execute("PRAGMA synchronous = OFF")
        copy.execute("PRAGMA journal_mode = OFF")
        reader.backup(copy, pages=_PAGES, sleep=0)


def _snapshot(installation: UUID, moment: datetime, staged: Path, parts: LinkedParts) -> Snapshot:
    sources = [Source(name, staged / name) for name in (RECORDS, ACCEPT_LOG)]
    return Snapshot(
        installation,
        moment,
        (
            *(source for source in sources if source.copy.exists()),
            Source(EVENTS, staged / EVENTS),
            *(Source(f"{EVENTS}/{part.path}", part.copy, part.key) for part in parts.parts()),
        ),
        {f"{EVENTS}/{path}": target for path, target in parts.links().items()},
    )
