"""The commands are loaded when they are called, each alone."""

import subprocess
import sys

import pytest

from fanion.cli.commands import COMMANDS

LOADED = """
import sys
from fanion.cli.commands import COMMANDS, load_commands
load_commands(sys.argv[1:])
modules = {f"fanion.cli.{module}" for module, _ in COMMANDS.values()}
print(*sorted(modules.intersection(sys.modules)))
"""
# The root, which has its options from that of `serve`.
ALWAYS = {"fanion.cli.commands", "fanion.cli.serve.command"}


def loaded_modules(*arguments: str) -> set[str]:
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("name", ["backups", "keys"])
def test_a_command_loads_no_other(name: str) -> None:
    assert loaded_modules(name, "--help") == {f"fanion.cli.{COMMANDS[name][0]}", *ALWAYS}


@pytest.mark.parametrize("arguments", [(), ("--help",), ("bakcup",)])
def test_without_a_known_command_all_are_loaded(arguments: tuple[str, ...]) -> None:
    expected = {f"fanion.cli.{module}" for module, _ in COMMANDS.values()}
    assert loaded_modules(*arguments) == ALWAYS | expected
