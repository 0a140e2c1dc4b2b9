"""The counts and computations of `python -m bench capacity`."""

import subprocess
import sys
from dataclasses import replace

import pytest

from bench.capacity_table import Costs, needs, table
from bench.processor_time import used_s

COSTS = Costs(
    web_request=100,
    web_single=73,
    log_request=0,
    ingest=50,
    records=0,
    events=20,
    log_bytes=500,
    stored_bytes=150,
)
# Starts a process that works for 0.3 s and ends, then waits for a line.
PARENT = """
import subprocess, sys
work = "import time\\nwhile time.process_time() < 0.3: pass"
subprocess.run([sys.executable, "-c", work], check=True)
print("worked", flush=True)
sys.stdin.readline()
"""


def test_time_of_a_process_that_has_ended_counts_for_the_one_that_started_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        assert parent.stdout.readline() == "worked\n"

        used = used_s([parent.pid])

        parent.stdin.close()
    assert used >= 0.3


def test_cores_are_half_busy() -> None:
    machines = needs(COSTS, 100_000)

    assert machines.web_cores == pytest.approx(100 * 10_000 / 500_000)
    assert machines.web_cores_of_single == pytest.approx(73 * 100_000 / 500_000)
    assert machines.ingest_cores == pytest.approx(10)
    assert machines.workers == 5
    assert machines.events_cores == pytest.approx(4)
    assert machines.shards == 1
    assert machines.bytes_a_day == pytest.approx(150 * 86_400 * 100_000)


def test_databases_are_as_many_as_cores_or_bytes_need() -> None:
    assert needs(COSTS, 100_000).databases == 2  # 50 MB/s of log
    costly = replace(COSTS, log_request=300, records=100)
    assert needs(costly, 100_000).postgres_cores == pytest.approx(26)
    assert needs(costly, 100_000).databases == 4


def test_the_table_has_a_row_for_each_rate() -> None:
    lines = list(table(COSTS))

    assert len({line.count("|") for line in lines}) == 1
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| 1,000",
        "| 10,000",
        "| 100,000",
        "| 1,000,000",
    ]
