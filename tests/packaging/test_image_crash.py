"""The image serves under Compose as deploy/compose.yaml says, and is upgraded and taken back.

Long, minutes on two cores: the image is built from lock files, a gigabyte.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.clients.test_first_start import said
from tests.packaging.test_distribution import IGNORED, PARTS
from tests.support import plain_http
from tests.support.awaited import has_caught_up, until
from tests.support.containers import Containers, require_engine, ulimits
from tests.support.releases import VERSION_BEFORE, check_out_version
from tests.support.server import free_port

pytestmark = [
    pytest.mark.long("builds the image, and starts containers"),
    pytest.mark.timeout(1800),
]

ROOT = Path(__file__).parents[2]
IMAGE = "fanion:embedded"
SERVICE = "fanion"
# Keeps images for the next run: `make test-image`.
FOLDER = Path(os.environ["FANION_TEST_CONTAINERS"])
Json = dict[str, Any]


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    """Return an engine with the images `fanion:new` and `fanion:former`."""
    require_engine()
    FOLDER.mkdir(parents=True, exist_ok=True)
    containers = Containers(FOLDER)
    containers.require_base()
    copy_checkout(source := tmp_path_factory.mktemp("sources") / "new")
    containers.build(source, "fanion:new")
    # The program of the version before, with the packages of this one.
    former = check_out_version(VERSION_BEFORE, tmp_path_factory.mktemp("former"))
    containers.derive("fanion:former", "fanion:new", former)
    return containers


def copy_checkout(folder: Path) -> None:
    folder.mkdir()
    for part in (*PARTS, "deploy", ".dockerignore"):
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=IGNORED, dirs_exist_ok=True)
        else:
            shutil.copyfile(ROOT / part, folder / part)


class Composed:
    """The services of deploy/compose.yaml, on a port and with limits of this machine."""

    def __init__(self, containers: Containers, folder: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._containers = containers
        self._file = folder / "compose.yaml"
        document = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
        service = document["services"][SERVICE]
        assert service["ports"] == ["127.0.0.1:8000:8000"]
        assert service["ulimits"].keys() == {"nofile"}
        service["ports"] = [f"127.0.0.1:{self.port}:8000"]
        service["ulimits"] = dict(ulimits())
        del service["build"]
        self._file.write_text(yaml.safe_dump(document))

    def up(self, version: str) -> None:
        self._containers.run("podman", "tag", f"fanion:{version}", IMAGE)
        self._compose("up", "--detach", "--force-recreate")
        until(self._is_ready, "the container is not ready")

    def down(self, *options: str) -> None:
        self._compose("down", *options)

    def run(self, *command: str) -> str:
        return self._compose("exec", "-T", SERVICE, *command)

    def healthcheck(self) -> None:
        """Run the image's health check; it fails where the server does not answer."""
        [name] = self._containers.run("podman", "ps", "--format", "{{.Names}}").splitlines()
        self._containers.run("podman", "healthcheck", "run", name)

    def _compose(self, *arguments: str) -> str:
        return self._containers.run(
            "podman-compose", "--file", self._file, *arguments, FANION_PUBLIC_URL=self.url
        )

    def _is_ready(self) -> bool:
        try:
            answer = plain_http.get(f"{self.url}/_ready")
        except httpx.TransportError:
            return False
        return answer.is_success and set(answer.json()["checks"].values()) == {"ok"}


@pytest.fixture
def composed(containers: Containers, tmp_path: Path) -> Iterator[Composed]:
    composed = Composed(containers, tmp_path)
    yield composed
    composed.down("--volumes")


def test_the_container_is_upgraded_and_taken_back_on_its_volume(composed: Composed) -> None:
    composed.up("former")
    keys = composed.run("cat", "first-start.txt")
    token, key = said(keys, "project API key"), said(keys, "personal API key")

    for version in ("former", "new", "former", "new"):
        composed.up(version)
        composed.healthcheck()
        capture(composed.url, token, version)
        composed.down()
    composed.up("new")

    stored = events(composed.url, key)
    assert sorted(event["event"] for event in stored) == ["former", "former", "new", "new"]
    assert "10001" in composed.run("id", "-u").splitlines()


def capture(url: str, token: str, event: str) -> None:
    body = {"api_key": token, "event": event, "distinct_id": "ann"}
    assert plain_http.post(f"{url}/capture/", json=body).json() == {"status": 1}
    until(lambda: has_caught_up(plain_http.get(f"{url}/metrics").text), "it is not ingested")


def events(url: str, key: str) -> list[Json]:
    headers = {"authorization": f"Bearer {key}"}
    answer = plain_http.get(f"{url}/api/projects/@current/events/", headers=headers)
    listed: list[Json] = answer.json()["results"]
    return listed
