"""Files that are whole after a crash: written beside their place, flushed, then moved there."""

import os
from pathlib import Path

_NEW = ".new"  # suffix of a file that is being written


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file with new content, which only its owner may read.

    Raises:
        OSError: It cannot be written. The old content stays.
    """
    replace_durably(path, content)
    sync_folder(path.parent)


def replace_durably(path: Path, content: bytes) -> None:
    """Replace a file without flushing its folder: after a crash the old content may be there.

    Raises:
        OSError: It cannot be written. The old content stays.
    """
    new = path.with_name(f"{path.name}.{os.getpid()}{_NEW}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def is_unfinished(path: Path) -> bool:
    """Return whether a file is what a process that was killed has left of one."""
    return path.name.endswith(_NEW)


def sync_folder(folder: Path) -> None:
    """Flush which files a folder has.

    Raises:
        OSError: The folder cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
