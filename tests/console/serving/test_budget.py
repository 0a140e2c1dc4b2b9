"""The limits of the built console."""

import json
from pathlib import Path

import pytest

from console.budget import (
    FIRST_SCRIPTS_MAX,
    FIRST_STYLES_MAX,
    KB,
    OWN_MAX,
    ROUTE_MAX,
    problems,
)
from tests.support.built_console import require_built_console

MANIFEST = {
    "index.html": {
        "file": "assets/index.js",
        "isEntry": True,
        "css": ["assets/index.css"],
        "imports": ["_shared.js"],
        "dynamicImports": ["src/flags/page.tsx"],
    },
    "_shared.js": {"file": "assets/shared.js", "imports": ["index.html"]},
    "src/flags/page.tsx": {
        "file": "assets/page.js",
        "isDynamicEntry": True,
        "imports": ["_shared.js", "_table.js"],
        "css": ["assets/page.css"],
    },
    "_table.js": {"file": "assets/table.js"},
}


def build_of(folder: Path, sizes: dict[str, int], text: str = "") -> Path:
    """Write a build.

    Args:
        sizes: Sizes of files as sent with gzip.
    """
    (folder / "assets").mkdir()
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    (folder / "index.html").write_text("<!doctype html>")
    for name in ("index.js", "shared.js", "page.js", "table.js", "index.css", "page.css"):
        (folder / "assets" / name).write_text(text if name == "page.js" else "")
        (folder / "assets" / f"{name}.gz").write_bytes(b"0" * sizes.get(name, 0))
    return folder


def test_the_console_is_within_its_budget() -> None:
    assert list(problems(require_built_console())) == []


def test_at_its_limits_it_is_within(tmp_path: Path) -> None:
    sizes = {
        "index.js": FIRST_SCRIPTS_MAX - 1, "shared.js": 1, "index.css": FIRST_STYLES_MAX,
        "page.js": ROUTE_MAX - 2, "table.js": 1, "page.css": 1,
    }  # fmt: skip

    assert list(problems(build_of(tmp_path, sizes))) == []


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (
            {"index.js": FIRST_SCRIPTS_MAX, "shared.js": 1},
            "the first load has 200,001 bytes of .js, of 200,000",
        ),
        ({"index.css": 25_001}, "the first load has 25,001 bytes of .css, of 25,000"),
        (
            {"page.js": ROUTE_MAX - 1, "table.js": 1, "page.css": 1},
            "src/flags/page.tsx loads 58,001 bytes more, of 58,000",
        ),
    ],
)
def test_what_is_beyond_a_limit_is_named(
    tmp_path: Path, sizes: dict[str, int], expected: str
) -> None:
    assert list(problems(build_of(tmp_path, sizes))) == [expected]


def test_an_editor_has_a_limit_of_its_own(tmp_path: Path) -> None:
    [(editor, limit)] = OWN_MAX.items()
    build = build_of(tmp_path, {"page.js": limit + 1 - KB, "table.js": KB})
    manifest = (build / "manifest.json").read_text()
    (build / "manifest.json").write_text(manifest.replace("src/flags/page.tsx", editor))

    assert list(problems(build)) == [f"{editor} loads 150,001 bytes more, of 150,000"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('load("https://cdn.example.net/a.js")', ["page.js names an address of cdn.example.net"]),
        ("`http://evil.example/${x}`", ["page.js names an address of evil.example"]),
        ('"http://www.w3.org/2000/svg"', []),
        ('"https://react.dev/errors/"', []),
        ('"https://"+host', []),
        ("`https://${host}`", []),
    ],
)
def test_addresses_of_other_hosts_are_named(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert list(problems(build_of(tmp_path, {}, text))) == expected
