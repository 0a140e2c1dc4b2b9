"""Makes the release of the commit that is checked out, in `dist/` and its version: `make release`.

It refuses what cannot be released, and leaves nothing behind then.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from release.checks import (
    Refused,
    git,
    read_version,
    require_releasable,
    require_tested_upgrade,
)
from release.image import build_image, has_builder
from release.packages import SUMS, Commit, build_release, unpacked, write_checksums

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--without-image", action="store_true", help="also where there is buildah")
    has_image = not parser.parse_args(arguments).without_image and has_builder()
    try:
        version = require_releasable(ROOT)
        require_tested_upgrade(ROOT)
        with tempfile.TemporaryDirectory(prefix="fanion-release-") as name:
            made = _make(Path(name), has_image=has_image)
            place = ROOT / "dist" / version
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(made, place)
    except Refused as error:
        print(f"release: not made. {error}", file=sys.stderr)
        return 1
    print(f"release: {place.relative_to(ROOT)}\n{(place / SUMS).read_text()}", end="")
    return 0


def _make(folder: Path, *, has_image: bool) -> Path:
    """Return the folder of the release, made from the files of the commit alone."""
    exported, work, made = (folder / name for name in ("exported", "work", "made"))
    for new in (exported, work, made):
        new.mkdir()
    git(ROOT, "archive", "--prefix", "fanion/", "-o", f"{folder / 'commit.tar'}", "HEAD")
    source = unpacked(folder / "commit.tar", exported)
    name, _, seconds = git(ROOT, "log", "-1", "--format=%H %ct").partition(" ")
    commit = Commit(name, datetime.fromtimestamp(int(seconds), UTC))
    build_release(source, commit, work, made)
    if has_image:
        build_image(source, read_version(source), commit, folder, made)
    else:
        print("release: without an image, for which buildah is needed", file=sys.stderr)
    write_checksums(made)
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
