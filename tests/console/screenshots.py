"""The program of `make screenshots`, which draws every screen into console/screenshots/.

Each screen is drawn light and dark, wide and narrow.
"""

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Error, ViewportSize

from tests.console.browser import Chromium, why_no_browser, why_no_console
from tests.console.installation import Installation, open_installation
from tests.console.screen import Console, Theme
from tests.console.screens import SCREENS, Screen
from tests.console.showcase import Showcase, make_showcase

FOLDER = Path(__file__).parents[2] / "console" / "screenshots"
THEMES: tuple[Theme, ...] = ("light", "dark")
WIDTHS = {1440: 900, 390: 844}


def main(names: Sequence[str]) -> int:
    """Draw screens.

    Args:
        names: Names of screens; all of them when none is given.
    """
    reason = why_no_browser() or why_no_console()
    if reason is not None:
        print(reason)
        return 1
    screens = [screen for screen in SCREENS if not names or screen.name in names]
    FOLDER.mkdir(exist_ok=True)
    problems: list[str] = []
    with (
        TemporaryDirectory() as folder,
        open_installation(Path(folder)) as installation,
        closing(Chromium()) as chromium,
    ):
        showcase = make_showcase(installation)
        for theme, width in product(THEMES, WIDTHS):
            look = Look(chromium, installation, theme, width)
            problems += look.take(screens, showcase)
    print("\n".join([*problems, f"{FOLDER}: {len(screens)} screens."]))
    return 1 if problems else 0


@dataclass(frozen=True)
class Look:
    chromium: Chromium
    installation: Installation
    theme: Theme
    width: int

    def take(self, screens: Sequence[Screen], showcase: Showcase) -> list[str]:
        """Take screenshots, and return the problems on the way."""
        cookie = self.installation.cookie(self.installation.owner)
        problems = []
        with self.chromium.console(self.installation.server.url, cookie) as console:
            console.page.emulate_media(color_scheme=self.theme, reduced_motion="reduce")
            console.page.set_viewport_size(self.size(WIDTHS[self.width]))
            for screen in screens:
                problems += self.take_one(console, screen, showcase)
        return problems

    def take_one(self, console: Console, screen: Screen, showcase: Showcase) -> list[str]:
        name = f"{screen.name}-{self.theme}-{self.width}"
        problems = []
        try:
            screen.show(console, showcase)
        except (AssertionError, Error) as error:
            problems.append(f"{name}: {error}")
        self.grow(console)
        file = FOLDER / f"{name}.png"
        console.page.screenshot(path=file, full_page=True, animations="disabled")
        problems += [f"{name}: {problem}" for problem in console.watch.problems]
        console.watch.problems.clear()
        console.page.set_viewport_size(self.size(WIDTHS[self.width]))
        return problems

    def grow(self, console: Console) -> None:
        """Grow the window to the height of the page.

        Elements that keep to the window's edges would otherwise lie across the page.
        """
        height = console.page.evaluate("() => document.documentElement.scrollHeight")
        console.page.set_viewport_size(self.size(max(height, WIDTHS[self.width])))
        console.settle()

    def size(self, height: int) -> ViewportSize:
        return {"width": self.width, "height": height}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
