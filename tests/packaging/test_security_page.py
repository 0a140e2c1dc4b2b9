"""The page on security names limits by names that there are."""

import re
from pathlib import Path

import pytest

from fanion.config import PREFIX, Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
NAMES = sorted(set(re.findall(r"`([A-Z][A-Z0-9_]+)`", PAGE)))
SETTINGS = {f"{PREFIX}{name.upper()}" for name in Settings.__struct_fields__}


@pytest.mark.parametrize("name", NAMES)
def test_every_limit_has_the_name_that_the_page_gives(name: str) -> None:
    sources = "".join(path.read_text() for path in (ROOT / "src" / "fanion").rglob("*.py"))

    assert name in SETTINGS or re.search(rf"^{name}\b.* = ", sources, re.MULTILINE)


def test_the_page_names_limits() -> None:
    assert len(NAMES) > 10
