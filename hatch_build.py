"""Hook of the package build: a package carries the built console, and its commit.

It carries the documentation where `make docs` has built it: that takes an installed Fanion.
"""

import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPT = Path("console") / "build.py"
SOURCE = Path("src") / "fanion"
DOCS, DOCS_SOURCES = SOURCE / "console" / "docs", Path("docs_site") / "sources.py"
BUILD_INFO = SOURCE / "observability" / "build_info.py"


class ConsoleBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the console into the package, and add a file with the commit.

        Args:
            version: "editable" for an installation that runs from the checkout, whose console
                `make run` builds.
            build_data: Gets the file.
        """
        if version == "editable":
            return
        self._add_commit(build_data)
        self._warn_of_documentation()
        if os.environ.get("FANION_CONSOLE") == "off":
            return
        # From an archive of the sources there is nothing to build, and no need of Node.
        if subprocess.run([sys.executable, SCRIPT], cwd=self.root, check=False).returncode != 0:
            self.app.abort(
                "A package without the console is only made with FANION_CONSOLE=off; "
                "the reason is printed above."
            )

    def _warn_of_documentation(self) -> None:
        """Say whether the package gets no documentation, or an outdated one."""
        script = Path(self.root) / DOCS_SOURCES
        if not (Path(self.root) / DOCS / "build.json").exists():
            self.app.display_warning("Without the documentation: `make docs` builds it.")
        elif script.exists():  # it is not where an image is built
            known = runpy.run_path(str(script))
            if known["built_hash"](Path(self.root) / DOCS) != known["sources_hash"]():
                self.app.display_warning("With outdated documentation: `make docs` builds it.")

    def _add_commit(self, build_data: dict[str, Any]) -> None:
        """Add a file with the commit, unless it is not known or an archive's sources have one."""
        source = Path(self.root) / SOURCE
        build_info = runpy.run_path(str(Path(self.root) / BUILD_INFO))
        written, commit = source / build_info["COMMIT_FILE"], build_info["read_commit"](source)
        if written.exists() or not commit:
            return
        file = Path(tempfile.mkdtemp()) / written.name
        file.write_text(f"{commit}\n")
        folder = SOURCE if self.target_name == "sdist" else Path(SOURCE.name)
        build_data["force_include"][str(file)] = str(folder / file.name)
