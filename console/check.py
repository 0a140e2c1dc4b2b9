"""The checks of the console's sources in `make check`: types, lint, and the size of the build.

    .venv/bin/python -m console.check
    .venv/bin/python -m console.check packages   # only installs what it and browser tests need

The types of the API are generated from the document of the application, into a file that git
ignores. Without a suitable Node nothing is checked, and a message says so; with
FANION_TEST_NO_SKIPS=1 one is installed from PyPI.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence

from console import budget, build

CONSOLE = build.CONSOLE
PACKAGES = CONSOLE / "node_modules"
INSTALLED = PACKAGES / ".installed"
TYPES = CONSOLE / "src" / "lib" / "schema.d.ts"
# Fields with a default may be left out of a request.
OPTIONS = ("--default-non-nullable", "false")
OWN_NODE = CONSOLE.parent / ".venv" / "console-node"


def main(arguments: Sequence[str]) -> int:
    node = build.node_on_path()
    if node is None and os.environ.get("FANION_TEST_NO_SKIPS") == "1":
        node = build.installed_node(OWN_NODE) or build.node_from_pypi(OWN_NODE)
    if node is None:
        build.progress("not checked: no Node ^20.19 or >= 22.12 with npm >= 11 on the PATH")
        return 0
    is_setup = list(arguments) == ["packages"]
    try:
        (install if is_setup else check)(node)
    except build.BuildFailed as error:
        build.progress(error.summary)
        print(error.detail, file=sys.stderr)
        return 1
    return 0 if is_setup else build.main() or budget.main()


def check(node: build.Node) -> None:
    """Check types and lint.

    Raises:
        BuildFailed: A step has failed.
    """
    install(node)
    generate_types(node)
    for name, *arguments in (("tsc", "--noEmit"), ("biome", "check", ".")):
        tool(node, name, *arguments)


def install(node: build.Node) -> None:
    """Install all packages, including those that only checks need.

    A linked folder belongs to another checkout, and is left alone.
    """
    lock = hashlib.sha256((CONSOLE / "package-lock.json").read_bytes()).hexdigest()
    if PACKAGES.is_symlink() or (INSTALLED.exists() and INSTALLED.read_text() == lock):
        return
    build.progress("installing the packages of its checks (npm ci)")
    build.run("npm ci", [*node.npm, "ci", "--include=dev", "--ignore-scripts"], CONSOLE, node)
    INSTALLED.write_text(lock)


def generate_types(node: build.Node) -> None:
    """Generate the types unless the document is unchanged, because that takes seconds."""
    script = CONSOLE / "schema.py"
    done = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise build.BuildFailed("The OpenAPI document could not be made.")
    mark = f"// {hashlib.sha256(done.stdout).hexdigest()}\n"
    if TYPES.exists() and TYPES.read_text().startswith(mark):
        return
    TYPES.parent.mkdir(parents=True, exist_ok=True)
    document = TYPES.with_suffix(".json")
    document.write_bytes(done.stdout)
    try:
        tool(node, "openapi-typescript", str(document), "-o", str(TYPES), *OPTIONS)
    finally:
        document.unlink()
    TYPES.write_text(mark + TYPES.read_text())


def tool(node: build.Node, name: str, *arguments: str) -> None:
    build.progress(f"{name} {' '.join(arguments[:2])}".rstrip())
    script = (PACKAGES / ".bin" / name).resolve()
    build.run(name, [*node.node, str(script), *arguments], CONSOLE, node)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
