"""Releases memory that loading programs and libraries leaves behind."""

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_MAPPINGS: Final = Path("/proc/self/smaps")
_DONT_NEED: Final = 4  # MADV_DONTNEED in Linux


class Mapping(NamedTuple):
    """A part of this process's memory.

    Attributes:
        flags: As in `r-xp`.
        path: The mapped file; "" for memory without one.
        changed_kb: What this process has written, which the file does not have.
    """

    start: int
    end: int
    flags: str
    path: str
    changed_kb: int


def release_loaded_pages() -> int:
    """Release pages of mapped files that this process has not modified.

    Loading a library reads most of its file only once: relocations, tables of symbols, and the
    initialisation of unused parts. Those of the embedded engine are 180 MB, those of the other
    libraries 10 MB a process. Pages that are used come back from the file, most of them without
    reading the disk.

    Returns:
        The bytes of the mappings; 0 where the system does not list them, or only to others.
    """
    try:
        smaps = _MAPPINGS.read_text()
    except OSError:
        return 0
    libc, released = ctypes.CDLL(None), 0
    for mapping in read_mappings(smaps):
        is_unchanged = mapping.changed_kb == 0 and "w" not in mapping.flags
        if is_unchanged and mapping.path.startswith("/"):
            size = mapping.end - mapping.start
            libc.madvise(ctypes.c_void_p(mapping.start), ctypes.c_size_t(size), _DONT_NEED)
            released += size
    return released


def read_mappings(smaps: str) -> Iterator[Mapping]:
    """Parse the list of a process's mappings.

    Source: proc(5), "/proc/pid/smaps".
    """
    addresses, flags, path = "", "", ""
    for line in smaps.splitlines():
        name, *fields = line.split(maxsplit=5)
        if name == "Anonymous:":
            start, end = (int(address, 16) for address in addresses.split("-"))
            yield Mapping(start, end, flags, path, int(fields[0]))
        elif not name.endswith(":"):
            addresses, flags, path = name, fields[0], fields[4] if len(fields) > 4 else ""
