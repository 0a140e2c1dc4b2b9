"""The pages can be found and read, and the commands on them exist.

`test_documented_names` follows their links; `tests/clients/test_readme.py` runs the README.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from fanion.cli.app import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX, COMMAND_LINE = DOCS / "README.md", DOCS / "command-line.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
WORDS_MAX = 2_500
# Pages in which people look something up, and which nobody reads from top to bottom.
REFERENCES = {"docs/compatibility.md", "docs/performance.md"}
HELP_OPTIONS = {"--help", "-h"}


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=relative)


def code_lines(text: str) -> list[str]:
    """Return the lines of shell blocks, without comments and with continued lines joined."""
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", text)
    joined = "\n".join(blocks).replace("\\\n", " ")
    return [re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines()]


def command_texts(text: str) -> list[str]:
    """Return texts between backticks and lines of shell blocks."""
    prose = re.sub(r"(?ms)^```.*?^```", "", text)
    return [*re.findall(r"`([^`\n]+)`", prose), *code_lines(text)]


def unknown_command(text: str) -> str | None:
    """Return the first subcommand or option of a `fanion` command that does not exist.

    Args:
        text: It may have placeholders, and options in brackets: `fanion export [--output FILE]`.
    """
    words = re.sub(r"[\[\]]", "", text).split()[1:]
    command: Any = typer.main.get_command(app)
    while words and not words[0].startswith("-") and hasattr(command, "commands"):
        name = words.pop(0)
        if name not in command.commands:
            return name
        command = command.commands[name]
    options = {option for param in command.params for option in param.opts} | HELP_OPTIONS
    return next((word for word in words if word.startswith("-") and word not in options), None)


def fanion_commands(text: str) -> list[str]:
    """Return the `fanion` commands of a page, without what runs them and what follows them."""
    matches = (
        re.search(r"(?:^|\s|bin/)(fanion(?= [a-z-]).*)", command)
        for command in command_texts(text)
        if not command.startswith(("docker ", "kubectl "))
    )
    return [re.split(r" (?:\||&&|>) ", match[1])[0] for match in matches if match]


def make_targets() -> set[str]:
    [phony] = re.findall(r"(?m)^\.PHONY: (.+)$", (ROOT / "Makefile").read_text())
    return set(phony.split())


@every_page
def test_no_page_but_references_is_long(page: Path) -> None:
    is_long = len(page.read_text().split()) > WORDS_MAX

    assert is_long == (relative(page) in REFERENCES)


def test_the_index_lists_every_page() -> None:
    listed = set(re.findall(r"(?m)^\| \[([\w./-]+)\]\(\1\) \|", INDEX.read_text()))

    assert listed == {page.name for page in DOCS.glob("*.md")} - {INDEX.name} | {"decisions/"}


@every_page
def test_every_command_exists(page: Path) -> None:
    commands = fanion_commands(page.read_text())

    assert {command for command in commands if unknown_command(command)} == set()


@every_page
def test_every_target_of_make_exists(page: Path) -> None:
    targets = {
        text.split()[1]
        for text in command_texts(page.read_text())
        if text.startswith("make ") and "…" not in text
    }

    assert targets - make_targets() == set()


def test_the_page_on_the_command_line_lists_every_command() -> None:
    group: Any = typer.main.get_command(app)
    commands = {
        f"{name} {child}".strip()
        for name, command in group.commands.items()
        for child in getattr(command, "commands", {"": None})
        if name != "version"
    }
    rows = re.findall(r"(?m)^\| `fanion (.+?) \|", COMMAND_LINE.read_text())
    listed = set()
    for row in rows:
        name, _, rest = row.partition(" ")
        name = name.strip("`,")
        children = getattr(group.commands[name], "commands", {})
        listed |= {f"{name} {child}" for child in children if re.search(rf"\b{child}\b", rest)}
        listed |= set() if children else {name}

    assert listed == commands


def test_a_command_that_does_not_exist_is_found() -> None:
    assert unknown_command("fanion users add ADDRESS [--level member]") is None
    assert unknown_command("fanion users invite ADDRESS") == "invite"
    assert unknown_command("fanion export [--zip FILE]") == "--zip"
