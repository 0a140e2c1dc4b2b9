"""The folder of the tests' files: in memory, if there is room.

On a disk, half of the processor time of a test that stores events, and most of its duration, goes
to files.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
# A whole run on two workers takes a part of it; containers often have 64 MB.
ROOM_BYTES = 6 * 2**30


def write_to_memory() -> None:
    """Use memory for temporary files, unless TMPDIR names a folder.

    Processes that tests start do the same.
    """
    if "TMPDIR" not in os.environ and _free_bytes() >= ROOM_BYTES:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # forget a folder that was already chosen


def short_folder() -> Path:
    """Return a folder for sockets, whose path may have at most 107 bytes: in memory, or /tmp."""
    return MEMORY if os.environ.get("TMPDIR") == str(MEMORY) else Path("/tmp")


def _free_bytes() -> int:
    """Return the free bytes; 0 on a system without such a folder."""
    try:
        text = Path("/proc/meminfo").read_text()
        # The folder may be larger than the memory that is left.
        match = re.search(r"^MemAvailable: *(\d+) kB$", text, re.MULTILINE)
        available = int(match[1]) * 1024 if match else 0
        return min(available, shutil.disk_usage(MEMORY).free)
    except OSError:
        return 0
