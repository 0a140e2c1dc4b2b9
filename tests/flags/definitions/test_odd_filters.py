"""Filters that are accepted can be evaluated, whatever they contain."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.flags.definitions.validation.filters import check_filters
from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import build_flag_set
from fanion.flags.engine.model import Subject
from tests.support.odd_values import all_odd_values

NOW = datetime(2024, 5, 1, tzinfo=UTC)
PLAN = {"key": "plan", "type": "person", "value": "pro", "operator": "exact"}
BASE = {"type": "flag", "key": "1", "operator": "flag_evaluates_to", "value": True}
BY_PERSON: dict[str, Any] = {
    "groups": [
        {
            "properties": [
                PLAN,
                {**PLAN, "operator": "gt", "value": "5"},
                {**PLAN, "operator": "is_date_before", "value": "-3d"},
                {**PLAN, "operator": "regex", "value": "p.*", "negation": False},
                {"key": "id", "type": "cohort", "value": 1},
                BASE,
            ],
            "rollout_percentage": 50,
            "variant": "a",
        }
    ],
    "multivariate": {"variants": [{"key": "a", "name": "A", "rollout_percentage": 100}]},
    "payloads": {"a": "1"},
    "super_groups": [{"properties": [PLAN, BASE], "rollout_percentage": 100}],
    "holdout_groups": [{"properties": [], "rollout_percentage": 5, "variant": "h"}],
    "aggregation_group_type_index": None,
}
BY_GROUP: dict[str, Any] = {
    "groups": [
        {
            "properties": [
                {**PLAN, "key": "$group_key", "type": "group", "group_type_index": 0},
            ]
        }
    ],
    "super_groups": [{"properties": [{**PLAN, "type": "group", "group_type_index": 0}]}],
    "aggregation_group_type_index": 0,
}
SUBJECTS = [
    Subject("u", sent={"plan": "pro"}, groups={"org": "a"}, cohorts=frozenset()),
    Subject("v", sent={"plan": 5}, cohorts=frozenset({1})),
]


@pytest.mark.parametrize("filters", [BY_PERSON, BY_GROUP], ids=["person", "group"])
def test_what_is_accepted_is_computed(filters: dict[str, Any]) -> None:
    accepted = 0
    for odd in all_odd_values(filters):
        if not isinstance(odd, dict):
            continue
        try:
            check_filters(odd, creating=True)
        except Invalid as refusal:
            assert refusal.attr is None or refusal.attr.startswith("filters"), refusal
            continue
        accepted += 1
        names_base = {str(name) for name in _named(odd)} <= {"1"}
        rows = [FlagRow(1, "base", {"groups": [{}]}), FlagRow(2, "odd", odd)]
        flags = build_flag_set(map(compile_flag, rows), {0: "org"})
        for subject in SUBJECTS:
            failed = evaluate(flags, subject, NOW).failed
            # The store checks whether the other flags exist.
            assert not failed or not names_base, (odd, flags.problems)
    assert accepted > 50


def _named(filters: dict[str, Any]) -> list[str]:
    rules = compile_flag(FlagRow(2, "odd", filters)).rules
    assert rules is not None, filters
    return rules.flags_named()
