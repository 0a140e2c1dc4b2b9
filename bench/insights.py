"""Questions of analysis over a year of events, through the API of a whole server.

BENCH_INSIGHTS_EVENTS: the sizes, such as `2000000,20000000,60000000`; 20 M by default, which lie
in one year.
BENCH_INSIGHTS_FOLDER: keeps the events of each size, which take some minutes to make.

Each answer is calculated again (`refresh`). DuckDB answers the same questions over the same events
as Parquet, in the same run: its median is shown beside the server's. A separate row compares the
processor time of both, where the server's excludes what its processes use when idle. A question
that this version does not calculate is reported in its own line.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import httpx

from bench import servers
from bench.cohort_service import client_of
from bench.insights_beside import beside
from bench.insights_events import years_of
from bench.insights_floor import Floor
from bench.insights_questions import QUESTIONS, TILES, Ask, Question
from bench.processor_time import spent, used_s
from bench.report import Row
from tests.support.server import RealServer

SIZES = tuple(map(int, os.environ.get("BENCH_INSIGHTS_EVENTS", "20000000").split(",")))
STORED = os.environ.get("BENCH_INSIGHTS_FOLDER")
ANSWERS = 20
MEMORY_MB_MAX = 1024.0
COLD_S, KEPT_S = 5.0, 0.3
# Twice the time for twice the events, plus a tenth for variation.
GROWTH_MAX = 1.1


@dataclass
class Measured:
    """The figures of one size.

    Attributes:
        idle_mb: Memory of the server and its processes before the first question.
        idle_cores: The processor time of the idle server for each second.
        seconds: The median of each question that was answered, by its name.
    """

    events: int
    idle_mb: float = 0.0
    idle_cores: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)


def run() -> Iterator[Row]:
    sizes = []
    for events in SIZES:
        with TemporaryDirectory() as folder:
            measured = Measured(events)
            yield from _of_size(Path(STORED or folder) / str(events), measured)
            sizes.append(measured)
    yield from _growth(sizes)


def _of_size(folder: Path, measured: Measured) -> Iterator[Row]:
    with TemporaryDirectory() as data:
        server = servers.whole(Path(data) / "data")
        keys = server.setup()
        make_events(folder, measured.events, keys.project_id)
        shutil.copytree(folder / "events", server.data / "events", symlinks=True)
        floor = Floor(folder / "parquet")
        server.start()
        measured.idle_mb = _resident_mb(server, "VmRSS")
        try:
            with client_of(server, keys) as client:
                measured.idle_cores = _idle_cores_after_first(server, client)
                for question in QUESTIONS:
                    yield from _asked(server, client, question, measured, floor)
                yield from _dashboard(client, measured.events)
            yield from beside(server, keys)
        finally:
            server.close()
            floor.close()


def make_events(folder: Path, events: int, project: int) -> None:
    """Make the events in another process, because only one process can open an event store."""
    arguments = [str(folder), str(events), str(project)]
    subprocess.run([sys.executable, "-m", "bench.insights_events", *arguments], check=True)


def _idle_cores_after_first(server: RealServer, client: httpx.Client) -> float:
    """Ask each question once, and wait for what the server checks after a project's first ones."""
    for question in QUESTIONS:
        _refusal(client, question.asks)
    return spent({"server": [server.pid]}, lambda: None).idle["server"]


def _asked(
    server: RealServer,
    client: httpx.Client,
    question: Question,
    measured: Measured,
    floor: Floor,
) -> Iterator[Row]:
    refused = _refusal(client, question.asks)
    name = f"{question.name}, {measured.events / 1e6:g} M"
    if refused:
        print(f"{name}: not answered: {refused}")
        return
    before_s = used_s([server.pid])
    seconds = sorted(_seconds(client, question.asks) for _ in range(ANSWERS))
    asked_s = used_s([server.pid]) - before_s - measured.idle_cores * sum(seconds)
    middle = measured.seconds[question.name] = median(seconds)
    most = seconds[p95(len(seconds))]
    beside, rows = _beside_floor(name, middle, asked_s / ANSWERS, question, floor)
    shown = f"p95 {most:.3f} s, median {middle:.3f} s{beside}"
    yield Row(name, shown, f"{question.target_s:g} s", question.target_s / most, 1.0)
    yield from rows
    # The memory above that of an idle server, including caches and what was not given back.
    used = _memory_mb(server, client, question.asks) - measured.idle_mb
    ratio = MEMORY_MB_MAX / max(used, 1.0)
    yield Row(f"{name}: memory", f"{used:.0f} MB", f"{MEMORY_MB_MAX:g} MB", ratio, 1.0)


