"""The command `fanion mcp`: tools for an assistant on this machine, over standard input and output.

It is a client of a server's HTTP API, which may run anywhere.
"""

import os
from importlib import import_module
from typing import Annotated

import typer

from fanion.cli.output import refuse, run_command

KEY = "POSTHOG_PERSONAL_API_KEY"


def mcp(
    host: Annotated[str, typer.Option(help="The server.")] = "http://127.0.0.1:8000",
    project: Annotated[
        int | None,
        typer.Option(
            min=1, help="The id of the project; by default the current one of the key's owner."
        ),
    ] = None,
) -> None:
    """Serve an assistant on standard input and output, by the Model Context Protocol.

    The personal API key is read from POSTHOG_PERSONAL_API_KEY; its scopes decide which tools there
    are.
    """
    key = os.environ.get(KEY, "").strip()
    if not key:
        refuse(f"Set {KEY} to a personal API key; `fanion keys create --scope …` makes one.")
    # Loading the SDK takes most of a second, which a refusal does not need.
    stdio = import_module("fanion.mcp.stdio_main")
    problem = run_command(stdio.serve_stdio(host, key, project))
    if problem:
        refuse(problem)
