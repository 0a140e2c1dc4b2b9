"""The pages of the site: those of `docs/`, and some that are made from other files."""

import asyncio
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from console.schema import document
from docs_site.reference.commands import commands_page
from docs_site.reference.endpoints import endpoints_page
from docs_site.reference.errors import errors_page
from docs_site.reference.log_lines import log_lines_page
from docs_site.reference.metrics import metrics_table
from docs_site.reference.settings import settings_table
from docs_site.sources import DOCS, ROOT

# A link whose text is the name of a file.
_LINK_TO_FILE = re.compile(r"\[([\w-]+\.md)\]\(([\w./-]+\.md)(#[^)]*)?\)")
_CONTRIBUTING = ("../CONTRIBUTING.md", "contributing.md")
# Pages that lead to a file of the code, in whose place the site has a table of what it declares.
_TABLES = {
    "configuration.md": ("src/fanion/config/fields.py", settings_table),
    "observe.md": ("src/fanion/observability/metrics.py", metrics_table),
}


def write_pages(folder: Path) -> None:
    """Write all pages of the site, as Markdown.

    Args:
        folder: It does not exist yet.
    """
    shutil.copytree(DOCS, folder)
    for name, (file, made_table) in _TABLES.items():
        page, link = folder / name, f"[{file}](../{file})\n"
        assert link in page.read_text(), name
        _replace(page, link, made_table())
    for page in folder.rglob("*.md"):
        _replace(page, *_CONTRIBUTING)
        page.write_text(_with_titles(page))
    _replace(folder / "README.md", "(decisions/)", "(decisions/README.md)")
    (folder / "contributing.md").write_text((ROOT / "CONTRIBUTING.md").read_text())
    changelog = (ROOT / "CHANGELOG.md").read_text()
    (folder / "changelog.md").write_text(changelog.replace("](docs/", "]("))
    (folder / "decisions" / "README.md").write_text(decisions_page(folder / "decisions"))
    for name, text in reference_pages(folder).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def reference_pages(folder: Path) -> Mapping[str, str]:
    """Return the pages that are made from the code, by their paths.

    Args:
        folder: The other pages, to which they lead.
    """
    return {
        "reference/commands.md": commands_page(),
        "reference/api.md": endpoints_page(json.loads(asyncio.run(document()))),
        "reference/errors.md": errors_page(),
        "reference/log-lines.md": log_lines_page(folder),
    }


def decisions_page(folder: Path) -> str:
    """Return the page that lists the decisions of a folder."""
    titles = ((path.name, _title(path)) for path in sorted(folder.glob("0*.md")))
    rows = "".join(f"- [{title}]({name})\n" for name, title in titles)
    about = "Decisions that are expensive to reverse, with their alternatives."
    return f"# Decisions\n\n{about}\n\n{rows}"


def _with_titles(page: Path) -> str:
    """Return a page whose links name the titles of pages in place of their files."""

    def link(found: re.Match[str]) -> str:
        target = page.parent / found[2]
        return f"[{_title(target)}]({found[2]}{found[3] or ''})" if target.is_file() else found[0]

    return _LINK_TO_FILE.sub(link, page.read_text())


def _title(page: Path) -> str:
    found = re.match(r"# (.+)\n", page.read_text())
    assert found is not None, page
    return found[1].replace(".", "\\.", 1)


def _replace(page: Path, before: str, after: str) -> None:
    page.write_text(page.read_text().replace(before, after))
