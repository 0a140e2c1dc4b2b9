"""Parsing stored filters into the tree."""

from typing import Any

import pytest

from fanion.properties.filters import (
    GROUP_DEPTH_MAX,
    Behavioral,
    ConditionGroup,
    FlagIs,
    InCohort,
    Property,
    leaves,
    parse_leaf,
    parse_leaves,
    parse_tree,
)

PLAN = {"type": "person", "key": "plan", "value": "pro", "operator": "exact"}


def test_a_property_keeps_what_was_stored() -> None:
    raw = {"key": "seats", "type": "group", "value": [1, 2], "operator": "gt",
           "group_type_index": 3, "negation": True}  # fmt: skip

    assert parse_leaf(raw) == Property("seats", (1, 2), "gt", "group", 3, True)


def test_a_property_is_exact_and_of_an_event_unless_it_says_otherwise() -> None:
    assert parse_leaf({"key": "plan", "operator": None}) == Property("plan", None, "exact", "event")


@pytest.mark.parametrize("kind", ["cohort", "static-cohort", "precalculated-cohort"])
@pytest.mark.parametrize("value", [12, "12"])
def test_a_cohort_is_named_by_number_or_digits(kind: str, value: object) -> None:
    assert parse_leaf({"type": kind, "key": "id", "value": value}) == InCohort(12)


@pytest.mark.parametrize(
    ("operator", "negation", "outside"),
    [
        ("in", False, False),
        ("exact", True, True),
        ("not_in", False, True),
        ("not_in", True, False),
    ],
)
def test_not_in_a_cohort_is_its_negation(operator: str, negation: bool, outside: bool) -> None:
    raw = {"type": "cohort", "value": 1, "operator": operator, "negation": negation}

    assert parse_leaf(raw) == InCohort(1, outside)


def test_a_flag_is_named_by_id_or_key() -> None:
    raw = {"type": "flag", "key": 7, "operator": "flag_evaluates_to", "value": True}

    assert parse_leaf(raw) == FlagIs("7", True, "flag_evaluates_to")
    assert parse_leaf({**raw, "key": "beta"}) == FlagIs("beta", True, "flag_evaluates_to")


def test_a_tree_nests_groups_and_mixes_in_leaves() -> None:
    event = {"type": "behavioral", "key": "paid", "value": "performed_event", "negation": True}
    raw = {"type": "or", "values": [{"type": "AND", "values": [PLAN, event]}, PLAN]}
    plan = Property("plan", "pro", "exact", "person")

    tree = parse_tree(raw)

    assert tree == ConditionGroup(
        "OR", (ConditionGroup("AND", (plan, Behavioral(event, True))), plan)
    )
    assert list(leaves(tree)) == [plan, Behavioral(event, True), plan]


def test_a_bare_list_is_an_and_and_an_empty_object_matches_no_person() -> None:
    assert parse_tree([PLAN]) == ConditionGroup(
        "AND", (Property("plan", "pro", "exact", "person"),)
    )
    assert parse_tree({}) == ConditionGroup("OR", ())


def test_no_properties_are_no_leaves() -> None:
    assert parse_leaves(None) == parse_leaves([]) == ()


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("text", "a filter tree must be an object or a list"),
        ({"type": "XOR", "values": []}, "a group must be of type AND or OR, not 'XOR'"),
        ({"type": "AND"}, "a group must have a list of values"),
        ({"type": "AND", "values": ["x"]}, "a property must be an object"),
        ([{"type": "OR"}], "a group must have a list of values"),
        ([{**PLAN, "key": 5}], "a property must have a text key"),
        ([{**PLAN, "type": "hogql"}], "a property cannot have the type 'hogql'"),
        ([{**PLAN, "type": 5}], "a property cannot have the type 5"),
        ([{**PLAN, "operator": 5}], "operator must be text"),
        ([{**PLAN, "group_type_index": "0"}], "group_type_index must be a whole number"),
        ([{"type": "cohort", "value": "x"}], "a cohort id must be a number, not 'x'"),
        ([{"type": "cohort", "value": True}], "a cohort id must be a number, not True"),
        ([{"type": "flag", "key": None}], "a condition on a flag must name the flag"),
    ],
)
def test_unreadable_filters_say_what_is_wrong(raw: object, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_tree(raw)

    assert str(caught.value) == problem


def test_groups_nest_only_so_deep() -> None:
    tree: dict[str, Any] = {"type": "AND", "values": [PLAN]}
    for _ in range(GROUP_DEPTH_MAX):
        tree = {"type": "AND", "values": [tree]}

    with pytest.raises(ValueError, match="nested deeper than 50"):
        parse_tree(tree)
    assert parse_tree(tree["values"][0]) is not None


@pytest.mark.parametrize("raw", [{}, "x", 5])
def test_a_condition_has_a_list_of_properties(raw: object) -> None:
    with pytest.raises(ValueError, match="properties must be a list"):
        parse_leaves(raw)
