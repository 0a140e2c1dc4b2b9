"""The console in a headless Chromium on this machine: how soon a screen shows its content.

The floor is a page of the same server that loads the same files, runs none of them and shows a
line of text. A figure passes by its limit, whatever the floor is.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, Route

from bench.report import Row
from bench.servers import whole
from tests.console.browser import Chromium, why_no_browser, why_no_console
from tests.console.bulk_rows import add_many_flags
from tests.console.installation import Installation, open_installation
from tests.console.screen import Console, open_console
from tests.console.showcase import make_showcase

ROUNDS = 5
FLAGS = 5_000
COLD_MS, WARM_MS, NEXT_MS, LIST_MS, NODES = 1_000.0, 400.0, 100.0, 500.0, 3_000.0

# The ends of the links in the navigation, and the headings of their screens.
NAVIGATION = (("/cohorts", "Cohorts"), ("/flags", "Feature flags"))

LCP = """() => new Promise(resolve => new PerformanceObserver(list =>
  resolve(list.getEntries().at(-1).startTime)
).observe({ type: 'largest-contentful-paint', buffered: true }))"""
# From the click on a link in the navigation to the frame that shows the heading of its screen and
# nothing that is still loading.
TO_NEXT = """([link, heading]) => new Promise(resolve => {
  const started = performance.now();
  const look = () => requestAnimationFrame(() => {
    const isThere = document.querySelector('main h1')?.textContent === heading
      && document.querySelector('main [aria-busy="true"]') === null;
    isThere ? setTimeout(() => resolve(performance.now() - started)) : look();
  });
  document.querySelector(`nav a[href$="${link}"]`).click();
  look();
})"""
A_FRAME = """() => new Promise(resolve => {
  const started = performance.now();
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)));
})"""
COUNT = "() => document.querySelectorAll('*').length"
LOADED = """() => performance.getEntriesByType('resource')
  .filter(one => /console\\/assets/.test(one.name)).map(one => one.name)"""


def run() -> Iterator[Row]:
    reason = why_no_browser() or why_no_console()
    if reason is not None:
        print(f"console: left out, {reason}")
        return
    with (
        TemporaryDirectory() as folder,
        open_installation(Path(folder), whole(Path(folder) / "data")) as installation,
        closing(Chromium()) as chromium,
    ):
        yield from _measured(chromium.browser(), installation)


def _measured(browser: Browser, installation: Installation) -> Iterator[Row]:
    showcase = make_showcase(installation)
    project, many = showcase.project, installation.project("Many flags")
    add_many_flags(many, FLAGS)
    home, flags = project.at(), many.at("flags")
    with _page(browser, installation) as console:
        console.open(home)
        files: list[str] = console.page.evaluate(LOADED)
    cold, warm = _painted(browser, installation, home, [])
    bare_cold, bare_warm = _painted(browser, installation, "/bare", files)
    yield _row("console, home, first visit, LCP", cold, bare_cold, COLD_MS)
    yield _row("console, home, again, LCP", warm, bare_warm, WARM_MS)
    listed, again = _painted(browser, installation, flags, [])
    yield _row(f"console, {FLAGS:,} flags, first visit, LCP", listed, bare_cold, COLD_MS)
    yield _row(f"console, {FLAGS:,} flags, again, LCP", again, bare_warm, LIST_MS)
    yield from _once_open(browser, installation, flags)


def _painted(
    browser: Browser, installation: Installation, path: str, files: list[str]
) -> tuple[float, float]:
    """Return the median of the largest paint with an empty browser cache, and with a full one.

    Args:
        files: The files that the bare page loads.
    """
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(ROUNDS):
        with _page(browser, installation) as console:
            if files:
                console.context.route("**/bare", lambda route: _answer_bare(route, files))
            for times in (cold, warm):
                console.open(path)
                times.append(float(console.page.evaluate(LCP)))
    return median(cold), median(warm)


def _answer_bare(route: Route, files: list[str]) -> None:
    links = "".join(
        f'<link rel="preload" as="{"style" if file.endswith(".css") else "script"}" href="{file}">'
        for file in files
    )
    page = f"<!doctype html><title>Bare</title>{links}<h1>A line of text</h1>"
    route.fulfill(body=page, content_type="text/html")


def _once_open(browser: Browser, installation: Installation, path: str) -> Iterator[Row]:
    with _page(browser, installation) as console:
        console.open(path)
        yield _nodes(console.page)
        # Back and forth: the later visits have what the first two load.
        times = [_follow(console, screen) for _ in range(ROUNDS + 1) for screen in NAVIGATION]
        later = median(times[len(NAVIGATION) :])
        yield _row("console, next screen from the cache", later, _frame(console), NEXT_MS)


def _follow(console: Console, screen: tuple[str, str]) -> float:
    seconds: float = console.page.evaluate(TO_NEXT, list(screen))
    console.settle()
    return seconds


@contextmanager
def _page(browser: Browser, installation: Installation) -> Iterator[Console]:
    """Open a page in a browser with an empty cache."""
    cookie = installation.cookie(installation.owner)
    with open_console(browser, installation.server.url) as console:
        console.begin_again(cookie)
        yield console


def _frame(console: Console) -> float:
    return median(float(console.page.evaluate(A_FRAME)) for _ in range(ROUNDS))


def _nodes(page: Page) -> Row:
    elements = int(page.evaluate(COUNT))
    case = f"console, {FLAGS:,} flags, elements of the page"
    return Row(case, f"{elements:,}", f"{NODES:,.0f} at most", NODES / elements, 1.0)


def _row(case: str, ours_ms: float, floor_ms: float, limit_ms: float) -> Row:
    """Return a row that passes below its limit."""
    ratio, target = floor_ms / ours_ms, floor_ms / limit_ms
    return Row(f"{case} (< {limit_ms:g})", f"{ours_ms:.0f} ms", f"{floor_ms:.0f} ms", ratio, target)
