"""The build of the site by MkDocs, and what a server needs to know of its files."""

import hashlib
import json
import logging
import os
import re
import shutil
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distribution
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, MkDocsException

from console.build import COMPRESSED, compress
from docs_site.pages import write_pages
from docs_site.sources import ROOT

OUTPUT = ROOT / "src" / "fanion" / "console" / "docs"
THEME = "mkdocs-material"
# Search in other languages, source maps, and pages for servers of files: nothing asks for them.
_LEFT_OUT = ("assets/javascripts/lunr", "**/*.map", "404.html", "sitemap.xml", "sitemap.xml.gz")
_SUFFIXES = {".br": "br", ".gz": "gzip"}


class BuildFailed(Exception):
    """A build that has failed; MkDocs has printed what is wrong."""


def build_site(work: Path, hashed: str) -> Path:
    """Return the folder of the built site, in `work`.

    Args:
        work: An empty folder.
        hashed: The hash of the sources.

    Raises:
        BuildFailed: A page has a link that leads nowhere, or is not listed in `mkdocs.yml`.
    """
    pages, site = work / "pages", work / "site"
    write_pages(pages)
    _run_mkdocs(pages, site)
    for pattern in _LEFT_OUT:
        for path in sorted(site.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    licence = distribution(THEME).read_text("licenses/LICENSE")
    (site / f"{THEME}.LICENSE").write_text(licence or "")
    files = [path for path in sorted(site.rglob("*")) if path.is_file()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compress, (path for path in files if path.suffix in COMPRESSED)))
    manifest = {
        "sources": hashed,
        "scripts": sorted({found for path in files for found in _inline_script_hashes(path)}),
        "files": {path.relative_to(site).as_posix(): _described(path) for path in files},
    }
    (site / "build.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return site


def _run_mkdocs(pages: Path, site: Path) -> None:
    logging.basicConfig(format="docs: %(message)s", level=logging.WARNING)
    config = load_config(
        str(ROOT / "mkdocs.yml"), docs_dir=str(pages), site_dir=str(site), strict=True
    )
    config.plugins.on_startup(command="build", dirty=False)
    try:
        build(config)
    except (Abort, MkDocsException) as error:
        raise BuildFailed(str(error)) from None


def _described(path: Path) -> dict[str, object]:
    """Return what the server has to know of a file: its hash and the codings that it is kept in."""
    codings = [
        coding
        for suffix, coding in _SUFFIXES.items()
        if path.with_name(path.name + suffix).exists()
    ]
    return {"digest": hashlib.sha256(path.read_bytes()).hexdigest()[:32], "codings": codings}


def _inline_script_hashes(path: Path) -> Iterator[str]:
    """Yield the hashes by which a content security policy allows the scripts in a page."""
    if path.suffix == ".html":
        for script in re.findall(r"(?s)<script>(.*?)</script>", path.read_text()):
            yield f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
