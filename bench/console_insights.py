"""The console's questions over a year of events, in a headless Chromium on this machine.

BENCH_INSIGHTS_EVENTS, BENCH_INSIGHTS_FOLDER: as for `insights`; the first size is taken.

Each visit asks for other days than the visits before, so that each answer is calculated. A visit
begins with the address, with the console's files in the browser's cache, and ends with the frame
in which all numbers are shown. A figure passes by its limit, which stands where a floor would.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlencode

from bench import decide, load
from bench.cohort_service import client_of
from bench.insights import COLD_S, KEPT_S, SIZES, STORED, make_events, p95
from bench.insights_beside import FLAGS, TIMES_SLOWER_MAX
from bench.insights_events import END, EVENTS
from bench.insights_questions import STEPS, TILES
from bench.report import Row
from bench.servers import descendants, whole, yield_cores
from tests.console.browser import Chromium, why_no_browser, why_no_console
from tests.console.installation import Installation, open_installation
from tests.console.screen import Console
from tests.support import plain_http
from tests.support.awaited import until

# Of twelve visits the p95 would be the slowest.
VISITS = 40
PAINT_S, NUMBERS_S = 0.3, 1.0
BESIDE_S = 20

# Resolves in the frame that shows numbers (a table, a chart or a graph) and nothing that is still
# being loaded.
NUMBERS_SHOWN = """() => new Promise((resolve, reject) => {
  const numbers = 'main table td, main dd, main [role="slider"], main svg [role="button"]';
  const look = () => requestAnimationFrame(() => {
    const isShown = document.querySelector(numbers) !== null
      && document.querySelector('[aria-busy="true"]') === null;
    if (isShown) setTimeout(() => resolve(performance.now()));
    else if (performance.now() > 60_000) reject(new Error(document.body.innerText));
    else look();
  });
  look();
})"""
STEP = "path => { history.pushState({}, '', path); return performance.now(); }"
FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"

_VIEWED: Final = [{"event": "$pageview"}]
_SERIES: Final = [{"event": step["id"], "properties": step.get("properties", [])} for step in STEPS]
SCREENS: Final[tuple[tuple[str, str, Mapping[str, object], int], ...]] = (
    ("trend by day", "insights/new", {"series": _VIEWED}, 30),
    ("trend by browser", "insights/new", {"series": _VIEWED, "breakdowns": ["$browser"]}, 30),
    ("funnel of 3", "insights/new", {"kind": "funnels", "series": _SERIES}, 30),
    ("retention", "insights/new", {"kind": "retention", "series": _SERIES[1:]}, 30),
    ("stickiness", "insights/new", {"kind": "stickiness", "series": _VIEWED}, 30),
    ("life cycle", "insights/new", {"kind": "lifecycle", "series": _VIEWED}, 30),
    ("paths", "insights/new", {"kind": "paths"}, 30),
    ("web analytics", "web", {}, 30),
)


@dataclass(frozen=True)
class Visit:
    """The seconds from the address to the first paint, and to the numbers."""

    paint_s: float
    numbers_s: float


def run() -> Iterator[Row]:
    reason = why_no_browser() or why_no_console()
    if reason is not None:
        print(f"console-insights: left out, {reason}")
        return
    with (
        TemporaryDirectory() as folder,
        open_installation(Path(folder), whole(Path(folder) / "data")) as installation,
        closing(Chromium()) as chromium,
    ):
        _fill(installation, Path(STORED or folder) / str(SIZES[0]))
        cookie = installation.cookie(installation.owner)
        with chromium.console(installation.server.url, cookie) as console:
            yield from _screens(console, installation)
            yield from _dashboard(console, installation)
            yield _beside(console, installation)


def _fill(installation: Installation, folder: Path) -> None:
    make_events(folder, SIZES[0], installation.keys.project_id)
    _define_events(installation)
    with installation.stopped():
        events = installation.server.data / "events"
        shutil.rmtree(events, ignore_errors=True)
        shutil.copytree(folder / "events", events, symlinks=True)
        installation.server.command("stores", "adopt")


def _define_events(installation: Installation) -> None:
    """Send each event once: a screen asks nothing about events that a project never received."""
    server, keys = installation.server, installation.keys
    names = {name for name, _ in EVENTS}
    batch = [{"event": name, "distinct_id": "user-1", "properties": {}} for name in names]
    sent = plain_http.post(
        f"{server.url}/batch/", json={"api_key": keys.project_api_key, "batch": batch}
    )
    sent.raise_for_status()
    with client_of(server, keys) as client:

        def defined() -> set[str]:
            found = client.get("event_definitions/").raise_for_status().json()
            return {one["name"] for one in found["results"]}

        until(lambda: names <= defined(), "the events are not defined")


def _screens(console: Console, installation: Installation) -> Iterator[Row]:
    for name, path, question, days in SCREENS:
        addresses = _addresses(installation, path, question, days)
        _visit(console, addresses[0])  # loads the files of the screen
        visits = [_visit(console, address) for address in addresses[1:]]
        yield _row(f"{name}, first paint", [one.paint_s for one in visits], PAINT_S)
        yield _row(f"{name}, numbers", [one.numbers_s for one in visits], NUMBERS_S)


def _addresses(
    installation: Installation, path: str, question: Mapping[str, object], days: int
) -> list[str]:
    """Return the paths of a question for ranges of so many days, each with another last day."""
    addresses = []
    for back in range(1, VISITS + 2):
        last = END - timedelta(days=back)
        given = {
            **{k: v if isinstance(v, str) else json.dumps(v) for k, v in question.items()},
            "from": f"{last - timedelta(days=days - 1):%Y-%m-%d}",
            "to": f"{last:%Y-%m-%d}",
        }
        addresses.append(f"/project/{installation.keys.project_id}/{path}?{urlencode(given)}")
    return addresses


def _visit(console: Console, path: str) -> Visit:
    console.page.goto(console.origin + path, wait_until="commit")
    numbers_ms = float(console.page.evaluate(NUMBERS_SHOWN))
    return Visit(float(console.page.evaluate(FIRST_PAINT)) / 1e3, numbers_ms / 1e3)


def _dashboard(console: Console, installation: Installation) -> Iterator[Row]:
    with client_of(installation.server, installation.keys) as client:
        made = client.post("dashboards/", json={"name": "Twelve"}).raise_for_status().json()
        for filters in TILES:
            sent = {"filters": filters, "dashboards": [made["id"]], "saved": True}
            client.post("insights/", json=sent).raise_for_status()
    dashboards = f"/project/{installation.keys.project_id}/dashboards"
    path = f"{dashboards}/{made['id']}"
    cold = _visit(console, path)
    loaded = [_visit(console, path).numbers_s for _ in range(VISITS)]
    kept = [_opened_s(console, dashboards, path) for _ in range(VISITS)]
    yield _row(f"dashboard of {len(TILES)}, cold", [cold.numbers_s], COLD_S)
    yield _row(f"dashboard of {len(TILES)}, kept, with the console", loaded, NUMBERS_S)
    yield _row(f"dashboard of {len(TILES)}, kept, opened from the list", kept, KEPT_S)


def _opened_s(console: Console, before: str, path: str) -> float:
    """Return the seconds from a step within the console to the frame with the numbers."""
    console.open(before)
    begun_ms = float(console.page.evaluate(STEP, path))
    return (float(console.page.evaluate(NUMBERS_SHOWN)) - begun_ms) / 1e3


def _beside(console: Console, installation: Installation) -> Row:
    """Measure flags alone, and while the screens are visited without a pause.

    The browser gets what the server leaves of the cores.
    """
    server, keys = installation.server, installation.keys
    decide.store(server, keys, FLAGS)
    body = json.dumps({"api_key": keys.project_api_key, "distinct_id": "user-1"}).encode()
    url = f"{server.url}/decide?v=3"
    alone = load.post(url, body)
    # It is another machine in reality. The priority is kept: this part is the last.
    yield_cores(descendants(os.getpid()) - {server.pid} - descendants(server.pid))
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(load.post, url, body, run_s=BESIDE_S)
        visits = 0
        while not running.done():
            _, path, question, days = SCREENS[visits % len(SCREENS)]
            _visit(console, _addresses(installation, path, question, days + visits)[-1])
            visits += 1
        beside = running.result()
    assert alone.failed == beside.failed == 0, (alone, beside)
    shown = f"p99 {beside.p99_ms:.1f} ms, {visits} visits"
    ratio = TIMES_SLOWER_MAX * alone.p99_ms / beside.p99_ms
    case = f"decide, {FLAGS} flags, beside the console"
    return Row(case, shown, f"{alone.p99_ms:.1f} ms alone", ratio, 1.0)


def _row(case: str, seconds: Sequence[float], limit_s: float) -> Row:
    ordered = sorted(seconds)
    most = ordered[p95(len(ordered))]
    shown = f"p95 {most:.2f} s, median {ordered[len(ordered) // 2]:.2f} s"
    return Row(f"console, {case}", shown, f"{limit_s:g} s", limit_s / most, 1.0)
