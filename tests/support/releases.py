"""Released versions of the program, taken from the history of the repository.

They run with the packages of this environment.
"""

import io
import json
import re
import shlex
import subprocess
import tarfile
from pathlib import Path
from typing import Final

import pytest

_ROOT = Path(__file__).parents[2]
# The commit of each released version.
COMMITS: Final[dict[str, str]] = json.loads((_ROOT / "tests/releases/commits.json").read_text())
VERSION_BEFORE: Final = max(
    COMMITS, key=lambda version: [int(number) for number in version.split(".")]
)
# The only reason to skip that FANION_TEST_NO_SKIPS=1 accepts.
NO_HISTORY: Final = "this clone has no history, from which released versions are taken"


def check_out_version(version: str, folder: Path, part: str = "src") -> Path:
    """Extract the source of a version, and return the folder to put on PYTHONPATH.

    The test is skipped in a clone without the commit.

    Args:
        part: What to extract: "." for all of it.
    """
    try:
        done = subprocess.run(
            ["git", "archive", COMMITS[version], part],
            cwd=_ROOT,
            capture_output=True,
            check=True,
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip(NO_HISTORY)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from 3.11.4 on
        packed.extractall(folder)
    return folder / "src"


def newest_schema_of(source: Path) -> str:
    """Return the newest revision of the records store that a program knows."""
    revisions = (source / "fanion/db/migrations/versions").glob("[0-9]*_*.py")
    return max(file.name.partition("_")[0] for file in revisions)


def documented_commands(heading: str, program: str = "fanion") -> list[list[str]]:
    """Return the arguments of each command of a program in a section of docs/upgrade.md."""
    text = (_ROOT / "docs/upgrade.md").read_text()
    [section] = re.findall(rf"(?ms)^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text)
    lines = "".join(re.findall(r"(?ms)^ *```sh\n(.*?)^ *```", section)).splitlines()
    commands = [shlex.split(line, comments=True) for line in lines]
    return [command[1:] for command in commands if command[:1] == [program]]
