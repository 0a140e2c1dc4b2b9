"""Builds the documentation as a site, which the server answers at /docs/: `make docs`."""

import argparse
import fcntl
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from console.build import move_into_place
from docs_site.build import OUTPUT, BuildFailed, build_site
from docs_site.sources import built_hash, sources_hash


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m docs_site", description=__doc__)
    parser.add_argument("--to", type=Path, default=OUTPUT, metavar="FOLDER")
    output: Path = parser.parse_args(arguments).to
    with output.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        hashed = sources_hash()
        if built_hash(output) == hashed:
            return 0
        try:
            _build(hashed, output)
        except (BuildFailed, OSError) as error:
            print(f"docs: not built. {error}", file=sys.stderr)
            return 1
    print(f"docs: built: {output}")
    return 0


def _build(hashed: str, output: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="fanion-docs-") as name:
        made = output.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        # Beside its place, since the temporary folder may be on another disk.
        shutil.copytree(build_site(Path(name), hashed), made)
    move_into_place(made, output)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
