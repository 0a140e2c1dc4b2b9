"""Commands run in this process, since starting one takes seconds. No event loop may be running."""

import os

from typer.testing import CliRunner

from fanion.cli.app import app
from tests.support.server import RealServer


def fanion(server: RealServer, *arguments: str) -> str:
    """Return the output of a command that works on the stores of a running server."""
    unset: dict[str, str | None] = dict.fromkeys(k for k in os.environ if k.startswith("FANION_"))
    done = CliRunner().invoke(app, arguments, env=unset | server.environment())
    assert done.exit_code == 0, done.output
    return done.stdout
