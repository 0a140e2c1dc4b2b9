"""Group types get their places, groups their properties."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fanion.groups.types import (
    GroupIdentify,
    GroupState,
    group_columns,
    merge_group,
    new_types,
    text_of,
)

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("known", "named", "given"),
    [
        ({}, ["company", "team", "company"], {"company": 0, "team": 1}),
        ({"company": 0}, ["company"], {}),
        ({"company": 0}, ["team"], {"team": 1}),
        ({"company": 0, "team": 2}, ["a", "b"], {"a": 1, "b": 3}),
        ({}, list("abcdefg"), {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}),
        (dict(zip("abcde", range(5), strict=True)), ["f"], {}),
        ({"company": 0}, ["Company"], {"Company": 1}),
    ],
)
def test_a_new_type_takes_the_next_free_place_of_five(
    known: dict[str, int], named: list[str], given: dict[str, int]
) -> None:
    assert new_types(known, named) == given


def test_an_event_gets_a_column_for_each_group_of_a_known_type() -> None:
    groups = {"company": "acme", "sixth": "x", "team": "7"}

    columns = group_columns(groups, {"company": 0, "team": 3})

    assert columns == {"$group_0": "acme", "$group_3": "7"}


def identify(**properties: Any) -> GroupIdentify:
    return GroupIdentify("company", "acme", properties, NOW)


def test_the_first_identify_makes_the_group_as_old_as_its_event() -> None:
    group, changed = merge_group(None, identify(a=1))

    assert changed
    assert (group.properties, group.created_at, group.version) == ({"a": 1}, NOW, 0)


@pytest.mark.parametrize(
    ("given", "properties", "changed"),
    [
        ({"a": 2}, {"a": 2, "b": 1}, True),
        ({"c": None}, {"a": 1, "b": 1, "c": None}, True),
        ({"a": True}, {"a": True, "b": 1}, True),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ({}, {"a": 1, "b": 1}, False),
    ],
)
def test_later_properties_are_merged_over_the_stored_ones(
    given: dict[str, Any], properties: dict[str, Any], changed: bool
) -> None:
    stored = GroupState({"a": 1, "b": 1}, NOW - timedelta(days=1), 4)

    group, is_changed = merge_group(stored, identify(**given))

    assert repr(group.properties) == repr(properties)
    assert (group.created_at, group.version) == (stored.created_at, 4)
    assert is_changed is changed
    assert stored.properties == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("acme", "acme"),
        (7, "7"),
        (7.5, "7.5"),
        (0, "0"),
        (True, "true"),
        ([1], "[1]"),
        ("a\0b", "a\ufffdb"),
        (False, ""),
        (None, ""),
        ("", ""),
        ({}, ""),
    ],
)
def test_a_key_becomes_text(value: Any, text: str) -> None:
    assert text_of(value) == text
