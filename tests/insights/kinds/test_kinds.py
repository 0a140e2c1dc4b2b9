"""The list of all kinds of questions."""

from collections.abc import Callable
from typing import Any

import pytest

from fanion.insights.calculation.kind_service import Kind
from fanion.insights.kinds.service import KINDS

# The keys by which a kind is found.
KEYS: dict[str, Callable[[Kind[Any]], object]] = {
    "name": lambda kind: kind.name,
    "type of question": lambda kind: kind.query,
    "insight": lambda kind: kind.form and kind.form.insight,
    "shown_as": lambda kind: kind.shown_as,
    "address of actors": lambda kind: kind.actors and kind.actors.path,
}


@pytest.mark.parametrize("key", KEYS)
def test_no_two_kinds_are_found_by_the_same(key: str) -> None:
    result = [value for value in map(KEYS[key], KINDS) if value]

    assert len(result) == len(set(result))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_that_is_asked_by_filters_has_an_address(kind: Kind[Any]) -> None:
    assert (kind.form is not None) == (kind.path != "")
