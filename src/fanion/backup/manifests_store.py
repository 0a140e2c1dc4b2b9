"""The manifests at a destination: which backups there are, and what each holds."""

import re
from collections.abc import Iterable
from typing import Final
from uuid import UUID

import msgspec
import zstandard

from fanion.backup.destination import Destination
from fanion.backup.model import FORMAT, BackupRefused, Manifest, Owner

FOLDER: Final = "backups"
_OWNER: Final = "fanion-backups.json"
_NAME: Final = re.compile(rf"{FOLDER}/(\d{{8}}-\d{{6}}-\d{{3}})\.json\.zst")
# A manifest takes some hundred bytes for each part of the event store and 70 for each piece.
_BYTES_MAX: Final = 2**30


def list_backups(destination: Destination) -> list[str]:
    """Return the ids of the complete backups at a destination, oldest first."""
    found = (_NAME.fullmatch(name) for name in destination.names(FOLDER))
    return sorted(match[1] for match in found if match)


def read_manifest(destination: Destination, backup: str) -> Manifest:
    """Read what a backup holds.

    Raises:
        BackupRefused: The manifest is missing, damaged, or of a newer version.
    """
    name = _object_name(backup)
    try:
        packed = destination.read(name)
        if not 0 <= zstandard.frame_content_size(packed) <= _BYTES_MAX:
            raise zstandard.ZstdError("the size of the content is wrong")
        content = zstandard.ZstdDecompressor().decompress(packed)
        _require_format(msgspec.json.decode(content, type=_Format).format, destination)
        return msgspec.json.decode(content, type=Manifest)
    except FileNotFoundError:
        raise BackupRefused(f"{destination.where} has no backup {backup}") from None
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise BackupRefused(f"{destination.where}/{name} is damaged: {error}") from None


class _Format(msgspec.Struct):
    format: int


def write_manifest(destination: Destination, manifest: Manifest) -> None:
    """Write the manifest of a backup whose pieces are all stored: from now on it exists."""
    compressor = zstandard.ZstdCompressor(3, write_checksum=True)
    packed = compressor.compress(msgspec.json.encode(manifest))
    destination.flush()
    destination.write(_object_name(manifest.id), packed)
    destination.flush()


def delete_manifests(destination: Destination, backups: Iterable[str]) -> None:
    """Delete backups; their pieces stay until nothing needs them."""
    destination.delete([_object_name(backup) for backup in backups])
    destination.flush()


def read_owner(destination: Destination) -> UUID:
    """Return the installation whose backups a destination holds.

    Raises:
        BackupRefused: It holds none, or those of a newer version.
    """
    try:
        owner = msgspec.json.decode(destination.read(_OWNER), type=Owner)
    except FileNotFoundError:
        raise BackupRefused(f"{destination.where} holds no backups of Fanion") from None
    except msgspec.MsgspecError as error:
        raise BackupRefused(f"{destination.where}/{_OWNER} is damaged: {error}") from None
    _require_format(owner.format, destination)
    return UUID(owner.installation)


def require_owner(destination: Destination, installation: UUID) -> None:
    """Check that a destination holds backups of this installation, or make it do so if it is new.

    Raises:
        BackupRefused: It holds those of another installation.
    """
    try:
        destination.read(_OWNER)
    except FileNotFoundError:
        owner = Owner(FORMAT, str(installation))
        destination.write(_OWNER, msgspec.json.encode(owner))
        return
    if (found := read_owner(destination)) != installation:
        raise BackupRefused(
            f"{destination.where} holds backups of installation {found}, this is {installation}; "
            "name another destination"
        )


def _object_name(backup: str) -> str:
    return f"{FOLDER}/{backup}.json.zst"


def _require_format(found: int, destination: Destination) -> None:
    if found > FORMAT:
        raise BackupRefused(
            f"the backups in {destination.where} are of a newer version of Fanion; use that version"
        )
