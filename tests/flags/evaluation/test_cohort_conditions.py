"""Flags with conditions on cohorts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fanion.flags.engine.conditions import COHORT_DEPTH_MAX, CohortDefinition
from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate, find_needs
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject
from fanion.properties.filters import parse_tree

NOW = datetime(2022, 5, 1, tzinfo=UTC)
PRO = {"type": "person", "key": "plan", "value": "pro"}
ADULT = {"type": "person", "key": "age", "value": 18, "operator": "gte"}
PAID = {"type": "behavioral", "key": "paid", "event_type": "events", "value": "performed_event"}


def cohort(number: int, kind: str = "AND", *values: Any, **fields: Any) -> CohortDefinition:
    return CohortDefinition(number, parse_tree({"type": kind, "values": list(values)}), **fields)


def inside(number: int, **fields: Any) -> dict[str, Any]:
    return {"type": "cohort", "key": "id", "value": number, **fields}


def flags_on(condition: dict[str, Any], *cohorts: CohortDefinition) -> FlagSet:
    row = FlagRow(1, "flag", {"groups": [{"properties": [condition]}]})
    return build_flag_set([compile_flag(row)], {}, cohorts)


def value(flags: FlagSet, **fields: Any) -> bool | str | None:
    """Return the flag's value; None if it is left out with the error marker."""
    answer = evaluate(flags, Subject("u", **fields), NOW)
    assert answer.failed == (set() if answer.decisions else {"flag"})
    return answer.decisions["flag"].value if answer.decisions else None


def test_a_dynamic_cohort_is_evaluated_live_from_stored_and_sent_properties() -> None:
    flags = flags_on(inside(1), cohort(1, "AND", PRO, ADULT))

    assert value(flags, stored={"plan": "pro", "age": 20}) is True
    assert value(flags, stored={"plan": "pro"}, sent={"age": 20}) is True
    assert value(flags, sent={"plan": "pro", "age": 20}) is True
    assert value(flags, stored={"plan": "pro", "age": 17}) is False
    assert value(flags, stored={"plan": "free"}, cohorts=frozenset({1})) is False


def test_or_and_and_groups_combine_as_defined() -> None:
    groups = [{"type": "AND", "values": [PRO, ADULT]}, {"type": "OR", "values": [
        {"type": "person", "key": "staff", "value": True}]}]  # fmt: skip
    flags = flags_on(inside(1), cohort(1, "OR", *groups))

    assert value(flags, sent={"plan": "pro", "age": 20}) is True
    assert value(flags, sent={"staff": "true"}) is True
    assert value(flags, sent={"plan": "pro"}) is False


def test_a_property_named_id_has_nothing_to_do_with_the_cohort() -> None:
    flags = flags_on(inside(1), cohort(1, "AND", PRO))

    assert value(flags, sent={"plan": "pro", "id": 7}) is True
    assert value(flags, sent={"id": 1}) is False


@pytest.mark.parametrize("cohort_id", [1, "1"])
def test_a_static_cohort_is_a_lookup(cohort_id: Any) -> None:
    flags = flags_on(inside(cohort_id), CohortDefinition(1, is_static=True))

    assert value(flags, cohorts=frozenset({1, 5})) is True
    assert value(flags, cohorts=frozenset({5})) is False
    assert value(flags) is False


def test_a_cohort_on_events_is_answered_from_its_stored_members() -> None:
    flags = flags_on(inside(1), cohort(1, "AND", PRO, PAID))

    assert value(flags, cohorts=frozenset({1})) is True
    assert value(flags, sent={"plan": "pro"}) is False
    assert find_needs(flags, Subject("u")).cohorts == {1}
    assert not find_needs(flags, Subject("u")).person


def test_a_cohort_on_events_inside_makes_the_outer_one_stored() -> None:
    flags = flags_on(
        inside(1), cohort(1, "OR", PRO, inside(2)), cohort(2, "AND", inside(3)),
        cohort(3, "AND", PAID),
    )  # fmt: skip

    assert value(flags, cohorts=frozenset({1})) is True
    assert value(flags, sent={"plan": "pro"}, cohorts=frozenset({2, 3})) is False
    assert find_needs(flags, Subject("u")).cohorts == {1}


def test_a_nested_cohort_is_followed_and_may_be_negated() -> None:
    flags = flags_on(
        inside(1), cohort(1, "AND", ADULT, inside(2, negation=True)), cohort(2, "AND", PRO)
    )

    assert value(flags, sent={"age": 20}) is True
    assert value(flags, sent={"age": 20, "plan": "pro"}) is False
    assert value(flags, sent={"age": 2}) is False
    assert find_needs(flags, Subject("u", sent={"age": 1})).person


