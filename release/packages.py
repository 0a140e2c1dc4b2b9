"""Builds what a release consists of, the same bytes each time."""

import hashlib
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from release.bill_of_materials import bill_of_materials
from release.checks import Refused, read_version
from release.shipped import licences_page, shipped_packages

SUMS = "SHA256SUMS"


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit that is released, whose time all files have."""

    name: str
    at: datetime


def build_release(source: Path, commit: Commit, work: Path, to: Path) -> None:
    """Build packages, bill of materials, list of licences and checksums.

    Args:
        source: A folder with the files of the commit alone; its console and its documentation are
            built in it.
        work: An empty folder, for what is not kept.
        to: An empty folder.

    Raises:
        Refused: The documentation or a package could not be built, or a licence is not allowed.
    """
    version, to = read_version(source), to.resolve()
    _build_documentation(source)
    _build("sdist", source, commit, to)
    # As installers do it: what is missing in the sources would be missing for them too.
    _build("wheel", unpacked(to / f"fanion-{version}.tar.gz", work), commit, to)
    packages = shipped_packages(source)
    if refused := [package for package in packages if not package.is_allowed]:
        raise Refused(f"A licence is not allowed: {refused[0]}")
    prefix = f"fanion-{version}"
    (to / f"{prefix}-licences.md").write_text(licences_page(version, packages))
    bill = bill_of_materials(version, commit.name, commit.at, packages)
    (to / f"{prefix}.cdx.json").write_text(bill)


def write_checksums(folder: Path) -> None:
    """Write the file that `sha256sum --check` reads."""
    files = sorted(path for path in folder.iterdir() if path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / SUMS).write_text("".join(lines))


def unpacked(archive: Path, folder: Path) -> Path:
    """Return the folder of the sources in an archive."""
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from 3.11.4 on
        packed.extractall(folder)
    [source] = folder.iterdir()
    return source


def _build_documentation(source: Path) -> None:
    """Build the documentation of these sources, whose code its reference is made from."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "docs_site"]
    if subprocess.run(command, cwd=source, env=environment, check=False).returncode != 0:
        raise Refused("The documentation could not be built: the reason is printed above.")


def _build(target: str, source: Path, commit: Commit, to: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(to)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(int(commit.at.timestamp()))}
    if subprocess.run(command, cwd=source, env=environment, check=False).returncode != 0:
        raise Refused(f"The {target} could not be built: the reason is printed above.")
