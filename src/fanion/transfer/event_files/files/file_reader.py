"""The files of an import: plain, in gzip, Zstandard or zip, read as lines with limits."""

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

import zstandard

from fanion.transfer.event_files.model import FileProblem, Line

LINE_BYTES_MAX = 16 * 1024**2
MEMBERS_MAX = 100_000
# A file that decompresses to more than this is refused if it is this many times its size: exports
# of events are ten to fifty times theirs.
UNCHECKED_BYTES = 256 * 1024**2
RATIO_MAX = 250
CHECKED_EVERY_BYTES = 16 * 1024**2
_ZSTD_PIECE = 2048  # a block of four bytes may become 128 KiB
_SKIPPED_BYTES = 1024**2
_GZIP, _ZSTD, _ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", (b"PK\x03\x04", b"PK\x05\x06")
_PARQUET = b"PAR1"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16 = {b"\xff\xfe": "UTF-16LE", b"\xfe\xff": "UTF-16BE"}
_DAMAGED = (EOFError, zlib.error, zipfile.BadZipFile, zstandard.ZstdError, gzip.BadGzipFile)


@dataclass(frozen=True)
class SourceFile:
    """A file, or a member of an archive.

    Attributes:
        name: As it is shown.
        open: Opens what it contains, decompressed, until the end of the stack.
        stored_bytes: Its size before decompression.
        is_compressed: Whether it may decompress to much more.
        path: Of a Parquet file; None for lines.
    """

    name: str
    open: Callable[[ExitStack], IO[bytes]]
    stored_bytes: int
    is_compressed: bool
    path: Path | None = None


def open_sources(paths: Sequence[Path]) -> list[SourceFile]:
    """Return the files of these paths, in order; those of an archive by their names.

    Raises:
        FileProblem: A file cannot be read, or an archive is not one.
    """
    sources: list[SourceFile] = []
    for path in paths:
        try:
            sources += _sources_of(path)
        except (OSError, *_DAMAGED) as error:
            raise FileProblem(f"{path} cannot be read: {_words(error)}") from None
    return sources


def _sources_of(path: Path) -> list[SourceFile]:
    with path.open("rb") as file:
        start = file.read(4)
    size = path.stat().st_size
    if start in _ZIP:
        return _members_of(path)
    if start == _PARQUET:
        return [SourceFile(path.name, partial(_open, path), size, False, path)]
    is_compressed = start[:2] == _GZIP or start == _ZSTD
    return [SourceFile(path.name, partial(_open, path), size, is_compressed)]


def _members_of(path: Path) -> list[SourceFile]:
    with zipfile.ZipFile(path) as archive:
        members = [
            info
            for info in archive.infolist()
            if not info.is_dir() and not info.filename.startswith("__MACOSX/")
        ]
    if len(members) > MEMBERS_MAX:
        raise FileProblem(f"{path} has {len(members)} files; the maximum is {MEMBERS_MAX}.")
    if any(info.flag_bits & 1 for info in members):
        raise FileProblem(f"{path} is encrypted; unpack it first.")

    return [
        SourceFile(
            f"{path.name}/{info.filename}",
            partial(_open_member, path, info.filename),
            info.compress_size,
            True,
        )
        for info in sorted(members, key=lambda info: info.filename)
    ]


def _open(path: Path, stack: ExitStack) -> IO[bytes]:
    return _decompressed(stack.enter_context(path.open("rb")), stack)


def _open_member(path: Path, name: str, stack: ExitStack) -> IO[bytes]:
    archive = stack.enter_context(zipfile.ZipFile(path))
    return _decompressed(stack.enter_context(archive.open(name)), stack)


def _decompressed(file: IO[bytes], stack: ExitStack) -> IO[bytes]:
    """Return the stream itself, or what it decompresses to, by its first bytes."""
    start = file.read(4)
    file.seek(0)
    if start[:2] == _GZIP:
        return cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=file)))
    if start == _ZSTD:
        return stack.enter_context(io.BufferedReader(_ZstdFile(file), 1024**2))
    return file


