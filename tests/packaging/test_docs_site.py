"""The documentation as a site: it is built without a warning, and asks nothing of other hosts."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from docs_site.pages import decisions_page
from docs_site.sources import sources
from tests.support.built_documentation import built_documentation

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Attributes with which a page loads something; a link loads nothing until it is followed.
LOADS = {"src", "srcset", "poster", "data", "action", "formaction"}
long = pytest.mark.long("builds the whole site")


class Page(HTMLParser):
    """A page, read for the addresses that it loads and the code that it runs."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: set[str] = set()
        self.handlers: set[str] = set()
        self.styles = 0
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in LOADS or (name == "href" and tag in {"link", "base", "image", "use"}):
                self.loads.add(value or "")
            if name.startswith("on"):
                self.handlers.add(f"{tag} {name}")
            self.styles += name == "style"
        self.styles += tag == "style"


@pytest.fixture(scope="module")
def site() -> Path:
    return built_documentation()


@pytest.fixture(scope="module")
def manifest(site: Path) -> Any:
    return json.loads((site / "build.json").read_text())


@pytest.fixture(scope="module")
def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


@long
def test_every_page_is_built(site: Path, manifest: Any) -> None:
    made = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    expected = {f"{path}/index.html" for path in made if path.name != "README"}

    assert (
        expected | {"index.html", "decisions/index.html", "reference/api/index.html"}
        <= manifest["files"].keys()
    )
    assert all((site / name).is_file() for name in manifest["files"])


@long
def test_nothing_is_loaded_from_another_host(site: Path, pages: list[Path]) -> None:
    loaded = {address for page in pages for address in Page(page).loads}
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    loaded |= set(re.findall(r"""(?:url\(|@import )["']?([^"')]+)""", styles))

    assert len(loaded) > 10
    assert {address for address in loaded if re.match(r"(?!data:)(//|[a-z]+:)", address)} == set()


@long
def test_a_policy_without_inline_code_fits_the_pages(pages: list[Path], manifest: Any) -> None:
    scripts, allowed = set(), set()
    for page in pages:
        shown = Page(page)
        assert (shown.handlers, shown.styles) == (set(), 0), page
        for tag, script in re.findall(r"(?s)<script([^>]*)>(.*?)</script>", page.read_text()):
            scripts.add(tag.partition("=")[0].strip())
            if not tag:
                allowed.add(f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}")

    assert scripts == {"", "id", "src"}  # id: the configuration, which is data
    assert allowed == set(manifest["scripts"])


@long
def test_a_search_finds_every_page(site: Path, pages: list[Path]) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}

    assert found == {
        "" if page.parent == site else f"{page.parent.relative_to(site)}/" for page in pages
    }
    assert {"", "install/", "contributing/"} <= found


def test_a_build_depends_on_pages_and_on_code() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in sources()}

    assert {"mkdocs.yml", "docs/install.md", "docs/images/home.jpg"} <= names
    assert {"docs_site/pages.py", "src/fanion/config/settings.py"} <= names
    assert not any("/static/" in name or "__pycache__" in name for name in names)


def test_decisions_are_listed_by_their_titles(tmp_path: Path) -> None:
    (tmp_path / "0002-log.md").write_text("# 2. A log\n\nText.\n")
    (tmp_path / "0001-one.md").write_text("# 1. One process\n")

    lines = decisions_page(tmp_path).splitlines()[-2:]

    assert lines == ["- [1\\. One process](0001-one.md)", "- [2\\. A log](0002-log.md)"]
