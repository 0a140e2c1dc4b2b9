"""The stored values that must be read before an evaluation."""

from typing import Any

import pytest

from fanion.flags.engine.conditions import CohortDefinition
from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import NOTHING, Needs, find_needs
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject
from fanion.properties.filters import parse_tree

PLAN = {"type": "person", "key": "plan", "value": "pro"}
ADULT = {"type": "person", "key": "age", "value": 18, "operator": "gt"}
TYPES = {0: "organization", 3: "project"}
COHORTS = [
    CohortDefinition(1, parse_tree([PLAN, ADULT])),
    CohortDefinition(2, is_static=True),
    CohortDefinition(3, parse_tree([PLAN]), deleted=True),
]


def build(*filters: dict[str, Any], **fields: Any) -> FlagSet:
    rows = [FlagRow(index, f"f{index}", each, **fields) for index, each in enumerate(filters)]
    return build_flag_set(map(compile_flag, rows), TYPES, COHORTS)


def with_properties(*properties: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"groups": [{"properties": list(properties), "rollout_percentage": 50}], **fields}


def cohort(number: int) -> dict[str, Any]:
    return {"type": "cohort", "key": "id", "value": number}


@pytest.mark.parametrize(
    "filters",
    [
        {"groups": [{"rollout_percentage": 50}]},
        with_properties({"type": "person", "key": "distinct_id", "value": "x"}),
        with_properties(cohort(3)),
        with_properties(cohort(99)),
        with_properties(PLAN, aggregation_group_type_index=1),
    ],
)
def test_flags_that_look_at_the_request_alone_need_nothing(filters: dict[str, Any]) -> None:
    missing = find_needs(build(filters), Subject("u", groups={"project": "p"}))

    assert missing is NOTHING
    assert missing.nothing


def test_the_person_is_read_unless_every_property_is_sent() -> None:
    flags = build(with_properties(PLAN), with_properties(ADULT))

    assert find_needs(flags, Subject("u")) == Needs(person=True)
    assert find_needs(flags, Subject("u", sent={"plan": 1})) == Needs(person=True)
    assert find_needs(flags, Subject("u", sent={"plan": 1, "age": None})).nothing
    assert find_needs(flags, Subject("u", sent={"plan": 1}, geoip={"age": 1})).nothing


def test_properties_of_dynamic_cohorts_and_early_access_count() -> None:
    early = {"groups": [{}], "super_groups": [{"properties": [PLAN]}]}

    assert find_needs(build(with_properties(cohort(1))), Subject("u", sent={"plan": 1})).person
    assert find_needs(build(early), Subject("u")).person
    assert find_needs(build(early), Subject("u", sent={"plan": 1})).nothing


def test_members_of_static_cohorts_are_read() -> None:
    assert find_needs(build(with_properties(cohort(2))), Subject("u")) == Needs(
        cohorts=frozenset({2})
    )


def test_groups_of_the_request_are_read_unless_their_properties_are_sent() -> None:
    flags = build(
        with_properties(PLAN, aggregation_group_type_index=0),
        with_properties(ADULT, aggregation_group_type_index=3),
        {"groups": [{}], "aggregation_group_type_index": 3},
    )
    groups = {"organization": "o", "project": "p", "unknown": "x"}

    every = find_needs(flags, Subject("u", groups=groups))
    partly = find_needs(
        flags, Subject("u", groups=groups, group_properties={"project": {"age": 1}})
    )

    assert every == Needs(groups=frozenset({(0, "o"), (3, "p")}))
    assert partly == Needs(groups=frozenset({(0, "o")}))
    assert find_needs(flags, Subject("u")).nothing
    assert find_needs(flags, Subject("u", groups={"unknown": "x"})).nothing


def test_the_key_of_a_group_is_known() -> None:
    key = {"type": "group", "key": "$group_key", "value": "o", "group_type_index": 0}
    flags = build(with_properties(key, aggregation_group_type_index=0))

    assert find_needs(flags, Subject("u", groups={"organization": "o"})).nothing


def test_stored_identities_are_read_where_a_hash_decides() -> None:
    flags = build(with_properties(), {"groups": [{}]}, ensure_experience_continuity=True)

    assert find_needs(flags, Subject("u")) == Needs(continuity=frozenset({"f0"}))
    assert flags.continuity == {"f0", "f1"}


def test_groups_keep_no_identities() -> None:
    flags = build(
        with_properties(aggregation_group_type_index=0), ensure_experience_continuity=True
    )

    assert find_needs(flags, Subject("u", groups={"organization": "o"})).nothing
    assert flags.continuity == set()


def test_only_the_flags_asked_for_count() -> None:
    flags = build(with_properties(PLAN), with_properties(cohort(2)), {"groups": [{}]})

    assert find_needs(flags, Subject("u"), ["f1"]) == Needs(cohorts=frozenset({2}))
    assert find_needs(flags, Subject("u"), ["f2", "unknown"]).nothing
    assert find_needs(flags, Subject("u"), ["f0", "f1"]) == Needs(True, frozenset({2}))


def test_flags_that_are_off_or_broken_need_nothing() -> None:
    rows = [
        FlagRow(1, "off", with_properties(PLAN), active=False),
        FlagRow(2, "gone", with_properties(PLAN), deleted=True),
        FlagRow(3, "broken", {"groups": [{"properties": [PLAN], "rollout_percentage": "x"}]}),
    ]

    assert find_needs(build_flag_set(map(compile_flag, rows), TYPES, COHORTS), Subject("u")).nothing
