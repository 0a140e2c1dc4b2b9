"""Files and folders as pieces, and back."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.backup.model import FILE_CHUNK_BYTES, FOLDER_CHUNK_BYTES, BackupRefused
from fanion.backup.streams import read_pieces, require_inside, write_file, write_folder
from tests.support.examples import examples

NAMES = st.sampled_from(["a.bin", "b.txt", "p.proj/c.bin", "p.proj/d.bin"])


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@settings(max_examples=examples(25))
@given(files=st.dictionaries(NAMES, st.binary(max_size=300)))
def test_a_folder_is_the_same_after_it_was_cut(
    tmp_path_factory: pytest.TempPathFactory, files: Mapping[str, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "source").mkdir()
    for name, content in files.items():
        (folder / "source" / name).parent.mkdir(exist_ok=True)
        (folder / "source" / name).write_bytes(content)

    pieces = list(read_pieces(folder / "source"))
    (folder / "target").mkdir()
    write_folder(folder / "target", pieces)

    assert contents(folder / "target") == files


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_large_content_is_cut_into_pieces_of_one_size(tmp_path: Path, more: int) -> None:
    folder = tmp_path / "part"
    folder.mkdir()
    (folder / "data.bin").write_bytes(bytes(range(256)) * (2 * FOLDER_CHUNK_BYTES // 256))

    pieces = list(read_pieces(folder))
    (tmp_path / "file").write_bytes(b"x" * (2 * FILE_CHUNK_BYTES + more))
    of_file = list(read_pieces(tmp_path / "file"))

    assert [len(piece) for piece in pieces[:2]] == [FOLDER_CHUNK_BYTES] * 2
    assert len(pieces) == 3
    assert {len(piece) for piece in of_file[:-1]} == {FILE_CHUNK_BYTES}
    assert sum(map(len, of_file)) == 2 * FILE_CHUNK_BYTES + more


def test_a_file_is_the_same_after_it_was_cut(tmp_path: Path) -> None:
    content = bytes(range(256)) * 3000
    (tmp_path / "file").write_bytes(content)

    write_file(tmp_path / "copy", read_pieces(tmp_path / "file"), len(content))

    assert (tmp_path / "copy").read_bytes() == content
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600


def test_content_that_is_too_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackupRefused, match="shorter than it should be"):
        write_file(tmp_path / "copy", [b"abc"], 4)


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret", "a/../../b", ""])
def test_a_path_must_stay_in_the_data_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(BackupRefused, match="is not in the data folder"):
        require_inside(path)

    listed = msgspec.msgpack.encode([(path, 1)])
    with pytest.raises(BackupRefused, match="is not in the data folder"):
        write_folder(tmp_path, [len(listed).to_bytes(4, "little") + listed + b"x"])
    assert list(tmp_path.iterdir()) == []
