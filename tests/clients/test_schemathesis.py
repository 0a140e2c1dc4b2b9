"""Schemathesis sends valid and invalid requests to every described operation.

Nothing may be answered with 500, with a status, a type or a body that the description does not
name, or with success where the request is broken; and every failure has the one error shape.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.management import Api
from tests.support import plain_http
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

pytestmark = [pytest.mark.every_engine, pytest.mark.long("thousands of requests to real servers")]

ROOT = Path(__file__).parents[2]
CONFIG = Path(__file__).with_name("schemathesis.toml")
FINISHED_S = 200
# The stricter engine gets the limits of each described value, one by one, the other one random
# requests; the number bounds the time.
ASKED = {
    "sqlite": ("--phases=fuzzing", "--max-examples=3"),
    "postgresql": ("--phases=coverage",),
}
PERSONS = 5


@pytest.fixture
def server(records_url: str, tmp_path: Path) -> Iterator[tuple[RealServer, Keys]]:
    server = PreloadedServer(tmp_path / "data", {"FANION_DATABASE_URL": records_url})
    keys = server.setup()
    server.start()
    yield server, keys
    server.close()


@pytest.fixture
def known(server: tuple[RealServer, Keys]) -> dict[str, str]:
    """Return variables of the configuration, for a project with data."""
    running, keys = server
    api = Api(running, keys)
    api.create_flag(key="beta", filters={"groups": [{}], "payloads": {"true": "{}"}})
    items = [
        {
            "event": "seen",
            "distinct_id": f"user {number}",
            "properties": {"plan": "pro", "$groups": {"company": "acme"}},
            "$set": {"email": f"user{number}@example.com"},
        }
        for number in range(PERSONS)
    ]
    authorized = {"Authorization": f"Bearer {keys.personal_api_key}"}
    with plain_http.Client(base_url=running.url, headers=authorized) as client:
        client.post("/batch/", json={"api_key": keys.project_api_key, "batch": items})
        spare = client.post("/api/personal_api_keys/", json={"label": "spare"}).json()
    variables = {
        "KEY": keys.personal_api_key,
        "PROJECT": str(keys.project_id),
        "PROJECT_KEY": keys.project_api_key,
        "FLAG": "beta",
        "KEY_ID": spare["id"],
        "EVENT": api.await_events(PERSONS)[0]["id"],
        "EVENT_DEFINITION": api.get("/event_definitions/")["results"][0]["id"],
        "PROPERTY_DEFINITION": api.get("/property_definitions/")["results"][0]["id"],
    }
    api.close()
    return {f"FANION_TEST_{name}": value for name, value in variables.items()}


def test_every_request_is_answered_as_described(
    server: tuple[RealServer, Keys], known: dict[str, str], records_url: str, tmp_path: Path
) -> None:
    running, _ = server
    engine = records_url.partition(":")[0]

    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "--config-file", CONFIG, "run", "--no-color",
            *ASKED[engine], f"{running.url}/api/schema/",
        ],
        env={**known, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=FINISHED_S,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    selected = re.search(r"(\d+) selected / (\d+) total", done.stdout)
    assert selected
    # The streams, and the deletion, export and import of the project.
    assert int(selected[2]) - int(selected[1]) == 6
    assert "request_failed" not in running.log_path.read_text()
