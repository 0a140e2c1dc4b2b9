"""Builds the image of a release, where buildah is installed."""

import shutil
import subprocess
import tarfile
from pathlib import Path

from release.checks import Refused
from release.packages import Commit

DOCKERFILE = "deploy/Dockerfile"


def has_builder() -> bool:
    return shutil.which("buildah") is not None


def build_image(
    source: Path, version: str, commit: Commit, work: Path, to: Path, dockerfile: str = DOCKERFILE
) -> None:
    """Build the image with the embedded engine, as an archive that container engines load.

    Where and how it is built is left to buildah's own settings, such as BUILDAH_ISOLATION.

    Args:
        source: A folder with the files of the commit alone.
        work: A folder for what is not kept.

    Raises:
        Refused: It could not be built.
    """
    at, name = int(commit.at.timestamp()), f"fanion:{version}"
    options = ("--timestamp", str(at), "--build-arg", "ENGINE=embedded", "--tag", name)
    _buildah("build", *options, "--file", str(source / dockerfile), str(source))
    _buildah("push", name, f"oci:{work / 'image'}:{name}")
    _pack(work / "image", to / f"fanion-{version}-image.tar", at)


def _buildah(*arguments: str) -> None:
    if subprocess.run(["buildah", *arguments], check=False).returncode != 0:
        raise Refused(f"buildah {arguments[0]} failed: the reason is printed above.")


def _pack(folder: Path, archive: Path, at: int) -> None:
    """Pack an image in a fixed order, without owners, and with one time."""

    def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime, entry.mode = at, 0o755 if entry.isdir() else 0o644
        return entry

    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as packed:
        for path in sorted(folder.rglob("*")):
            packed.add(path, path.relative_to(folder), recursive=False, filter=anonymous)
