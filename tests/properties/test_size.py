"""The size of properties, and which further properties fit."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.properties.size import (
    bytes_after,
    changed_properties,
    fitting_properties,
    is_size_allowed,
    json_bytes,
    text_bytes,
)

NAMES = st.sampled_from(["a", "b", "naïve", 'quo"te', "line\n", "nul\0", "😀", ""])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('aé😀\0"\n', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
PROPERTIES = st.dictionaries(NAMES, VALUES, max_size=6)


@given(PROPERTIES, PROPERTIES, st.sets(NAMES))
def test_the_size_after_a_change_is_that_of_what_is_stored_then(
    properties: dict[str, Any], put: dict[str, Any], unwanted: set[str]
) -> None:
    removed = [name for name in properties if name in unwanted and name not in put]
    changed = {**properties, **put}
    for name in removed:
        del changed[name]

    size = bytes_after(json_bytes(properties), properties, put, removed)

    assert size == len(msgspec.json.encode(changed))


@given(PROPERTIES)
def test_stored_text_reports_the_size(properties: dict[str, Any]) -> None:
    assert text_bytes(msgspec.json.encode(properties).decode()) == json_bytes(properties)


@given(PROPERTIES, PROPERTIES, st.integers(0, 80))
def test_what_fits_fits_and_nothing_that_was_there_is_replaced(
    properties: dict[str, Any], offered: dict[str, Any], bytes_max: int
) -> None:
    before = json_bytes(properties)

    taken, size = fitting_properties(before, properties, offered, bytes_max)

    assert not taken.keys() & properties.keys()
    assert all(taken[name] is offered[name] for name in taken)
    assert size == json_bytes({**properties, **taken})
    assert size <= max(bytes_max, before)
    # Everything that was left out does not fit together with what was taken.
    for name in offered.keys() - taken.keys() - properties.keys():
        assert json_bytes({**properties, **taken, name: offered[name]}) > bytes_max


@pytest.mark.parametrize(
    ("after", "before", "allowed"),
    [(100, 50, True), (101, 50, False), (150, 200, True), (200, 200, True), (201, 200, False)],
)
def test_a_change_leads_into_the_limit_or_to_no_more_than_before(
    after: int, before: int, allowed: bool
) -> None:
    assert is_size_allowed(after, before, 100) is allowed


def test_equal_is_what_is_equal_as_json() -> None:
    there = {"a": 1, "b": True, "c": {"x": [1], "y": 2}, "d": None}

    same = {"a": 1, "b": True, "c": {"y": 2, "x": [1]}, "d": None}
    other = {"a": 1.0, "b": 1, "c": {"x": [True], "y": 2}, "e": None}

    assert changed_properties(there, same) == {}
    assert list(changed_properties(there, other)) == ["a", "b", "c", "e"]
