"""The data folder, which one process at a time holds."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fanion.config import Settings


class DataFolderTaken(Exception):
    """Another process uses this folder. address: where it serves; "" when it does not"""

    def __init__(self, folder: Path, address: str) -> None:
        does = "serves from" if address else "copies events into"
        super().__init__(
            f"another Fanion {does} {folder}; stop it first, or choose another folder with --data"
        )
        self.address = address


@contextmanager
def data_folder(settings: Settings, address: str = "") -> Iterator[None]:
    """Make the folder, and hold it. address: to be told to others. raises: DataFolderTaken"""
    settings.data.mkdir(parents=True, exist_ok=True)
    with (settings.data / "serving.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise DataFolderTaken(settings.data.resolve(), lock.read().strip()) from None
        lock.truncate(0)
        lock.write(address)
        lock.flush()
        yield
