"""An installation without the event engine serves, and neither has nor needs the engine."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.packaging.test_lock_files import IMAGE_LOCKS, locked_packages
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.environments import build_wheel, make_environment, run_pip
from tests.support.server import RealServer, free_port

pytestmark = [pytest.mark.postgresql, pytest.mark.long("starts real servers")]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment like the image without the engine.

    It has the packages of that lock file, which are linked from here, and the wheel.
    """
    folder = tmp_path_factory.mktemp("small")
    environment = make_environment(folder, locked_packages(IMAGE_LOCKS[0]))
    run_pip(environment, "install", str(build_wheel(ROOT, folder)))
    return environment / "bin" / "python"


@pytest.fixture
def server(tmp_path: Path, python: Path, postgres_url: str) -> Iterator[RealServer]:
    settings = {
        "FANION_DATABASE_URL": postgres_url,
        "FANION_EVENTS_URL": f"clickhouse://127.0.0.1:{free_port()}/none",
        "FANION_ROLE": "web",
        "PYTHONPATH": "",
    }
    server = RealServer(tmp_path / "data", settings, program=(str(python), "-m", "fanion"))
    yield server
    server.close()


def test_it_has_no_engine(python: Path) -> None:
    tried = "import importlib.util as u; print(u.find_spec('chdb'), u.find_spec('fanion').origin)"

    done = subprocess.run(
        [python, "-c", tried], cwd=python.parent, capture_output=True, text=True, check=True
    )

    module, origin = done.stdout.split()
    assert module == "None"
    assert Path(origin).is_relative_to(python.parents[1])


def test_it_serves(server: RealServer) -> None:
    keys = server.setup()
    server.launch()

    def is_ready() -> bool:
        try:
            return plain_http.get(f"{server.url}/_ready").status_code == 200
        except httpx.TransportError:
            return False

    until(is_ready, "it is not ready")
    body = {"api_key": keys.project_api_key, "event": "seen", "distinct_id": "u"}
    captured = plain_http.post(f"{server.url}/capture/", json=body)
    decided = plain_http.post(f"{server.url}/decide/?v=3", json=body)

    assert (captured.status_code, decided.status_code) == (200, 200)
    assert server.stop() == 0


def test_it_says_what_an_embedded_event_store_needs(server: RealServer, postgres_url: str) -> None:
    server.settings = {"FANION_DATABASE_URL": postgres_url, "PYTHONPATH": ""}

    done = server.run("serve")

    assert done.returncode == 2
    [line] = [printed for printed in done.stderr.splitlines() if not printed.startswith("{")]
    assert line.endswith(
        "`pip install fanion` installs it, or name a ClickHouse server in FANION_EVENTS_URL"
    )
