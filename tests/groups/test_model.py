"""The indexes of group types, and the properties of groups."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fanion.groups.model import (
    GroupChange,
    GroupIdentify,
    GroupState,
    group_columns,
    merge_group,
    new_group,
    new_types,
    text_of,
)
from fanion.properties.size import PROPERTIES_BYTES_MAX, json_bytes

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
    group = new_group(identify(a=1))

    assert merge_group(group, identify(a=1)) is GroupChange.MADE
    assert (group.properties, group.created_at, group.version) == ({"a": 1}, NOW, 0)


@pytest.mark.parametrize(
    ("given", "properties", "change"),
    [
        ({"a": 2}, {"a": 2, "b": 1}, GroupChange.MADE),
        ({"c": None}, {"a": 1, "b": 1, "c": None}, GroupChange.MADE),
        ({"a": True}, {"a": True, "b": 1}, GroupChange.MADE),
        ({"a": 1}, {"a": 1, "b": 1}, GroupChange.NONE),
        ({}, {"a": 1, "b": 1}, GroupChange.NONE),
        ({"a": "x" * PROPERTIES_BYTES_MAX}, {"a": 1, "b": 1}, GroupChange.TOO_LARGE),
        ({"c": "x" * (PROPERTIES_BYTES_MAX - 19)}, {"a": 1, "b": 1}, GroupChange.TOO_LARGE),
    ],
)
def test_later_properties_are_merged_over_the_stored_ones(
    given: dict[str, Any], properties: dict[str, Any], change: GroupChange
) -> None:
    group = GroupState({"a": 1, "b": 1}, NOW - timedelta(days=1), 4)

    made = merge_group(group, identify(**given))

    assert repr(group.properties) == repr(properties)
    assert group.properties_bytes == json_bytes(properties)
    assert (group.created_at, group.version) == (NOW - timedelta(days=1), 4)
    assert made is change


def test_a_group_may_have_as_much_as_the_limit_and_shrink_from_beyond_it() -> None:
    group = GroupState({"a": 1, "b": 1}, NOW, 4)
    large = GroupState({"a": "x" * PROPERTIES_BYTES_MAX * 2}, NOW, 4)

    full = merge_group(group, identify(c="x" * (PROPERTIES_BYTES_MAX - 20)))
    more = merge_group(group, identify(d=1))
    smaller = merge_group(large, identify(a="x" * (PROPERTIES_BYTES_MAX + 1), b=1))

    assert group.properties_bytes == PROPERTIES_BYTES_MAX
    assert (full, more, smaller) == (GroupChange.MADE, GroupChange.TOO_LARGE, GroupChange.MADE)


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
