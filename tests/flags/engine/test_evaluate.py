"""Evaluation of flags by the table of cases, and of flags that have no answer."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple

from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Decision, DecisionReason, Subject
from fanion.flags.evaluation.responses import reason_description

CASES: dict[str, Any] = json.loads((Path(__file__).parents[2] / "cases" / "flags.json").read_text())
NOW = datetime.fromisoformat(CASES["now"])
ROW_FIELDS = ("rollout_percentage", "ensure_experience_continuity")
SUBJECT_FIELDS = (
    "distinct_id", "sent", "geoip", "stored", "groups", "group_properties", "stored_groups",
    "hash_keys",
)  # fmt: skip
EVERYONE: dict[str, Any] = {"groups": [{}]}
PLAN = {"key": "plan", "type": "person", "value": "pro"}


def flag_set(*rows: FlagRow, group_types: dict[int, str] | None = None) -> FlagSet:
    return build_flag_set(map(compile_flag, rows), group_types or {})


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["about"])
def test_a_flag_answers_as_the_table_says(case: dict[str, Any]) -> None:
    more = {name: case[name] for name in ROW_FIELDS if name in case}
    types = {int(index): name for index, name in case.get("group_types", {}).items()}
    flags = flag_set(FlagRow(1, case["key"], case["filters"], **more), group_types=types)

    for ask in case["asks"]:
        subject = Subject(**{name: ask[name] for name in SUBJECT_FIELDS if name in ask})
        answer = evaluate(flags, subject, NOW)
        decision = answer.decisions[case["key"]]

        assert (decision.value, decision.reason, decision.condition_index) == (
            ask["value"],
            ask["reason"],
            ask["condition_index"],
        )
        assert decision.payload == ask.get("payload", decision.payload)
        assert not answer.failed


def test_flags_that_are_off_or_deleted_do_not_appear() -> None:
    flags = flag_set(
        FlagRow(1, "on", EVERYONE),
        FlagRow(2, "off", EVERYONE, active=False),
        FlagRow(3, "gone", EVERYONE, deleted=True),
        FlagRow(4, "off-and-broken", {"groups": 5}, active=False),
    )

    answer = evaluate(flags, Subject("u"), NOW)

    assert set(answer.decisions) == {"on"}
    assert not answer.failed


def test_flags_that_are_off_can_be_reported_as_disabled() -> None:
    flags = flag_set(
        FlagRow(1, "on", EVERYONE),
        FlagRow(2, "off", EVERYONE, active=False),
        FlagRow(3, "gone", EVERYONE, deleted=True),
    )

    every = evaluate(flags, Subject("u"), NOW, with_inactive=True)
    chosen = evaluate(flags, Subject("u"), NOW, ["off", "gone"], with_inactive=True)

    assert astuple(every.decisions["off"]) == ("off", False, DecisionReason.DISABLED, None, None)
    assert set(every.decisions) == {"on", "off"}
    assert set(chosen.decisions) == {"off"}


@pytest.mark.parametrize(
    ("filters", "problem"),
    [
        ({"groups": {}}, "groups must be a list"),
        ({"groups": ["x"]}, "a group must be an object"),
        ({"groups": [{"properties": {}}]}, "properties must be a list"),
        ({"groups": [{"rollout_percentage": "50"}]}, "rollout_percentage must be a number"),
        ({"groups": [{"rollout_percentage": True}]}, "rollout_percentage must be a number"),
        ({"groups": [], "multivariate": []}, "multivariate must be an object"),
        ({"groups": [], "multivariate": {"variants": {}}}, "variants must be a list"),
        ({"groups": [], "multivariate": {"variants": [{"key": 1}]}}, "must have a text key"),
        ({"groups": [], "multivariate": {"variants": [{"key": "a"}]}}, "must be a number"),
        ({"groups": [], "aggregation_group_type_index": 5}, "must be 0 to 4, not 5"),
        ({"groups": [], "aggregation_group_type_index": "0"}, "must be 0 to 4, not '0'"),
        ({"groups": [], "super_groups": {}}, "super_groups must be a list"),
        ({"groups": [{"properties": [{"type": "behavioral"}]}]}, "conditions on events can only"),
        ({"groups": [{"properties": [{"type": "hogql", "key": "1"}]}]}, "cannot have the type"),
        (
            {"aggregation_group_type_index": 0,
             "groups": [{"properties": [{"type": "cohort", "key": "id", "value": 1}]}]},
            "cohort conditions cannot be used in a group-based flag",
        ),
        ([], "filters must be an object"),
    ],
)  # fmt: skip
def test_a_broken_flag_is_left_out_and_the_others_are_served(filters: Any, problem: str) -> None:
    flags = flag_set(FlagRow(1, "broken", filters), FlagRow(2, "fine", EVERYONE))

    answer = evaluate(flags, Subject("u"), NOW)

    assert set(answer.decisions) == {"fine"}
    assert answer.failed == {"broken"}
    assert problem in flags.problems["broken"]


def test_only_the_flags_asked_for_are_decided() -> None:
    flags = flag_set(
        FlagRow(1, "a", EVERYONE), FlagRow(2, "b", EVERYONE), FlagRow(3, "broken", {"groups": 5})
    )

    some = evaluate(flags, Subject("u"), NOW, ["b", "unknown"])
    broken = evaluate(flags, Subject("u"), NOW, ["broken"])

    assert set(some.decisions) == {"b"}
    assert not some.failed
    assert broken.failed == {"broken"}
    assert evaluate(flags, Subject("u"), NOW, []).decisions == {}


def test_answers_come_in_the_order_of_the_flags() -> None:
    rows = [FlagRow(index, key, EVERYONE) for index, key in enumerate("zebra")]

    assert list(evaluate(flag_set(*rows), Subject("u"), NOW).decisions) == list("zebra")


def test_null_lists_are_empty() -> None:
    filters = {
        "groups": None,
        "multivariate": None,
        "payloads": None,
        "super_groups": None,
        "holdout_groups": None,
        "aggregation_group_type_index": None,
    }

    answer = evaluate(flag_set(FlagRow(1, "f", filters)), Subject("u"), NOW)

    expected = ("f", False, DecisionReason.NO_CONDITION_MATCH, 0, None)
    assert astuple(answer.decisions["f"]) == expected


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (Decision("f", True, DecisionReason.CONDITION_MATCH, 0), "Matched condition set 1"),
        (Decision("f", "a", DecisionReason.CONDITION_MATCH, 4), "Matched condition set 5"),
        (Decision("f", False, DecisionReason.NO_CONDITION_MATCH, 0), "No matching condition set"),
        (Decision("f", False, DecisionReason.OUT_OF_ROLLOUT_BOUND, 0), "Out of rollout bound"),
        (Decision("f", False, DecisionReason.NO_GROUP_TYPE), "No group type"),
        (Decision("f", True, DecisionReason.SUPER_CONDITION_VALUE, 0), "Super condition value"),
        (Decision("f", "x", DecisionReason.HOLDOUT_CONDITION_VALUE, 0), "Holdout condition value"),
    ],
)
def test_a_reason_has_words(decision: Decision, words: str) -> None:
    assert reason_description(decision) == words


def test_a_decision_knows_its_variant() -> None:
    assert Decision("f", "blue", DecisionReason.CONDITION_MATCH, 0).variant == "blue"
    assert Decision("f", "blue", DecisionReason.CONDITION_MATCH, 0).enabled
    assert Decision("f", True, DecisionReason.CONDITION_MATCH, 0).variant is None
    assert not Decision("f", False, DecisionReason.NO_GROUP_TYPE).enabled


class TestAStoreOutOfReach:
    """Flags that need an unreachable store are left out; the others are answered."""

    flags = flag_set(
        FlagRow(1, "everyone", EVERYONE),
        FlagRow(2, "by-plan", {"groups": [{"properties": [PLAN]}]}),
        FlagRow(3, "early", {**EVERYONE, "super_groups": [{"properties": [PLAN]}]}),
        FlagRow(
            4,
            "by-group",
            {"aggregation_group_type_index": 0, "groups": [{"properties": [PLAN]}]},
        ),
        FlagRow(5, "all-groups", {"aggregation_group_type_index": 0, **EVERYONE}),
        FlagRow(
            6,
            "kept",
            {"groups": [{"rollout_percentage": 50}]},
            ensure_experience_continuity=True,
        ),
        FlagRow(7, "kept-for-all", EVERYONE, ensure_experience_continuity=True),
        group_types={0: "organization"},
    )
    groups = {"organization": "o"}  # noqa: RUF012  never changed

    def failed(self, **fields: Any) -> frozenset[str]:
        subject = Subject(**{"distinct_id": "u", "groups": self.groups, **fields})
        answer = evaluate(self.flags, subject, NOW)

        assert answer.failed | answer.decisions.keys() == self.flags.flags.keys()
        assert not answer.failed & answer.decisions.keys()
        return answer.failed

    def test_nothing_fails_when_everything_was_read(self) -> None:
        assert self.failed() == set()

    def test_persons(self) -> None:
        assert self.failed(stored=None) == {"by-plan", "early"}

    def test_persons_do_not_matter_to_whom_sends_the_properties(self) -> None:
        assert self.failed(stored=None, sent={"plan": "free"}) == set()
        assert self.failed(stored=None, geoip={"plan": "free"}) == set()

    def test_groups(self) -> None:
        assert self.failed(stored_groups=None) == {"by-group"}

    def test_groups_do_not_matter_to_whom_sends_the_properties(self) -> None:
        sent = {"organization": {"plan": None}}

        assert self.failed(stored_groups=None, group_properties=sent) == set()
        assert self.failed(stored_groups=None, groups={}) == set()

    def test_stored_identities(self) -> None:
        assert self.failed(hash_keys=None) == {"kept"}
