"""Makes the release of the commit that is checked out, in `dist/` and its version: `make release`.

It refuses what cannot be released, and leaves nothing behind then.
"""

import shutil
import sys
import tempfile
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


def main() -> int:
    try:
        version = require_releasable(ROOT)
        require_tested_upgrade(ROOT)
        with tempfile.TemporaryDirectory(prefix="fanion-release-") as name:
            made = _make(Path(name))
            place = ROOT / "dist" / version
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(made, place)
    except Refused as error:
        print(f"release: not made. {error}", file=sys.stderr)
        return 1
    print(f"release: {place.relative_to(ROOT)}\n{(place / SUMS).read_text()}", end="")
    return 0


def _make(folder: Path) -> Path:
    """Return the folder of the release, made from the files of the commit alone."""
    exported, work, made = (folder / name for name in ("exported", "work", "made"))
    for new in (exported, work, made):
        new.mkdir()
    git(ROOT, "archive", "--prefix", "fanion/", "-o", f"{folder / 'commit.tar'}", "HEAD")
    source = unpacked(folder / "commit.tar", exported)
    name, _, seconds = git(ROOT, "log", "-1", "--format=%H %ct").partition(" ")
    commit = Commit(name, datetime.fromtimestamp(int(seconds), UTC))
    build_release(source, commit, work, made)
    if has_builder():
        build_image(source, read_version(source), commit, folder, made)
    else:
        print("release: without an image, which needs buildah", file=sys.stderr)
    write_checksums(made)
    return made


if __name__ == "__main__":
    sys.exit(main())
