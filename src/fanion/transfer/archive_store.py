"""The archive of a project: a tar file of its document, its events, persons and groups.

Its first entry lists the others with their checksums, so that nothing of an archive that is
damaged, cut off or of a newer program is used.
"""

import hashlib
import io
import re
import tarfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

FORMAT: Final = 1
LIST: Final = "archive.json"
DOCUMENT: Final = "project.json"
EVENTS: Final = "events"
LIST_BYTES_MAX: Final = 64 * 1024**2
_NAME: Final = re.compile(r"(events/)?[0-9A-Za-z_-]{1,100}\.(json|jsonl|parquet)")
_PIECE: Final = 2**20
_PROGRAM: Final = "fanion-archive"


class ArchiveError(Exception):
    """The reason why an archive cannot be used; the text is one line."""


class ArchivedFile(msgspec.Struct, frozen=True):
    name: str
    bytes: int
    sha256: str


class ArchiveList(msgspec.Struct, frozen=True, kw_only=True):
    """The list of an archive.

    Attributes:
        version: The version of the program that wrote it.
        rows: The numbers of events, persons and groups.
    """

    program: str = _PROGRAM
    format: int = FORMAT
    version: str
    created_at: datetime
    project: str
    rows: Mapping[str, int]
    files: Sequence[ArchivedFile]


def archived_files(folder: Path) -> Sequence[ArchivedFile]:
    """Return the files of a folder that an archive of it has, in their order."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    paths = ((name, folder / name) for name in names if _NAME.fullmatch(name))
    return [ArchivedFile(name, path.stat().st_size, _sha256(path)) for name, path in paths]


def write_archive(folder: Path, listed: ArchiveList, output: Path) -> None:
    """Write an archive; a former file of the name stays until the new one is complete.

    Raises:
        OSError: It cannot be written.
    """
    new = output.with_name(f"{output.name}.new")
    text = msgspec.json.format(msgspec.json.encode(listed), indent=2)
    try:
        with tarfile.open(new, "w") as archive:
            archive.addfile(_entry(LIST, len(text)), io.BytesIO(text))
            for file in listed.files:
                with (folder / file.name).open("rb") as source:
                    archive.addfile(_entry(file.name, file.bytes), source)
        new.chmod(0o600)
        new.replace(output)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def unpack_archive(path: Path, folder: Path) -> ArchiveList:
    """Write the files of an archive into a folder, and return its list.

    Raises:
        ArchiveError: It is no archive, or damaged, cut off, or of a newer program.
        OSError: It cannot be read, or the files cannot be written.
    """
    try:
        with tarfile.open(path, "r:") as archive:
            listed = _read_list(archive)
            for file in listed.files:
                _unpack(archive, file, folder)
            return listed
    except tarfile.TarError as error:
        raise ArchiveError(f"{path.name} is cut off, or no archive: {error}") from None


def _read_list(archive: tarfile.TarFile) -> ArchiveList:
    entry = archive.next()
    if entry is None or entry.name != LIST or not entry.isfile() or entry.size > LIST_BYTES_MAX:
        raise ArchiveError(f"its first entry is not {LIST}: no archive of a project")
    text = _content(archive, entry).read()
    try:
        head = msgspec.json.decode(text, type=dict)
        if head.get("program") == _PROGRAM and head.get("format") != FORMAT:
            detail = f"it has the format {head.get('format')}; this program knows {FORMAT}"
            raise ArchiveError(detail)
        listed = msgspec.json.decode(text, type=ArchiveList)
    except msgspec.MsgspecError as error:
        raise ArchiveError(f"{LIST} cannot be read: {error}") from None
    wrong = next((file.name for file in listed.files if not _NAME.fullmatch(file.name)), None)
    if wrong is not None or listed.program != _PROGRAM:
        raise ArchiveError(f"{LIST} names {wrong or listed.program!r}, which no archive has")
    return listed


def _unpack(archive: tarfile.TarFile, file: ArchivedFile, folder: Path) -> None:
    entry = archive.next()
    if entry is None or entry.name != file.name or not entry.isfile() or entry.size != file.bytes:
        raise ArchiveError(f"{file.name} is missing, or not as {LIST} says")
    target = folder / file.name
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("wb") as output:
        source = _content(archive, entry)
        while piece := source.read(_PIECE):
            digest.update(piece)
            output.write(piece)
    if digest.hexdigest() != file.sha256:
        raise ArchiveError(f"{file.name} is damaged: its checksum differs")


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> BinaryIO:
    content = archive.extractfile(entry)
    assert content is not None, "it is a file"
    return content  # type: ignore[return-value]  # it reads bytes


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = size
    entry.mode = 0o600
    return entry


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
