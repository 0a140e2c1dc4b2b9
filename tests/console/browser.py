"""The headless Chromium of all tests of a process, driven by Playwright.

Playwright's loop runs in the thread of the tests as long as it is started, and then no other loop
can. It is stopped after the last test in a browser, so that asynchronous tests may follow.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

import fanion
from tests.clients.browser import FLAGS, find_chromium
from tests.console.screen import Console, open_console

BUILT = Path(fanion.__file__).parent / "console" / "static"
# Whatever the page requests, nothing but this machine responds.
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def why_no_browser() -> str | None:
    if find_chromium() is None:
        return "no Chromium found: install the package `chromium`"
    return None


def why_no_console() -> str | None:
    if not (BUILT / "build.json").exists():
        return "the console is not built: `make console` builds it"
    return None


class Chromium:
    """One browser, started with the first test that needs it."""

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._idle: defaultdict[str, list[Console]] = defaultdict(list)
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None

    def browser(self) -> Browser:
        if self._browser is None:
            self._playwright = sync_playwright().start()
            self._browser = self._playwright.chromium.launch(
                executable_path=find_chromium(), args=[*FLAGS, ALONE]
            )
        return self._browser

    @contextmanager
    def console(self, origin: str, session: str = "") -> Iterator[Console]:
        """Lend a page, as `open_console` opens it, to one test after another.

        A new page costs more than most screens. The page begins again for each test.
        """
        idle = self._idle[origin]
        if not idle:
            idle.append(self._opened.enter_context(open_console(self.browser(), origin)))
        console = idle.pop()
        console.begin_again(session)
        yield console
        idle.append(console)

    def close(self) -> None:
        self._idle.clear()
        self._opened.close()
        if self._browser is not None:
            self._browser.close()
        if self._playwright is not None:
            self._playwright.stop()
        self._playwright = self._browser = None
