"""Names, operators and values that mean nothing are refused in conditions of lists and insights."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.properties.condition_sql import OPERATORS
from fanion.properties.operators import QUERY_COMPARISONS
from fanion.properties.validation import check_comparison, check_index, check_names

RIGHT: dict[str, list[Any]] = {
    "exact": ["a", 1, 1.5, True, ["a", 1]],
    "icontains": ["a", 1],
    "icontains_multi": [["a", "b"]],
    "regex": ["^a+$"],
    "gt": [5, "5", " 5.5 ", -1],
    "between": [[1, 5], ["1", "5"]],
    "is_set": [None, "x", []],
    "is_date_before": ["2024-01-01", "-7d"],
}
WRONG: dict[str, list[Any]] = {
    "exact": [None, [], {}, ["a", None]],
    "icontains": [None, ["a"], {}],
    "icontains_multi": ["a", [1], None],
    "regex": ["(", "(?=a)", 5, None],
    "gt": ["many", True, None, [5], "inf"],
    "between": [[5, 1], [1], "1", None],
    "is_date_before": ["soon", None, []],
}


@pytest.mark.parametrize(("operator", "value"), [(o, v) for o, vs in RIGHT.items() for v in vs])
def test_a_value_that_can_be_compared_passes(operator: str, value: Any) -> None:
    check_comparison({"key": "a", "operator": operator, "value": value}, "at")


@pytest.mark.parametrize(("operator", "value"), [(o, v) for o, vs in WRONG.items() for v in vs])
def test_a_value_that_cannot_be_compared_is_refused(operator: str, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        check_comparison({"key": "a", "operator": operator, "value": value}, "properties__0")

    assert (refused.value.code, refused.value.attr) == ("invalid_value", "properties__0__value")
    assert f"Invalid value for operator {operator}: " in refused.value.detail


@pytest.mark.parametrize("operator", ["less", "in", "", ["gt"], 5, "semver_gtt"])
def test_an_operator_that_is_none_is_refused(operator: Any) -> None:
    leaf = {"key": "a", "operator": operator, "value": "1"}
    if operator == "":  # counts as absent
        check_comparison(leaf, "at")
        return

    with pytest.raises(Invalid) as refused:
        check_comparison(leaf, "properties__0")

    assert (refused.value.code, refused.value.attr) == (
        "invalid_operator",
        "properties__0__operator",
    )


def test_the_operators_are_those_that_are_calculated() -> None:
    assert QUERY_COMPARISONS.keys() == OPERATORS


def test_a_cohort_is_compared_by_membership() -> None:
    for operator in ("in", "not_in", "exact", None):
        check_comparison({"type": "cohort", "key": "id", "operator": operator, "value": 5}, "at")

    with pytest.raises(Invalid) as refused:
        check_comparison({"type": "cohort", "operator": "is_not", "value": 5}, "at")
    assert refused.value.attr == "at__operator"


@pytest.mark.parametrize("index", [5, -1, "0", True, 1.0, []])
def test_an_index_that_is_none_is_refused(index: Any) -> None:
    with pytest.raises(Invalid) as refused:
        check_index(index, "group_type_index")

    assert refused.value.attr == "group_type_index"
    assert refused.value.detail.endswith("It must be 0 to 4.")


def test_the_indexes_of_a_project_pass() -> None:
    for index in (None, 0, 1, 2, 3, 4):
        check_index(index, "group_type_index")


def test_names_of_a_condition_are_those_of_clients() -> None:
    check_names({"key": "a", "label": "A", "cohort_name": "c", "group_key_names": {}}, "at")

    with pytest.raises(Invalid) as refused:
        check_names({"key": "a", "operater": "gt"}, "properties__3")
    assert refused.value.attr == "properties__3__operater"
    assert refused.value.detail == 'Unknown field "operater". Did you mean "operator"?'
