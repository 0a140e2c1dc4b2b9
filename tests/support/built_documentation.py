"""The documentation as `make docs` builds it, for tests that need the real one."""

import subprocess
import sys
from pathlib import Path

from docs_site.build import OUTPUT
from docs_site.sources import ROOT


def built_documentation() -> Path:
    """Return the folder that the server reads, built unless it is current.

    Every link that leads nowhere, and every page without a place, would end the build.
    """
    command = [sys.executable, "-m", "docs_site"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return OUTPUT