def test_a_nested_static_cohort_is_a_lookup_too() -> None:
    flags = flags_on(
        inside(1), cohort(1, "OR", PRO, inside(2)), CohortDefinition(2, is_static=True)
    )

    assert value(flags, cohorts=frozenset({2})) is True
    assert value(flags, sent={"plan": "pro"}) is True
    assert value(flags) is False
    assert find_needs(flags, Subject("u")).cohorts == {2}


@pytest.mark.parametrize("condition", [inside(1, operator="not_in"), inside(1, negation=True)])
def test_a_condition_may_ask_for_those_outside(condition: dict[str, Any]) -> None:
    flags = flags_on(condition, CohortDefinition(1, is_static=True))

    assert value(flags) is True
    assert value(flags, cohorts=frozenset({1})) is False


def test_the_operator_in_changes_nothing() -> None:
    flags = flags_on(inside(1, operator="in"), cohort(1, "AND", PRO))

    assert value(flags, sent={"plan": "pro"}) is True


def test_a_negated_property_is_inverted() -> None:
    flags = flags_on(inside(1), cohort(1, "AND", ADULT, {**PRO, "negation": True}))

    assert value(flags, sent={"age": 20}) is True
    assert value(flags, sent={"age": 20, "plan": "pro"}) is False


@pytest.mark.parametrize("negation", [False, True])
@pytest.mark.parametrize("cohorts", [[], [cohort(1, "AND", PRO, deleted=True)]])
def test_a_deleted_or_unknown_cohort_matches_no_person(
    negation: bool, cohorts: list[CohortDefinition]
) -> None:
    flags = flags_on(inside(1, negation=negation), *cohorts)

    assert value(flags, sent={"plan": "pro"}, cohorts=frozenset({1})) is False


def test_the_other_branches_of_an_or_outlive_an_unknown_cohort() -> None:
    flags = flags_on(inside(1), cohort(1, "OR", inside(99), PRO))

    assert value(flags, sent={"plan": "pro"}) is True


def test_a_cohort_without_criteria_has_no_members() -> None:
    flags = flags_on(inside(1), CohortDefinition(1, parse_tree({})))

    assert value(flags, sent={"plan": "pro"}) is False


def test_a_flag_on_an_unreadable_cohort_is_left_out() -> None:
    flags = flags_on(inside(1), CohortDefinition(1, problem="a group must have values"))

    assert value(flags) is None
    assert flags.problems["flag"] == "cohort 1: a group must have values"


def test_a_flag_on_cohorts_that_contain_each_other_is_left_out() -> None:
    flags = flags_on(inside(1), cohort(1, "OR", PRO, inside(2)), cohort(2, "OR", inside(1)))

    assert value(flags, sent={"plan": "pro"}) is None


def test_two_paths_to_one_cohort_are_no_loop() -> None:
    flags = flags_on(
        inside(1), cohort(1, "AND", inside(2), inside(3)), cohort(2, "AND", inside(4)),
        cohort(3, "AND", inside(4)), cohort(4, "AND", PRO),
    )  # fmt: skip

    assert value(flags, sent={"plan": "pro"}) is True


def test_a_chain_of_cohorts_is_followed_only_so_far() -> None:
    chain = [cohort(index, "AND", inside(index + 1)) for index in range(1, 3000)]
    flags = flags_on(inside(1), *chain, cohort(3000, "AND", PRO))
    last = flags_on(inside(3000 - COHORT_DEPTH_MAX + 1), *chain, cohort(3000, "AND", PRO))

    assert value(flags, sent={"plan": "pro"}) is None
    assert value(last, sent={"plan": "pro"}) is True


def test_flags_on_stored_members_are_left_out_when_these_cannot_be_read() -> None:
    flags = flags_on(inside(1), cohort(1, "OR", PRO, inside(2)), cohort(2, "AND", PAID))

    assert value(flags, cohorts=None) is None
    assert value(flags_on(inside(1), cohort(1, "AND", PRO)), cohorts=None) is False


def test_a_cohort_cannot_depend_on_a_flag() -> None:
    leaf = {"type": "flag", "key": "1", "operator": "flag_evaluates_to", "value": True}

    assert value(flags_on(inside(1), cohort(1, "AND", leaf))) is None
