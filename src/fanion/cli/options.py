"""Command-line options shared by several commands."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path | None, typer.Option(help="The data folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
