"""The preview of a flag change: how long counting takes, and how it affects `/decide`.

The preview counts the users who get another value.
"""

import asyncio
import os
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import msgspec

from bench import decide, load, paced
from bench.cohort_service import add_persons, client_of
from bench.report import Row
from bench.servers import children, whole
from fanion.flags.preview.change import EXACT_MAX
from tests.support.server import Keys, RealServer

# Up to EXACT_MAX persons are all evaluated; of twice as many a sample is.
PERSONS = int(os.environ.get("BENCH_CHANGE_PERSONS", str(EXACT_MAX)))
ROUNDS = int(os.environ.get("BENCH_CHANGE_ROUNDS", "5"))
FLAGS = 50
WANTED_MS = 3_000.0
# Ratios to the quiet server. When all cores are busy, a later wake-up than at rest cannot be
# avoided.
P99_RATIO, PROCESSOR_RATIO = 0.5, 0.9
PLACE = "feature_flags/preview_change/"


def run() -> Iterator[Row]:
    for persons in (PERSONS, 2 * PERSONS):
        with TemporaryDirectory() as folder:
            server = whole(Path(folder) / "data")
            keys = server.setup()
            asyncio.run(add_persons(server, keys.project_id, persons))
            server.start()
            try:
                decide.store(server, keys, FLAGS)
                yield _counted(server, keys, persons)
                if persons == PERSONS:
                    yield from _beside(server, keys)
            finally:
                server.close()


def _change(client: httpx.Client) -> dict[str, Any]:
    """Preview a change to two conditions, one by a property and one by share."""
    visits = {"key": "visits", "type": "person", "operator": "gt", "value": "400"}
    groups = [{"properties": [visits]}, {"rollout_percentage": 30}]
    answer = client.post(PLACE, json={"key": "unsaved", "filters": {"groups": groups}}, timeout=60)
    answer.raise_for_status()
    preview: dict[str, Any] = answer.json()
    return preview


def _counted(server: RealServer, keys: Keys, persons: int) -> Row:
    times = []
    with client_of(server, keys) as client:
        for _ in range(ROUNDS + 1):
            started = time.perf_counter()
            preview = _change(client)
            times.append((time.perf_counter() - started) * 1000)
    middle = statistics.median(times[1:])
    what = "evaluated" if preview["exact"] else f"{preview['sampled_persons']:,} evaluated"
    case = f"change of a flag, {persons:,} persons, {what}"
    reported = f"{middle:,.0f} ms, first {times[0]:,.0f}"
    return Row(case, reported, f"{WANTED_MS:,.0f} ms", WANTED_MS / middle, 1.0)


def _beside(server: RealServer, keys: Keys) -> Iterator[Row]:
    """Measure at a third of the maximum rate, alternating between alone and beside previews."""
    url = f"{server.url}/decide?v=3"
    body = msgspec.json.encode({"api_key": keys.project_api_key, "distinct_id": "user-1"})
    rate = load.post(url, body).requests_per_s / 3
    p99s: dict[bool, list[float]] = {False: [], True: []}
    spent: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for is_beside in (False, True):
            with _changing(server, keys, is_beside):
                before = _processor_s(server)
                result = paced.post(url, body, rate)
                assert result.failed == 0, result
                used = _processor_s(server) - before
            p99s[is_beside].append(result.p99_ms)
            spent[is_beside].append(used / result.requests * 1e6)
    quiet, busy = (statistics.median(p99s[is_beside]) for is_beside in (False, True))
    case = f"p99 of /decide beside it, {rate:,.0f}/s"
    yield Row(case, f"{busy:.1f} ms", f"{quiet:.1f} ms", quiet / busy, P99_RATIO)
    alone, beside = (statistics.median(spent[is_beside]) for is_beside in (False, True))
    case = "server's processor time per /decide beside it"
    yield Row(case, f"{beside:.0f} µs", f"{alone:.0f} µs", alone / beside, PROCESSOR_RATIO)


@contextmanager
def _changing(server: RealServer, keys: Keys, is_on: bool) -> Iterator[None]:
    """Preview one change after the other, until the end of the block."""
    ended = threading.Event()

    def ask() -> None:
        with client_of(server, keys) as client:
            while not ended.is_set():
                _change(client)

    thread = threading.Thread(target=ask)
    if is_on:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if is_on:
            thread.join()


def _processor_s(server: RealServer) -> float:
    """Return the processor time of all processes that answer requests, not of the counting one."""
    pid = server.pid
    return sum(map(_used_s, (pid, *(child for child in children(pid) if not _counts(child)))))


def _counts(pid: int) -> bool:
    return "change_main" in Path(f"/proc/{pid}/cmdline").read_text()


def _used_s(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
