"""The pieces of backups at a destination, each named by the hash of its content.

Equal content is stored once, whichever backup or file it belongs to.
"""

import hashlib
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore, Lock
from types import TracebackType
from typing import Final, Self

import zstandard

from fanion.backup.destination import Destination
from fanion.backup.model import FOLDER_CHUNK_BYTES, BackupRefused

FOLDER: Final = "chunks"
# Pieces that are compressed and sent at once; each takes up to two times the largest piece.
UPLOADS_MAX: Final = 4
_LEVEL: Final = 1  # parts are compressed already; a records store shrinks to a third


class ChunkDamaged(BackupRefused):
    """A piece that is missing, or is not what its name says."""


def chunk_name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def object_name(chunk: str) -> str:
    return f"{FOLDER}/{chunk[:2]}/{chunk}"


def stored_chunks(destination: Destination) -> set[str]:
    """Return the names of all pieces at a destination."""
    return {name.rpartition("/")[2] for name in destination.names(FOLDER)}


def read_chunk(destination: Destination, chunk: str) -> bytes:
    """Return the content of a piece.

    Raises:
        ChunkDamaged: It is missing, or is not what its name says.
    """
    name = object_name(chunk)
    try:
        content = _unpack(destination.read(name))
    except FileNotFoundError:
        raise ChunkDamaged(f"{destination.where}/{name} is missing") from None
    except zstandard.ZstdError:
        raise ChunkDamaged(f"{destination.where}/{name} is damaged") from None
    if chunk_name(content) != chunk:
        raise ChunkDamaged(f"{destination.where}/{name} is damaged")
    return content


def _unpack(packed: bytes) -> bytes:
    """Return what was compressed, unless it is larger than any piece."""
    if not 0 <= zstandard.frame_content_size(packed) <= FOLDER_CHUNK_BYTES:
        raise zstandard.ZstdError("the size of the content is wrong")
    return zstandard.ZstdDecompressor().decompress(packed)


def delete_chunks(destination: Destination, chunks: Iterable[str]) -> None:
    destination.delete([object_name(chunk) for chunk in chunks])


class ChunkUploads:
    """The pieces that a backup adds, some at once. At the end of the block all are stored.

    Attributes:
        new_bytes: The bytes of the added pieces, compressed.
    """

    def __init__(self, destination: Destination, known: set[str]) -> None:
        """Upload to a destination.

        Args:
            known: The pieces that it has; those that are added are added here too.
        """
        self._destination = destination
        self._known = known
        self._threads = ThreadPoolExecutor(UPLOADS_MAX, thread_name_prefix="backup")
        self._free = BoundedSemaphore(UPLOADS_MAX)
        self._lock = Lock()
        self._failed: list[BaseException] = []
        self.new_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown(wait=True)
        if error is None:
            self._raise_failure()

    def add(self, content: bytes) -> str:
        """Store a piece unless it is stored, and return its name.

        Raises:
            OSError: An earlier piece could not be stored.
            BackupRefused: An earlier piece could not be stored.
        """
        chunk = chunk_name(content)
        if chunk in self._known:
            return chunk
        self._known.add(chunk)
        self._free.acquire()
        self._raise_failure()
        self._threads.submit(self._store, chunk, content).add_done_callback(self._done)
        return chunk

    def _store(self, chunk: str, content: bytes) -> None:
        packed = zstandard.ZstdCompressor(_LEVEL).compress(content)
        self._destination.write(object_name(chunk), packed)
        with self._lock:
            self.new_bytes += len(packed)

    def _done(self, storing: "Future[None]") -> None:
        if (error := storing.exception()) is not None:
            self._failed.append(error)
        self._free.release()

    def _raise_failure(self) -> None:
        if self._failed:
            raise self._failed[0]
