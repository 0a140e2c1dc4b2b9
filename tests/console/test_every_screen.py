"""Rules that hold on each screen, which shows values that attack among others."""

import re
from contextlib import suppress

import pytest
from playwright.sync_api import Error, Route

from tests.console.conftest import Visit
from tests.console.inert_values import expect_only_text
from tests.console.screen import Console, narrow, zoomed
from tests.console.screens import SCREENS, Screen, as_opened
from tests.console.showcase import Showcase

pytestmark = pytest.mark.long("drives Chromium")

PHONE, ZOOM = 360, 200
# Limits of a screen with everything around it: with HTTP/1.1 six requests run at a time.
REQUESTS_MAX, NODES_MAX = 60, 3_000

# Names of columns that are not shown in full. What only screen readers see is one pixel wide.
CUT_HEADS = """() => [...document.querySelectorAll('th span')]
  .filter(one => one.clientWidth > 1 && !one.querySelector('span'))
  .filter(one => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
  .map(one => one.textContent)"""

every_screen = pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name)

OF_A_PROJECT = re.compile(r"/api/projects/\d+/")
NODES = "() => document.querySelectorAll('*').length"
MOVES = """() => document.getAnimations().filter(one => {
  const { duration, iterations } = one.effect.getComputedTiming();
  return duration > 10 || iterations === Infinity;
}).map(one => `${one.animationName ?? one.transitionProperty}: ${one.effect.target.outerHTML}`)"""


@every_screen
def test_a_screen_is_accessible_harmless_and_fits(
    console: Console, showcase: Showcase, screen: Screen
) -> None:
    console.open(screen.path(showcase))
    assert console.watch.count() <= REQUESTS_MAX
    screen.prepare(console)
    console.settle()

    assert console.page.get_by_role("heading", level=1, include_hidden=True).count() == 1
    assert console.page.evaluate(NODES) <= NODES_MAX
    expect_only_text(console.page)
    assert console.page.evaluate(CUT_HEADS) == []
    console.expect_accessible()
    console.expect_to_fit_in(narrow(PHONE), zoomed(ZOOM))
    assert console.page.evaluate(CUT_HEADS) == []


@pytest.mark.parametrize("name", ["flags", "persons", "settings-webhooks", "cohorts"])
def test_nothing_moves_for_who_wants_it_so(console: Console, showcase: Showcase, name: str) -> None:
    """Nothing moves while a screen loads, nor when the command menu opens."""
    [screen] = [screen for screen in SCREENS if screen.name == name]
    held: list[Route] = []
    console.page.emulate_media(reduced_motion="reduce")
    console.page.route(OF_A_PROJECT, lambda route: held.append(route))

    console.page.goto(console.origin + screen.path(showcase))
    console.page.locator('[aria-busy="true"]').first.wait_for()
    assert console.page.evaluate(MOVES) == []
    console.page.unroute(OF_A_PROJECT)
    for route in held:
        with suppress(Error):  # the page may have given up this request meanwhile
            route.continue_()
    console.settle()
    console.press("Control+k")
    console.page.get_by_role("dialog").wait_for()
    assert console.page.evaluate(MOVES) == []


def test_a_viewer_is_shown_each_screen_too(visit: Visit, showcase: Showcase) -> None:
    """All are opened, since a user who may only look must not meet a response that refuses."""
    console = visit(showcase.members["Vera"])
    # The other screens are changed before they are looked at.
    shown = [screen for screen in SCREENS if screen.prepare is as_opened]
    console.open(shown[0].path(showcase))

    for screen in shown:
        console.go(screen.path(showcase))
        assert console.page.get_by_role("alert").all_inner_texts() == [], screen.name
