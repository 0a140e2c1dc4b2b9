"""The limits of the built console: how much a browser loads, and nothing from elsewhere.

.venv/bin/python console/budget.py
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

STATIC = Path(__file__).resolve().parents[1] / "src" / "fanion" / "console" / "static"
KB = 1000
# Sizes are compressed with gzip. A route counts with what it loads in addition to the first load.
FIRST_SCRIPTS_MAX, FIRST_STYLES_MAX, ROUTE_MAX = 200 * KB, 25 * KB, 58 * KB
# An editor with colours and completion takes twice a route, however little of it is used. It is
# loaded after its screen, which is within the limit of routes. Source: docs/decisions/0015
OWN_MAX = {"src/insights/sql/editor/SqlEditor.tsx": 150 * KB}
# Hosts that are named, but from which nothing is loaded: names of namespaces, error messages of
# libraries, the notice of a licence, the base with which the router completes addresses, and
# examples in fields.
NAMED_HOSTS = {
    "www.w3.org", "react.dev", "github.com", "tailwindcss.com", "localhost", "example.com",
    "id.example.com", "…",
}  # fmt: skip
_ADDRESS = re.compile(r"""https?://([^\s/"'`\\<>)$]+)""")

Manifest = Mapping[str, Mapping[str, Any]]


def main() -> int:
    found = list(problems(STATIC))
    for problem in found:
        print(f"console: {problem}", file=sys.stderr)
    if not found:
        print(summary(STATIC))
    return min(len(found), 1)


def problems(static: Path) -> Iterator[str]:
    """Yield what exceeds the limits.

    Args:
        static: The folder that `build.py` makes.
    """
    manifest: Manifest = json.loads((static / "manifest.json").read_text())
    first = first_load(manifest)
    for kind, limit in ((".js", FIRST_SCRIPTS_MAX), (".css", FIRST_STYLES_MAX)):
        if (size := size_of(static, first, kind)) > limit:
            yield f"the first load has {size:,} bytes of {kind}, of {limit:,}"
    for route, files in route_loads(manifest).items():
        limit = OWN_MAX.get(route, ROUTE_MAX)
        if (size := size_of(static, files, ".js") + size_of(static, files, ".css")) > limit:
            yield f"{route} loads {size:,} bytes more, of {limit:,}"
    for path in (static / "index.html", *sorted((static / "assets").iterdir())):
        if path.suffix in {".css", ".html", ".js", ".svg"}:
            for host in sorted(set(_ADDRESS.findall(path.read_text())) - NAMED_HOSTS):
                yield f"{path.name} names an address of {host}"


def summary(static: Path) -> str:
    manifest: Manifest = json.loads((static / "manifest.json").read_text())
    first, routes = first_load(manifest), route_loads(manifest)
    usual = (files for route, files in routes.items() if route not in OWN_MAX)
    largest = max((size_of(static, files, ".js") for files in usual), default=0)
    return (
        f"console: {size_of(static, first, '.js') / KB:.0f} KB of script and "
        f"{size_of(static, first, '.css') / KB:.0f} KB of styles at first, "
        f"at most {largest / KB:.0f} KB more for a route"
    )


def first_load(manifest: Manifest) -> set[str]:
    entries = (key for key, chunk in manifest.items() if chunk.get("isEntry"))
    return {file for key in entries for file in files_with_imports(manifest, key)}


def route_loads(manifest: Manifest) -> Mapping[str, set[str]]:
    """Return what each chunk that is loaded later needs beyond the first load."""
    first = first_load(manifest)
    later = (key for key, chunk in manifest.items() if chunk.get("isDynamicEntry"))
    return {key: files_with_imports(manifest, key) - first for key in later}


def files_with_imports(manifest: Manifest, key: str) -> set[str]:
    files: set[str] = set()
    seen: set[str] = set()
    waiting = [key]
    while waiting:
        if (one := waiting.pop()) not in seen:
            seen.add(one)
            files |= {manifest[one]["file"], *manifest[one].get("css", ())}
            waiting += manifest[one].get("imports", ())
    return files


def size_of(static: Path, files: set[str], suffix: str) -> int:
    """Return the size of files as they are sent with gzip."""
    paths = (static / name for name in files if name.endswith(suffix))
    packed = ((path.with_name(f"{path.name}.gz"), path) for path in paths)
    return sum((gz if gz.exists() else plain).stat().st_size for gz, plain in packed)


if __name__ == "__main__":
    sys.exit(main())
