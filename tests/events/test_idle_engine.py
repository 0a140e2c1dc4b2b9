"""An idle embedded engine hardly wakes up, and does not rest before its work is done."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.long("waits for the pauses of the engine to grow")

SETTLE_S = 40
PARTS = 36
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


# With pauses of 10 minutes after two parts, a mutation of more than the engine does at a time does
# not end within this test, unless what waits for it ends the pauses.
MUTATED = f"""
import asyncio, sys, tempfile
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4
from fanion.events.event import Event
from fanion.events.storage import client
from fanion.events.storage.store import open_events

PAUSES = "background_processing_pool_task_sleep_seconds_when_no_work"
client.EMBEDDED_OPTIONS.update({{f"{{PAUSES}}_multiplier": 10_000, f"{{PAUSES}}_max": 600}})
START = datetime(2012, 1, 1, tzinfo=UTC)

async def main(folder):
    store = await open_events(f"chdb://{{folder}}/events")
    for month in range({PARTS}):
        at = START + timedelta(days=31 * month)
        sent = Event(1, uuid4(), "seen", "ada", UUID(int=1), at, at, b"{{}}")
        await store.insert(store.encoder.batch([sent]), str(uuid4()))
    await store.erase_project(1)
    print(await store.count_events(1))
    await store.close()

with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(folder))
"""


def test_a_deletion_from_many_parts_does_not_wait_for_the_pauses_of_the_engine() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MUTATED], capture_output=True, text=True, check=True, timeout=180
    )

    assert done.stdout == "0\n"
