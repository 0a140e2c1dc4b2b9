"""The commands that pages show, read one by one, and run as they are written."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.server import COMMAND_S, STOP_S

ROOT = Path(__file__).parents[2]
PAGES = {
    str(page.relative_to(ROOT)): page.read_text()
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")))
}


def commands_of(page: str) -> list[str]:
    """Return the commands of a page's shell blocks, without comments, each in one text."""
    blocks = re.findall(r"(?ms)^ *```(?:sh|bash|shell|console)\n(.*?)^ *```", PAGES[page])
    return [command for block in blocks for command in _split(block)]


def _split(block: str) -> Iterator[str]:
    """Yield the commands of a block; one with open quotes or a last backslash goes on."""
    command = ""
    for line in block.splitlines():
        command += line
        if command.endswith("\\"):
            command = command[:-1]
        elif _is_whole(command):
            if words := re.sub(r"(^|\s)#\s.*", "", command).strip():
                yield re.sub(r"\n\s*|\s{2,}", " ", words)
            command = ""
        else:
            command += "\n"
    assert not command, command


def _is_whole(command: str) -> bool:
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True


@dataclass
class Shell:
    """A shell with the commands of the environment, for the commands of a page.

    Attributes:
        replaced: What a page names, such as a folder, and what the test has instead.
    """

    folder: Path
    environment: Mapping[str, str]
    replaced: Mapping[str, str] = field(default_factory=dict)

    def run(self, command: str) -> str:
        """Return what a command prints."""
        done = subprocess.run(
            self._arguments(command), cwd=self.folder, env=self._environment(), text=True,
            capture_output=True, timeout=COMMAND_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def running(self, command: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a command until the end of the block, which terminates it."""
        with (self.folder / "errors").open("ab") as errors:
            process = subprocess.Popen(
                self._arguments(f"exec env {command}"), cwd=self.folder, env=self._environment(),
                stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        try:
            yield process
            process.terminate()
            process.wait(timeout=STOP_S)
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def _arguments(self, command: str) -> list[str]:
        for written, here in self.replaced.items():
            command = command.replace(written, here)
        return ["sh", "-ec", command.replace("curl ", "curl -sS --fail-with-body ")]

    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, **self.environment, "PATH": path}
