"""The journal of deletions of persons and projects, outside of the records store.

A backup restores the records as they were, and with them persons who were deleted later. What is
noted here is deleted again then. An entry is written before the deletion is completed.
"""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import IO, Final
from uuid import UUID

import msgspec

from fanion.events.event import Erasure
from fanion.projects.deletion.store import ProjectDeletion
from fanion.runtime.durable_file import write_durably

JOURNAL_FILE: Final = "erasures.jsonl"
# Entries hold distinct ids of deleted persons, so they are not kept for longer than is needed to
# restore a folder that was copied by hand. Destinations of backups keep their own.
KEPT: Final = timedelta(days=90)
TIDIED_EVERY: Final = timedelta(days=1)


class ErasedPerson(msgspec.Struct, frozen=True, tag="person", kw_only=True):
    """A deleted person. The fields are those of `Erasure`."""

    id: int
    project_id: int
    persons: tuple[UUID, ...]
    distinct_ids: tuple[str, ...]
    with_events: bool
    requested_at: datetime


class ErasedProject(msgspec.Struct, frozen=True, tag="project", kw_only=True):
    """A deleted project."""

    project_id: int
    requested_at: datetime


Entry = ErasedPerson | ErasedProject
Key = tuple[str, int, datetime]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode


def key_of(entry: Entry) -> Key:
    """Return what tells an entry from the others of an installation."""
    number = entry.id if isinstance(entry, ErasedPerson) else entry.project_id
    return type(entry).__name__, number, entry.requested_at


def encode_entries(entries: Iterable[Entry]) -> bytes:
    """Return a line for each entry."""
    return b"".join(_encode(entry) + b"\n" for entry in entries)


def decode_entries(content: bytes) -> list[Entry]:
    """Decode lines, without a last one that was cut off by a crash."""
    lines = content.split(b"\n")[:-1]
    return [_decode(line) for line in lines if line]


def read_journal(folder: Path) -> list[Entry]:
    """Return the entries of a data folder's journal, oldest first; none if it has none.

    Raises:
        OSError: The journal cannot be read.
        msgspec.MsgspecError: The journal is damaged.
    """
    try:
        return decode_entries((folder / JOURNAL_FILE).read_bytes())
    except FileNotFoundError:
        return []


def write_journal(folder: Path, entries: Iterable[Entry]) -> None:
    """Replace a data folder's journal.

    Raises:
        OSError: It cannot be written.
    """
    write_durably(folder / JOURNAL_FILE, encode_entries(entries))


def merged(*journals: Iterable[Entry], since: datetime) -> list[Entry]:
    """Return the entries of all journals once, oldest first, from a time on."""
    entries = {key_of(entry): entry for journal in journals for entry in journal}
    return sorted(
        (entry for entry in entries.values() if entry.requested_at >= since),
        key=lambda entry: (entry.requested_at, key_of(entry)),
    )


class ErasureJournal:
    """The journal in the data folder of a server.

    Args:
        folder: The data folder; None if backups are made with other tools, which know no journal.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._noted: set[Key] | None = None
        self._lock = Lock()
        self._tidied_at = datetime.min.replace(tzinfo=UTC)

    def note_persons(self, erasures: Sequence[Erasure]) -> None:
        """Write the deletions that are not noted yet, durably.

        Raises:
            OSError: They cannot be written.
        """
        self._note(
            ErasedPerson(
                id=erasure.id,
                project_id=erasure.project_id,
                persons=erasure.persons,
                distinct_ids=tuple(sorted(erasure.distinct_ids)),
                with_events=erasure.with_events,
                requested_at=erasure.requested_at,
            )
            for erasure in erasures
        )

    def note_projects(self, deletions: Sequence[ProjectDeletion]) -> None:
        """Write the deletions that are not noted yet, durably.

        Raises:
            OSError: They cannot be written.
        """
        self._note(
            ErasedProject(project_id=deletion.project_id, requested_at=deletion.requested_at)
            for deletion in deletions
        )

    def _note(self, entries: Iterable[Entry]) -> None:
        if self._folder is None:
            return
        with self._lock:
            if self._noted is None:
                self._noted = {key_of(entry) for entry in read_journal(self._folder)}
            new = [entry for entry in entries if key_of(entry) not in self._noted]
            if new:
                _append(self._folder / JOURNAL_FILE, encode_entries(new))
                self._noted.update(map(key_of, new))

    def forget_old(self, now: datetime) -> None:
        """Remove entries older than KEPT, once a day.

        Raises:
            OSError: The journal cannot be written.
        """
        if self._folder is None or now < self._tidied_at + TIDIED_EVERY:
            return
        with self._lock:
            entries = read_journal(self._folder)
            kept = merged(entries, since=now - KEPT)
            if len(kept) < len(entries):
                write_journal(self._folder, kept)
                self._noted = None
            self._tidied_at = now


def _append(path: Path, lines: bytes) -> None:
    """Append to a file and flush it; what an earlier crash has left of a line is removed first."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        if file.seek(0, os.SEEK_END) and not _ends_with_line(file):
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.seek(0, os.SEEK_END)
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


def _ends_with_line(file: IO[bytes]) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"
