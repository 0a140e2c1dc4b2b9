"""Docstrings are sentences that can be read without the name of what they describe.

Ruff checks their form; here their first words are checked.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "bench", "console", "deploy", "docs_site", "release")
# What begins the end of a sentence whose beginning only the author knows.
FRAGMENT = re.compile(r"(Of|As|That|Those|By|With|What|Whether|The same)\b")
BARE = re.compile(r"^(raises|returns|yields|source|args): ", re.MULTILINE)


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, text


def faults(source: str) -> Iterator[str]:
    for line, text in docstrings(source):
        if FRAGMENT.match(text):
            yield f"line {line} begins with a fragment: {text.splitlines()[0]}"
        for bare in BARE.finditer(text):
            yield f"line {line} has {bare[0].strip()!r}; sections begin with a capital letter"


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if "node_modules" not in path.parts:
                yield path


# It takes seconds: every file is parsed.
def test_no_docstring_is_a_fragment() -> None:
    found = [
        f"{path.relative_to(ROOT)}, {fault}"
        for path in sources()
        for fault in faults(path.read_text())
    ]

    assert found == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Of all projects.", 1),
        ("Whether it is so.", 1),
        ("Return it.\n\n    raises: ValueError", 1),
        ("Return it.\n\n    Raises:\n        ValueError: It is not.", 0),
        ("Offer it again.", 0),
    ],
)
def test_a_fragment_is_found(text: str, number: int) -> None:
    source = f'def f() -> None:\n    """{text}\n    """\n'

    assert len(list(faults(source))) == number
