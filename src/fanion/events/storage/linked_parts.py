"""Hard links to the parts of an embedded event store, made while a process has it open.

Only that process can use the engine on the folder, so nobody else can ask it for a snapshot.
Deduplication tokens are left out: the engine writes the token of an insert before its part is
there, so a copy of both could have only the token, and the insert would not be repeated.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

# Others may wait for the end of the passes. One takes milliseconds, and a part lives for seconds.
_PASSES_S_MAX: Final = 3.0
_PART: Final = re.compile(r"[0-9a-zA-Z-]+_\d+_\d+_\d+(_\d+)?")
_SMALL: Final = re.compile(r"format_version\.txt|mutation_\d+\.txt|[^.].*\.sql")
# Files that are read to tell a part from another one of the same name. One has a hash of each
# larger file.
_READ_FOR_KEY: Final = frozenset({".txt", ".json"})


@dataclass(frozen=True, slots=True)
class LinkedPart:
    """A part of a table.

    Attributes:
        path: Its path in the store.
        copy: The folder with the links.
        key: Equal for parts of the same content.
    """

    path: str
    copy: Path
    key: str


class LinkedParts:
    """Hard links to the parts of an embedded event store.

    A part is a folder of files that never change. It appears by one renaming, and is renamed
    before it is deleted, when a merged part is there in its place.
    """

    def __init__(self, events: Path, linked: Path) -> None:
        """Link parts of the store `events` into the folder `linked`."""
        self._events = events
        self._linked = linked
        self._names: set[str] = set()

    def link_some(self) -> None:
        """Make one pass: link the parts that are there, and forget those that are gone."""
        present = set(self._present())
        for name in self._names - present:
            remove_folder(self._linked / name)
        self._names &= present
        for name in present - self._names:
            if _link_folder(self._events / name, self._linked / name):
                self._names.add(name)

    def link_all(self, passes_s_max: float = _PASSES_S_MAX) -> None:
        """Make passes until nothing has changed during one.

        A folder that is read while a part replaces others may show neither.

        Raises:
            OSError: The event store never rests, or a part cannot be linked.
        """
        give_up = monotonic() + passes_s_max
        while monotonic() < give_up:
            self.link_some()
            if self._names == set(self._present()):
                return
        raise OSError(f"the parts of {self._events} change all the time; try again")

    def copy_small_files(self, target: Path) -> None:
        """Copy the definitions of tables, and other files that are replaced at times."""
        target.mkdir(mode=0o700, exist_ok=True)
        for path in self._small_files():
            copy = target / path.relative_to(self._events)
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # a mutation that is finished
                copy.write_bytes(path.read_bytes())

    def make_openable(self) -> None:
        """Add to the linked parts what the engine needs to open their folder as a store."""
        self.copy_small_files(self._linked)
        for path, target in self.links().items():
            link = self._linked / path
            link.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            link.symlink_to(target)

    def parts(self) -> list[LinkedPart]:
        """Return the linked parts."""
        linked = ((name, self._linked / name) for name in sorted(self._names))
        return [LinkedPart(name, copy, _part_key(copy)) for name, copy in linked]

    def links(self) -> dict[str, str]:
        """Return the symbolic links by which the engine finds its tables."""
        found = (*self._events.glob("metadata/*"), *self._events.glob("data/*/*"))
        return {
            path.relative_to(self._events).as_posix(): str(path.readlink())
            for path in found
            if path.is_symlink()
        }

    def _present(self) -> Iterator[str]:
        for table in self._events.glob("store/*/*"):
            for entry in os.scandir(table):
                if _PART.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    yield f"{table.relative_to(self._events).as_posix()}/{entry.name}"

    def _small_files(self) -> Iterator[Path]:
        for folder in (*self._events.glob("store/*/*"), *self._events.glob("metadata")):
            for entry in os.scandir(folder):
                if _SMALL.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    yield folder / entry.name


def _link_folder(source: Path, target: Path) -> bool:
    """Link the files of a folder into another one; return False if the source is gone."""
    try:
        for folder, _, files in os.walk(source, onerror=_raise):
            copy = target / Path(folder).relative_to(source)
            copy.mkdir(mode=0o700, parents=True)
            for file in files:
                os.link(Path(folder, file), copy / file)
    except FileNotFoundError:
        remove_folder(target)
        return False
    return True


def _raise(error: OSError) -> None:
    raise error


def _part_key(part: Path) -> str:
    """Return a hash of the names and sizes of a part's files, and of its files of hashes."""
    key = hashlib.sha256()
    for file in sorted(path for path in part.rglob("*") if path.is_file()):
        key.update(f"{file.relative_to(part)}\0{file.stat().st_size}\0".encode())
        if file.suffix in _READ_FOR_KEY:
            key.update(file.read_bytes())
    return key.hexdigest()


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that it holds, if there is one."""
    if folder.exists():
        shutil.rmtree(folder)
