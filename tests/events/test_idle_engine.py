"""An idle embedded engine hardly wakes up, and starts new work at once."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.long("waits for the pauses of the engine to grow")

SETTLE_S = 40
IDLE = f"""
import tempfile
from pathlib import Path
from time import monotonic, sleep
from fanion.events.storage.client import engine_at, open_clients

POOLS = ("PoolDelayExec", "BgSchPool", "BgStrmSchPool")

def wakeups():
    count = 0
    for thread in Path("/proc/self/task").iterdir():
        if (thread / "comm").read_text().strip() in POOLS:
            status = (thread / "status").read_text()
            count += int(status.partition("\\nvoluntary_ctxt_switches:")[2].split()[0])
    return count

with tempfile.TemporaryDirectory() as folder:
    inserts, reads = open_clients(engine_at(f"chdb://{{folder}}/events"))
    before, give_up = 0, monotonic() + {SETTLE_S}
    while wakeups() - before > 10 and monotonic() < give_up:
        before = wakeups()
        sleep(1)
    print(wakeups() - before)
    # More parts than it keeps apart: it merges some without waiting for the end of a pause.
    for number in range(20):
        inserts[0].command(
            "INSERT INTO property_uses (project_id, property, day) "
            f"VALUES ({{number}}, 'p', today())"
        )
    merged = "SELECT count() FROM system.parts WHERE table = 'property_uses' AND active"
    until = monotonic() + 20
    while (parts := reads[0].query(merged).result_rows[0][0]) > 10 and monotonic() < until:
        sleep(0.1)
    print(parts)
    for client in (*inserts, *reads):
        client.close()
"""


def test_an_engine_without_work_wakes_up_seldom_and_merges_what_is_inserted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IDLE], capture_output=True, text=True, check=True, timeout=180
    )

    wakeups, parts = map(int, done.stdout.split())
    assert wakeups <= 10  # a second; 75 with the engine's own pauses
    assert parts <= 10
