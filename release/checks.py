"""The reasons for which a commit cannot be released."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# A start on what each released version left, and released versions beside this one.
UPGRADE_TESTS = (
    "tests/clients/test_versions.py",
    "tests/db/test_released_versions_crash.py",
    "tests/db/test_rolling_upgrade_crash.py",
    "tests/packaging/test_upgrade_crash.py",
)


class Refused(Exception):
    """A release that is not made. The message is one sentence."""


def require_releasable(root: Path) -> str:
    """Return the version to release, which the commit of the checkout has.

    Raises:
        Refused: The commit cannot be released.
    """
    if os.environ.get("FANION_CONSOLE") == "off":
        raise Refused("FANION_CONSOLE is off, and no release is made without the console.")
    if changed := git(root, "status", "--porcelain"):
        raise Refused(f"The checkout has changes that are not committed: {changed.splitlines()[0]}")
    version = read_version(root)
    commits: dict[str, str] = json.loads((root / "tests/releases/commits.json").read_text())
    if version in commits:
        raise Refused(f"{version} has been released, from {commits[version]}: raise __version__.")
    before = max(commits, key=_numbers)
    _require_changes(root, version, before)
    _require_record(root, version, f"python -m tests.versions.record makes that of {version}")
    _require_version_before(root, before, commits[before])
    return version


def require_tested_upgrade(root: Path, tests: Sequence[str] = UPGRADE_TESTS) -> None:
    """Run the tests of upgrades from released versions, of which none may be skipped.

    Raises:
        Refused: One has failed, or there are none.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "FANION_TEST_NO_SKIPS": "1"}
    if subprocess.run(command, cwd=root, env=environment, check=False).returncode != 0:
        raise Refused("The upgrade from released versions is not tested: see above.")


def read_version(root: Path) -> str:
    found = re.search(r'(?m)^__version__ = "(.+)"$', (root / "src/fanion/__init__.py").read_text())
    assert found is not None
    return found[1]


def git(root: Path, *arguments: str) -> str:
    """Return what a command of git prints.

    Raises:
        Refused: It has failed.
    """
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Refused(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip()


def _require_changes(root: Path, version: str, before: str) -> None:
    """Require the changes of a version, with what they mean for servers of the version before."""
    changes = (root / "CHANGELOG.md").read_text()
    section = re.search(rf"(?ms)^## {re.escape(version)}$(.*?)(?=^## |\Z)", changes)
    if section is None:
        raise Refused(f"CHANGELOG.md has no section {version}.")
    if f"ervers of {before} " not in section[1].partition("### Upgrading\n")[2]:
        raise Refused(
            f"CHANGELOG.md does not say in {version}, below Upgrading, whether servers of {before} "
            "can run beside the new ones."
        )


def _require_version_before(root: Path, before: str, commit: str) -> None:
    """Require what a test of the upgrade from the newest released version needs."""
    _require_record(root, before, "without it the upgrade cannot be tested")
    command = ["git", "merge-base", "--is-ancestor", commit, "HEAD"]
    if subprocess.run(command, cwd=root, capture_output=True, check=False).returncode != 0:
        raise Refused(
            f"The commit of {before}, {commit}, is not in the history of this one, from "
            "which the test of the upgrade takes its program."
        )


def _require_record(root: Path, version: str, why: str) -> None:
    for ending in (".json", ".tar.xz"):
        path = Path("tests", "versions", f"{version}{ending}")
        if not (root / path).is_file():
            raise Refused(f"{path} is missing: {why}.")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
