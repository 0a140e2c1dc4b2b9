"""A copy of an embedded event store that another process has open.

The engine never changes a part that it has written: the copy shares those files with the store and
takes no room on the disk. The engine deletes a part only once another one holds its rows, so a list
of parts that is the same before and after their files were linked holds all rows.
"""

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final

from fanion.events.event import EventStoreUnavailable

# How the engine names parts: by partition, first and last block, level, and mutation if any.
_PART: Final = re.compile(r".+_\d+_\d+_\d+(?:_\d+)?")
_UNFINISHED: Final = ("tmp", "delete_tmp", "detached", "moving", "deleting")
# Beside these, the engine needs nothing to open a store.
_FOLDERS: Final = ("metadata", "data", "store")
# While nothing is stored, only merges change the list of parts, which take seconds each.
STABLE_S: Final = 20.0


def snapshot_event_store(folder: Path, into: Path, stable_s: float = STABLE_S) -> None:
    """Copy an event store into a new folder on the same disk.

    Args:
        stable_s: How long to wait until the list of parts stays the same; 0 to do without, where
            the copy may lack rows.

    Raises:
        EventStoreUnavailable: The list of parts did not stay the same.
        OSError: A file cannot be read or linked.
    """
    into.mkdir(mode=0o700)
    give_up = monotonic() + stable_s
    before: set[Path] | None = None
    while True:
        parts = _copy_once(folder, into)
        if parts == before or not stable_s:
            return
        if monotonic() > give_up:
            raise EventStoreUnavailable(f"the parts in {folder} changed all the time")
        before = parts


def _copy_once(folder: Path, into: Path) -> set[Path]:
    """Copy what is not copied yet, and return the parts that the store had, without their folder.

    Parts that it has no more are left out: others hold their rows.
    """
    parts: set[Path] = set()
    for name in _FOLDERS:
        if (folder / name).is_dir():
            parts |= {path.relative_to(folder) for path in _copy_folder(folder / name, into / name)}
    for copied in into.glob("store/*/*/*"):
        if _PART.fullmatch(copied.name) and copied.relative_to(into) not in parts:
            shutil.rmtree(copied)
    for part in parts:
        if not _link_part(folder / part, into / part):
            shutil.rmtree(into / part)
    return parts


def _copy_folder(folder: Path, into: Path) -> set[Path]:
    """Copy a folder without its parts, and return these."""
    into.mkdir(exist_ok=True)
    parts: set[Path] = set()
    for path in folder.iterdir():
        copy = into / path.name
        if path.is_symlink():
            if not copy.is_symlink():
                copy.symlink_to(path.readlink())
        elif not path.is_dir():
            with suppress(FileNotFoundError):  # a mutation that has ended
                shutil.copyfile(path, copy)
        elif path.name == "detached":
            copy.mkdir(exist_ok=True)
        elif _PART.fullmatch(path.name) and not path.name.startswith(_UNFINISHED):
            parts.add(path)
        elif not path.name.startswith(_UNFINISHED):
            parts |= _copy_folder(path, copy)
    return parts


def _link_part(part: Path, into: Path) -> bool:
    """Link the files of a part, and return False if it was deleted meanwhile."""
    into.mkdir(parents=True, exist_ok=True)
    try:
        for file in part.iterdir():
            if file.is_dir():  # a projection
                if not _link_part(file, into / file.name):
                    return False
            elif not (into / file.name).exists():
                os.link(file, into / file.name)
    except FileNotFoundError:
        return False
    return True
