"""The reference of the command line, read from the commands themselves."""

from collections.abc import Iterator
from typing import Any

import typer.main

from docs_site.reference.markdown import code, plain, table
from fanion.cli.app import app

_HEAD = """# Commands

Every command with all its options, as `--help` prints them. [Command line](../command-line.md) says
which of them to use when.

"""


def commands_page() -> str:
    return _HEAD + "\n".join(
        _section(" ".join(names), command) for names, command in iter_commands()
    )


def iter_commands(
    command: Any = None, names: tuple[str, ...] = ("fanion",)
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command that is not hidden, with its name in words."""
    command = command or typer.main.get_command(app)
    for name, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield from iter_commands(child, (*names, name))
    if not hasattr(command, "commands") or command.invoke_without_command:
        yield names, command


def _section(name: str, command: Any) -> str:
    shown = [parameter for parameter in command.params if not parameter.hidden]
    arguments = [p for p in shown if p.param_type_name == "argument"]
    usage = " ".join((name, *map(_argument_text, arguments)))
    rows = [_row(parameter) for parameter in shown]
    options = table(("Option", "Default", "Meaning"), rows) if rows else "It has no options.\n"
    return f"## {name}\n\n```text\n{usage}\n```\n\n{plain(command.help or '')}\n\n{options}"


def _row(parameter: Any) -> tuple[str, str, str]:
    if parameter.param_type_name == "argument":
        return code(_argument_text(parameter)), "", plain(parameter.help or "")
    names = ", ".join(code(name) for name in (*parameter.opts, *parameter.secondary_opts))
    default = "" if parameter.default in (None, False, ()) else code(str(parameter.default))
    return names, "required" if parameter.required else default, plain(parameter.help or "")


def _argument_text(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"
