"""Tests of one property that run together decide as each of them does by itself."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from fanion.flags.engine.text_table import TextTable, has_table, text_table
from fanion.properties.filters import Property
from fanion.properties.match import PropertyTest, property_test

NOW = SimpleNamespace(now=datetime(2026, 5, 1, tzinfo=UTC))
WANTED: list[Any] = ["pro", "PRO", "", "1", "1.0", 1, True, "true", None, ("pro", "free"), (1, "x")]
GIVEN: list[Any] = ["pro", "Pro plan", "", "free", 1, 1.0, 1e3, True, "True", None, ["pro"], "É"]
LEAVES = [
    Property("plan", value, operator, "person")
    for operator in ("exact", "icontains")
    for value in WANTED
]


def table() -> tuple[list[PropertyTest], TextTable[PropertyTest]]:
    tests = [property_test(leaf) for leaf in LEAVES]
    return tests, text_table("plan", zip(LEAVES, tests, strict=True))


@pytest.mark.parametrize("properties", [{}, *({"plan": value} for value in GIVEN)])
def test_a_table_passes_the_tests_that_pass_by_themselves(properties: dict[str, Any]) -> None:
    tests, together = table()

    passed = set(together.passed(properties))

    assert passed == {test for test in tests if test(properties, NOW)}
    assert set(together.tests()) >= passed


def test_only_plain_comparisons_of_text_have_a_table() -> None:
    assert has_table(Property("plan", "pro", "exact"))
    assert has_table(Property("plan", "pro", "icontains"))
    assert not has_table(Property("plan", "pro", "is_not"))
    assert not has_table(Property("plan", "pro", "exact", negation=True))
