"""Commands in this process, where no loop runs: starting one for each costs seconds."""

import os

from typer.testing import CliRunner

from fanion.cli.app import app
from tests.support.server import RealServer


def fanion(server: RealServer, *arguments: str) -> str:
    """What a command prints that works on the server's stores, beside it."""
    unset: dict[str, str | None] = dict.fromkeys(k for k in os.environ if k.startswith("FANION_"))
    done = CliRunner().invoke(app, arguments, env=unset | server.environment())
    assert done.exit_code == 0, done.output
    return done.stdout
