"""Snapshots of flags: a file with the flags of all projects, in the form of the offline copy.

A command writes it; a server elsewhere starts from it while it cannot reach the records store.
"""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from fanion.config import PREFIX, SettingsError
from fanion.flags.engine.definition import FlagDefinitions
from fanion.flags.evaluation.cache import OfflineCopy
from fanion.flags.evaluation.offline_store import (
    OfflineFlagStore,
    Row,
    check_row,
    create_tables,
    put_row,
)
from fanion.projects.model import Project

_ROWS = "SELECT project_id, api_token, project, definitions FROM kept"
_TAKEN_AT = "SELECT min(taken_at) FROM taken"

AddProject = Callable[[Project, FlagDefinitions], None]


@contextmanager
def write_snapshot(path: Path, taken_at: datetime) -> Iterator[AddProject]:
    """Yield a function that adds a project to the snapshot.

    An existing file stays in place until the new one is complete and on disk.

    Args:
        taken_at: A time before the first project was read.

    Raises:
        OSError: The file cannot be written.
    """
    handle, name = tempfile.mkstemp(".new", f".{path.name}.", path.parent)  # with mode 0600
    temporary = Path(name)
    try:
        with closing(sqlite3.connect(temporary)) as file:
            # No durability is needed: an incomplete file is never read.
            file.execute("PRAGMA journal_mode = OFF")
            file.execute("PRAGMA synchronous = OFF")
            create_tables(file)
            yield partial(_add_project, file, taken_at)
            file.commit()
        os.fsync(handle)
        temporary.replace(path)
        _sync_folder(path.parent)
    except sqlite3.Error as error:
        raise OSError(str(error)) from error
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


def _add_project(
    file: sqlite3.Connection, taken_at: datetime, project: Project, definitions: FlagDefinitions
) -> None:
    put_row(file, project, OfflineCopy(definitions, taken_at))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def take_over_snapshot(path: Path, offline: OfflineFlagStore) -> None:
    """Copy a snapshot into the offline copy, where it is newer or has more projects.

    Raises:
        SettingsError: The file is missing or no complete snapshot; the copy is left unchanged.
    """
    try:
        # Immutable, so that nothing is written next to the file: its folder may be read-only.
        uri = f"{path.resolve(strict=True).as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as file:
            [(taken_at,)] = _execute(path, file, _TAKEN_AT)
            if taken_at is not None:
                taken = datetime.fromtimestamp(taken_at, UTC)
                offline.take_over(partial(_snapshot_rows, path, file), taken)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    except sqlite3.Error as error:
        raise _unreadable(path, str(error)) from None


def _snapshot_rows(path: Path, file: sqlite3.Connection) -> Iterator[Row]:
    """Yield the rows of a snapshot.

    Raises:
        SettingsError: A row cannot be read. A database error would look like one of the copy.
    """
    for row in _execute(path, file, _ROWS):
        try:
            check_row(row)
        except msgspec.MsgspecError as error:
            raise _unreadable(path, str(error)) from None
        yield row


def _execute(path: Path, file: sqlite3.Connection, statement: str) -> Iterator[Any]:
    try:
        yield from file.execute(statement)
    except sqlite3.Error as error:
        raise _unreadable(path, str(error)) from None


def _unreadable(path: Path, reason: str) -> SettingsError:
    return SettingsError(
        f"{PREFIX}FLAGS_SNAPSHOT: {path} cannot be read as a snapshot of flags: {reason}"
    )
