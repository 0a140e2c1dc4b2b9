"""Command-line options shared by several commands."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path | None, typer.Option(help="The data folder.")]
Email = Annotated[str | None, typer.Option(help="A user's e-mail; the first user by default.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

NAME_CHARS_MAX = 200  # the API's limit
