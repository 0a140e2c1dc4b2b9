"""The pages read while loading the engine are released."""

import subprocess
import sys

OPENED = """
import re, tempfile
from pathlib import Path
from fanion.events.storage.client import engine_at, open_clients

with tempfile.TemporaryDirectory() as folder:
    inserts, reads = open_clients(engine_at(f"chdb://{folder}/events"))
    for mapping in re.split(r"\\n(?=[0-9a-f]+-)", Path("/proc/self/smaps").read_text()):
        if "_chdb.abi3.so" in mapping and " r-xp " in mapping:
            print(re.search(r"Rss: +([0-9]+)", mapping)[1])
    print(reads[0].query("SELECT count() FROM events").result_rows[0][0])
    for client in (*inserts, *reads):
        client.close()
"""


def test_an_opened_engine_holds_little_of_its_file_and_answers() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPENED], capture_output=True, text=True, check=True, timeout=120
    )

    resident_kb, events = map(int, done.stdout.split())
    assert resident_kb < 40 * 2**10  # 120 MB after loading
    assert events == 0
