"""The command `fanion`: reads options and settings, calls, prints. Exit code 2 is a refusal.

Each command is loaded when it is called. All together take a second to import.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, Final

import typer

from fanion import __version__
from fanion.cli.serve.command import new_program
from fanion.observability.logging import open_command_logs

# Where each command, or group of commands, is defined; help lists them in this order.
COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "serve": ("serve.command", "serve"),
        "setup": ("installation.setup", "setup"),
        "version": ("commands", "version"),
        "migrate": ("migrate", "migrate"),
        "move": ("maintenance.move", "move"),
        "doctor": ("doctor.command", "doctor"),
        "ingestion": ("ingestion", "ingestion"),
        "backup": ("maintenance.backup", "backup"),
        "backups": ("maintenance.backup", "backups"),
        "restore": ("maintenance.backup", "restore"),
        "export": ("transfer", "export_project"),
        "import": ("transfer", "import_project"),
        "import-events": ("imports.events", "import_events"),
        "events": ("exports.events", "events"),
        "persons": ("exports.rows", "persons"),
        "groups": ("exports.rows", "groups"),
        "import-posthog": ("import_posthog", "import_posthog"),
        "keys": ("installation.keys", "keys"),
        "projects": ("installation.projects", "projects"),
        "flags": ("flags", "flags"),
        "mcp": ("serve.mcp", "mcp"),
        "users": ("installation.users", "users"),
        "roles": ("installation.users", "roles"),
        "dead-letters": ("ingestion", "dead_letters"),
        "stores": ("stores", "stores"),
        "spool": ("maintenance.spool", "spool"),
    }
)


def load_commands(arguments: Sequence[str]) -> typer.Typer:
    """Return the program with the command that is called, or with all if none of them is."""
    app = new_program()
    app.callback()(_fanion)
    called = [name for name in arguments[:1] if name in COMMANDS]
    for name in called or COMMANDS:
        module, attribute = COMMANDS[name]
        command: Any = getattr(import_module(f"fanion.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(__version__)
        raise typer.Exit


def _fanion(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Accept the options of the command itself, which precede the name of a subcommand."""
    open_command_logs()


def version() -> None:
    """Print the version."""
    print(__version__)
