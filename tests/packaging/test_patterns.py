"""Regular expressions match alike on every supported version of Python."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = sorted(Path(__file__).parents[2].joinpath("src").rglob("*.py"))
# Python before 3.11.5 matches these wrongly (CPython gh-106052). `()*+` is part of a set of
# characters.
POSSESSIVE_OR_ATOMIC_GROUP = re.compile(r"(?<!\()\)[*+?]\+|\(\?>|\}\+")


def literals(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            text = node.value
            yield text if isinstance(text, str) else text.decode("latin-1")


def has_such_group(code: str) -> bool:
    return any(POSSESSIVE_OR_ATOMIC_GROUP.search(text) for text in literals(code))


def test_no_group_is_possessive_or_atomic() -> None:
    assert [path.name for path in SOURCES if has_such_group(path.read_text())] == []


@pytest.mark.parametrize("code", ['rb"(?>a|b)"', 'r"(?:a|b)*+"', 'rb")++" + end', 'r"(a){2}+"'])
def test_such_groups_are_found(code: str) -> None:
    assert has_such_group(code)
