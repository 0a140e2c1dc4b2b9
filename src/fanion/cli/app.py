"""All commands together, for help and for what reads them."""

from fanion.cli.commands import load_commands

app = load_commands([])
