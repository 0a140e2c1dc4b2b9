"""Making a backup: what is new since the last one is copied, then the manifest is written."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from fanion import __version__
from fanion.backup.chunks_store import ChunkUploads, delete_chunks, stored_chunks
from fanion.backup.destination import Destination, FolderDestination
from fanion.backup.erasures_service import keep_erasures
from fanion.backup.manifests_store import (
    delete_manifests,
    list_backups,
    read_manifest,
    require_owner,
    write_manifest,
)
from fanion.backup.model import (
    FORMAT,
    BackupRefused,
    Manifest,
    Unit,
    backup_id,
    moment_of,
    outdated,
)
from fanion.backup.snapshot import Snapshot, Source, snapshot
from fanion.backup.streams import read_pieces
from fanion.config import Settings
from fanion.config.backups import Keep
from fanion.runtime.backup_state import (
    ERROR_CHARS_MAX,
    BackupRunning,
    BackupState,
    only_backup,
    read_backup_state,
    write_backup_state,
)
from fanion.runtime.data_dir import require_data_dir


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made.

    Attributes:
        size: The bytes of what it holds.
        new_bytes: The bytes that were copied, compressed.
        kept: How many backups the destination has now.
    """

    id: str
    taken_at: datetime
    size: int
    new_bytes: int
    kept: int


def make_backup(settings: Settings, destination: Destination, keep: Keep) -> Backup:
    """Back up a data folder, whose server may run, and delete outdated backups.

    Raises:
        BackupRefused: It cannot be backed up, or not to this destination.
        OSError: A file or the destination fails.
    """
    require_data_dir(settings)
    folder = settings.data.resolve()
    try:
        with only_backup(folder), _noted(folder, destination) as made:
            made.append(_make(settings, destination, keep))
    except BackupRunning:
        raise BackupRefused(
            f"another backup of {folder} is being made; wait until it has ended"
        ) from None
    return made[0]


def _make(settings: Settings, destination: Destination, keep: Keep) -> Backup:
    _require_outside(destination, settings.data.resolve())
    with destination.locked(shared=False):
        with snapshot(settings) as held:
            require_owner(destination, held.installation)
            keep_erasures(settings.data, destination)
            before = list_backups(destination)
            manifest = _copy(held, destination, before)
        delete_manifests(destination, outdated([*before, manifest.id], keep, held.taken_at))
        kept = list_backups(destination)
        delete_unused_chunks(destination, kept)
        keep_erasures(settings.data, destination, since=moment_of(kept[0]))
    return Backup(manifest.id, held.taken_at, manifest.size, manifest.new_bytes, len(kept))


def _require_outside(destination: Destination, folder: Path) -> None:
    """Check that a backup would survive the loss of the data folder."""
    if isinstance(destination, FolderDestination) and Path(destination.where).is_relative_to(
        folder
    ):
        raise BackupRefused(
            f"{destination.where} lies in the data folder, with which it would be lost; name "
            "another destination"
        )


@contextmanager
def _noted(folder: Path, destination: Destination) -> Iterator[list[Backup]]:
    """Note in the data folder how the backup ends.

    Yields:
        A list for the backup that is made.
    """
    before = read_backup_state(folder)
    state = BackupState(
        destination=destination.where,
        started_at=datetime.now(UTC),
        has_ended=False,
        succeeded_at=before.succeeded_at if before else None,
        size=before.size if before else 0,
    )
    write_backup_state(folder, state)
    made: list[Backup] = []
    try:
        yield made
    except BaseException as error:
        text = str(error) if isinstance(error, Exception) else "it was interrupted"
        with suppress(OSError):
            failed = replace(
                state, has_ended=True, error=(text or type(error).__name__)[:ERROR_CHARS_MAX]
            )
            write_backup_state(folder, failed)
        raise
    [backup] = made
    write_backup_state(
        folder, replace(state, has_ended=True, succeeded_at=backup.taken_at, size=backup.size)
    )


def _copy(held: Snapshot, destination: Destination, before: list[str]) -> Manifest:
    stored = stored_chunks(destination)
    former = _former_units(destination, before, stored)
    name = _new_id(held.taken_at, before)
    with ChunkUploads(destination, stored) as uploads:
        units = tuple(_copy_unit(source, former, uploads) for source in held.sources)
    _require_chunks(destination, units)
    manifest = Manifest(
        format=FORMAT,
        id=name,
        installation=str(held.installation),
        version=__version__,
        created_at=held.taken_at,
        units=units,
        links=held.links,
        new_bytes=uploads.new_bytes,
    )
    write_manifest(destination, manifest)
    return manifest


def _new_id(moment: datetime, before: list[str]) -> str:
    """Return the id of a backup; a clock that was set back must not make it an old one."""
    name = backup_id(moment)
    if before and name <= before[-1]:
        last = moment_of(before[-1]).astimezone(UTC)
        raise BackupRefused(
            f"the newest backup is of {last.isoformat(timespec='seconds')}, which is later than "
            "this machine's clock says; set the clock"
        )
    return name


def _former_units(
    destination: Destination, before: list[str], stored: set[str]
) -> Mapping[tuple[str, str], Unit]:
    """Return the units of the newest backup that can be used again, by path and key."""
    if not before:
        return {}
    return {
        (unit.path, unit.key): unit
        for unit in read_manifest(destination, before[-1]).units
        if unit.key and stored.issuperset(unit.chunks)
    }


def _copy_unit(
    source: Source, former: Mapping[tuple[str, str], Unit], uploads: ChunkUploads
) -> Unit:
    if source.key and (unit := former.get((source.path, source.key))) is not None:
        return unit
    size, chunks = 0, list[str]()
    for piece in read_pieces(source.copy):
        size += len(piece)
        chunks.append(uploads.add(piece))
    return Unit(
        path=source.path,
        is_folder=source.copy.is_dir(),
        key=source.key,
        size=size,
        chunks=tuple(chunks),
    )


def _require_chunks(destination: Destination, units: tuple[Unit, ...]) -> None:
    """Check that all pieces are there; another installation's backup could have deleted some.

    Raises:
        BackupRefused: Some are missing.
    """
    stored = stored_chunks(destination)
    if missing := sum(not stored.issuperset(unit.chunks) for unit in units):
        raise BackupRefused(
            f"{missing} files of this backup have vanished from {destination.where} while it was "
            "made; nothing else must write there"
        )


def delete_unused_chunks(destination: Destination, backups: list[str]) -> None:
    """Delete the pieces that no backup needs.

    Raises:
        BackupRefused: A manifest is damaged, so that it is not known what it needs.
    """
    unused = stored_chunks(destination)
    for backup in backups:
        for unit in read_manifest(destination, backup).units:
            unused.difference_update(unit.chunks)
    delete_chunks(destination, unused)
