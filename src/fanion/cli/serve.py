"""`fanion serve`, which loads no more than it takes to answer flags: the rest of the server, and
of the command line, takes a second to load, and while a store is down flags do not wait for it."""

import sys
from typing import Annotated

import typer

from fanion.app.serving import run_server
from fanion.cli.output import Data, run, settings_of

HELP = "Fanion: product analytics and feature flags that PostHog SDKs talk to unchanged."

# Commands below take it over.
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings=HELP_OPTIONS,
)


@app.callback()
def fanion() -> None:
    """Named, so that `serve` is a word of the command line though it is the only command."""


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    data: Data = None,
) -> None:
    """Serve until stopped. The first start creates a project and prints its keys to a terminal, or
    writes them to `first-start.txt` in the data folder."""
    settings = settings_of(host=host, port=port, data=data)
    to_terminal = sys.stdout.isatty()
    run(run_server(settings, lambda text: print(text, flush=True), to_terminal=to_terminal))
