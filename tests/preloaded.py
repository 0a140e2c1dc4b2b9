"""The real server, started many times: forked from a process that has imported it already, which
takes a fourth of the time of a start."""

import atexit
import json
import os
import select
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.server import RealServer


class Forked:
    """One server, as `subprocess.Popen` shows a process."""

    def __init__(self, parent: "subprocess.Popen[str]", pid: int) -> None:
        self._parent = parent
        self._code: int | None = None
        self.pid = pid

    def poll(self) -> int | None:
        assert self._parent.stdout is not None
        if self._code is None and select.select([self._parent.stdout], [], [], 0)[0]:
            self.wait()
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        assert self._parent.stdout is not None
        if self._code is None:
            if not select.select([self._parent.stdout], [], [], timeout)[0]:
                raise TimeoutError(f"the server still runs after {timeout} s")
            self._code = int(self._parent.stdout.readline())
        return self._code

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Parent = subprocess.Popen[str]
# Those that have no server now. One has one at a time, because it waits for its end.
_idle: list[Parent] = []


class PreloadedServer(RealServer):
    _parent: Parent | None = None

    def launch(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        if self._parent is None:
            self._parent = _idle.pop() if _idle else _load()
        parent = self._parent
        assert parent.stdin is not None and parent.stdout is not None
        order = {"environment": dict(self.environment()), "log": str(self.log_path)}
        parent.stdin.write(json.dumps(order) + "\n")
        parent.stdin.flush()
        self.process = Forked(parent, int(parent.stdout.readline()))

    def close(self) -> None:
        super().close()
        if self._parent is not None:
            _idle.append(self._parent)
            self._parent = None


def _load() -> Parent:
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.preloaded"],
        cwd=Path(__file__).parent.parent,
        env={k: v for k, v in os.environ.items() if not k.startswith("FANION_")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(parent.communicate)
    return parent


def serve_orders() -> None:
    """For each line that is read: fork a server, tell its number, and its exit code at its end."""
    from fanion.cli_serve import app

    # Which a server loads while it serves.
    for module in ("fanion.stages", "fanion.main", "litestar.plugins.pydantic"):
        import_module(module)

    while line := sys.stdin.readline():
        order: dict[str, Any] = json.loads(line)
        pid = os.fork()
        if pid == 0:
            log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            for number in (1, 2):
                os.dup2(log, number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.environ.update(order["environment"])
            app(["serve"])
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve_orders()
