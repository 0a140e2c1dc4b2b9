"""The README's examples, run against the real server as they are written."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.management import Api
from tests.support.awaited import until
from tests.support.server import COMMAND_S, Keys, RealServer

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PLAN = json.dumps([{"key": "plan", "value": "pro"}])
ADDRESS = "http://127.0.0.1:8000"

pytestmark = pytest.mark.quick


def code_blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", README)


def commands() -> list[str]:
    """Return the shell commands, one for each line or group of continued lines."""
    lines = "\n".join(code_blocks("sh")).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip()]


def filled_in(text: str, server: RealServer, keys: Keys) -> str:
    """Replace the address and the abbreviated keys of an example."""
    return (
        text.replace(ADDRESS, server.url)
        .replace("phc_…", keys.project_api_key)
        .replace("phx_…", keys.personal_api_key)
    )


def output_of(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_the_requests_do_what_the_text_says(server: tuple[RealServer, Keys]) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl found: install the package `curl`")

    def run(request: str) -> str:
        command = filled_in(request, *server).replace("curl ", "curl -sS --fail ", 1)
        return output_of(["sh", "-c", command])

    capture, events, create, decide = (line for line in commands() if line.startswith("curl "))

    assert json.loads(run(capture)) == {"status": 1}
    until(lambda: '"signed up"' in run(events), "the captured event is not listed")
    assert json.loads(run(create))["key"] == "new-checkout"
    assert "new-checkout" in json.loads(run(decide))["featureFlags"]


def test_the_program_captures_an_event(server: tuple[RealServer, Keys], api: Api) -> None:
    [program] = code_blocks("python")

    output_of([sys.executable, "-c", filled_in(program, *server)])

    events = api.await_events(1, distinct_id="user-1", properties=PLAN)
    assert {event["event"] for event in events} == {"signed up"}


def test_every_other_command_is_a_way_to_start_that_is_tested() -> None:
    others = [line.partition("#")[0].strip() for line in commands() if "curl " not in line]
    makefile = (ROOT / "Makefile").read_text()

    # tests/packaging: test_built_release, test_containers; tests/clients: test_first_start.
    assert others == [
        "pip install fanion && fanion serve",
        "docker compose -f deploy/compose.yaml up --build",
        "make run",
    ]
    assert "uvx fanion serve" in README
    assert re.search(r"(?m)^run:", makefile) and (ROOT / "deploy/compose.yaml").is_file()
