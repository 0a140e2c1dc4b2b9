"""Simple options of `serve` are parsed without Typer, with the same result."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from fanion.cli.serve.command import app
from fanion.cli.serve.server import plain_options


def typer_options(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the options that Typer passes to the command, without those that were not given."""
    group: Any = typer.main.get_command(app)
    params = group.commands["serve"].make_context("serve", list(arguments)).params
    given = {name: value for name, value in params.items() if value}
    if "role" in given:
        given["role"] = ",".join(given["role"])
    return given


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--role", "web"),
        ("--role=web,ingest", "--port", "8001"),
        ("--data", "/srv/fanion", "--host=::1"),
        ("--port=0", "--host", "localhost"),
    ],
)
def test_plain_options_are_read_as_typer_reads_them(arguments: Sequence[str]) -> None:
    options = plain_options(arguments)

    assert options is not None
    assert {name: value for name, value in options.items() if value} == typer_options(arguments)


def test_each_option_has_its_type() -> None:
    given = ("--host", "a", "--port", "1", "--data", "b", "--role", "web")

    assert plain_options(given) == {"host": "a", "port": 1, "data": Path("b"), "role": "web"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("-h",),
        ("--role", "web", "--help"),
        ("--port", "many"),
        ("--port",),
        ("--port="),
        ("--data", "--port", "1"),
        ("--role", "web", "--role", "ingest"),
        ("web",),
        ("--color", "always"),
    ],
)
def test_anything_else_is_left_to_typer(arguments: Sequence[str]) -> None:
    assert plain_options(arguments) is None
