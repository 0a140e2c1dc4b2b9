"""The memory that loading the embedded engine leaves behind."""

import ctypes
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ENGINE_LIBRARY: Final = "_chdb.abi3.so"

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


@cache
def release_loaded_pages(library: str = ENGINE_LIBRARY) -> int:
    """Give back the pages of a library's file that this process has read, once in its life.

    Loading the engine reads 180 MB of its file, nearly all of it only once: relocations, and the
    initialisation of unused parts. Pages that are used come back from the file, most of
    them without reading the disk.

    Returns:
        The bytes of the mappings; 0 where the system does not list them.
    """
    if not _MAPPINGS.exists():
        return 0
    libc, released = ctypes.CDLL(None), 0
    for mapping in read_mappings(_MAPPINGS.read_text()):
        is_unchanged = mapping.changed_kb == 0 and "w" not in mapping.flags
        if is_unchanged and mapping.path.endswith(f"/{library}"):
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