class _ZstdFile(io.RawIOBase):
    """A stream of Zstandard frames, which says when the last one is cut off."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._has_begun = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview[int] | bytearray") -> int:  # type: ignore[override]
        while not self._ready:
            if not self._fill():
                return 0
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _fill(self) -> bool:
        piece = self._file.read(_ZSTD_PIECE)
        if self._frame.eof:
            piece = self._frame.unused_data + piece
            self._frame, self._has_begun = zstandard.ZstdDecompressor().decompressobj(), False
        if not piece:
            if self._has_begun:
                raise EOFError("it ends in the middle")
            return False
        self._has_begun = True
        self._ready = memoryview(self._frame.decompress(piece))
        return True


class LineReader:
    """The lines of a file, one after the other.

    Attributes:
        number: The number of lines that have been read.
        end: The position behind them, decompressed.
    """

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._checked = 0
        self.number = 0
        self.end = 0
        self._opened = ExitStack()
        try:
            self._stream = source.open(self._opened)
        except (OSError, *_DAMAGED) as error:
            self._opened.close()
            raise FileProblem(f"{source.name} cannot be read: {_words(error)}") from None

    def close(self) -> None:
        self._opened.close()

    def skip_to(self, number: int, end: int) -> None:
        """Go on behind a line that was read before.

        Raises:
            FileProblem: The file is shorter, damaged, or decompresses to too much.
        """
        try:
            while self.end < end:
                size = len(self._stream.read(min(_SKIPPED_BYTES, end - self.end)))
                if not size:
                    raise FileProblem(f"{self._source.name} is shorter than when it was read.")
                self._advance(size)
        except (OSError, *_DAMAGED) as error:
            raise self._damaged(error) from None
        self.number = number

    def lines(self) -> Iterator[Line]:
        """Yield the lines.

        Raises:
            FileProblem: The file is damaged, not UTF-8, or decompresses to too much.
        """
        while (line := self._read_line()) is not None:
            yield line

    def _read_line(self) -> Line | None:
        try:
            text = self._stream.readline(LINE_BYTES_MAX + 1)
            if not text:
                return None
            self._advance(len(text))
            is_too_long = len(text) > LINE_BYTES_MAX and not text.endswith(b"\n")
            while is_too_long and text and not text.endswith(b"\n"):
                text = self._stream.readline(_SKIPPED_BYTES)
                self._advance(len(text))
        except (OSError, *_DAMAGED) as error:
            raise self._damaged(error) from None
        self.number += 1
        if self.number == 1:
            text = self._without_mark(text)
        return Line(None if is_too_long else text.rstrip(b"\r\n"), self.number, self.end)

    def _advance(self, size: int) -> None:
        self.end += size
        if self.end - self._checked < CHECKED_EVERY_BYTES:
            return
        self._checked = self.end
        most = max(UNCHECKED_BYTES, RATIO_MAX * self._source.stored_bytes)
        if self._source.is_compressed and self.end > most:
            raise FileProblem(
                f"{self._source.name} has {self._source.stored_bytes} bytes and decompresses to "
                f"more than {most}: that is no export of events."
            )

    def _without_mark(self, text: bytes) -> bytes:
        """Return the first line without the mark of UTF-8, which other encodings do not have."""
        encoding = _UTF16.get(text[:2])
        if encoding is None and b"\0" in text[:200]:
            encoding = "UTF-16LE" if text[1:2] == b"\0" else "UTF-16BE"
        if encoding is not None:
            name = self._source.name
            raise FileProblem(
                f"{name}, line 1: the file is not UTF-8 but {encoding}; convert it first: "
                f"iconv -f {encoding} -t UTF-8 {name} > utf8-{name}"
            )
        return text.removeprefix(_UTF8_MARK)

    def _damaged(self, error: Exception) -> FileProblem:
        return FileProblem(
            f"{self._source.name} is damaged or cut off behind line {self.number}: " + _words(error)
        )


def _words(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__
