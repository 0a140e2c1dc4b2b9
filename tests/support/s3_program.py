"""The S3 server from npm in another process, which keeps its objects in a folder."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.server import free_port

PROGRAM = Path(__file__).parents[1] / "clients" / "npm" / "node_modules" / ".bin" / "s3rver"
BUCKET = "bucket"
# The only login that the server knows.
LOGIN = "S3RVER"


@dataclass
class S3Program:
    folder: Path
    port: int = field(default_factory=free_port)
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": LOGIN,
            "AWS_SECRET_ACCESS_KEY": LOGIN,
            "AWS_REGION": "eu-test-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
        }

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                *(PROGRAM, "--directory", self.folder, "--address", "127.0.0.1"),
                *("--port", str(self.port), "--configure-bucket", BUCKET, "--silent"),
            ],
            stdin=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _answers(port: int) -> bool:
    try:
        return plain_http.get(f"http://127.0.0.1:{port}/").status_code < 500
    except httpx.TransportError:
        return False


@contextmanager
def s3_program(folder: Path) -> Iterator[S3Program]:
    """Run the server until the end of the block."""
    if shutil.which("node") is None:
        pytest.skip("no Node found: install the packages `nodejs` and `npm`")
    if not PROGRAM.exists():
        pytest.skip("s3rver is missing: `make test` installs it, with npm if there is")
    program = S3Program(folder)
    program.start()
    try:
        until(lambda: _answers(program.port), "the S3 server does not answer")
        yield program
    finally:
        program.kill()
