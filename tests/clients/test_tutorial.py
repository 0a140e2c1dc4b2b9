"""The tutorial's commands, run in order against a fresh server, answer what the page says."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.clients.management import serving
from tests.support.awaited import SOON_S
from tests.support.server import COMMAND_S, Keys, RealServer

pytestmark = pytest.mark.long("starts a server, and captures with the SDK")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```", PAGE)
START, *COMMANDS = [text for language, text in BLOCKS if language == "sh"]
# Commands that print what the page shows below them.
OUTPUTS = {text: shown for (kind, text), (below, shown) in pairwise(BLOCKS) if below != "sh"}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealServer, Keys]]:
    with serving(tmp_path_factory.mktemp("tutorial")) as server:
        yield server


def has_output(printed: str, shown: str) -> bool:
    """Return whether the parts of what the page shows were printed, in their order.

    Args:
        shown: It has dots for what it leaves out.
    """
    parts = [re.escape(part.strip()) for part in shown.split("…")]
    return re.search("(?s)" + ".*".join(parts), printed) is not None


def test_the_commands_do_what_the_page_says(fresh: tuple[RealServer, Keys], tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl found: install the package `curl`")
    server, keys = fresh
    set_up, *commands = COMMANDS
    given = {
        "FANION": server.url,
        "PROJECT_KEY": keys.project_api_key,
        "PERSONAL_KEY": keys.personal_api_key,
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run(text: str) -> tuple[bool, str]:
        done = subprocess.run(
            ["sh", "-ec", text.replace("curl ", "curl -sS --fail-with-body ")],
            cwd=tmp_path, env={**os.environ, **given, "PATH": path}, timeout=COMMAND_S,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode == 0, f"{text}{done.stdout}{done.stderr}"

    # The names that the page gives to the address and the keys.
    assert re.findall(r"(\w+)=\S+", set_up) == list(given)
    for text in commands:
        shown = OUTPUTS.get(text, "")
        give_up = time.monotonic() + SOON_S
        succeeds, printed = run(text)
        # What was sent a moment ago may not be stored yet.
        while shown and not (succeeds and has_output(printed, shown)):
            assert time.monotonic() < give_up, f"{printed} is not {shown}"
            succeeds, printed = run(text)
        assert succeeds, printed

    assert len(commands) == 8
    assert len(OUTPUTS) == 5


def test_the_server_is_started_as_other_tests_start_it() -> None:
    # tests/packaging/test_built_release installs it, tests/clients/test_first_start serves.
    assert START.splitlines() == [
        "python3 -m venv .venv && . .venv/bin/activate",
        "pip install posthog fanion",
        "fanion serve",
    ]


@pytest.mark.parametrize(
    ("printed", "shown", "is_shown"),
    [
        ('{"status":1}', '{"status":1}\n', True),
        ('{"a":1,"b":2,"c":3}', '… "a":1, … "c":3 …', True),
        ('{"c":3,"a":1}', '… "a":1 … "c":3 …', False),
        ("control: 30 of 95", "control: 31 of 95", False),
    ],
)
def test_what_is_shown_is_compared(printed: str, shown: str, is_shown: bool) -> None:
    assert has_output(printed, shown) == is_shown
