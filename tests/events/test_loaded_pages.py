"""The pages that loading the engine has read are given back, and nothing that it has written."""

import subprocess
import sys

from fanion.events.storage.loaded_pages import Mapping, read_mappings

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
OPENED = """
import re, sys, tempfile
from pathlib import Path
from fanion.events.storage.client import engine_at, open_clients
from fanion.events.storage.loaded_pages import ENGINE_LIBRARY, release_loaded_pages

with tempfile.TemporaryDirectory() as folder:
    inserts, reads = open_clients(engine_at(f"chdb://{folder}/events"))
    # The answer of the call that opening the store has made.
    print(release_loaded_pages())
    for mapping in re.split(r"\\n(?=[0-9a-f]+-)", Path("/proc/self/smaps").read_text()):
        if ENGINE_LIBRARY in mapping and " r-xp " in mapping:
            print(re.search(r"Rss: +([0-9]+)", mapping)[1])
    print(reads[0].query("SELECT count() FROM events").result_rows[0][0])
    for client in (*inserts, *reads):
        client.close()
"""


def test_mappings_are_read_with_what_was_written_to_them() -> None:
    assert list(read_mappings(SMAPS)) == [
        Mapping(0x7F0000000000, 0x7F0000100000, "r-xp", "/srv/a b/_chdb.abi3.so", 0),
        Mapping(0x7F0000100000, 0x7F0000101000, "rw-p", "", 4),
    ]


def test_an_opened_engine_holds_little_of_its_file_and_answers() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPENED], capture_output=True, text=True, check=True, timeout=120
    )

    released, resident_kb, events = map(int, done.stdout.split())
    assert released > 300 * 2**20
    assert resident_kb < 40 * 2**10  # 120 MB after loading
    assert events == 0
