"""The start case: time until the first answers, memory, and processor time while idle.

The floor of the start and of the memory is Python's own HTTP server in the same run.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx

from bench import servers
from bench.processor_time import idle_cores
from bench.report import Row
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.postgres import private_postgres
from tests.support.server import START_S, Keys, RealServer, free_port

STARTS = 5
# A loop that ticks every few seconds is seen several times.
IDLE_S = 30.0
# Cores used over one second once startup work is done, including the web worker's.
AT_REST = 0.03
LOOK_S = 0.003
# Wanted, the share of a core in percent.
FLAGS_S, MANAGEMENT_S, WHOLE_MB, WEB_MB, IDLE_PERCENT = 1.2, 2.5, 330.0, 130.0, 0.5


def run() -> Iterator[Row]:
    floors = [_floor() for _ in range(STARTS)]
    floor_s, floor_mb = median(start for start, _ in floors), median(memory for _, memory in floors)
    with TemporaryDirectory() as folder, closing(servers.whole(Path(folder) / "data")) as server:
        keys = server.setup()
        starts = [_start(server, keys) for _ in range(STARTS)]
        flags, management = (median(seconds) for seconds in zip(*starts, strict=True))
        yield _row("start until flags are answered", "s", flags, floor_s, FLAGS_S)
        yield _row("start until management is answered", "s", management, floor_s, MANAGEMENT_S)
        server.start()
        yield from _at_rest(server, "whole server", floor_mb, WHOLE_MB)
    with private_postgres() as postgres, TemporaryDirectory() as folder:
        url = postgres.url(asyncio.run(postgres.create_database()))
        settings = {"FANION_DATABASE_URL": url, "FANION_ROLE": "web"}
        with closing(servers.whole(Path(folder) / "data", **settings)) as web:
            web.setup_anew()
            servers.start_web(web)
            yield from _at_rest(web, "role web, two processes", floor_mb, WEB_MB)


def _row(case: str, unit: str, ours: float, floor: float, wanted: float) -> Row:
    return Row(case, f"{ours:.2f} {unit}", f"{floor:.2f} {unit}", floor / ours, floor / wanted)


def _floor() -> tuple[float, float]:
    """Return the seconds until Python's own server answers, and its megabytes."""
    port, began = free_port(), time.monotonic()
    arguments = ["http.server", str(port), "--bind", "127.0.0.1"]
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with plain_http.Client(base_url=f"http://127.0.0.1:{port}", timeout=START_S) as http:
            seconds = _until_answered(lambda: http.get("/"), began)
        return seconds, servers.resident_mb(process.pid, "VmRSS")
    finally:
        process.terminate()
        process.wait(timeout=10)


def _start(server: RealServer, keys: Keys) -> tuple[float, float]:
    """Return the seconds until the first answer to flags, and to a request of management."""
    flags = {"api_key": keys.project_api_key, "distinct_id": "u"}
    headers = {"authorization": f"Bearer {keys.personal_api_key}"}
    began = time.monotonic()
    server.launch()
    with plain_http.Client(base_url=server.url, timeout=START_S) as http:
        first = _until_answered(lambda: http.post("/decide/?v=3", json=flags), began)
        project = f"/api/projects/{keys.project_id}/"
        second = _until_answered(lambda: http.get(project, headers=headers), began)
    assert server.stop() == 0
    return first, second


def _until_answered(ask: Callable[[], httpx.Response], began: float) -> float:
    def is_answered() -> bool:
        try:
            return ask().is_success
        except httpx.TransportError:
            return False

    until(is_answered, "the server does not answer", START_S, LOOK_S)
    return time.monotonic() - began


def _at_rest(server: RealServer, case: str, floor_mb: float, wanted_mb: float) -> Iterator[Row]:
    """Measure an idle server with all its processes."""
    servers.web_workers(server.pid)
    percent = idle_cores({case: [server.pid]}, IDLE_S, AT_REST)[case] * 100
    memory_mb = servers.resident_mb(server.pid, "VmRSS")
    yield _row(f"memory at rest, {case}", "MB", memory_mb, floor_mb, wanted_mb)
    idle, wanted = f"{percent:.2f} % of a core", f"{IDLE_PERCENT} % wanted"
    yield Row(f"processor at rest, {case}", idle, wanted, IDLE_PERCENT / max(percent, 0.01), 1.0)
