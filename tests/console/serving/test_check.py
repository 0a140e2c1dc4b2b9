"""The tools of `make check` for the console."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.application import Tenant

ROOT = Path(__file__).parents[3]


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    inherited: Mapping[str, str] = {
        name: value for name, value in os.environ.items() if not name.startswith("FANION_")
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**inherited, "PYTHONPATH": str(ROOT / "src"), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# It takes seconds: a process of its own imports the whole API.
async def test_the_document_for_the_types_is_that_of_the_server(tenant: Tenant) -> None:
    served = (await tenant.public.get("/api/schema/")).json()

    printed = run("console/schema.py")

    assert printed.returncode == 0, printed.stderr
    assert {**json.loads(printed.stdout), "servers": served["servers"]} == served


def test_without_node_the_check_says_that_nothing_is_checked() -> None:
    done = run("-m", "console.check", PATH="")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("console: not checked: no Node")
