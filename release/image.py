"""Builds the image of a release, where buildah is installed."""

import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

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
    # An image in the format of OCI has no health check.
    options = ("--format", "docker", "--timestamp", str(at), "--tag", name)
    arguments = ("--build-arg", "ENGINE=embedded", "--file", str(source / dockerfile))
    _buildah("build", *options, *arguments, str(source))
    _buildah("push", name, f"docker-archive:{work / 'image.tar'}:{name}")
    _forget_builder(_unpack(work / "image.tar", work / "image"))
    _pack(work / "image", to / f"fanion-{version}-image.tar", at)


def _buildah(*arguments: str) -> None:
    if subprocess.run(["buildah", *arguments], check=False).returncode != 0:
        raise Refused(f"buildah {arguments[0]} failed: the reason is printed above.")


def _unpack(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder


def _forget_builder(image: Path) -> None:
    """Remove what is other at each build: the id and the name of the container it was made in."""
    manifest: list[dict[str, Any]] = json.loads((image / "manifest.json").read_text())
    [entry] = manifest
    path = image / entry["Config"]
    config: dict[str, Any] = json.loads(path.read_text())
    path.unlink()
    for name in ("container", "container_config"):
        config.pop(name, None)
    config["config"].pop("Hostname", None)
    content = json.dumps(config, separators=(",", ":")).encode()
    entry["Config"] = f"{hashlib.sha256(content).hexdigest()}.json"
    (image / entry["Config"]).write_bytes(content)
    (image / "manifest.json").write_text(json.dumps(manifest))
    _keep(image, {"manifest.json", entry["Config"], *entry["Layers"]})


def _keep(folder: Path, names: set[str]) -> None:
    """Remove all but these files: the others repeat them for engines before 2016."""
    for path in folder.iterdir():
        if path.name not in names:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


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
