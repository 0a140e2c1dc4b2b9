"""One server is upgraded in place from the version before, and taken back, as docs/upgrade.md says.

Its folder is the one that the version before left when it was released.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.packaging.test_distribution import IGNORED, PARTS
from tests.packaging.test_lock_files import IMAGE_LOCKS, locked_packages
from tests.support.awaited import has_caught_up, until
from tests.support.environments import build_wheel, make_environment, run_pip
from tests.support.preloaded import PreloadedServer
from tests.support.releases import VERSION_BEFORE, check_out_version, documented_commands
from tests.support.server import RealServer
from tests.versions.answers import FOLDER, Record, missing, read_record
from tests.versions.record import unpack

pytestmark = pytest.mark.long("starts servers of two versions")

ROOT: Final = Path(__file__).parents[2]
HEADING: Final = "One server"
LATER: Final = "999.0.0"

# Returns a server of the version before on a folder, or of this one.
Installed = Callable[[Path, bool], RealServer]


@pytest.fixture(params=["checkout", "wheel"])
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> Installed:
    made: Installed = request.getfixturevalue(f"of_{request.param}")
    return made


@pytest.fixture
def of_checkout(tmp_path: Path) -> Installed:
    source = check_out_version(VERSION_BEFORE, tmp_path / "released")

    def server(data: Path, is_former: bool) -> RealServer:
        if is_former:
            return RealServer(data, {"PYTHONPATH": str(source)})
        return PreloadedServer(data)

    return server


@pytest.fixture
def of_wheel(tmp_path: Path) -> Installed:
    """Install each version by the command of the documentation, in one environment."""
    check_out_version(VERSION_BEFORE, tmp_path / "released", ".")
    wheels = tmp_path / "wheels"
    for source in (tmp_path / "released", later_checkout(tmp_path / "later")):
        build_wheel(source, wheels)
    packages = locked_packages(IMAGE_LOCKS[0]) | locked_packages(IMAGE_LOCKS[1])
    environment = make_environment(tmp_path, packages)
    upgrade, go_back = documented_commands(HEADING, "pip")
    assert go_back[-1] == f"fanion=={VERSION_BEFORE}"

    def server(data: Path, is_former: bool) -> RealServer:
        command, version = (go_back, VERSION_BEFORE) if is_former else (upgrade, LATER)
        run_pip(environment, *command, PIP_FIND_LINKS=str(wheels))
        [info] = environment.glob("lib/*/site-packages/fanion-*.dist-info")
        assert info.stem == f"fanion-{version}"
        program = (str(environment / "bin" / "fanion"),)
        return RealServer(data, {"PYTHONPATH": ""}, program=program)

    return server


def later_checkout(folder: Path) -> Path:
    """Copy this checkout, with a later version."""
    folder.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=IGNORED)
        else:
            shutil.copyfile(ROOT / part, folder / part)
    init = folder / "src/fanion/__init__.py"
    init.write_text(re.sub(r'__version__ = ".*"', f'__version__ = "{LATER}"', init.read_text()))
    return folder


@contextmanager
def serving(server: RealServer, record: Record, events: int) -> Iterator[httpx.Client]:
    """Run a server until the end of the block, which begins when all events are ingested."""
    with closing(server):
        server.start()
        with record.client(server.url) as client:
            until(lambda: record.events_served(client) == events, "events are missing")
            until(lambda: has_caught_up(client.get("/metrics").text), "persons are missing")
            yield client
        assert server.stop() == 0


def test_a_server_is_upgraded_and_taken_back(installed: Installed, tmp_path: Path) -> None:
    record = read_record(FOLDER / f"{VERSION_BEFORE}.json")
    data, events = unpack(FOLDER / f"{VERSION_BEFORE}.tar.xz", tmp_path / "data"), record.events

    with serving(installed(data, False), record, events) as client:
        board = add_what_the_version_before_does_not_know(client, record)
        capture(client, record)
        new_answers = answers(client, record)
    with serving(installed(data, True), record, events + 1) as client:
        former_answers = answers(client, record)
        capture(client, record)
    with serving(installed(data, False), record, events + 2) as client:
        shown = manage(client, record, "GET", f"/dashboards/{board}/")

    assert [tile["text"]["body"] for tile in shown["tiles"]] == ["By day"]
    assert differences(record, former_answers, new_answers) == []


def add_what_the_version_before_does_not_know(client: httpx.Client, record: Record) -> int:
    """Make a dashboard with a text, and return its id."""
    board: int = manage(client, record, "POST", "/dashboards/", name="Texts")["id"]
    text = {"text": {"body": "By day"}}
    manage(client, record, "PATCH", f"/dashboards/{board}/", tiles=[text])
    manage(client, record, "PATCH", "/", primary_dashboard=board)
    return board


def manage(client: httpx.Client, record: Record, method: str, path: str, **body: Any) -> Any:
    headers = {"authorization": f"Bearer {record.personal_api_key}"}
    url = f"/api/projects/{record.project_id}{path}"
    answer = client.request(method, url, headers=headers, json=body or None)
    assert answer.is_success, answer.text
    return answer.json()


def capture(client: httpx.Client, record: Record) -> None:
    event = {"api_key": record.project_api_key, "event": "after", "distinct_id": "ann"}
    assert client.post("/capture/", json=event).status_code == 200


def answers(client: httpx.Client, record: Record) -> list[Any]:
    return [record.ask(client, asked.question) for asked in record.asked]


def differences(record: Record, former: list[Any], new: list[Any]) -> list[str]:
    """Return what the version before answers and the new one does not."""
    return [
        f"{asked.question.path} {difference}"
        for asked, expected, answer in zip(record.asked, former, new, strict=True)
        for difference in missing(expected, answer)
    ]
