"""The changes that an activity entry records of an item."""

from typing import Any

import pytest

from fanion.activity.model import Change, changed_fields

FIELDS = ("key", "name", "filters", "deleted")


def change(action: Any, field: str, before: Any, after: Any) -> Change:
    return Change(type="FeatureFlag", action=action, field=field, before=before, after=after)


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[Change]]] = {
    "nothing": ({"key": "a"}, {"key": "a"}, []),
    "changed": ({"key": "a"}, {"key": "b"}, [change("changed", "key", "a", "b")]),
    "created from null": ({"name": None}, {"name": "x"}, [change("created", "name", None, "x")]),
    "created from nothing": ({}, {"name": "x"}, [change("created", "name", None, "x")]),
    "deleted": ({"name": "x"}, {"name": None}, [change("deleted", "name", "x", None)]),
    "null and nothing are the same": ({"name": None}, {}, []),
    "an empty object is a value": (
        {"filters": {}},
        {"filters": {"groups": []}},
        [change("changed", "filters", {}, {"groups": []})],
    ),
    "the order of keys does not count": (
        {"filters": {"a": 1, "b": 2}},
        {"filters": {"b": 2, "a": 1}},
        [],
    ),
    "true is not 1": ({"deleted": 1}, {"deleted": True}, [change("changed", "deleted", 1, True)]),
    "in the order of the fields": (
        {"deleted": False, "key": "a"},
        {"deleted": True, "key": "b"},
        [change("changed", "key", "a", "b"), change("changed", "deleted", False, True)],
    ),
    "other fields are not recorded": ({"version": 1}, {"version": 2}, []),
}


@pytest.mark.parametrize("name", CASES)
def test_the_fields_that_differ_are_reported(name: str) -> None:
    before, after, expected = CASES[name]

    assert changed_fields("FeatureFlag", before, after, FIELDS) == expected
