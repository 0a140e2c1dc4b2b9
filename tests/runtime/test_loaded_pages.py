"""Pages of files that a process has read are released, but nothing that it has written."""

import subprocess
import sys

from fanion.runtime.loaded_pages import Mapping, read_mappings

SMAPS = """\
7f0000000000-7f0000100000 r-xp 00001000 08:01 42                         /srv/a b/_chdb.abi3.so
Size:               1024 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
7f0000100000-7f0000101000 rw-p 00000000 00:00 0
Size:                  4 kB
Anonymous:             4 kB
VmFlags: rd wr mr mw me
"""
RELEASED = """
import ssl, sqlite3
from pathlib import Path
from fanion.runtime.loaded_pages import release_loaded_pages

def resident_kb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4

numbers, before = list(range(1_000_000)), resident_kb()
print(release_loaded_pages() > 0, before - resident_kb(), sum(numbers))
print(sqlite3.connect(":memory:").execute("SELECT 1").fetchone()[0], ssl.create_default_context())
"""


def test_mappings_are_read_with_what_was_written_to_them() -> None:
    assert list(read_mappings(SMAPS)) == [
        Mapping(0x7F0000000000, 0x7F0000100000, "r-xp", "/srv/a b/_chdb.abi3.so", 0),
        Mapping(0x7F0000100000, 0x7F0000101000, "rw-p", "", 4),
    ]


def test_a_process_works_on_without_the_pages_that_loading_has_read() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RELEASED], capture_output=True, text=True, check=True, timeout=120
    )

    is_released, saved_kb, total, one = done.stdout.split()[:4]
    assert is_released == "True"
    assert int(saved_kb) > 2_000
    assert (int(total), int(one)) == (499_999_500_000, 1)
