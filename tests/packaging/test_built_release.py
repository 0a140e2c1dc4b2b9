"""A release as its users meet it: the same bytes each time, and installed in an empty environment.

Long, minutes on two cores: the release is built twice, each time with the console, and is installed
in each way that docs/install.md names, of which most is unpacking a gigabyte.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from release.checks import read_version
from release.packages import Commit, build_release
from tests.clients.test_first_start import greeting, said, sign_in_link
from tests.packaging.test_lock_files import LOCKS, locked_versions
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.server import RealServer

pytestmark = [
    pytest.mark.long("builds a release twice, and installs it in each way"),
    pytest.mark.timeout(1200),
]

ROOT = Path(__file__).parents[2]
VERSION = read_version(ROOT)
WHEEL = f"fanion-{VERSION}-py3-none-any.whl"
COMMIT = Commit("0" * 40, datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC))
INSTALL_S = 900
# The command that runs an installation.
Program = tuple[str, ...]
# The room that docs/install.md says installations take, in MiB, on any file system.
PIP_MIB_MAX, SMALL_MIB_MAX, LOCKED_MIB_MAX = 1180, 350, 895


@pytest.fixture(scope="module", autouse=True)
def index_is_reached(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip all tests where pip finds no packages: in a build of a network without an index."""
    [version] = locked_versions(LOCKS[0])["h11"]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"h11=={version}"]
    folder = tmp_path_factory.mktemp("index")
    done = subprocess.run(pip, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["pip download failed"])[-1]
        pytest.skip(f"the package index is not reached: {reason}")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the files that a commit of the checkout would have."""
    folder = tmp_path_factory.mktemp("sources")
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def built_release(sources: Path, folder: Path) -> Path:
    """Return the folder of a release that is built in another folder, of a copy of the sources."""
    for name in ("work", "made"):
        (folder / name).mkdir()
    copy = shutil.copytree(sources, folder / "copy", copy_function=shutil.copyfile)
    build_release(copy, COMMIT, folder / "work", folder / "made")
    return folder / "made"


@pytest.fixture(scope="module")
def release(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_release(sources, tmp_path_factory.mktemp("release"))


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_release_is_the_same_bytes_each_time(
    sources: Path, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    before = os.umask(0o077)
    try:
        again = built_release(sources, tmp_path)
    finally:
        os.umask(before)

    assert hashes(again) == hashes(release)
    assert hashes(release).keys() == {
        WHEEL, f"fanion-{VERSION}.tar.gz", f"fanion-{VERSION}.cdx.json",
        f"fanion-{VERSION}-licences.md",
    }  # fmt: skip


def test_its_wheel_has_the_console(release: Path) -> None:
    with zipfile.ZipFile(release / WHEEL) as wheel:
        names = set(wheel.namelist())
        page = wheel.read("fanion/console/static/index.html").decode()

    scripts = re.findall(r'"\.?/?(assets/[^"]+\.js)"', page)
    assert scripts
    assert {f"fanion/console/static/{script}" for script in scripts} <= names
    assert "fanion/console/static/sdk/array.js" in names


def test_its_wheel_has_the_documentation(release: Path) -> None:
    with zipfile.ZipFile(release / WHEEL) as wheel:
        built = json.loads(wheel.read("fanion/console/docs/build.json"))["files"]
        names = set(wheel.namelist())

    assert "install/index.html" in built
    assert {f"fanion/console/docs/{name}" for name in built} <= names


def run(*command: str | Path) -> str:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FANION_", "PYTHON"))
    }
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=INSTALL_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def empty_environment(folder: Path) -> Path:
    run(sys.executable, "-m", "venv", folder)
    return folder


def constraints(folder: Path) -> Path:
    """Return what pip is to choose: the versions that are tested, without their hashes.

    What is not locked, as of pandas, stays free, and what is needed is found by the package.
    """
    locked = re.findall(r"(?m)^([\w.-]+==[^\\]+?) \\$", (ROOT / LOCKS[0]).read_text())
    path = folder / "constraints.txt"
    path.write_text("\n".join(locked) + "\n")
    return path


def require_room(folder: Path, mib_max: int) -> None:
    """Require that an environment takes no more room than docs/install.md says."""
    used = int(run("du", "-sm", folder).split()[0])
    assert used <= mib_max


def with_pip(wheel: Path, folder: Path) -> Program:
    """`pip install fanion`."""
    environment = empty_environment(folder / "environment")
    pip = environment / "bin" / "pip"
    run(pip, "install", "--quiet", "-c", constraints(folder), wheel)
    run(pip, "check")
    require_room(environment, PIP_MIB_MAX)
    return (str(environment / "bin" / "fanion"),)


def with_uvx(wheel: Path, folder: Path) -> Program:
    """`uvx fanion`."""
    uvx = str(Path(sys.executable).with_name("uvx"))
    python = ("--python", getattr(sys, "_base_executable", sys.executable))
    chosen = ("--constraints", str(constraints(folder)), "--from", str(wheel), "fanion")
    return (uvx, "--quiet", *python, *chosen)


WAYS: dict[str, Callable[[Path, Path], Program]] = {
    "pip": with_pip,
    "uvx": with_uvx,
}


@pytest.fixture(scope="module", params=WAYS)
def program(
    request: pytest.FixtureRequest, release: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Program]:
    """Return the command that runs what was installed."""
    folder = tmp_path_factory.mktemp("installed")
    command = WAYS[request.param](release / WHEEL, folder)
    assert run(*command, "--version") == f"{VERSION}\n"
    yield command
    shutil.rmtree(folder)  # a gigabyte, which may be in memory


@pytest.fixture
def server(program: Program, tmp_path: Path) -> Iterator[RealServer]:
    server = RealServer(tmp_path / "data", {"PYTHONPATH": ""}, program=program)
    yield server
    server.close()


def test_the_first_minutes_go_as_from_a_checkout(server: RealServer) -> None:
    server.start()
    text = greeting(server)
    token = said(text, "project API key")
    key = {"authorization": f"Bearer {said(text, 'personal API key')}"}
    project = f"{server.url}/api/projects/@current"

    with plain_http.Client() as browser:
        _set_password(browser, sign_in_link(text))
        assert browser.get(f"{server.url}/api/users/@me/").json()["has_password"] is True
        _require_console(browser, server.url)

    hello = {"api_key": token, "event": "hello", "distinct_id": "me"}
    assert plain_http.post(f"{server.url}/capture/", json=hello).json() == {"status": 1}
    until(
        lambda: plain_http.get(f"{project}/events/", headers=key).json()["results"],
        "the captured event is not listed",
    )
    flag = {"key": "new", "filters": {"groups": [{"rollout_percentage": 100}]}}
    created = plain_http.post(f"{project}/feature_flags/", headers=key, json=flag)
    decided = plain_http.post(f"{server.url}/decide/?v=3", json=hello)
    assert created.status_code == 201
    assert decided.json()["featureFlags"] == {"new": True}
    _require_no_data_frames(server)
    assert server.run("doctor").returncode == 0
    assert server.stop() == 0


def _set_password(browser: httpx.Client, link: str) -> None:
    new = {"password": "the owner's first passphrase"}
    done = browser.post(link, data=new, headers={"accept": "text/html"})
    assert done.status_code == 303, done.text


def _require_console(browser: httpx.Client, url: str) -> None:
    page = browser.get(f"{url}/", headers={"accept": "text/html"})
    [script] = re.findall(r'<script type="module"[^>]* src="([^"]+)"', page.text)
    answer = browser.get(str(page.url.join(script)))
    assert (page.status_code, answer.status_code) == (200, 200)
    assert answer.headers["content-type"].startswith("text/javascript")


def _require_no_data_frames(server: RealServer) -> None:
    """Require that what the engine asks for, and never uses here, is not loaded."""
    _, pid = (server.data / "serving.lock").read_text().split()
    loaded = Path("/proc", pid, "maps").read_text()
    assert "/chdb/" in loaded
    assert "/pandas/" not in loaded and "/pyarrow/" not in loaded


def test_an_exact_installation_is_made_with_the_lock_files_of_the_package(
    release: Path, tmp_path: Path
) -> None:
    """tests/packaging/test_small_installation_crash.py has one without the engine serve."""
    environment = empty_environment(tmp_path / "environment")
    pip, share = environment / "bin" / "pip", environment / "share" / "fanion"
    program = (str(environment / "bin" / "fanion"),)
    server = RealServer(tmp_path / "data", {"PYTHONPATH": ""}, program=program)
    with_hashes = (pip, "install", "--quiet", "--no-deps", "--require-hashes", "-r")

    run(pip, "install", "--quiet", "--no-deps", release / WHEEL)
    run(*with_hashes, share / "requirements.lock")
    require_room(environment, SMALL_MIB_MAX)
    small = server.run("serve")
    run(*with_hashes, share / "requirements-embedded.lock")
    require_room(environment, LOCKED_MIB_MAX)
    with closing(server):
        server.start()
        assert server.stop() == 0

    assert small.returncode == 2
    assert "the embedded engine is not installed; `pip install fanion` installs it" in small.stderr


def test_the_bill_of_materials_names_what_the_locks_install(release: Path) -> None:
    bill = json.loads((release / f"fanion-{VERSION}.cdx.json").read_text())
    components = {part["purl"] for part in bill["components"]}

    assert any(purl.startswith("pkg:pypi/chdb-core@") for purl in components)
    assert any(purl.startswith("pkg:npm/react@") for purl in components)
