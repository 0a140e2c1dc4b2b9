"""`python -m fanion` is the command `fanion`."""

from fanion.cli import app

app()
