"""The console as its user sees it: one page in its own browser.

Tests find what they use by role and name: `console.page.get_by_role("switch", name="beta")`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    Locator,
    Page,
    Route,
    ViewportSize,
    expect,
)

from fanion.accounts.sessions.cookies import PLAIN_NAME
from tests.console.accessibility import OF_COLOURS, violations
from tests.console.watch import Watch

VIEWPORT: ViewportSize = {"width": 1440, "height": 900}
SETTLED_S = 60.0  # on a busy machine, like all limits here
ACTION_MS, EXPECTED_MS = 60_000.0, 30_000.0
TABS_MAX = 150
Theme = Literal["light", "dark"]

# Resolves when nothing is busy, and was not before two frames were drawn and due work was done. It
# awaits changes instead of polling, and ends now and then to be called again.
CALM = """() => new Promise(resolve => {
  const isBusy = () => document.querySelector('[aria-busy="true"], #root:empty') !== null;
  const afterFrame = then => requestAnimationFrame(() => setTimeout(then));
  const end = isCalm => { observer.disconnect(); clearTimeout(timer); resolve(isCalm); };
  const look = () => {
    if (!isBusy()) afterFrame(() => afterFrame(() => { if (!isBusy()) end(true); }));
  };
  const observer = new MutationObserver(look);
  const timer = setTimeout(() => end(false), 1000);
  const seen = { attributeFilter: ['aria-busy'], childList: true, subtree: true };
  observer.observe(document, seen);
  afterFrame(look);
})"""
NAVIGATED = ("Execution context was destroyed", "Cannot find context with specified id")
PRESSES = """addEventListener('pointerdown', event => {
  if (event.isTrusted) notePress(event.target.outerHTML?.slice(0, 200) ?? '');
}, true);"""
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll('body *')]
    .filter(one => one.getBoundingClientRect().right > width + 0.5)
    .slice(-3).map(one => one.outerHTML.slice(0, 200));
}"""
LAYOUT_SHIFT_MAX = 0.05
LAYOUT_SHIFT = """() => new Promise(resolve => {
  let sum = 0;
  const observer = new PerformanceObserver(list => {
    for (const shift of list.getEntries()) if (!shift.hadRecentInput) sum += shift.value;
  });
  observer.observe({ type: 'layout-shift', buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(sum))));
})"""
FORGET = "() => { localStorage.clear(); sessionStorage.clear(); }"
# A field with chips shows its focus on the box around both.
IS_FOCUS_SEEN = """element => {
  const isMarked = one => {
    const style = getComputedStyle(one);
    const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    return outlined || style.boxShadow !== 'none';
  };
  return element.matches(':focus-visible') && [element, element.parentElement].some(isMarked);
}"""

expect.set_options(timeout=EXPECTED_MS)


