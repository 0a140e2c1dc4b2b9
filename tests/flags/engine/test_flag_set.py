"""Flags of one project share conditions in memory only if they are really the same."""

from datetime import UTC, datetime
from typing import Any

from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject

NOW = datetime(2026, 6, 1, tzinfo=UTC)
VALUES: dict[str, Any] = {"one": 1, "float": 1.0, "true": True, "text": "1", "list": ["1", "x"]}


def flags_on_plan(values: dict[str, Any], **leaf: Any) -> FlagSet:
    rows = [
        FlagRow(number, key, {"groups": [{"properties": [{"key": "plan", "value": value} | leaf]}]})
        for number, (key, value) in enumerate(values.items())
    ]
    return build_flag_set(map(compile_flag, rows), {})


def test_conditions_that_python_calls_equal_are_distinguished() -> None:
    flags = flags_on_plan(VALUES)

    def on(plan: Any) -> set[str]:
        answer = evaluate(flags, Subject("u", sent={"plan": plan}), NOW)
        return {key for key, decision in answer.decisions.items() if decision.enabled}

    assert on(True) == {"true"}
    assert on("1") == on(1.0) == {"one", "float", "text", "list"}


def test_equal_conditions_of_opposite_sense_are_distinguished() -> None:
    leaf = {"key": "plan", "value": "pro"}
    rows = [
        FlagRow(1, "pro", {"groups": [{"properties": [leaf]}]}),
        FlagRow(2, "others", {"groups": [{"properties": [leaf | {"negation": True}]}]}),
    ]
    flags = build_flag_set(map(compile_flag, rows), {})

    answer = evaluate(flags, Subject("u", sent={"plan": "pro"}), NOW)

    assert {key: plan_decision.enabled for key, plan_decision in answer.decisions.items()} == {
        "pro": True,
        "others": False,
    }


def test_flags_that_look_at_the_same_properties_share_what_says_so() -> None:
    flags = flags_on_plan(VALUES)

    assert len({id(entry.reads) for entry in flags.by_key.values()}) == 1
