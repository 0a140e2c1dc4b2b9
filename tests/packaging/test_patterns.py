"""Regular expressions that every supported version of Python matches alike."""

import re
from pathlib import Path

import pytest

SOURCES = sorted(Path(__file__).parents[2].joinpath("src").rglob("*.py"))
# Python before 3.11.5 matches these wrongly. source: CPython gh-106052
POSSESSIVE_OR_ATOMIC_GROUP = re.compile(r"\)[*+?]\+|\(\?>|\}\+")


def test_no_group_is_possessive_or_atomic() -> None:
    found = [path.name for path in SOURCES if POSSESSIVE_OR_ATOMIC_GROUP.search(path.read_text())]

    assert found == []


@pytest.mark.parametrize("pattern", ['rb"(?>a|b)"', 'r"(?:a|b)*+"', 'r"(a){2}+"'])
def test_such_groups_would_be_found(pattern: str) -> None:
    assert POSSESSIVE_OR_ATOMIC_GROUP.search(pattern)
