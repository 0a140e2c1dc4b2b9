"""The command line of `fanion serve`, without the other commands."""

from typing import Annotated

import typer

from fanion.cli.options import Data
from fanion.cli.serve.server import serve as serve_with

HELP = "Fanion: product analytics and feature flags that PostHog SDKs talk to unchanged."

# Inherited by the commands below.
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


def new_program() -> typer.Typer:
    """Return the program `fanion`, without commands."""
    return typer.Typer(
        help=HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings=HELP_OPTIONS,
    )


app = new_program()


@app.callback()
def fanion() -> None:
    """Make Typer expect a command name even though there is only one command."""


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    data: Data = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            help="What this process serves: all, or some of web, api, ingest and jobs, separated "
            "by commas."
        ),
    ] = None,
) -> None:
    """Serve until stopped.

    The first start creates a project, and prints its keys to a terminal or writes them to
    `first-start.txt` in the data folder.
    """
    serve_with(host, port, data, ",".join(role) if role else None)
