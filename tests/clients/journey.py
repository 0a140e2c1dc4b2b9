"""The steps that every client is asked to do, in two stages, and how to ask for them."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clients.browser import Visit, find_chromium, visit
from tests.clients.management import Api, Json

HERE = Path(__file__).parent
PACKAGES = HERE / "npm" / "node_modules"
OLD_POSTHOG = HERE.parents[1] / ".venv" / "clients" / "posthog-3"
PROGRAM_S = 120

KEYS = ("journey-on", "journey-off", "journey-half", "journey-color", "journey-pro", "journey-big")
VARIANT_KEY = "journey-color"
GROUP_KEY = "journey-big"
# Each has half of the visitors: that two ids agree in all of them by chance is 1 in 65,536.
CONTINUITY_KEYS = tuple(f"journey-kept-{number}" for number in range(16))
READERS = ("reader-1", "reader-2", "reader-3", "reader-4", "reader-5", "reader-6")


@dataclass(frozen=True)
class Journey:
    """A stage of the journey, which the programs read as JSON.

    They read it from the variable JOURNEY, or from the page's server.

    Attributes:
        stage: `capture`, or `flags` once the captured events have arrived; `login` is a browser's
            own.
        visitor: A second id of the same person.
        readers: Ids whose flags are read although the server knows nothing of them.
        package: The npm package.
    """

    stage: str
    host: str
    token: str
    visitor: str
    user: str
    company: str
    email: str
    package: str
    batched: int = 25
    past: str = "2024-01-02T03:04:05+00:00"
    keys: tuple[str, ...] = KEYS
    variant_key: str = VARIANT_KEY
    group_key: str = GROUP_KEY
    readers: tuple[str, ...] = READERS
    kept_keys: tuple[str, ...] = CONTINUITY_KEYS


@dataclass(frozen=True)
class Client:
    """A client library in one release.

    Attributes:
        runtime: `python`, `node` or `browser`.
        package: The name in tests/clients/npm, or the folder to import it from.
        library: The value that it writes into `$lib`.
        mode: The mode of capture; `v1` is its newest protocol, which must be asked for.
    """

    name: str
    runtime: str
    package: str
    library: str
    mode: str = ""

    def require(self) -> None:
        """Skip the test if the client cannot run, and say what to install."""
        if self.runtime == "browser" and find_chromium() is None:
            pytest.skip("no Chromium found: install the package `chromium`")
        if self.runtime == "node" and shutil.which("node") is None:
            pytest.skip("no Node found: install the packages `nodejs` and `npm`")
        folder = Path(self.package) if self.runtime == "python" else PACKAGES / self.package
        if not folder.exists():
            pytest.skip(f"{folder} is missing: `make test` installs it, with npm if there is")

    def journey(self, stage: str, host: str, token: str) -> Journey:
        return Journey(
            stage,
            host,
            token,
            f"{self.name}-visitor",
            f"{self.name}-user",
            f"{self.name}-company",
            f"{self.name}@fanion.example",
            self.package,
        )

    def run(self, journey: Journey, api: Api, folder: Path) -> Json:
        """Run a stage, and return what the client saw.

        Args:
            folder: A new one, for a browser's profile.
        """
        stage = asdict(journey)
        if self.runtime == "browser":
            bundle = PACKAGES / self.package / "dist" / "array.full.js"
            wait = partial(arrived, api, journey.user)
            return visit(Visit(HERE / "npm" / "page.mjs", bundle, stage, wait, folder))
        environment = os.environ | {"JOURNEY": json.dumps(stage)}
        if self.mode:
            environment["POSTHOG_CAPTURE_MODE"] = self.mode
        if self.runtime == "node":
            return _run(["node", str(HERE / "npm" / "node_program.mjs")], environment)
        if self.package:
            environment["PYTHONPATH"] = self.package
        return _run([sys.executable, str(HERE / "python_program.py")], environment)


# The newest release of each, and one of the time when flags came from /decide.
CLIENTS = (
    Client("python-new", "python", "", "posthog-python"),
    Client("python-old", "python", str(OLD_POSTHOG), "posthog-python"),
    Client("python-v1", "python", "", "posthog-python", mode="v1"),
    Client("node-new", "node", "posthog-node", "posthog-node"),
    Client("node-v1", "node", "posthog-node", "posthog-node", mode="v1"),
    Client("node-old", "node", "posthog-node-3", "posthog-node"),
    Client("js-new", "browser", "posthog-js", "web"),
    Client("js-old", "browser", "posthog-js-1", "web"),
)


def _run(command: list[str], environment: dict[str, str]) -> Json:
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PROGRAM_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    seen: Json = json.loads(done.stdout.splitlines()[-1])
    return seen


def arrived(api: Api, user: str, event: str, count: int) -> None:
    api.await_events(count, event=event, distinct_id=user)


def create_flags(api: Api) -> None:
    """Create the flags that the second stage reads."""
    plan = {"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}
    size = {"key": "size", "type": "group", "operator": "gte", "value": "10", "group_type_index": 0}
    api.create_flag(key="journey-on", filters=_everyone())
    api.create_flag(key="journey-off", filters=_everyone(rollout_percentage=0))
    api.create_flag(key="journey-half", filters=_everyone(rollout_percentage=50))
    api.create_flag(key=VARIANT_KEY, filters=_everyone() | _colors())
    api.create_flag(key="journey-pro", filters=_everyone(properties=[plan]))
    grouped = _everyone(properties=[size]) | {"aggregation_group_type_index": 0}
    api.create_flag(key=GROUP_KEY, filters=grouped)


def create_continuity_flags(api: Api) -> None:
    """Create flags that keep a visitor's value over the login."""
    for key in CONTINUITY_KEYS:
        half = _everyone(rollout_percentage=50)
        api.create_flag(key=key, filters=half, ensure_experience_continuity=True)


def _everyone(**condition: Any) -> Json:
    return {"groups": [{"properties": [], "rollout_percentage": 100, **condition}]}


def _colors() -> Json:
    shares = {"red": 40, "green": 30, "blue": 30}
    variants = [{"key": key, "rollout_percentage": share} for key, share in shares.items()]
    payloads = {key: json.dumps({"is": key, "n": [1, None]}) for key in shares}
    return {"multivariate": {"variants": variants}, "payloads": payloads}
