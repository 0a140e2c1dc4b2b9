"""The files that the site is made of, and their hash, by which a build is known to be current."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# The lock file names the versions that build the site. Code is read for the reference.
_FILES = (
    "CHANGELOG.md", "CONTRIBUTING.md", "console/build.py", "console/schema.py", "mkdocs.yml",
    "requirements-dev.lock",
)  # fmt: skip
_FOLDERS = {"docs": "*", "docs_site": "*.py", "src/fanion": "*.py"}


def sources() -> Iterator[Path]:
    """Yield the files that a build depends on, in order."""
    for folder, pattern in _FOLDERS.items():
        yield from sorted(path for path in (ROOT / folder).rglob(pattern) if path.is_file())
    yield from (ROOT / name for name in _FILES)


def sources_hash() -> str:
    digest = hashlib.sha256()
    for path in sources():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def built_hash(folder: Path) -> str | None:
    """Return the hash of the sources of the build in a folder, or None without a whole build."""
    try:
        found: str = json.loads((folder / "build.json").read_text())["sources"]
        return found
    except (OSError, ValueError, KeyError, TypeError):
        return None
