"""The description of a backup, and the rules of how long backups are kept."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from fanion.config.backups import Keep

FORMAT: Final = 1
# Files of the records store change by pages all over; parts of the event store never change.
FILE_CHUNK_BYTES: Final = 256 * 1024
FOLDER_CHUNK_BYTES: Final = 4 * 1024**2


class BackupRefused(Exception):
    """A backup that cannot be made, checked or restored; the text is one line for the operator."""


class Unit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file or a folder of files in a backup.

    Attributes:
        path: The path in the data folder.
        is_folder: Whether the content begins with the list of the folder's files.
        key: Equal for the same content at the same path; "" if only its content tells.
        size: The bytes of the content.
        chunks: The names of the pieces of its content, in order.
    """

    path: str
    is_folder: bool
    key: str
    size: int
    chunks: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of one backup. It is written last: without it there is no backup.

    Attributes:
        id: The time of the backup, by which backups are ordered.
        installation: The id of the installation.
        version: The version of Fanion that made the backup.
        created_at: The moment whose state the backup holds.
        links: Symbolic links in the data folder, with their targets.
        new_bytes: The bytes that the destination did not have before, compressed.
    """

    format: int
    id: str
    installation: str
    version: str
    created_at: datetime
    units: tuple[Unit, ...]
    links: Mapping[str, str]
    new_bytes: int

    @property
    def size(self) -> int:
        return sum(unit.size for unit in self.units)


class Owner(msgspec.Struct, frozen=True):
    """The installation whose backups a destination holds."""

    format: int
    installation: str


def backup_id(moment: datetime) -> str:
    """Return the id of a backup made at a moment in UTC; ids sort by time."""
    return f"{moment:%Y%m%d-%H%M%S}-{moment.microsecond // 1000:03}"


def moment_of(name: str) -> datetime:
    """Return the moment at which a backup was made.

    Raises:
        ValueError: The text is not an id of a backup.
    """
    return datetime.strptime(f"{name}000+0000", "%Y%m%d-%H%M%S-%f%z")


def outdated(ids: Iterable[str], keep: Keep, now: datetime) -> Sequence[str]:
    """Return the ids of the backups that are not to be kept, oldest first."""
    ordered = sorted(ids)
    if keep.number is not None:
        return ordered[: -keep.number]
    if keep.age is None:
        return []
    earliest = backup_id(now - keep.age)
    return [name for name in ordered[:-1] if name < earliest]
