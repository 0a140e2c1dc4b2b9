"""The real server in another process, on a free loopback port and a new folder."""

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import httpx

from tests.support import plain_http
from tests.support.awaited import SOON_S

# Limits for a busy machine, on which a server takes 20 s to start.
START_S = 120
COMMAND_S = 120
STOP_S = 60
POLL_S = 0.02


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def this_process() -> str:
    """Return how the server names the process of the tests, in which a test takes a port."""
    return f"process {os.getpid()} ({Path('/proc/self/comm').read_text().strip()})"


@dataclass(frozen=True)
class Keys:
    project_id: int
    project_api_key: str
    personal_api_key: str


class Process(Protocol):
    """The part of `subprocess.Popen` that is used here."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int, /) -> None: ...
    def kill(self) -> None: ...


@dataclass
class RealServer:
    """A server that can be started and stopped or killed any number of times.

    Its folder and keys stay.

    Attributes:
        program: The command of the environment in which it is installed.
    """

    data: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: Process | None = None
    program: Sequence[str] = field(default=(sys.executable, "-m", "fanion"), kw_only=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def log_path(self) -> Path:
        return self.data / "server.log"

    def setup(self) -> Keys:
        """Set up by copying a folder that `fanion setup` has made once; it takes seconds."""
        if "FANION_DATABASE_URL" in self.settings:
            return self.setup_anew()
        folder, keys = _set_up_folder()
        shutil.copytree(folder, self.data, dirs_exist_ok=True)
        return keys

    def setup_anew(self) -> Keys:
        """Set up with keys that no other server has."""
        output = self.command("setup", "--json")
        keys = json.loads(output)
        return Keys(int(keys["project_id"]), keys["project_api_key"], keys["personal_api_key"])

    def command(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command, which may fail."""
        return subprocess.run(
            [*self.program, *arguments],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )

    def begin(self, *arguments: str) -> Process:
        """Start a command without waiting for its end."""
        return subprocess.Popen(
            [*self.program, *arguments],
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def start(self) -> None:
        self.launch()
        try:
            self.wait_ready()
        except BaseException:
            self.close()
            raise

    def launch(self) -> None:
        """Start the server without waiting until it is ready, which it may never be."""
        self.data.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.program, "serve"],
                env=self.environment(),
                stdout=log,
                stderr=log,
            )

    def wait_ready(self) -> None:
        assert self.process is not None
        give_up = time.monotonic() + START_S
        # One client: each new one reads all certificates, which would slow down the server's start.
        with plain_http.Client(timeout=5) as client:
            while time.monotonic() < give_up:
                assert self.process.poll() is None, self.log_path.read_text()[-4000:]
                try:
                    answer = client.get(f"{self.url}/_ready")
                    # The server may be ready before the event store is open.
                    if answer.is_success and set(answer.json()["checks"].values()) == {"ok"}:
                        return
                except httpx.TransportError:
                    pass
                time.sleep(POLL_S)
        raise AssertionError(f"not ready in {START_S} s: {self.log_path.read_text()[-4000:]}")

    def log_lines(self) -> list[dict[str, Any]]:
        """Return the log lines of all its processes, without its announcements."""
        lines = self.log_path.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(timeout=STOP_S)

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def environment(self) -> dict[str, str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FANION_")}
        return environment | {
            "FANION_DATA": str(self.data),
            "FANION_PORT": str(self.port),
            "FANION_PROCESSES": "1",  # each further one takes a second of the processor to start
            "FANION_DECIDE_STORE_TIMEOUT_S": str(SOON_S),  # tests of the limit set their own
            **self.settings,
        }


def project_client(server: RealServer, keys: Keys, path: str = "") -> httpx.AsyncClient:
    """Return a client of the project's management API.

    Args:
        path: Appended to the base URL.
    """
    return plain_http.AsyncClient(
        base_url=f"{server.url}/api/projects/{keys.project_id}{path}",
        headers={"Authorization": f"Bearer {keys.personal_api_key}"},
        timeout=30,
    )


async def expect_created(http: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    answer = await http.post(path, json=body)
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


@cache
def _set_up_folder() -> tuple[Path, Keys]:
    folder = Path(tempfile.mkdtemp(prefix="fanion-set-up-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = RealServer(folder / "data")
    return server.data, server.setup_anew()
