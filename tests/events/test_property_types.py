"""The types that properties seem to have, by name and value."""

from typing import Any

import pytest

from fanion.events.definitions.properties import PropertyType, detect_type, detect_types

NUMERIC, STRING, DATETIME = PropertyType.NUMERIC, PropertyType.STRING, PropertyType.DATETIME


@pytest.mark.parametrize(
    ("name", "value", "detected"),
    [
        ("amount", 3, NUMERIC),
        ("amount", 3.5, NUMERIC),
        ("amount", 1709294400, NUMERIC),
        ("time", 1709294400, DATETIME),
        ("sentTime", 1709294400123, DATETIME),
        ("timestamp", 1709294400.5, DATETIME),
        ("time", 170929440012, NUMERIC),
        ("time", 17, NUMERIC),
        ("plan", "pro", STRING),
        ("plan", "", STRING),
        ("plan", "1709294400", STRING),
        ("time", "1709294400", DATETIME),
        ("time", "1709294400123", DATETIME),
        ("day", "2024-03-01", DATETIME),
        ("at", "2024-03-01T12:00:00Z", DATETIME),
        ("at", "2024-03-01T12:00:00.123+02:00", DATETIME),
        ("at", "2024-03-01T12:00:00", STRING),
        ("at", "2024-03-01 12:00:00", DATETIME),
        ("at", "2024/03/01 12:00:00", DATETIME),
        ("at", "01-03-2024 12:00:00", DATETIME),
        ("at", "01/03/2024 12:00:00", DATETIME),
        ("at", "Fri, 01 Mar 2024 12:00:00 GMT", DATETIME),
        ("at", "1 Mar 2024 12:00 +0200", DATETIME),
        ("at", "on 2024-03-01", STRING),
        ("text", "2024-03-01" * 100, STRING),
        ("is_paid", True, None),
        ("nothing", None, None),
        ("list", [1], None),
        ("object", {"a": 1}, None),
    ],
)
def test_a_value_reports_its_type(name: str, value: Any, detected: PropertyType | None) -> None:
    assert detect_type(name, value) is detected


def test_what_describes_a_person_or_a_group_is_not_tracked() -> None:
    properties = {
        "amount": 3,
        "list": [],
        "$set": {},
        "$set_once": {},
        "$unset": [],
        "$groups": {},
        "$group_0": "acme",
        "$group_4": "acme",
    }

    assert detect_types(properties) == {"amount": NUMERIC, "list": None}
