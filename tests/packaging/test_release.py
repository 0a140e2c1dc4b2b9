"""Refusals of a release, and the parts of one that say what it ships."""

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from email.message import Message
from pathlib import Path

import pytest
from cyclonedx.validation.json import JsonStrictValidator

from release.bill_of_materials import SCHEMA, bill_of_materials
from release.checks import Refused, git, require_releasable, require_tested_upgrade
from release.packages import SUMS, write_checksums
from release.shipped import THEME, Package, licences_page, shipped_packages, stated_licence
from tests.packaging.test_lock_files import EXTRAS_LOCK, IMAGE_LOCKS, locked_packages
from tests.support.built_console import require_built_console

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
CHANGES = """# Changelog

## 1.10.0

### Upgrading

- Servers of 1.9.0 can run beside the new ones.

## 1.9.0
"""
WEB = Package("npm", "@radix-ui/rect", "1.1.3", "MIT")
SERVER = Package("pypi", "cryptography", "50.0.2", "Apache-2.0 OR BSD-3-Clause")


def write(root: Path, name: str, text: str = "") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def commit(root: Path) -> str:
    """Commit everything, and return the name of the commit."""
    git(root, "add", "--all")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    git(root, *identity, "commit", "--quiet", "--allow-empty", "--message", "A change")
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a checkout of version 1.10.0, which can be released after 1.9.0."""
    root = tmp_path / "checkout"
    root.mkdir()
    git(root, "init", "--quiet")
    for version in ("1.9.0", "1.10.0"):
        write(root, f"tests/versions/{version}.json")
        write(root, f"tests/versions/{version}.tar.xz")
    write(root, "CHANGELOG.md", CHANGES)
    write(root, "src/fanion/__init__.py", '__version__ = "1.10.0"\n')
    write(root, "tests/releases/commits.json", json.dumps({"1.9.0": commit(root)}))
    commit(root)
    return root


def test_a_commit_can_be_released(root: Path) -> None:
    assert require_releasable(root) == "1.10.0"


def edit(name: str, text: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        write(root, name, text)
        commit(root)

    return change


def without(name: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / name).unlink()
        commit(root)

    return change


REFUSED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a change": (
        lambda root: write(root, "CHANGELOG.md", "other"),
        "has changes that are not committed: M CHANGELOG.md",
    ),
    "a new file": (
        lambda root: write(root, "new.py"),
        "has changes that are not committed: ?? new.py",
    ),
    "a released version": (
        edit("tests/releases/commits.json", '{"1.10.0": "abc"}'),
        "1.10.0 has been released, from abc: raise __version__.",
    ),
    "no section of changes": (
        edit("CHANGELOG.md", "## Unreleased\n\n## 1.9.0\n"),
        "CHANGELOG.md has no section 1.10.0.",
    ),
    "nothing about the version before": (
        edit("CHANGELOG.md", CHANGES.replace("1.9.0 can", "1.8.0 can")),
        "CHANGELOG.md does not say in 1.10.0, below Upgrading, whether servers of 1.9.0 can run",
    ),
    "no record of the version": (
        without("tests/versions/1.10.0.json"),
        "tests/versions/1.10.0.json is missing: python -m tests.versions.record makes",
    ),
    "no record of the version before": (
        without("tests/versions/1.9.0.tar.xz"),
        "tests/versions/1.9.0.tar.xz is missing: without it the upgrade cannot be tested.",
    ),
    "a version before of another history": (
        edit("tests/releases/commits.json", json.dumps({"1.9.0": "0" * 40})),
        "is not in the history of this one",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_released_is_refused_in_a_sentence(root: Path, name: str) -> None:
    change, why = REFUSED[name]
    change(root)

    with pytest.raises(Refused) as refused:
        require_releasable(root)

    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_no_release_is_made_without_the_console(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANION_CONSOLE", "off")

    with pytest.raises(Refused, match="no release is made without the console"):
        require_releasable(root)


@pytest.mark.parametrize(
    ("test", "is_tested"),
    [("def test(): pass", True), ("def test(): assert False", False), ("", False)],
    ids=["passes", "fails", "is missing"],
)
def test_an_upgrade_has_to_be_tested(tmp_path: Path, test: str, is_tested: bool) -> None:
    write(tmp_path, "test_upgrade.py", test)

    if is_tested:
        require_tested_upgrade(tmp_path, ["test_upgrade.py"])
    else:
        with pytest.raises(Refused, match="upgrade from released versions is not tested"):
            require_tested_upgrade(tmp_path, ["test_upgrade.py"])


def test_every_licence_of_what_is_shipped_is_allowed() -> None:
    require_built_console()

    packages = shipped_packages(ROOT)

    assert [package for package in packages if not package.is_allowed] == []
    of_server = {package.name for package in packages if package.kind == "pypi"}
    locked = set().union(*map(locked_packages, (*IMAGE_LOCKS[:2], EXTRAS_LOCK)))
    assert of_server == locked | {THEME}
    of_console = {package.name for package in packages if package.kind == "npm"}
    assert of_console >= {"react", "uplot", "posthog-js", "dompurify"}
    assert "vite" not in of_console  # it builds, and is not part of what it builds


@pytest.mark.parametrize(
    ("licence", "is_allowed"),
    [
        ("MIT", True),
        ("MIT AND PSF-2.0", True),
        ("(MPL-2.0 OR GPL-3.0-only)", True),
        ("GPL-3.0-only OR MIT AND ISC", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR ISC) AND GPL-3.0-only", False),
        ("(MIT) AND (ISC)", False),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("", False),
    ],
)
def test_a_licence_is_allowed_by_the_best_of_its_choices(licence: str, is_allowed: bool) -> None:
    assert Package("npm", "x", "1", licence).is_allowed == is_allowed


OSI = "License :: OSI Approved :: "


@pytest.mark.parametrize(
    ("headers", "licence"),
    [
        ([("License-Expression", "MIT or Apache-2.0")], "MIT OR Apache-2.0"),
        ([("License", "mit")], "MIT"),
        ([("License", "MIT License\n\nCopyright (c) 2022 …")], "MIT"),
        ([("License", "see LICENSE"), ("Classifier", f"{OSI}BSD License")], "BSD-3-Clause"),
        (
            [("Classifier", f"{OSI}MIT License"), ("Classifier", f"{OSI}Apache Software License")],
            "MIT OR Apache-2.0",
        ),
        ([("Classifier", "Programming Language :: Python")], ""),
        ([("License", "Proprietary")], ""),
        ([], ""),
    ],
)
def test_a_licence_is_read_as_packages_state_it(
    headers: list[tuple[str, str]], licence: str
) -> None:
    metadata = Message()
    for name, value in headers:
        metadata[name] = value

    assert stated_licence(metadata) == licence


def test_the_bill_of_materials_is_valid_and_the_same_for_a_commit() -> None:
    bill, again, of_another = (
        bill_of_materials("1.10.0", name, NOW, [WEB, SERVER]) for name in ("abc", "abc", "def")
    )

    assert JsonStrictValidator(SCHEMA).validate_str(bill) is None
    assert bill == again != of_another
    document = json.loads(bill)
    parts = {part["purl"]: part["licenses"] for part in document["components"]}
    assert document["metadata"]["component"]["purl"] == "pkg:pypi/fanion@1.10.0"
    assert document["metadata"]["timestamp"] == NOW.isoformat()
    assert parts == {
        "pkg:npm/%40radix-ui/rect@1.1.3": [{"license": {"id": "MIT"}}],
        "pkg:pypi/cryptography@50.0.2": [{"expression": "Apache-2.0 OR BSD-3-Clause"}],
    }


def test_the_list_of_licences_has_a_row_for_each_package() -> None:
    rows = licences_page("1.10.0", [WEB, SERVER]).splitlines()[-2:]

    assert rows == [
        "| npm | @radix-ui/rect | 1.1.3 | MIT |",
        "| pypi | cryptography | 50.0.2 | Apache-2.0 OR BSD-3-Clause |",
    ]


def test_checksums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    write(tmp_path, "a.whl", "a")
    write(tmp_path, "b.tar.gz", "b")
    write_checksums(tmp_path)
    write_checksums(tmp_path)  # its own is not among them

    def checked() -> int:
        command = ["sha256sum", "--check", "--strict", SUMS]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode

    assert len((tmp_path / SUMS).read_text().splitlines()) == 2
    assert checked() == 0
    write(tmp_path, "a.whl", "changed")
    assert checked() == 1
