"""Imports of files, beside the same events sent to `/batch/`.

Also flags, beside an import and exports at once.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import msgspec

from bench import decide, paced, servers
from bench.cohort_service import Meanwhile
from bench.ingestion import send, wait_until_ingested
from bench.processor_time import used_s
from bench.report import Row
from tests.support.server import Keys, RealServer

EVENTS = 200_000
PERSONS = 20_000
BATCH = 500
RATE_WANTED = 20_000
FLAGS = 50
DECIDE_PER_S = 200.0
TIMES_SLOWER_MAX = 2.0
COMPUTING = 2
_FIRST = datetime(2024, 1, 1, tzinfo=UTC)


def run() -> Iterator[Row]:
    with TemporaryDirectory() as folder, servers.fanion() as (server, keys):
        decide.store(server, keys, FLAGS)
        floor = _send_alone(server, keys)
        used_before = used_s([server.pid])
        report, seconds = _imported(server, keys, _file(Path(folder, "a.jsonl"), 1))
        processor_us = (used_s([server.pid]) - used_before) / EVENTS * 1e6
        assert report["comparison"]["stored"] == EVENTS, report
        rate = EVENTS / seconds
        yield Row(
            f"import of {EVENTS:,} events, compared",
            f"{rate:,.0f} events/s, {processor_us:.1f} µs of the server's processor time an event",
            f"{RATE_WANTED:,} events/s",
            rate / RATE_WANTED,
            1.0,
        )
        yield Row(
            "the same beside `/batch/` alone",
            f"{rate:,.0f} events/s",
            f"{floor:,.0f} events/s",
            rate / floor,
            0.6,
        )
        yield from _flags(server, keys, _file(Path(folder, "b.jsonl"), 2))


def _flags(server: RealServer, keys: Keys, file: Path) -> Iterator[Row]:
    """Measure flags beside an import and exports, and beside processes that only compute.

    The latter are what any work beside costs on as few processors.
    """
    body = msgspec.json.encode({"api_key": keys.project_api_key, "distinct_id": "user-1"})
    url = f"{server.url}/decide?v=3"
    alone = paced.post(url, body, DECIDE_PER_S)
    with (
        _begun(server, keys, file) as running,
        Meanwhile(lambda: _export(server, keys, file)) as exports,
    ):
        beside = paced.post(url, body, DECIDE_PER_S)
        assert running.poll() is None, "the import ended before the measurement"
        running.communicate()
    with _computing(COMPUTING):
        computing = paced.post(url, body, DECIDE_PER_S)
    assert alone.failed == beside.failed == computing.failed == 0, (alone, beside, computing)
    shown = f"p99 {beside.p99_ms:.1f} ms, p50 {beside.p50_ms:.1f} ms"
    name = f"decide, {FLAGS} flags, beside an import and {exports.runs} exports"
    for floor, said in ((alone, "alone"), (computing, f"beside {COMPUTING} that compute")):
        ratio = TIMES_SLOWER_MAX * floor.p99_ms / beside.p99_ms
        yield Row(name, shown, f"p99 {floor.p99_ms:.1f} ms {said}", ratio, 1.0)


@contextmanager
def _computing(processes: int) -> Iterator[None]:
    """Run processes that do nothing but compute."""
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def _send_alone(server: RealServer, keys: Keys) -> float:
    """Return the rate of events that are sent without reading a file, until they are ingested."""
    bodies = [
        msgspec.json.encode(
            {
                "api_key": keys.project_api_key,
                "historical_migration": True,
                "batch": [_event(number, 0) for number in range(start, start + BATCH)],
            }
        )
        for start in range(0, EVENTS, BATCH)
    ]
    started = time.perf_counter()
    asyncio.run(send(server, iter(bodies)))
    wait_until_ingested(server)
    return EVENTS / (time.perf_counter() - started)


def _imported(
    server: RealServer, keys: Keys, file: Path
) -> tuple[dict[str, dict[str, int]], float]:
    started = time.perf_counter()
    with _begun(server, keys, file) as running:
        output, _ = running.communicate()
    return msgspec.json.decode(output), time.perf_counter() - started


def _begun(server: RealServer, keys: Keys, file: Path) -> "subprocess.Popen[bytes]":
    command = ("import-events", str(file), "--from", "posthog", "--json")
    return _command(server, keys, *command)


def _export(server: RealServer, keys: Keys, imported: Path) -> None:
    """Write all events to a new file, by a process of its own, which takes no time from ours."""
    with TemporaryDirectory(dir=imported.parent) as folder:
        running = _command(server, keys, "events", "export", "--output", f"{folder}/events.csv")
        running.communicate()
    assert running.returncode == 0


def _command(server: RealServer, keys: Keys, *command: str) -> "subprocess.Popen[bytes]":
    target = ("--host", server.url, "--project", "1", "--personal-key", keys.personal_api_key)
    return subprocess.Popen(
        [sys.executable, "-m", "fanion", *command, *target],
        env=server.environment(),
        stdout=subprocess.PIPE,
    )


def _file(path: Path, series: int) -> Path:
    with path.open("wb") as file:
        for number in range(EVENTS):
            file.write(msgspec.json.encode(_event(number, series)) + b"\n")
    return path


def _event(number: int, series: int) -> dict[str, object]:
    """Return an event as PostHog exports it: about 400 bytes, two a second."""
    at = _FIRST + timedelta(seconds=number / 2)
    milliseconds = int(at.timestamp() * 1000)
    return {
        "uuid": str(UUID(int=milliseconds << 80 | 7 << 76 | series << 64 | 2 << 62 | number)),
        "event": ("$pageview", "$autocapture", "paid")[number % 3],
        "distinct_id": f"user-{number * 7919 % PERSONS}",
        "timestamp": at.isoformat(),
        "properties": {
            "$current_url": f"https://example.com/page/{number % 50}",
            "$browser": "Firefox",
            "$os": "Linux",
            "$session_id": str(number // 20),
            "plan": ("free", "pro")[number % 2],
            "price": number % 100,
        },
    }
