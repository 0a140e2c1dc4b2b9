"""The commands `fanion backup`, `fanion backups` and `fanion restore`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from fanion.backup.backup_service import make_backup
from fanion.backup.destination import Destination, open_destination
from fanion.backup.manifests_store import list_backups, read_manifest, read_owner
from fanion.backup.model import BackupRefused
from fanion.backup.restore_service import Checked, check_backup, restore_backup
from fanion.cli.options import AsJson, Data
from fanion.cli.output import print_result, refuse, settings_of, time_text, warn
from fanion.config import Settings
from fanion.config.backups import Keep, read_keep
from fanion.runtime.data_dir import DataDirLocked, DataDirMissing
from fanion.runtime.folder_state import FolderRefused

T = TypeVar("T")

_DESTINATION = "A folder, or s3://bucket/prefix."
From = Annotated[str, typer.Option("--from", help=_DESTINATION)]
Id = Annotated[str, typer.Option("--backup", help="The backup's id. The newest by default.")]


def backup(
    to: Annotated[str, typer.Option(help=_DESTINATION)],
    keep: Annotated[
        str,
        typer.Option(
            help="Afterwards delete older backups: `14` keeps as many, `30d` those of 30 days."
        ),
    ] = "",
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Back up the data folder; its server may run.

    Copies what is new since the last backup to the same destination.
    """
    settings = settings_of(data=data)
    made = _run(lambda: _make_backup(settings, to, _read_keep(keep)))
    print_result(made, as_json)


def backups(source: From, as_json: AsJson = False) -> None:
    """List the backups at a destination, oldest first."""
    print_result(_run(lambda: _list(open_destination(source))), as_json)


def restore(
    source: From,
    backup: Id = "",
    check: Annotated[
        bool, typer.Option("--check", help="Read the whole backup and restore nothing.")
    ] = False,
    erasures_of: Annotated[
        Path | None,
        typer.Option(help="The data folder that is replaced: repeat its deletions of persons."),
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into a new data folder.

    Deletions of persons and projects that were made after the backup are repeated.
    """
    if check:
        _print_check(_run(lambda: check_backup(open_destination(source), backup)), as_json)
        return
    settings = settings_of(data=data)
    done = _run(lambda: restore_backup(settings, open_destination(source), backup, erasures_of))
    manifest = done.manifest
    restored = {
        "backup": manifest.id,
        "taken_at": time_text(manifest.created_at),
        "data": str(settings.data.resolve()),
        "bytes": manifest.size,
        "deletions_repeated": done.repeated,
    }
    print_result(restored, as_json)


def _make_backup(settings: Settings, to: str, keep: Keep) -> dict[str, Any]:
    made = make_backup(settings, open_destination(to), keep)
    return {
        "backup": made.id,
        "taken_at": time_text(made.taken_at),
        "bytes": made.size,
        "new_bytes": made.new_bytes,
        "kept": made.kept,
    }


def _list(destination: Destination) -> list[dict[str, Any]]:
    with destination.locked(shared=True):
        read_owner(destination)
        manifests = (read_manifest(destination, name) for name in list_backups(destination))
        return [
            {
                "backup": manifest.id,
                "taken_at": time_text(manifest.created_at),
                "bytes": manifest.size,
                "new_bytes": manifest.new_bytes,
                "version": manifest.version,
            }
            for manifest in manifests
        ]


def _print_check(checked: Checked, as_json: bool) -> None:
    """Print what a check has found; exit code 1 if something is damaged."""
    found = {
        "backup": checked.manifest.id,
        "taken_at": time_text(checked.manifest.created_at),
        "bytes": checked.manifest.size,
        "damaged_files": checked.damaged_files,
    }
    print_result(found, as_json)
    for fault in checked.damaged:
        warn(fault)
    if checked.damaged:
        raise typer.Exit(1)


def _read_keep(text: str) -> Keep:
    try:
        return read_keep(text)
    except ValueError as error:
        refuse(f"--keep: {error}")


def _run(work: Callable[[], T]) -> T:
    try:
        return work()
    except (BackupRefused, DataDirLocked, DataDirMissing, FolderRefused) as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"a file cannot be used: {error}")
