"""Flags with conditions on other flags."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate, find_needs
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject

NOW = datetime(2022, 5, 1, tzinfo=UTC)
PRO = {"type": "person", "key": "plan", "value": "pro"}
EVERYONE: dict[str, Any] = {"groups": [{}]}
UNKNOWN: dict[str, Any] = {"groups": []}
BLUE = {**EVERYONE, "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]}}


def after(name: object, value: object = True, **fields: Any) -> dict[str, Any]:
    leaf = {"type": "flag", "key": name, "operator": "flag_evaluates_to", "value": value, **fields}
    return {"groups": [{"properties": [leaf]}]}


def build(**filters: Any) -> FlagSet:
    """Compile flags by key; ids count up from 1 in the given order."""
    rows = [FlagRow(index + 1, key, each) for index, (key, each) in enumerate(filters.items())]
    return build_flag_set(map(compile_flag, rows), {})


@pytest.mark.parametrize(
    ("base", "expected", "answer"),
    [
        (EVERYONE, True, True),
        (EVERYONE, False, False),
        (UNKNOWN, False, True),
        (UNKNOWN, True, False),
        (BLUE, True, True),
        (BLUE, False, False),
        (BLUE, "blue", True),
        (BLUE, "Blue", False),
        (EVERYONE, "blue", False),
        (EVERYONE, None, False),
        (EVERYONE, 1, False),
    ],
)
@pytest.mark.parametrize("name", ["2", 2, "base"])
def test_a_flag_follows_another(base: Any, expected: Any, answer: bool, name: Any) -> None:
    flags = build(flag=after(name, expected), base=base)

    assert evaluate(flags, Subject("u"), NOW).decisions["flag"].value is answer
    assert evaluate(flags, Subject("u"), NOW, ["flag"]).decisions.keys() == {"flag"}
    assert evaluate(flags, Subject("u"), NOW, ["flag"]).decisions["flag"].value is answer


def test_a_chain_is_decided_from_its_end() -> None:
    flags = build(a=after("b"), b=after("c"), c=after("d"), d={"groups": [{"properties": [PRO]}]})

    for plan, answer in (("pro", True), ("free", False)):
        subject = Subject("u", sent={"plan": plan})

        assert evaluate(flags, subject, NOW).decisions["a"].value is answer
        assert evaluate(flags, subject, NOW, ["a"]).decisions["a"].value is answer
    assert find_needs(flags, Subject("u"), ["a"]).person


def test_a_long_chain_is_no_burden() -> None:
    chain = {f"f{index}": after(f"f{index + 1}") for index in range(2000)}

    flags = build(**chain, f2000=EVERYONE)

    assert evaluate(flags, Subject("u"), NOW, ["f0"]).decisions["f0"].value is True


def test_another_operator_never_matches() -> None:
    flags = build(flag=after("base", operator="exact"), base=EVERYONE)

    assert evaluate(flags, Subject("u"), NOW).decisions["flag"].value is False


def test_the_condition_may_be_negated() -> None:
    flags = build(flag=after("base", negation=True), base=UNKNOWN)

    assert evaluate(flags, Subject("u"), NOW).decisions["flag"].value is True


def test_a_flag_that_is_switched_off_is_false() -> None:
    rows = [
        FlagRow(1, "needs-on", after("3", True)),
        FlagRow(2, "needs-off", after("3", False)),
        FlagRow(3, "base", EVERYONE, active=False),
    ]
    flags = build_flag_set(map(compile_flag, rows), {})

    answer = evaluate(flags, Subject("u"), NOW)

    assert {key: each.value for key, each in answer.decisions.items()} == {
        "needs-on": False,
        "needs-off": True,
    }


@pytest.mark.parametrize("base", [{"groups": 5}, after("unknown"), after("flag")])
def test_a_flag_is_left_out_with_what_it_depends_on(base: Any) -> None:
    flags = build(flag=after("base"), base=base, other=EVERYONE, outer=after("flag"))

    answer = evaluate(flags, Subject("u"), NOW)

    assert answer.decisions.keys() == {"other"}
    assert answer.failed == {"flag", "base", "outer"}


def test_a_flag_that_depends_on_itself_is_left_out() -> None:
    flags = build(flag=after("flag"), other=EVERYONE)

    assert evaluate(flags, Subject("u"), NOW).failed == {"flag"}
    assert flags.problems["flag"] == "depends on itself, or on a flag that does"


def test_a_deleted_flag_cannot_be_depended_on() -> None:
    rows = [FlagRow(1, "flag", after("2")), FlagRow(2, "base", EVERYONE, deleted=True)]
    flags = build_flag_set(map(compile_flag, rows), {})

    assert evaluate(flags, Subject("u"), NOW).failed == {"flag"}


def test_a_store_out_of_reach_reaches_those_behind() -> None:
    flags = build(flag=after("base"), base={"groups": [{"properties": [PRO]}]}, other=EVERYONE)

    answer = evaluate(flags, Subject("u", stored=None), NOW)
    evaluation = evaluate(flags, Subject("u", stored=None), NOW, ["flag"])

    assert answer.failed == {"flag", "base"}
    assert evaluation.failed == {"flag"}
    assert evaluation.decisions == {}
