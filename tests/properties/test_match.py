"""The matcher's answer for every operator."""

import json
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.properties.filters import Property, parse_leaf
from fanion.properties.match import all_of, always, any_of, inverted, never, property_test
from fanion.properties.operators import COMPARISONS
from fanion.properties.values import text_of

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "cases" / "filters.json").read_text()
)
MOMENT = SimpleNamespace(now=datetime.fromisoformat(CASES["now"]))
OPERATORS = [*COMPARISONS, "unknown"]
OPPOSITES = {
    "exact": "is_not",
    "icontains": "not_icontains",
    "starts_with": "not_starts_with",
    "ends_with": "not_ends_with",
    "icontains_multi": "not_icontains_multi",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


def leaf(operator: str, value: Any, *, negation: bool = False) -> Property:
    read = parse_leaf(
        {"key": "p", "type": "person", "operator": operator, "value": value, "negation": negation}
    )
    assert isinstance(read, Property)
    return read


def matches(test_leaf: Property, properties: dict[str, Any]) -> bool:
    return property_test(test_leaf)(properties, MOMENT)


@pytest.mark.parametrize("row", CASES["rows"], ids=json.dumps)
def test_a_condition_matches_as_the_table_says(row: dict[str, Any]) -> None:
    condition = parse_leaf({"key": "p", "type": "person", **row})
    properties = {"p": row["property"]} if "property" in row else {}

    assert isinstance(condition, Property)
    assert matches(condition, properties) is row["matches"]


@given(st.sampled_from(OPERATORS), JSON, JSON, st.booleans())
def test_any_condition_answers_yes_or_no_for_any_property(
    operator: str, value: Any, held: Any, negation: bool
) -> None:
    answer = matches(leaf(operator, value, negation=negation), {"p": held})

    assert answer is True or answer is False


@given(st.sampled_from(list(OPPOSITES)), JSON, JSON)
def test_the_negative_operator_is_the_opposite(operator: str, value: Any, held: Any) -> None:
    assert matches(leaf(operator, value), {"p": held}) is not matches(
        leaf(OPPOSITES[operator], value), {"p": held}
    )


@given(st.sampled_from(OPERATORS), JSON, JSON)
def test_negation_inverts_the_result(operator: str, value: Any, held: Any) -> None:
    for properties in ({"p": held}, {}):
        plain = matches(leaf(operator, value), properties)

        assert matches(leaf(operator, value, negation=True), properties) is not plain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Text", "Text"),
        (307, "307"),
        (1.5, "1.5"),
        (5.0, "5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e21"),
        (1.5e-7, "1.5e-7"),
        (True, "true"),
        (None, "null"),
        (["a", 1, None], '["a",1,null]'),
        ({"b": "ä", "a": True}, '{"b":"ä","a":true}'),
        ({"n": [5.0, 1e22, "5.0"]}, '{"n":[5,1e22,"5.0"]}'),
    ],
)
def test_a_value_has_one_text(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_a_regular_expression_survives_half_a_surrogate_pair() -> None:
    assert matches(leaf("regex", "^a.b$"), {"p": "a\ud800b"})
    assert not matches(leaf("regex", "\ud800c"), {"p": "a\ud800b"})


@pytest.mark.parametrize("count", [1, 2, 3])
def test_groups_combine_their_tests(count: int) -> None:
    yes, no = [always] * count, [never] * count

    assert all_of(yes)({}, MOMENT)
    assert not all_of([*yes[1:], never])({}, MOMENT)
    assert any_of([*no[1:], always])({}, MOMENT)
    assert not any_of(no)({}, MOMENT)
    assert inverted(never)({}, MOMENT)
