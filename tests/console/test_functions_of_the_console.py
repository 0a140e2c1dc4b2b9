"""The functions of the console that need no browser: sentences, checks, files, labels of charts.

The tests are TypeScript, in `console/tests/`. Node 20 does not read it, so Vite bundles them first.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

CONSOLE = Path(__file__).parents[2] / "console"
VITE = CONSOLE / "node_modules" / "vite" / "bin" / "vite.js"
ENTRY = "tests/pure.test.ts"


def run(*command: str | Path) -> None:
    done = subprocess.run(
        command, cwd=CONSOLE, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_functions_of_the_console(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not VITE.exists():
        pytest.skip("needs Node and the console's packages: npm ci in console/")

    run(node, VITE, "build", "--ssr", ENTRY, "--outDir", tmp_path, "--emptyOutDir")

    run(node, "--test", tmp_path / "pure.test.js")
