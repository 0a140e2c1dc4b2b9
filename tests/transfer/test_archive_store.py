"""Archives of projects: what was written comes back, and nothing of what is wrong."""

import io
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from fanion.transfer.archive_store import (
    LIST,
    ArchivedFile,
    ArchiveError,
    ArchiveList,
    archived_files,
    unpack_archive,
    write_archive,
)

FILES = {
    "project.json": b'{"flags": []}',
    "events/000001.parquet": b"PAR1" * 1000,
    "events/000002.parquet": b"",
    "persons.jsonl": '{"id":"ä"}\n'.encode(),
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    parts = tmp_path / "parts"
    for name, content in FILES.items():
        (parts / name).parent.mkdir(parents=True, exist_ok=True)
        (parts / name).write_bytes(content)
    (parts / ".events.count").write_text("3")
    write_archive(parts, listed(archived_files(parts)), tmp_path / "shop.tar")
    return tmp_path / "shop.tar"


def listed(files: object, **changes: object) -> ArchiveList:
    own = {"version": "1", "created_at": datetime(2026, 5, 1, tzinfo=UTC), "project": "1"}
    return msgspec.convert({**own, "rows": {"events": 3}, "files": files, **changes}, ArchiveList)


def test_files_come_back_with_their_list(archive: Path, tmp_path: Path) -> None:
    found = unpack_archive(archive, tmp_path / "out")

    assert found.rows == {"events": 3}
    assert {name: (tmp_path / "out" / name).read_bytes() for name in FILES} == FILES
    assert [file.name for file in found.files] == sorted(FILES)
    assert list(tmp_path.glob("*.new")) == []


def cut(archive: bytes) -> bytes:
    return archive[: len(archive) // 2]


def turned(archive: bytes) -> bytes:
    return archive.replace(b"PAR1PAR1", b"PAR1PAR2", 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (cut, "is cut off, or no archive"),
        (turned, "events/000001.parquet is damaged: its checksum differs"),
        (lambda _: b"", "is cut off, or no archive"),
        (lambda _: b"PK\x03\x04" * 500, "is cut off, or no archive"),
    ],
)
def test_what_is_damaged_is_refused(
    archive: Path, tmp_path: Path, change: Callable[[bytes], bytes], said: str
) -> None:
    archive.write_bytes(change(archive.read_bytes()))

    with pytest.raises(ArchiveError, match=said):
        unpack_archive(archive, tmp_path / "out")


def made_of(tmp_path: Path, *entries: tuple[str, bytes]) -> Path:
    path = tmp_path / "made.tar"
    with tarfile.open(path, "w") as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


@pytest.mark.parametrize("name", ["../outside.json", "/etc/x.json", "events/../../x.json"])
def test_no_file_is_written_elsewhere(tmp_path: Path, name: str) -> None:
    text = msgspec.json.encode(listed([ArchivedFile(name, 1, "")]))
    path = made_of(tmp_path, (LIST, text), (name, b"x"))

    with pytest.raises(ArchiveError, match="which no archive has"):
        unpack_archive(path, tmp_path / "out")


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([("project.json", b"{}")], f"its first entry is not {LIST}"),
        ([(LIST, b"[]")], "cannot be read"),
        ([(LIST, msgspec.json.encode(listed([], format=2)))], "has the format 2; this program"),
        (
            [(LIST, msgspec.json.encode(listed([ArchivedFile("persons.jsonl", 1, "")])))],
            "persons.jsonl is missing",
        ),
    ],
)
def test_what_is_no_archive_is_refused(
    tmp_path: Path, entries: list[tuple[str, bytes]], said: str
) -> None:
    with pytest.raises(ArchiveError, match=said):
        unpack_archive(made_of(tmp_path, *entries), tmp_path / "out")
