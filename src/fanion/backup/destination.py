"""Where backups are kept: a folder, or a bucket of an object store."""

import fcntl
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from fanion.backup.model import BackupRefused
from fanion.runtime.durable_file import is_unfinished, replace_durably, sync_folder

_LOCK = "lock"
# Left free at a destination, so that a backup fails before the disk is full for other programs.
FREE_BYTES_MIN = 16 * 1024**2


class Destination(Protocol):
    """A flat store of named objects. Names hold slashes; content is small (a few megabytes).

    Every failure is an OSError or a BackupRefused whose text names the destination.
    """

    @property
    def where(self) -> str:
        """The destination as messages name it, without secrets."""

    def read(self, name: str) -> bytes:
        """Return an object.

        Raises:
            FileNotFoundError: There is no such object.
        """

    def write(self, name: str, content: bytes) -> None:
        """Write an object, which is there whole or not at all."""

    def flush(self) -> None:
        """Make what was written survive a crash."""

    def names(self, folder: str) -> Iterator[str]:
        """Yield the names of all objects that begin with `folder/`."""

    def delete(self, names: Sequence[str]) -> None:
        """Delete those of these objects that there are."""

    def locked(self, *, shared: bool) -> AbstractContextManager[None]:
        """Keep other backups from using the destination, where that is possible.

        Raises:
            BackupRefused: Another one uses it.
        """


class FolderDestination:
    """A folder on a disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._changed: set[Path] = set()

    @property
    def where(self) -> str:
        return str(self._folder)

    def read(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        path = self._folder / name
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._changed.add(path.parent.parent)
        if shutil.disk_usage(path.parent).free < len(content) + FREE_BYTES_MIN:
            raise BackupRefused(f"{self.where}: no space is left on its disk; free some, or use "
                                "another destination")  # fmt: skip
        replace_durably(path, content)
        self._changed.add(path.parent)

    def flush(self) -> None:
        changed, self._changed = self._changed, set()
        for folder in changed:
            sync_folder(folder)

    def names(self, folder: str) -> Iterator[str]:
        for path in (self._folder / folder).rglob("*"):
            if is_unfinished(path):
                with suppress(OSError):  # left by a backup that was killed: this one has the lock
                    path.unlink()
            elif path.is_file():
                yield path.relative_to(self._folder).as_posix()

    def delete(self, names: Sequence[str]) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)

    @contextmanager
    def locked(self, *, shared: bool) -> Iterator[None]:
        if shared and not self._folder.is_dir():
            raise BackupRefused(f"there is no folder {self.where}")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / _LOCK
        with path.open("rb" if shared and path.exists() else "ab") as lock:
            try:
                fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BackupRefused(
                    f"another backup or restore uses {self.where}; wait until it has ended"
                ) from None
            yield


def open_destination(url: str) -> Destination:
    """Return the destination that an address names: a folder, or `s3://bucket/prefix`.

    Raises:
        BackupRefused: The address is wrong.
    """
    scheme, separator, _ = url.partition("://")
    if separator and scheme == "s3":
        if find_spec("obstore") is None:
            raise BackupRefused("backups in S3 need another package; install fanion[s3]")
        from fanion.backup.s3_client import S3Destination

        return S3Destination(url)
    if separator:
        raise BackupRefused(
            f"{scheme}:// is not a destination; name a folder, or s3://bucket/prefix"
        )
    if not url:
        raise BackupRefused("name a folder for the backup, or s3://bucket/prefix")
    return FolderDestination(Path(url))