class Console:
    """The console in one page.

    Attributes:
        presses: What was pressed with the pointer so far.
    """

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.context = context
        self.origin = origin
        self.watch = Watch(context, origin)
        self.presses: list[str] = []
        context.set_default_timeout(ACTION_MS)
        context.expose_function("notePress", self._pressed)
        context.add_init_script(PRESSES)
        self.page: Page = context.new_page()

    def begin_again(self, session: str = "") -> None:
        """Become a new page with nothing stored; the browser keeps what it has loaded.

        Args:
            session: The value of the session's cookie; none for a stranger.
        """
        for further in self.context.pages[1:]:
            further.close()
        self.context.unroute_all()
        self.page.unroute_all()
        self.page.goto(f"{self.origin}/_health")  # where nothing of the console runs
        self.page.evaluate(FORGET)
        self.page.set_viewport_size(VIEWPORT)
        # The word "null" resets them: None would leave them as the previous test has set them.
        self.page.emulate_media(color_scheme="null", reduced_motion="null")
        self.context.clear_cookies()
        if session:
            self.context.add_cookies([{"name": PLAIN_NAME, "value": session, "url": self.origin}])
        self.watch.begin_again()
        self.presses.clear()

    def open(self, path: str) -> None:
        """Open a path.

        Args:
            path: With the project in it, as `project.at` makes it.
        """
        self.page.goto(self.origin + path)
        self.settle()

    def go(self, path: str) -> None:
        """Follow a path as a link within the console does, without loading the console again."""
        self.page.evaluate("path => history.pushState({}, '', path)", path)
        self.settle()

    def hold_reads(self, pattern: str) -> Callable[[], None]:
        """Let the page hear no answer to a GET until the returned function is called."""
        held: list[Route] = []
        holding = True

        def hold(route: Route) -> None:
            if holding and route.request.method == "GET":
                held.append(route)
            else:
                route.continue_()

        def go_on() -> None:
            # The handler stays: playwright itself lets go on what a removed one holds.
            nonlocal holding
            holding = False
            for route in held:
                route.continue_()

        self.page.route(pattern, hold)
        return go_on

    def settle(self) -> None:
        """Return when the screen shows all that it is going to.

        No request is under way and nothing is marked as busy, for two frames.
        """
        give_up = time.monotonic() + SETTLED_S
        while not self._is_settled():
            is_late = time.monotonic() > give_up
            assert not is_late, f"the screen is still busy; it waits for {self.watch.waits()}"

    def layout_shift(self) -> float:
        """Return by how much what was shown has moved while the screen was loaded."""
        return float(self.page.evaluate(LAYOUT_SHIFT))

    def expect_accessible(self, themes: tuple[Theme, ...] = ("light", "dark")) -> None:
        """Expect that axe finds nothing in what is shown, in either theme; the last one stays."""
        problems: list[str] = []
        for theme in themes:
            self.page.emulate_media(color_scheme=theme)
            rules = () if theme == themes[0] else OF_COLOURS
            problems += [f"{theme}: {line}" for line in violations(self.page, rules)]
        assert not problems, "\n".join(["axe found:", *problems])

    def choose(self, field: Locator, option: str) -> None:
        """Choose an option of a select, by the option's whole text."""
        field.click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def press(self, *keys: str) -> None:
        """Press keys such as "Control+k", "Enter", "g", "f", one after another."""
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, target: Locator, tabs_max: int = TABS_MAX) -> None:
        """Move the focus as a user of the keyboard does, who has to see where it is."""
        for _ in range(tabs_max + 1):
            if target.evaluate("element => element === document.activeElement"):
                assert target.evaluate(IS_FOCUS_SEEN), f"the focus is not seen on {target}"
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{tabs_max} tabs do not reach {target}")

    @contextmanager
    def clicks_at_most(self, limit: int) -> Iterator[None]:
        """Limit the clicks within the context.

        Focus a field by a click in it, and type with the keyboard: `fill` would need no click.
        """
        before = len(self.presses)
        yield
        pressed = self._presses_since(before)
        assert len(pressed) <= limit, "\n".join([f"{len(pressed)} clicks, not {limit}:", *pressed])

    @contextmanager
    def keyboard_only(self) -> Iterator[None]:
        before = len(self.presses)
        yield
        pressed = self._presses_since(before)
        assert not pressed, "\n".join(["the pointer was used:", *pressed])

    @contextmanager
    def at_width(self, pixels: int) -> Iterator[None]:
        """Expect that the page fits a width: nothing is reached only by scrolling to the side."""
        with self._sized(narrow(pixels)):
            yield
            self.expect_to_fit()

    @contextmanager
    def at_zoom(self, percent: int) -> Iterator[None]:
        with self._sized(zoomed(percent)):
            yield
            self.expect_to_fit()

    def expect_to_fit_in(self, *sizes: ViewportSize) -> None:
        """Expect that the page fits each size; the window keeps the last one.

        To draw the page at its former size would take as long.
        """
        for size in sizes:
            self.page.set_viewport_size(size)
            self.expect_to_fit()

    @contextmanager
    def by_touch(self) -> Iterator[None]:
        """Make the screen one that is pressed with fingers."""
        devtools = self.context.new_cdp_session(self.page)
        devtools.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        yield
        devtools.detach()

    @contextmanager
    def reduced_motion(self) -> Iterator[None]:
        self.page.emulate_media(reduced_motion="reduce")
        yield
        self.page.emulate_media(reduced_motion="null")

    def expect_toast(self, text: str) -> None:
        """Expect a message about what was done; a copy of the text is only for screen readers."""
        expect(self.page.get_by_text(text).first).to_be_visible()

    def expect_to_fit(self) -> None:
        self.settle()
        wide = self.page.evaluate(TOO_WIDE)
        assert not wide, "\n".join(["the page scrolls to the side, because of:", *wide])

    @contextmanager
    def _sized(self, size: ViewportSize) -> Iterator[None]:
        former = self.page.viewport_size
        assert former is not None
        self.page.set_viewport_size(size)
        yield
        self.page.set_viewport_size(former)

    def _is_settled(self) -> bool:
        """Return whether no request was under way before, and none began meanwhile."""
        requests, waited = self.watch.count(), bool(self.watch.pending)
        is_calm = self._is_calm()
        return is_calm and not waited and self.watch.count() == requests

    def _is_calm(self) -> bool:
        try:
            return bool(self.page.evaluate(CALM))
        except Error as error:
            if any(words in error.message for words in NAVIGATED):
                return False
            raise

    def _pressed(self, element: str) -> None:
        self.presses.append(element)

    def _presses_since(self, before: int) -> list[str]:
        self.page.evaluate("0")  # all that the page has sent arrives before the response
        return self.presses[before:]


def narrow(pixels: int) -> ViewportSize:
    return {"width": pixels, "height": 800}


def zoomed(percent: int) -> ViewportSize:
    """Return the size that zoom gives a window of 1280 by 720: fewer and larger pixels."""
    return {"width": 1280 * 100 // percent, "height": 720 * 100 // percent}


@contextmanager
def open_console(browser: Browser, origin: str, **device: Any) -> Iterator[Console]:
    """Open the page of a stranger.

    The certificate of an `https` origin may be signed by any authority.

    Args:
        device: Options of the browser's context, for another device than a desktop.
    """
    desktop = {"viewport": VIEWPORT, "locale": "en-GB", "timezone_id": "UTC"}
    context = browser.new_context(
        ignore_https_errors=True,
        permissions=["clipboard-read", "clipboard-write"],
        **{**desktop, **device},
    )
    try:
        yield Console(context, origin)
    finally:
        context.close()
