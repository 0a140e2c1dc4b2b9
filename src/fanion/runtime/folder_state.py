"""Marks in a data folder that say whether a server may start on it.

While a server uses the folder, a file in it says so, with the numbers by which the file system
knows the folder and its files. After a kill they are still the same, also if the folder was moved
on its disk or is on a snapshot of it. In a copy they differ, and a copy that has the file was made
while a server wrote: some of its files are older than others.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from fanion.runtime.durable_file import replace_durably, sync_folder, write_durably

RUNNING_FILE: Final = "running.json"
IDENTITY_FILE: Final = "folder-id"
RESTORE_FILE: Final = "restore-unfinished"

_IDENTITY_TEXT: Final = b"Fanion tells by this file that the folder is not a copy. Leave it here.\n"
_RESTORE_TEXT: Final = b"`fanion restore` has not finished here. Run it again.\n"
# Those whose numbers are noted. Of several, all have the same numbers in a copy only by intent.
_IDENTIFIED: Final = (".", IDENTITY_FILE, "records.db", "accept-log.db", "events")


class FolderRefused(Exception):
    """A data folder on which nothing may start. The text is one line that says what to do."""


class _Running(msgspec.Struct, frozen=True):
    """The note of a server that uses the folder.

    Attributes:
        started_at: When it started.
        inodes: The numbers of the folder and its files, by name.
        changed_ns: When the identity file was created, or its owner or permissions were changed
            last: unlike its other times, no program can set this one in a copy.
    """

    started_at: datetime
    inodes: Mapping[str, int]
    changed_ns: int


def require_usable(folder: Path) -> None:
    """Check that neither an unfinished restore nor a copy of a running server's folder is here.

    Raises:
        FolderRefused: One of them is.
    """
    require_restored(folder)
    running = _read_running(folder)
    if running is not None and not _is_same_folder(folder, running):
        raise FolderRefused(
            f"{folder} is a copy that was made while a server used the original, so parts of it "
            "are older than others and events may be missing. Make it with `fanion backup` and "
            "`fanion restore`, or copy the folder while its server is stopped. If no server ran "
            "while it was copied, such as after a crash, run `fanion stores adopt`."
        )


def require_restored(folder: Path) -> None:
    """Check that no unfinished restore is here.

    Raises:
        FolderRefused: One is.
    """
    if (folder / RESTORE_FILE).exists():
        raise FolderRefused(
            f"the restore into {folder} has not finished. Run `fanion restore` again"
        )


@contextmanager
def noted_as_running(folder: Path) -> Iterator[None]:
    """Note in the folder that its files are in use, until the end of the block."""
    identity = folder / IDENTITY_FILE
    if not identity.exists():
        replace_durably(identity, _IDENTITY_TEXT)
    running = _Running(datetime.now(UTC), _inodes(folder), identity.stat().st_ctime_ns)
    replace_durably(folder / RUNNING_FILE, msgspec.json.encode(running))
    try:
        yield
    finally:
        (folder / RUNNING_FILE).unlink(missing_ok=True)


def begin_restore(folder: Path, kept: str) -> None:
    """Mark a folder as not restored yet, and remove what an unfinished restore has left.

    Args:
        kept: The name of a file that may be there.

    Raises:
        FolderRefused: The folder holds something else.
    """
    mark = folder / RESTORE_FILE
    others = [path for path in folder.iterdir() if path.name != kept]
    if others and not mark.exists():
        raise FolderRefused(
            f"{folder} is not empty, and a backup is restored into a new folder; name another one "
            "with --data, or move this one away"
        )
    write_durably(mark, _RESTORE_TEXT)
    for path in others:
        if path != mark:
            _remove(path)


def end_restore(folder: Path) -> None:
    """Let servers start on a folder that was restored completely."""
    for inner, _, _ in os.walk(folder):
        sync_folder(Path(inner))
    (folder / RESTORE_FILE).unlink()
    sync_folder(folder)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for inner in path.iterdir():
            _remove(inner)
        path.rmdir()
    else:
        path.unlink()


def _read_running(folder: Path) -> _Running | None:
    try:
        return msgspec.json.decode((folder / RUNNING_FILE).read_bytes(), type=_Running)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def _is_same_folder(folder: Path, running: _Running) -> bool:
    try:
        if (folder / IDENTITY_FILE).stat().st_ctime_ns == running.changed_ns:
            return True
    except FileNotFoundError:
        return False
    return _inodes(folder).items() >= running.inodes.items()


def _inodes(folder: Path) -> dict[str, int]:
    paths = {name: folder / name for name in _IDENTIFIED}
    return {name: path.stat().st_ino for name, path in paths.items() if path.exists()}
