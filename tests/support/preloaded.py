"""Real servers and commands that start in a fourth of the usual time.

They are forked from a process that has imported them already.
"""

import atexit
import gc
import io
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from fanion.__main__ import main
from tests.support.server import COMMAND_S, RealServer

# Both command lines, and the modules that a server loads while it serves. The event engine is not
# among them, because it starts threads, which a fork loses; the modules that it loads are.
LOADED = (
    *(
        "fanion.cli.serve.server",
        "fanion.app.startup.stages",
        "fanion.app.parts.management",
        "fanion.app.web_workers",
        "fanion.cli.app",
    ),
    *("litestar.plugins.pydantic", "aiosqlite", "xml.etree.ElementTree"),
)

Parent = subprocess.Popen[bytes]
# Parents without a process. A parent has one process at a time, because it waits for its end.
_idle: list[Parent] = []


class Forked:
    """One process, with the interface of `subprocess.Popen`."""

    def __init__(self, parent: Parent, pid: int) -> None:
        self._parent = parent
        self._code: int | None = None
        self.pid = pid

    def poll(self) -> int | None:
        assert self._parent.stdout is not None
        if self._code is None and is_readable(self._parent.stdout, 0):
            self.wait()
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        assert self._parent.stdout is not None
        if self._code is None:
            if not is_readable(self._parent.stdout, timeout):
                raise TimeoutError(f"the process still runs after {timeout} s")
            self._code = int(self._parent.stdout.readline())
            _idle.append(self._parent)
        return self._code

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def is_readable(file: IO[Any] | io.RawIOBase, timeout_s: float | None) -> bool:
    """Return whether any descriptor can be read.

    `select` takes only those below 1,024, and a test of connections opens more.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(file, selectors.EVENT_READ)
        return bool(selector.select(timeout_s))


class PreloadedServer(RealServer):
    def launch(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        self.process = fork(("serve",), self.environment(), self.log_path, self.log_path)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_fanion(arguments, self.environment())

    def begin(self, *arguments: str) -> Forked:
        nowhere = Path(os.devnull)
        return fork(arguments, self.environment(), nowhere, nowhere)


def run_fanion(
    arguments: tuple[str, ...], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command, like `subprocess.run`."""
    with TemporaryDirectory(prefix="fanion-said-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        process = fork(arguments, environment, out, err)
        try:
            code = process.wait(COMMAND_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        return subprocess.CompletedProcess(arguments, code, out.read_text(), err.read_text())


def fork(
    arguments: tuple[str, ...], environment: Mapping[str, str], out: Path, err: Path
) -> Forked:
    """Start `fanion` with these arguments; its output is appended to the two files."""
    parent = _idle.pop() if _idle else _load()
    assert parent.stdin is not None and parent.stdout is not None
    order = {
        "arguments": arguments,
        "environment": dict(environment),
        "out": str(out),
        "err": str(err),
    }
    parent.stdin.write(json.dumps(order).encode() + b"\n")
    return Forked(parent, int(parent.stdout.readline()))


def _load() -> Parent:
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.support.preloaded"],
        cwd=Path(__file__).parents[2],
        env={k: v for k, v in os.environ.items() if not k.startswith("FANION_")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,  # unbuffered, or the end of a short command is read with its number
    )
    atexit.register(parent.communicate)
    return parent


def serve_orders() -> None:
    """Fork a process for each line read; print its number, and its exit code at its end."""
    for module in LOADED:
        import_module(module)
    # Without this, each process would look through all that is loaded, and copy it from its parent.
    gc.freeze()

    while line := sys.stdin.readline():
        order: dict[str, Any] = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(order)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(order: Mapping[str, Any]) -> None:
    """Become the ordered process; this never returns."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(order[name], os.O_WRONLY | os.O_APPEND | os.O_CREAT), number)
    os.environ.update(order["environment"])
    sys.argv = ["fanion", *order["arguments"]]
    main()


if __name__ == "__main__":
    serve_orders()
