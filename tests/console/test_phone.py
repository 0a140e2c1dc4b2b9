"""The console on a phone, where fingers need room and small fields make the page jump."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.console.installation import Installation
from tests.console.screen import LAYOUT_SHIFT_MAX, Console, open_console
from tests.console.screens import SCREENS, as_opened
from tests.console.showcase import Showcase

pytestmark = pytest.mark.long("drives Chromium")

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
}
TOUCHED = ("flags", "flags/new", "persons", "live", "web", "ingestion", "settings")
TARGET_PIXELS = 24  # source: WCAG 2.2, 2.5.8 Target Size (Minimum)
# iOS enlarges the page when a field with a smaller font is focused.
FONT_PIXELS = 16
# A switch is smaller than its target, which reaches beyond it.
FAULTS = """([target, font]) => {
  const faults = [];
  const isSeen = one => one.checkVisibility() && one.getBoundingClientRect().width > 1;
  for (const one of document.querySelectorAll(
    'button, [role="tab"], [role="switch"], [role="menuitem"]')) {
    if (!isSeen(one) || one.disabled) continue;
    one.scrollIntoView({ block: 'center', inline: 'nearest' });
    const { left, top, width, height } = one.getBoundingClientRect();
    const around = getComputedStyle(one, '::after');
    const beyond = around.position === 'absolute' ? -2 * parseFloat(around.top) || 0 : 0;
    if (width < target || height + beyond < target)
      faults.push(`${width} × ${height + beyond}: ${one.outerHTML.slice(0, 160)}`);
  }
  const fields = 'input:not([type=checkbox], [type=radio], [type=range]), select, textarea';
  for (const one of document.querySelectorAll(fields)) {
    const size = parseFloat(getComputedStyle(one).fontSize);
    if (isSeen(one) && size < font) faults.push(`${size} px: ${one.outerHTML.slice(0, 160)}`);
  }
  return faults;
}"""


@pytest.fixture
def phone(
    built_console: None, chromium_browser: Browser, installation: Installation
) -> Iterator[Console]:
    with open_console(chromium_browser, installation.server.url, **PHONE) as console:
        console.begin_again(installation.cookie(installation.owner))
        console.page.set_viewport_size(PHONE["viewport"])
        yield console
        console.watch.assert_clean()


def test_fingers_hit_what_they_aim_at_and_fields_do_not_enlarge_the_page(
    phone: Console, showcase: Showcase
) -> None:
    flag = showcase.flags["checkout-layout"]["id"]
    faults: dict[str, list[str]] = {}
    for screen in (*TOUCHED, f"flags/{flag}"):
        phone.open(showcase.project.at(screen))
        assert phone.page.evaluate("matchMedia('(pointer: coarse)').matches")
        faults[screen] = phone.page.evaluate(FAULTS, [TARGET_PIXELS, FONT_PIXELS])

    assert not any(faults.values()), "\n".join(
        [f"{screen}: {fault}" for screen, found in faults.items() for fault in found]
    )


def test_no_screen_moves_what_it_shows_while_the_rest_of_it_comes(
    phone: Console, showcase: Showcase
) -> None:
    shifts: dict[str, float] = {}
    for screen in SCREENS:
        if screen.prepare is as_opened:
            phone.open(screen.path(showcase))
            shifts[screen.name] = phone.layout_shift()

    too_much = {name: shift for name, shift in shifts.items() if shift >= LAYOUT_SHIFT_MAX}
    assert not too_much, too_much
