"""Files that are compressed, damaged, too large or in another encoding."""

import gzip
import io
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from fanion.transfer.event_files.files import file_reader
from fanion.transfer.event_files.files.file_reader import LineReader, open_sources
from fanion.transfer.event_files.model import FileProblem

TEXT = b"".join(b"line %d\n" % number for number in range(20_000))


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def read(path: Path) -> dict[str, list[bytes | None]]:
    texts = {}
    for source in open_sources([path]):
        with closing(LineReader(source)) as reader:
            texts[source.name] = [line.text for line in reader.lines()]
    return texts


def problem_of(path: Path) -> str:
    with pytest.raises(FileProblem) as raised:
        read(path)
    return str(raised.value)


@pytest.mark.parametrize(
    "compress",
    [
        bytes,
        gzip.compress,
        zstandard.compress,
        lambda text: zstandard.compress(text[:9]) + zstandard.compress(text[9:]),
    ],
    ids=["plain", "gzip", "zstd", "two frames"],
)
def test_lines_are_read_from_any_position(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.data"
    path.write_bytes(compress(TEXT))
    [source] = open_sources([path])

    with closing(LineReader(source)) as reader, closing(LineReader(source)) as again:
        lines = list(reader.lines())
        again.skip_to(lines[9_999].number, lines[9_999].end)
        rest = list(again.lines())

    assert [line.text for line in lines] == TEXT.splitlines()
    assert rest == lines[10_000:]


def test_the_members_of_an_archive_are_read_by_name_and_decompressed(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(**{"2.json.gz": gzip.compress(b"two\n"), "1.json": b"one\n"}))

    assert read(path) == {"a.zip/1.json": [b"one"], "a.zip/2.json.gz": [b"two"]}


def test_the_mark_of_utf8_is_left_out_and_utf16_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("a,b\n".encode("utf-8-sig"))
    assert read(path) == {"a.csv": [b"a,b"]}

    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        path.write_bytes("event,time\n".encode(encoding))
        assert problem_of(path).startswith("a.csv, line 1: the file is not UTF-8 but UTF-16")


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_a_compressed_file_that_is_cut_off_says_where(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.gz"
    content = compress(TEXT)
    path.write_bytes(content[: len(content) // 2])

    assert problem_of(path).startswith("a.gz is damaged or cut off behind line ")


def test_a_file_that_is_no_archive_and_one_that_is_missing_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(a=TEXT)[:200])

    assert "a.zip cannot be read: File is not a zip file" in problem_of(path)
    assert "b cannot be read: No such file or directory" in problem_of(tmp_path / "b")


def test_a_line_that_is_too_long_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader, "LINE_BYTES_MAX", 10)
    path = tmp_path / "a"
    path.write_bytes(b"one\n" + b"x" * 3_000_000 + b"\n0123456789\nthree")

    assert read(path) == {"a": [b"one", None, b"0123456789", b"three"]}


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_a_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(file_reader, "UNCHECKED_BYTES", 1024)
    monkeypatch.setattr(file_reader, "CHECKED_EVERY_BYTES", 1024)
    path = tmp_path / "a.gz"
    path.write_bytes(compress(b"{}\n" * 3_000_000))

    assert "that is no export of events" in problem_of(path)
