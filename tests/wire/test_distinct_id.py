"""The text under which a distinct id is stored and looked up."""

from typing import Any

import pytest

from fanion.wire.distinct_id import DISTINCT_ID_CHARS_MAX, stored_distinct_id, with_stored_ids

LONG = "0123456789" * 25


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("ann", "ann"),
        ("", ""),
        (" Ann ", " Ann "),
        (LONG[:200], LONG[:200]),
        (LONG[:201], LONG[:200]),
        ("é" * 250, "é" * 200),
        ("😀" * 250, "😀" * 200),
        ("a\0b", "a\ufffdb"),
        ("\0" * 250, "\ufffd" * 200),
        (2, "2"),
        (23.4, "23.4"),
        (True, "true"),
        (None, "null"),
        (10**30, "1" + "0" * 30),
        ([1, "a"], '[1,"a"]'),
        ({"a": LONG}, ('{"a":"' + LONG)[:200]),
    ],
)
def test_an_id_is_stored_as_text_of_at_most_200_characters(given: object, stored: str) -> None:
    assert stored_distinct_id(given) == stored
    assert stored_distinct_id(stored) == stored
    assert len(stored) <= DISTINCT_ID_CHARS_MAX


@pytest.mark.parametrize(
    ("given", "matched"),
    [
        (LONG, [LONG, LONG[:200]]),
        (["ann", LONG, 7], ["ann", LONG, 7, LONG[:200]]),
    ],
)
def test_a_condition_matches_the_cut_id_too(given: Any, matched: Any) -> None:
    assert with_stored_ids(given) == matched


@pytest.mark.parametrize("given", ["ann", ["ann"], None, 7, [], {"a": LONG}, LONG[:200]])
def test_a_value_without_a_long_id_stays_the_same_object(given: Any) -> None:
    assert with_stored_ids(given) is given
