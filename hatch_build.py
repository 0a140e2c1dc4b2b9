"""Hook of the package build: a wheel or an archive of the sources carries the built console."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPT = Path("console") / "build.py"


class ConsoleBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the console into the package.

        Args:
            version: "editable" for an installation that runs from the checkout, whose console
                `make run` builds.
            build_data: Not used.
        """
        if version == "editable" or os.environ.get("FANION_CONSOLE") == "off":
            return
        # From an archive of the sources there is nothing to build, and no need of Node.
        if subprocess.run([sys.executable, SCRIPT], cwd=self.root, check=False).returncode != 0:
            self.app.abort(
                "A package without the console is only made with FANION_CONSOLE=off; "
                "the reason is printed above."
            )
