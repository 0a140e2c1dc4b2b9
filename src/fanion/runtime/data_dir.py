"""The data folder: locked by one process at a time, and readable only by its user."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import structlog

from fanion.config import Settings
from fanion.runtime import backup_state
from fanion.runtime.folder_state import (
    IDENTITY_FILE,
    RUNNING_FILE,
    noted_as_running,
    require_restored,
    require_usable,
)

# Holds the keys if standard output was not a terminal.
FIRST_START_FILE = "first-start.txt"

LOCK_FILE = "serving.lock"
_HOLDER_CHARS_MAX = 300  # of serving.lock: an address and a number
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
# Files that a server creates in its folder. Engines add files with a suffix.
_FILES = (
    "records.db",
    "accept-log.db",
    "accept-log.lock",
    "kept-flags.db",
    LOCK_FILE,
    FIRST_START_FILE,
    RUNNING_FILE,
    IDENTITY_FILE,
    backup_state.LOCK_FILE,
    backup_state.STATE_FILE,
    "erasures.jsonl",
)
_SUFFIXES = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class FolderHolder:
    """The process that has locked a folder.

    Attributes:
        address: Where it serves; "" if it does not serve.
        pid: None until the process has written it.
    """

    address: str
    pid: int | None = None


class DataDirLocked(Exception):
    """A folder that another process uses.

    Attributes:
        address: Where that process serves; "" if it does not serve.
    """

    def __init__(self, folder: Path, address: str) -> None:
        does = "serves from" if address else "copies events into"
        super().__init__(
            f"another Fanion {does} {folder}; stop it first, or choose another folder with --data"
        )
        self.address = address


class DataDirMissing(Exception):
    """A folder or file that does not exist.

    Args:
        what: The kind of the missing folder or file.
        named_by: The option or setting that names another one.
    """

    def __init__(self, path: Path, what: str = "data folder", named_by: str = "--data") -> None:
        super().__init__(
            f"there is no {what} {path}; name another one with {named_by}, or make this one "
            "with `fanion serve` or `fanion setup`"
        )


@contextmanager
def lock_data_dir(
    settings: Settings, address: str = "", *, accepts_copy: bool = False
) -> Iterator[None]:
    """Create the folder, restrict it to its owner, lock it, and note that it is in use.

    A new folder is removed again if an error occurs before anything was written to it.

    Args:
        address: Where this process serves, for other processes to see.
        accepts_copy: Whether to take a folder that was copied while a server ran.

    Raises:
        DataDirLocked: Another process has locked the folder.
        FolderRefused: A restore into it has not finished, or it was copied while a server ran.
    """
    folder = settings.data.resolve()
    with lock_folder(settings, address):
        (require_restored if accepts_copy else require_usable)(folder)
        with noted_as_running(folder) if _is_embedded(settings) else nullcontext():
            yield


@contextmanager
def lock_folder(settings: Settings, address: str = "") -> Iterator[None]:
    """Create the folder, restrict it to its owner, and lock it, whatever it holds.

    A new folder is removed again if an error occurs before anything was written to it.

    Raises:
        DataDirLocked: Another process has locked the folder.
    """
    is_new = not settings.data.exists()
    create_data_dir(settings)
    try:
        with _locked_folder(settings, address):
            yield
    except BaseException:
        if is_new:
            _remove_unused(settings.data)
        raise


def _is_embedded(settings: Settings) -> bool:
    """Return whether one of the stores is a file or folder of this machine."""
    return records_file(settings) is not None or events_folder(settings) is not None


def _remove_unused(folder: Path) -> None:
    with suppress(OSError):
        if {path.name for path in folder.iterdir()} <= {LOCK_FILE, IDENTITY_FILE}:
            (folder / LOCK_FILE).unlink()
            (folder / IDENTITY_FILE).unlink(missing_ok=True)
            folder.rmdir()


@contextmanager
def _locked_folder(settings: Settings, address: str) -> Iterator[None]:
    with (settings.data / LOCK_FILE).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = _read_holder(lock.read(_HOLDER_CHARS_MAX))
            raise DataDirLocked(settings.data.resolve(), holder.address) from None
        lock.truncate(0)
        lock.write(f"{address}\n{os.getpid()}\n")
        lock.flush()
        if still_open := restrict_to_owner(settings):
            structlog.get_logger().warning(
                "data_readable_by_others", path=str(still_open[0]), more=len(still_open) - 1
            )
        yield


def find_holder(settings: Settings) -> FolderHolder | None:
    """Return the process that has locked the folder, or None.

    Raises:
        OSError: The lock cannot be read.
    """
    try:
        with (settings.data / LOCK_FILE).open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read_holder(lock.read(_HOLDER_CHARS_MAX))
    except FileNotFoundError:
        pass
    return None


def _read_holder(text: str) -> FolderHolder:
    address, _, pid = text.partition("\n")
    pid = pid.strip()
    return FolderHolder(address.strip(), int(pid) if pid.isascii() and pid.isdigit() else None)


def create_data_dir(settings: Settings) -> None:
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)


def require_data_dir(settings: Settings) -> None:
    """Check that the folder exists, so that a mistyped one is not created and found empty.

    Raises:
        DataDirMissing: There is no such folder.
        FolderRefused: A restore into it has not finished.
    """
    if not settings.data.is_dir():
        raise DataDirMissing(settings.data.resolve())
    require_restored(settings.data.resolve())


def require_records(settings: Settings) -> None:
    """Check that the data folder exists, or the file of records that lie elsewhere.

    Raises:
        DataDirMissing: There is no such folder or file.
    """
    if not settings.database_url:
        require_data_dir(settings)
    elif (file := records_file(settings)) is not None and not file.exists():
        raise DataDirMissing(file, "records store", "FANION_DATABASE_URL")


def restrict_to_owner(settings: Settings) -> list[Path]:
    """Remove permissions that other users have.

    Returns:
        The paths that stay readable, because they belong to another user or are shared as /tmp is.
    """
    events = events_folder(settings)
    if events is not None and _is_open(events):
        for folder, _, files in os.walk(events, topdown=False):
            for path in (*(Path(folder, name) for name in files), Path(folder)):
                _close_to_others(
                    path
                )  # the top folder last: until then the next start begins again
    for path in _own_paths(settings):
        _close_to_others(path)
    return find_readable_by_others(settings)


def find_readable_by_others(settings: Settings) -> list[Path]:
    """Return the paths that others may read or write, in the data folder and of embedded stores."""
    return [path for path in _own_paths(settings) if _is_open(path)]


def _own_paths(settings: Settings) -> Iterator[Path]:
    """Yield the paths that a server creates; other files are the operator's."""
    files = [settings.data.resolve() / name for name in _FILES]
    if (records := records_file(settings)) is not None:
        files.append(records)
    for file in dict.fromkeys(files):
        yield from (file.with_name(file.name + end) for end in _SUFFIXES)
    if (events := events_folder(settings)) is not None:
        yield events
    yield settings.data.resolve()


def records_file(settings: Settings) -> Path | None:
    """Return the file of the embedded records store, or None."""
    url = urlsplit(settings.records_url)
    is_file = url.scheme.partition("+")[0] == "sqlite"
    return Path(url.path[1:]).resolve() if is_file else None


def events_folder(settings: Settings) -> Path | None:
    """Return the folder of the embedded event store, or None."""
    url = urlsplit(settings.event_store_url)
    return Path(unquote(url.path)).resolve() if url.scheme == "chdb" else None


def _close_to_others(path: Path) -> None:
    mode = _permissions_of(path)
    if mode & _OTHERS and not mode & stat.S_ISVTX:
        with suppress(OSError):  # what stays readable is logged
            path.chmod(mode & ~_OTHERS)


def _is_open(path: Path) -> bool:
    return bool(_permissions_of(path) & _OTHERS)


def _permissions_of(path: Path) -> int:
    """Return the permissions of a path; 0 if it does not exist or is a link."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return 0
    return 0 if stat.S_ISLNK(mode) else stat.S_IMODE(mode)
