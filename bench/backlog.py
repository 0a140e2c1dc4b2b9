"""A log in which many events wait: its memory, the start after `kill -9`, and catching up."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import msgspec

from bench import load
from bench.capture import BATCH, event
from bench.ingestion import LOOK_S, wait_until_ingested
from bench.report import Row
from bench.servers import resident_mb, whole
from tests.support.server import Keys, RealServer

SIZES = tuple(int(n) for n in os.environ.get("BENCH_BACKLOG", "1000000,10000000").split(","))
SERVING_S = 3.0
MEMORY_MB = 1024.0
CAUGHT_UP_S = float(os.environ.get("BENCH_BACKLOG_CATCH_UP_S", "120"))
FILL_S = 5  # seconds of load between two checks
FILLS_MAX = 200


def run() -> Iterator[Row]:
    for waiting in SIZES:
        with TemporaryDirectory() as folder:
            server = whole(Path(folder) / "data")
            try:
                yield from _waiting(server, server.setup(), waiting)
            finally:
                server.close()


def _waiting(server: RealServer, keys: Keys, target: int) -> Iterator[Row]:
    empty = _start(server, keys)
    wait_until_ingested(server)
    with _held(server):
        waiting = _fill(server, keys, target)
        memory = resident_mb(server.pid)
        server.kill()
    name = f"{waiting / 1e6:.1f} M events wait"
    yield Row(f"{name}: memory", f"{memory:.0f} MB", f"{MEMORY_MB:g} MB", MEMORY_MB / memory, 1.0)

    seconds = _start(server, keys)
    ours = f"{seconds:.1f} s ({empty:.1f} s with an empty log)"
    yield Row(f"{name}: start after kill -9", ours, f"{SERVING_S:g} s", SERVING_S / seconds, 1.0)
    yield _recovery(server, keys, name)


def _start(server: RealServer, keys: Keys) -> float:
    """Return the seconds until the first event is acknowledged."""
    started = time.perf_counter()
    server.start()
    _post_one(server, keys)
    return time.perf_counter() - started


def _fill(server: RealServer, keys: Keys, target: int) -> int:
    items = [event(number) for number in range(BATCH)]
    body = msgspec.json.encode({"api_key": keys.project_api_key, "batch": items})
    for _ in range(FILLS_MAX):
        waiting = int(_metric(server, "fanion_log_lag_envelopes") * BATCH)
        if waiting >= target:
            return waiting
        result = load.post(f"{server.url}/batch/", body, connections=8, run_s=FILL_S)
        assert result.failed == 0, result
    raise AssertionError(f"only {waiting:,} events wait")


def _recovery(server: RealServer, keys: Keys, name: str) -> Row:
    """Measure ingestion while single events arrive, until nothing waits or the time is over."""
    before, started, slowest = (
        _metric(server, "fanion_events_ingested_total"),
        time.perf_counter(),
        0.0,
    )
    while (seconds := time.perf_counter() - started) < CAUGHT_UP_S:
        slowest = max(slowest, _post_one(server, keys))
        if _metric(server, "fanion_log_lag_envelopes") < BATCH:
            break
        time.sleep(LOOK_S)
    rate = (_metric(server, "fanion_events_ingested_total") - before) / seconds
    left = _metric(server, "fanion_log_lag_envelopes")
    ours = f"{rate:,.0f} events/s in {seconds:.0f} s, {left:,.0f} requests left"
    memory = resident_mb(server.pid)
    ours += f", capture {slowest * 1000:.0f} ms at most, {memory:.0f} MB at most"
    return Row(
        f"{name}: catching up while capture goes on", ours, "15,000 events/s", rate / 15_000, 1.0
    )


def _post_one(server: RealServer, keys: Keys) -> float:
    """Return the seconds until one event is acknowledged."""
    body = {"api_key": keys.project_api_key, **event(0)}
    with httpx.Client(verify=False, timeout=30) as http:
        started = time.perf_counter()
        http.post(f"{server.url}/capture/", json=body).raise_for_status()
        return time.perf_counter() - started


@contextmanager
def _held(server: RealServer) -> Iterator[None]:
    """Lock the records store against writes, so that the server accepts and does not ingest."""
    path = server.data / "records.db"
    with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as records:
        records.execute("BEGIN IMMEDIATE")
        yield
        records.execute("ROLLBACK")


def _metric(server: RealServer, name: str) -> float:
    text = httpx.get(f"{server.url}/metrics", timeout=60, verify=False).text
    lines = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return float(lines[0].split()[1])
