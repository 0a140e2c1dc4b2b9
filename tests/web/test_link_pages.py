"""The pages for links have a form, no script, and the looks of the console's sign-in page."""

import re
from pathlib import Path

from fanion.web.link_pages import LinkPage

CONSOLE_STYLE = Path(__file__).parents[2] / "console" / "src" / "app" / "app.css"
TOKEN = re.compile(r"--([a-z0-9-]+):\s*([^;]+);")


def colours(style: str, other_theme: str) -> list[dict[str, str]]:
    """Return the colours of the light and of the dark theme."""
    return [dict(TOKEN.findall(theme)) for theme in style.split(other_theme)[:2]]


def test_pages_for_links_have_the_colours_and_the_fonts_of_the_console() -> None:
    console = CONSOLE_STYLE.read_text()
    page = bytes(LinkPage().form("ann@example.com", "", 200).content).decode()

    for own, known in zip(
        colours(page, "prefers-color-scheme: dark"),
        colours(console.partition("@theme")[0], '[data-theme="dark"]'),
        strict=True,
    ):
        assert own
        assert own.items() <= known.items()
    for font in ("sans", "mono"):
        [family] = re.findall(rf"--font-{font}: ([^;]+);", console)
        assert f"font-family: {family};" in re.sub(r"\s+", " ", page)
