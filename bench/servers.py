"""The floor and the real server, each in its own process that is ended by its id."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.server import START_S, Keys, RealServer, free_port


@contextmanager
def floor() -> Iterator[str]:
    """Start the bare handler and yield its URL."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "bench.floor", str(port)])
    try:
        _wait_open(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=10)


@contextmanager
def fanion(**settings: str) -> Iterator[tuple[RealServer, Keys]]:
    """Start a new server on an empty folder, with all its processes and its usual log.

    The log has a line for each request.
    """
    with TemporaryDirectory() as folder:
        server = whole(Path(folder) / "data", **settings)
        keys = server.setup()
        server.start()
        try:
            yield server, keys
        finally:
            server.close()


def whole(data: Path, **settings: str) -> RealServer:
    """Return a server with all its processes; tests use only one."""
    return RealServer(data, {"FANION_PROCESSES": "0", **settings})


def start_web(server: RealServer) -> None:
    """Start a server with the role `web`, which may have no event store."""
    server.launch()
    with plain_http.Client(base_url=server.url, timeout=30) as http:
        until(lambda: _is_ready(http), "the server does not accept", START_S)


def resident_mb(pid: int, kind: str = "VmHWM") -> float:
    """Return the memory of a server and its processes, each at its peak; with `VmRSS`, at present.

    Shared memory counts in each process.
    """
    kilobytes = 0
    for process in (pid, *children(pid)):
        status = Path(f"/proc/{process}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith(kind))
        kilobytes += int(line.split()[1])
    return kilobytes / 1024


def children(pid: int) -> list[int]:
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                pids.append(int(stat.parent.name))
    return pids


def descendants(pid: int) -> set[int]:
    found, waiting = set[int](), [pid]
    while waiting:
        below = children(waiting.pop())
        found.update(below)
        waiting += below
    return found


def yield_cores(processes: Iterable[int]) -> None:
    """Let processes run only where no other process wants the core.

    The kernel may divide the cores among sessions first, and then among their threads.
    """
    own = Path("/proc/self/autogroup")
    for process in processes:
        with suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                os.sched_setscheduler(int(thread.name), os.SCHED_IDLE, os.sched_param(0))
            group = Path(f"/proc/{process}/autogroup")
            if group.exists() and group.read_text() != own.read_text():
                group.write_text("19")


def web_workers(pid: int) -> list[int]:
    """Return the web workers of a server; an idle server starts them last."""
    until(lambda: _web_workers(pid), "no web worker", START_S)
    return _web_workers(pid)


def _web_workers(pid: int) -> list[int]:
    name = b"fanion.app.web_worker"
    return [
        process
        for process in children(pid)
        if name in Path(f"/proc/{process}/cmdline").read_bytes()
    ]


def _is_ready(http: httpx.Client) -> bool:
    try:
        return http.get("/_ready").is_success
    except httpx.TransportError:
        return False


def _wait_open(port: int) -> None:
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the floor does not answer")
