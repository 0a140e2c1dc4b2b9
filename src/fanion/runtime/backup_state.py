"""The outcome of the last backup of a data folder, as a file in it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from fanion.runtime.durable_file import write_durably

STATE_FILE: Final = "backup-state.json"
LOCK_FILE: Final = "backup.lock"
ERROR_CHARS_MAX: Final = 1_000
# A backup that is made regularly is missing when it is so many intervals late.
INTERVALS_MAX: Final = 2


class BackupState(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of the last backup.

    Attributes:
        error: Why it failed; "" if it succeeded, or has not ended.
        has_ended: False while it is made, and if it was killed.
        succeeded_at: The moment whose state the last successful one holds; None if none is.
        size: The bytes of what that one holds.
    """

    destination: str
    started_at: datetime
    has_ended: bool
    error: str = ""
    succeeded_at: datetime | None = None
    size: int = 0


class BackupRunning(Exception):
    """The error when another backup of the same data folder is being made."""


def read_backup_state(folder: Path) -> BackupState | None:
    """Return the outcome of the last backup, or None if there was none."""
    try:
        return msgspec.json.decode((folder / STATE_FILE).read_bytes(), type=BackupState)
    except (OSError, msgspec.MsgspecError):
        return None


def write_backup_state(folder: Path, state: BackupState) -> None:
    write_durably(folder / STATE_FILE, msgspec.json.encode(state))


@contextmanager
def only_backup(folder: Path) -> Iterator[None]:
    """Be the only backup of a data folder until the end of the block.

    Raises:
        BackupRunning: There is another one.
    """
    with (folder / LOCK_FILE).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupRunning from None
        yield


def is_backup_running(folder: Path) -> bool:
    """Return whether a backup of a data folder is being made."""
    try:
        with (folder / LOCK_FILE).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def backup_problem(folder: Path, every_s: float | None, now: datetime) -> str:
    """Return what is wrong with the backups of a data folder, in one line; "" if nothing is.

    Args:
        every_s: How often the server makes backups; None if it makes none.
    """
    state = read_backup_state(folder)
    if state is None:
        return "no backup has been made yet" if every_s is not None else ""
    started = state.started_at.isoformat(timespec="seconds")
    if state.error:
        return f"the last backup, begun at {started}, failed: {state.error}"
    if not state.has_ended and not is_backup_running(folder):
        return f"the last backup, begun at {started}, was killed before it ended"
    if every_s is None or state.succeeded_at is None:
        return ""
    if now - state.succeeded_at > timedelta(seconds=every_s * INTERVALS_MAX):
        succeeded = state.succeeded_at.isoformat(timespec="seconds")
        return f"the last backup is of {succeeded}, and one should be made every {every_s:g} s"
    return ""