def p95(number: int) -> int:
    """Return the index of the nearest rank."""
    return -(-number * 95 // 100) - 1


def _beside_floor(
    name: str, middle_s: float, processor_s: float, question: Question, floor: Floor
) -> tuple[str, Sequence[Row]]:
    """Return the floor's median as text, and the row that compares the processor time."""
    if not question.floor:
        return "", ()
    best = floor.measure(question.floor)
    ratio = processor_s / best.processor_s
    shown = (
        f"{processor_s * 1e3:.0f} ms, {ratio:.1f} × the {best.processor_s * 1e3:.0f} ms of DuckDB"
    )
    most = question.processor_ratio_max
    row = Row(f"{name}: processor", shown, f"{most:g} ×", most / ratio, 1.0)
    return f" (DuckDB {best.median_s:.3f} s, {middle_s / best.median_s:.1f} ×)", (row,)


def _refusal(client: httpx.Client, asks: Sequence[Ask]) -> str:
    """Return why this version does not answer all of them, or "" if it does."""
    for path, body in asks:
        answer = client.post(path, json={**body, "refresh": True})
        if answer.status_code in (400, 404, 405):
            return f"{answer.status_code} {answer.text[:200]}"
        answer.raise_for_status()
    return ""


def _seconds(client: httpx.Client, asks: Sequence[Ask]) -> float:
    started = perf_counter()
    for path, body in asks:
        client.post(path, json={**body, "refresh": True}).raise_for_status()
    return perf_counter() - started


def _memory_mb(server: RealServer, client: httpx.Client, asks: Sequence[Ask]) -> float:
    """Return the peak memory of the server and its processes while the question is answered."""
    for pid in _processes(server):
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets the peak
    _seconds(client, asks)
    return _resident_mb(server, "VmHWM")


def _resident_mb(server: RealServer, kind: str) -> float:
    return servers.resident_mb(server.pid, kind)


def _processes(server: RealServer) -> list[int]:
    return [server.pid, *servers.children(server.pid)]


def _dashboard(client: httpx.Client, events: int) -> Iterator[Row]:
    dashboard = client.post("dashboards/", json={"name": "Twelve"}).raise_for_status().json()
    tiles = sum(_tile(client, filters, dashboard["id"]) for filters in TILES)
    page = f"dashboards/{dashboard['id']}/"
    cold = _page_s(client, page, refresh="true")
    cached_s = _page_s(client, page)
    name = f"dashboard of {tiles} of 12 tiles, {events / 1e6:g} M"
    yield Row(f"{name}, cold", f"{cold:.2f} s", f"{COLD_S:g} s", COLD_S / cold, 1.0)
    yield Row(f"{name}, kept", f"{cached_s:.2f} s", f"{KEPT_S:g} s", KEPT_S / cached_s, 1.0)


def _tile(client: httpx.Client, filters: Mapping[str, object], dashboard: int) -> int:
    """Create a tile, and return 0 if this version does not calculate its kind."""
    sent = {"filters": filters, "dashboards": [dashboard], "saved": True}
    return int(client.post("insights/", json=sent).is_success)


def _page_s(client: httpx.Client, path: str, **query: str) -> float:
    started = perf_counter()
    client.get(path, params=query).raise_for_status()
    return perf_counter() - started


def _growth(sizes: Sequence[Measured]) -> Iterator[Row]:
    """Check that time grows at most linearly with the events in the range, which is a year.

    Events before the range must cost nothing.
    """
    for smaller, larger in pairwise(sizes):
        more = _a_year(larger) / _a_year(smaller)
        for name in smaller.seconds.keys() & larger.seconds.keys():
            ratio = larger.seconds[name] / smaller.seconds[name]
            yield Row(
                f"growth, {name}, {smaller.events / 1e6:g} M → {larger.events / 1e6:g} M",
                f"{ratio:.1f} ×",
                f"{more:.1f} × in the range",
                more * GROWTH_MAX / ratio,
                1.0,
            )


def _a_year(measured: Measured) -> float:
    return measured.events / years_of(measured.events)
