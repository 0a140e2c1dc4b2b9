"""Checking a backup, and restoring it into a data folder that no server can start on meanwhile."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fanion.backup.chunks_store import ChunkDamaged, read_chunk, stored_chunks
from fanion.backup.destination import Destination
from fanion.backup.erasures_service import erasures_since, repeat_erasures_now
from fanion.backup.manifests_store import list_backups, read_manifest, read_owner
from fanion.backup.model import BackupRefused, Manifest, Unit
from fanion.backup.streams import require_inside, write_file, write_folder
from fanion.config import Settings
from fanion.runtime.data_dir import LOCK_FILE, events_folder, lock_folder, records_file
from fanion.runtime.folder_state import begin_restore, end_restore

DAMAGE_LISTED_MAX = 20
MEBIBYTE = 1024**2


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of the check of a backup.

    Attributes:
        damaged: A line for each file that cannot be restored, at most DAMAGE_LISTED_MAX.
        damaged_files: Their number.
    """

    manifest: Manifest
    damaged: Sequence[str]
    damaged_files: int


def read_backup(destination: Destination, backup: str) -> Manifest:
    """Return the manifest of a backup.

    Args:
        backup: Its id; "" for the newest one.

    Raises:
        BackupRefused: There is no such backup, or it is damaged.
    """
    read_owner(destination)
    if not backup and not (backups := list_backups(destination)):
        raise BackupRefused(f"{destination.where} holds no complete backup")
    return read_manifest(destination, backup or backups[-1])


def check_backup(destination: Destination, backup: str) -> Checked:
    """Read every piece of a backup and compare it with its hash.

    Raises:
        BackupRefused: There is no such backup, or its manifest is damaged.
        OSError: The destination fails.
    """
    with destination.locked(shared=True):
        manifest = read_backup(destination, backup)
        faults, sound = list[str](), set[str]()
        for unit in manifest.units:
            try:
                for chunk in unit.chunks:
                    if chunk not in sound:
                        read_chunk(destination, chunk)
                        sound.add(chunk)
            except ChunkDamaged as error:
                faults.append(f"{unit.path}: {error}")
    return Checked(manifest, faults[:DAMAGE_LISTED_MAX], len(faults))


@dataclass(frozen=True, slots=True)
class Restored:
    """A backup that was restored.

    Attributes:
        repeated: How many deletions of persons and projects, made after the backup, were repeated.
    """

    manifest: Manifest
    repeated: int


def restore_backup(
    settings: Settings, destination: Destination, backup: str, erasures_of: Path | None = None
) -> Restored:
    """Restore a backup into a new or empty data folder, or one whose restore did not finish.

    Args:
        erasures_of: A data folder whose deletions of persons and projects are repeated too.

    Raises:
        BackupRefused: The backup is damaged or not complete.
        DataDirLocked: Another process uses the folder.
        FolderRefused: The folder holds something else.
        OSError: A file or the destination fails.
    """
    folder = settings.data.resolve()
    _require_stores_inside(settings, folder)
    with destination.locked(shared=True):
        manifest = read_backup(destination, backup)
        _require_chunks(destination, manifest)
        erasures = erasures_since(manifest.created_at, destination, erasures_of)
        with lock_folder(settings):
            _require_space(folder, manifest)
            begin_restore(folder, LOCK_FILE)
            for unit in sorted(manifest.units, key=_restored_last):
                _restore_unit(folder, unit, destination)
            for path, target in manifest.links.items():
                _restore_link(folder, path, target)
            repeated = repeat_erasures_now(settings, erasures)
            end_restore(folder)
    return Restored(manifest, repeated)


def _require_stores_inside(settings: Settings, folder: Path) -> None:
    expected = (folder / "records.db", folder / "events")
    if (records_file(settings), events_folder(settings)) != expected:
        raise BackupRefused(
            "a backup is restored into one data folder: unset FANION_DATABASE_URL and "
            "FANION_EVENTS_URL"
        )


def _require_chunks(destination: Destination, manifest: Manifest) -> None:
    """Check that no piece is missing before anything is written."""
    stored = stored_chunks(destination)
    for unit in manifest.units:
        if missing := set(unit.chunks) - stored:
            raise BackupRefused(
                f"the backup {manifest.id} is not complete: {unit.path} lacks {len(missing)} of "
                f"{len(unit.chunks)} pieces; name another one with --backup"
            )


def _require_space(folder: Path, manifest: Manifest) -> None:
    """Check that the disk has room for what an earlier restore has not written."""
    needed = sum(unit.size for unit in manifest.units if not (folder / unit.path).exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise BackupRefused(
            f"the backup {manifest.id} needs {needed / MEBIBYTE:.0f} MiB, and {folder} has "
            f"{free / MEBIBYTE:.0f} MiB free on its disk; free some, or name another folder "
            "with --data"
        )


def _restored_last(unit: Unit) -> bool:
    """Return whether a unit is the records store, without which nothing starts."""
    return unit.path == "records.db"


def _restore_unit(folder: Path, unit: Unit, destination: Destination) -> None:
    require_inside(unit.path)
    pieces = _pieces(unit, destination)
    if unit.is_folder:
        (folder / unit.path).mkdir(mode=0o700, parents=True, exist_ok=True)
        write_folder(folder / unit.path, pieces)
    else:
        write_file(folder / unit.path, pieces, unit.size)


def _pieces(unit: Unit, destination: Destination) -> Iterator[bytes]:
    return (read_chunk(destination, chunk) for chunk in unit.chunks)


def _restore_link(folder: Path, path: str, target: str) -> None:
    require_inside(path)
    link = folder / path
    if not (link.parent / target).resolve().is_relative_to(folder):
        raise BackupRefused(f"a backup has a link {path} that leads out of the data folder")
    link.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    link.symlink_to(target)
