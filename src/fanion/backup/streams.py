"""The content of a file or folder as one stream of bytes, cut into pieces and put together again.

The stream of a folder begins with the length and the list of its files.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from struct import Struct
from typing import IO, Final

import msgspec

from fanion.backup.model import FILE_CHUNK_BYTES, FOLDER_CHUNK_BYTES, BackupRefused
from fanion.runtime.durable_file import sync_folder

_HEADER: Final = Struct("<I")
_LIST_BYTES_MAX: Final = 64 * 1024**2  # a part has some hundred files
_READ_BYTES: Final = 1024**2


class _File(msgspec.Struct, frozen=True, array_like=True, gc=False):
    path: str
    size: int


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_File]).decode


def read_pieces(path: Path) -> Iterator[bytes]:
    """Yield the content of a file or folder, in pieces of one size and a shorter last one."""
    if path.is_dir():
        return _cut(_folder_content(path), FOLDER_CHUNK_BYTES)
    return _cut(_file_content(path, path.stat().st_size), FILE_CHUNK_BYTES)


def _folder_content(folder: Path) -> Iterator[bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [_File(path.relative_to(folder).as_posix(), path.stat().st_size) for path in paths]
    listed = _encode(files)
    yield _HEADER.pack(len(listed)) + listed
    for path, file in zip(paths, files, strict=True):
        yield from _file_content(path, file.size)


def _file_content(path: Path, size: int) -> Iterator[bytes]:
    """Yield exactly `size` bytes of a file.

    Raises:
        OSError: The file is shorter.
    """
    with path.open("rb") as file:
        while size:
            content = file.read(min(size, _READ_BYTES))
            if not content:
                raise OSError(f"{path} has become shorter while it was read")
            size -= len(content)
            yield content


def _cut(contents: Iterable[bytes], size: int) -> Iterator[bytes]:
    rest = bytearray()
    for content in contents:
        rest += content
        while len(rest) >= size:
            yield bytes(rest[:size])
            del rest[:size]
    if rest:
        yield bytes(rest)


class _Stream:
    """The pieces of a stream, read in other lengths."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")

    def some(self, size_max: int) -> memoryview:
        """Return the next bytes, at most so many; none at the end."""
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        content, self._rest = self._rest[:size_max], self._rest[size_max:]
        return content

    def exactly(self, size: int) -> bytes:
        content = bytearray()
        while len(content) < size:
            more = self.some(size - len(content))
            if not more:
                raise BackupRefused("a backup is shorter than it should be")
            content += more
        return bytes(content)

    def copy(self, size: int, file: IO[bytes]) -> None:
        while size:
            content = self.some(size)
            if not content:
                raise BackupRefused("a backup is shorter than it should be")
            file.write(content)
            size -= len(content)


def write_file(path: Path, pieces: Iterable[bytes], size: int) -> None:
    """Write a file from its pieces, and flush it.

    Raises:
        BackupRefused: The pieces are shorter than `size`.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(path, _Stream(pieces), size)


def write_folder(folder: Path, pieces: Iterable[bytes]) -> None:
    """Write a folder from its pieces, and flush it.

    Raises:
        BackupRefused: The pieces are shorter than they should be, or name files outside the folder.
    """
    stream = _Stream(pieces)
    for file in _read_list(stream):
        path = folder / file.path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, stream, file.size)
    sync_folder(folder)


def _read_list(stream: _Stream) -> Sequence[_File]:
    [size] = _HEADER.unpack(stream.exactly(_HEADER.size))
    if size > _LIST_BYTES_MAX:
        raise BackupRefused("a backup lists more files in a folder than is possible")
    files = _decode(stream.exactly(size))
    for file in files:
        require_inside(file.path)
    return files


def require_inside(path: str) -> None:
    """Check that a path of a backup stays in the folder into which it is restored.

    Raises:
        BackupRefused: It does not.
    """
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts:
        raise BackupRefused(f"a backup names the path {path!r}, which is not in the data folder")


def _write(path: Path, stream: _Stream, size: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        stream.copy(size, file)
        file.flush()
        os.fsync(file.fileno())
