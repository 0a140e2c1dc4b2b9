"""The lock files install everything needed, except the requirements left out on purpose.

The installation stays small.
"""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LEFT_OUT = set(PROJECT["tool"]["uv"]["exclude-dependencies"])
LOCKS = ("requirements.lock", "requirements-dev.lock")
NODE_LOCK = "console/requirements.lock"
CLIENTS_LOCK = "tests/clients/generated/python.lock"
# The image's lock files: what a server needs, what the event engine adds, what building needs.
IMAGE_LOCKS = tuple(f"deploy/requirements{part}.lock" for part in ("", "-embedded", "-build"))
# The packages of the optional features, which an image always has.
EXTRAS_LOCK = "deploy/requirements-extras.lock"
EXTRAS = ("kafka", "s3")
# Needed for editable installations, of which an image has none.
NOT_IN_IMAGE = {"editables"}
# The limit for the packages of the server. With pip and setuptools `du -sm` then reports 855 at
# most.
SERVER_MIB_MAX = 805
# The limit without the engine.
SMALL_MIB_MAX = 265
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^;\s]+)(?: ; ([^\\]+?))? \\$", re.MULTILINE)


def locked_packages(name: str) -> set[str]:
    """Return the packages that a lock file installs here."""
    text = (ROOT / name).read_text()
    names: set[str] = set()
    for package, _, marker in _LOCKED.findall(text):
        requirement = Requirement(f"{package}; {marker}" if marker else package)
        if requirement.marker is None or requirement.marker.evaluate():
            names.add(canonicalize_name(package))
    return names


def locked_versions(name: str) -> dict[str, list[str]]:
    """Return the versions of each package in a lock file, one for each kind of system."""
    versions: dict[str, list[str]] = {}
    for package, version, _ in _LOCKED.findall((ROOT / name).read_text()):
        versions.setdefault(canonicalize_name(package), []).append(version)
    return versions


def applicable_requirements(requirements: list[str], extras: set[str]) -> set[Requirement]:
    """Return the requirements that apply here."""
    parsed = [Requirement(text) for text in requirements]
    return {
        requirement
        for requirement in parsed
        if requirement.marker is None
        or any(requirement.marker.evaluate({"extra": extra}) for extra in (extras or {""}))
    }


def missing_packages(lock: str, requirements: list[str]) -> set[str]:
    """Return packages that are required, also indirectly, and missing in the lock file."""
    known = locked_packages(lock)
    absent: set[str] = set()
    visited: set[tuple[str, frozenset[str]]] = set()
    waiting = applicable_requirements(requirements, set())
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, frozenset(requirement.extras)) in visited or name in LEFT_OUT:
            continue
        visited.add((name, frozenset(requirement.extras)))
        if name not in known:
            absent.add(name)
            continue
        waiting |= applicable_requirements(distribution(name).requires or [], requirement.extras)
    return absent


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_holds_all_that_is_required(lock: str) -> None:
    project = PROJECT["project"]
    extras = ["build", *(["dev"] if lock == LOCKS[1] else [])]
    more = [
        requirement for extra in extras for requirement in project["optional-dependencies"][extra]
    ]
    requirements = [*project["dependencies"], *more]

    assert missing_packages(lock, requirements) == set()


def test_the_small_lock_file_holds_all_that_a_server_needs_but_the_engine() -> None:
    assert missing_packages(IMAGE_LOCKS[0], PROJECT["project"]["dependencies"]) == {"chdb-core"}
    assert "hatchling" not in locked_packages(IMAGE_LOCKS[0])


def test_the_lock_files_of_the_image_are_together_that_of_the_server() -> None:
    together = set().union(*map(locked_packages, IMAGE_LOCKS))

    assert together == locked_packages(LOCKS[0]) - NOT_IN_IMAGE
    assert locked_packages(IMAGE_LOCKS[1]) == {"chdb-core"}
    assert missing_packages(IMAGE_LOCKS[2], PROJECT["build-system"]["requires"]) == set()


def test_the_image_has_the_packages_of_the_optional_features() -> None:
    optional = PROJECT["project"]["optional-dependencies"]
    required = [requirement for extra in EXTRAS for requirement in optional[extra]]

    assert locked_packages(EXTRAS_LOCK) == {Requirement(text).name for text in required}
    assert missing_packages(EXTRAS_LOCK, required) <= locked_packages(IMAGE_LOCKS[0])
    assert {*optional} - {*EXTRAS} == {"dev", "build"}


@pytest.mark.parametrize("lock", LOCKS)
def test_what_is_left_out_is_not_locked(lock: str) -> None:
    assert locked_packages(lock).isdisjoint(LEFT_OUT)


def test_all_lock_files_agree() -> None:
    server, dev, extras, *image = [
        dict(re.findall(r"(?m)^([A-Za-z0-9._-]+==[^\\; ]+)[^\\]*\\\n((?:    --hash=.+\n)+)", text))
        for text in ((ROOT / name).read_text() for name in (*LOCKS, EXTRAS_LOCK, *IMAGE_LOCKS))
    ]

    assert server.items() | extras.items() <= dev.items()
    for package in image:
        assert package and package.items() <= server.items()


def test_a_lock_file_names_no_address() -> None:
    for name in (
        *LOCKS,
        *IMAGE_LOCKS,
        EXTRAS_LOCK,
        NODE_LOCK,
        CLIENTS_LOCK,
        "console/package-lock.json",
    ):
        assert "://" not in (ROOT / name).read_text()


@pytest.mark.parametrize(
    ("lock", "mib_max"), [(LOCKS[0], SERVER_MIB_MAX), (IMAGE_LOCKS[0], SMALL_MIB_MAX)]
)
def test_the_server_needs_little_room(lock: str, mib_max: int) -> None:
    bytes_used = 0
    for name in locked_packages(lock):
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            pytest.fail(f"{name} is locked and not installed")
        for file in files:
            path = Path(str(file.locate()))
            bytes_used += path.stat().st_size if path.exists() else 0

    assert bytes_used / 2**20 <= mib_max
