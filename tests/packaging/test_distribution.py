"""The released packages: both kinds contain the console, and none is built without it."""

import email
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from console import build

ROOT = Path(__file__).parents[2]
PARTS = (
    "console", "deploy", "src",
    "LICENSE", "README.md", "hatch_build.py", "pyproject.toml", ".gitignore",
)  # fmt: skip
IGNORED = shutil.ignore_patterns("node_modules", "dist", "docs", "__pycache__", "static*")
STATIC = Path("src", "fanion", "console", "static")
DOCS = STATIC.with_name("docs")
# An environment with neither Node nor a package index.
NOTHING = {"PATH": "", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout without a built console."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=IGNORED)
        else:
            shutil.copyfile(ROOT / part, folder / part)
    return folder


@pytest.fixture
def built_checkout(checkout: Path) -> Path:
    """Return a checkout like after `make console`; the files are made up."""
    static = checkout / STATIC
    for name, content in {
        "build.json": f'{{"sources": "{build.sources_hash()}", "posthog_js": "1.2.3"}}',
        "index.html": "<!doctype html>",
        "assets/index-1.js": "1",
        "assets/index-1.js.br": "2",
        "sdk/array.js": "3",
    }.items():
        (static / name).parent.mkdir(parents=True, exist_ok=True)
        (static / name).write_text(content)
    static.with_suffix(".lock").touch()
    static.with_suffix(".failed").write_text("a former failure")
    return checkout


def run_build(
    folder: Path, *targets: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    options = [option for target in targets for option in ("-t", target)]
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", "out", *options],
        cwd=folder,
        env={**os.environ, **NOTHING, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def only_file(folder: Path, pattern: str) -> Path:
    [path] = (folder / "out").glob(pattern)
    return path


def files_of_wheel(path: Path) -> Mapping[str, bytes]:
    """Return the console's files in a wheel."""
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if name.startswith("fanion/console/static")]
        return {name.removeprefix("fanion/console/"): wheel.read(name) for name in names}


def files_of(folder: Path) -> Mapping[str, bytes]:
    static = folder / STATIC
    paths = (path for path in static.rglob("*") if path.is_file())
    return {str(path.relative_to(static.parent)): path.read_bytes() for path in paths}


def requirements_of(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as wheel:
        [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        requirements = email.message_from_bytes(wheel.read(name)).get_all("Requires-Dist")
    assert requirements is not None
    return requirements


def test_the_whole_is_installed_without_naming_an_extra(built_checkout: Path) -> None:
    done = run_build(built_checkout, "wheel")

    assert done.returncode == 0, done.stderr
    requirements = map(Requirement, requirements_of(only_file(built_checkout, "*.whl")))
    of_everyone = {found.name for found in requirements if found.marker is None}
    assert of_everyone >= {"chdb-core", "litestar", "clickhouse-connect"}
    assert of_everyone.isdisjoint({"hatchling", "pytest"})


def test_a_wheel_carries_the_small_lock_and_the_samples(built_checkout: Path) -> None:
    done = run_build(built_checkout, "wheel")

    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(only_file(built_checkout, "*.whl")) as wheel:
        shared = {
            name.rpartition("/")[2]: wheel.read(name)
            for name in wheel.namelist()
            if "/data/share/fanion/" in name
        }
    assert shared.keys() == {
        "Caddyfile", "Caddyfile-path", "fanion.env", "fanion.service", "haproxy-path.cfg",
        "haproxy.cfg", "nginx.conf",
        "nginx-path.conf", "requirements-embedded.lock", "requirements.lock",
    }  # fmt: skip
    assert all(content == (ROOT / "deploy" / name).read_bytes() for name, content in shared.items())


def test_a_wheel_and_the_sources_carry_the_console(built_checkout: Path) -> None:
    done = run_build(built_checkout, "wheel", "sdist")

    assert done.returncode == 0, done.stderr
    assert files_of_wheel(only_file(built_checkout, "*.whl")) == files_of(built_checkout)
    with tarfile.open(only_file(built_checkout, "*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        str(STATIC / name.removeprefix("static/")) for name in files_of(built_checkout)
    } <= names
    assert f"{STATIC}.lock" not in names and f"{STATIC}.failed" not in names


def test_packages_carry_the_documentation_where_it_is_built(built_checkout: Path) -> None:
    without = run_build(built_checkout, "wheel")
    (built_checkout / DOCS / "install").mkdir(parents=True)
    names = {f"{DOCS}/build.json", f"{DOCS}/install/index.html"}
    for name in names:
        (built_checkout / name).write_text("{}")

    done = run_build(built_checkout, "wheel", "sdist")

    assert "Without the documentation: `make docs` builds it" in without.stdout + without.stderr
    assert "documentation" not in done.stdout + done.stderr
    with zipfile.ZipFile(only_file(built_checkout, "*.whl")) as wheel:
        assert {name.removeprefix("src/") for name in names} <= set(wheel.namelist())
    with tarfile.open(only_file(built_checkout, "*.tar.gz")) as archive:
        assert names <= {name.partition("/")[2] for name in archive.getnames()}


def test_a_wheel_from_the_sources_needs_no_node(built_checkout: Path, tmp_path: Path) -> None:
    assert run_build(built_checkout, "sdist").returncode == 0
    (tmp_path / "unpacked").mkdir()
    subprocess.run(
        ["tar", "-xzf", only_file(built_checkout, "*.tar.gz")],
        cwd=tmp_path / "unpacked",
        check=True,
    )
    [unpacked] = (tmp_path / "unpacked").iterdir()

    done = run_build(unpacked, "wheel")

    assert done.returncode == 0, done.stderr
    assert files_of_wheel(only_file(unpacked, "*.whl")) == files_of(built_checkout)


@pytest.fixture
def failing_npm(tmp_path: Path) -> str:
    """Return a folder for PATH with an npm that fails."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, says in {"node": "echo v24.0.0", "npm": "echo 11.0.0; exit $(($# - 1))"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{says}\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_a_package_without_the_console_is_refused(checkout: Path, failing_npm: str) -> None:
    for target in ("wheel", "sdist"):
        done = run_build(checkout, target, PATH=failing_npm)

        assert "npm ci failed" in done.stdout + done.stderr
        assert done.returncode == 1
        assert "only made with FANION_CONSOLE=off" in done.stdout + done.stderr
        assert list(checkout.glob("out/*")) == []


def test_it_can_be_left_out_on_purpose(checkout: Path) -> None:
    done = run_build(checkout, "wheel", FANION_CONSOLE="off")

    assert done.returncode == 0, done.stderr
    assert files_of_wheel(only_file(checkout, "*.whl")) == {}


def test_an_editable_installation_builds_nothing(checkout: Path) -> None:
    done = run_build(checkout, "wheel:editable")

    assert done.returncode == 0, done.stderr
    assert not (checkout / STATIC).exists()
    assert only_file(checkout, "*.whl").exists()
