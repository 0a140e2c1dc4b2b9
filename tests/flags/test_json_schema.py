"""The JSON Schema of filters agrees with what validation refuses."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from fanion.cohorts.criteria import json_schema as cohort_schema
from fanion.cohorts.criteria.definition import Criteria
from fanion.cohorts.criteria.older_groups import normal_groups
from fanion.cohorts.criteria.resolve import resolve
from fanion.errors import Invalid
from fanion.flags import json_schema as flag_schema
from fanion.flags.definitions.rollback_conditions import check_conditions
from fanion.flags.definitions.validation.filters import check_filters
from fanion.insights.kinds import json_schema as insight_schema
from fanion.properties.operators import OPERATORS
from tests.flags.definitions.test_validation import ABOVE, MISTAKES, WRONG_ROLLBACKS
from tests.support.examples import examples

Json = dict[str, Any]
COMPONENTS = {
    **flag_schema.flag_schemas(),
    **cohort_schema.cohort_schemas(),
    **insight_schema.insight_schemas(),
}


def validator(name: str) -> Draft202012Validator:
    reference = {"$ref": f"#/components/schemas/{name}"}
    return Draft202012Validator({**reference, "components": {"schemas": COMPONENTS}})


FILTERS, ROLLBACK = validator("FlagFilters"), validator("RollbackConditions")
CRITERIA = validator("CohortFilters")


@pytest.mark.parametrize("name", COMPONENTS)
def test_an_example_is_what_its_schema_describes(name: str) -> None:
    for example in COMPONENTS[name].get("examples", ()):
        validator(name).validate(example)


# ── Flags ────────────────────────────────────────────────────────────────────────────────

# Mistakes that no schema can express; its descriptions mention them.
BEYOND_FLAGS = {
    "a key twice",
    "a sum of 90",
    "a payload that is no JSON",
    "a payload that no client reads",
}


@pytest.mark.parametrize("filters", flag_schema.EXAMPLES["FlagFilters"])
def test_an_example_of_filters_is_accepted(filters: Json) -> None:
    check_filters(filters, creating=True)


@pytest.mark.parametrize("name", MISTAKES)
def test_the_schema_refuses_the_mistakes_that_validation_does(name: str) -> None:
    filters, _, _ = MISTAKES[name]

    assert FILTERS.is_valid(filters) is (name in BEYOND_FLAGS)


@pytest.mark.parametrize("name", WRONG_ROLLBACKS)
def test_the_schema_refuses_the_rollbacks_that_validation_does(name: str) -> None:
    conditions, _, _ = WRONG_ROLLBACKS[name]

    assert not ROLLBACK.is_valid(conditions)
    assert ROLLBACK.is_valid([ABOVE])


def test_another_spelling_of_an_insight_is_accepted_and_not_published() -> None:
    metric = {**ABOVE["threshold_metric"], "insight": "trends"}
    conditions = [{**ABOVE, "threshold_metric": metric}]

    check_conditions(conditions, None)
    assert not ROLLBACK.is_valid(conditions)


@pytest.mark.parametrize("conditions", flag_schema.EXAMPLES["RollbackConditions"])
def test_an_example_of_a_rollback_is_accepted(conditions: Any) -> None:
    check_conditions(conditions, None)


ABSENT = object()
OPERATOR_NAMES = sorted({name for names in OPERATORS.values() for name in names})
VALUES: list[Any] = [
    "pro", "", "5", "-7d", "2024-01-15", "true", "^a+$", "(", 5, 0, -1, 2.5, True, False, None,
    [], ["pro"], ["pro", 5, True], [1, 2], ["1", "2.5"], [2, 1], [1], [1, 2, 3], ["a", "b"],
    [None], {}, {"a": 1}, "x" * 200, ["x"] * 1001,
]  # fmt: skip
leaves = st.fixed_dictionaries(
    {
        "type": st.sampled_from([*OPERATORS, "event", "behavioral", "static-cohort", None, ABSENT]),
        "key": st.sampled_from(["plan", "id", "", 5, None, ABSENT]),
        "operator": st.sampled_from([*OPERATOR_NAMES, "less", "", "semver_gt", 5, None, ABSENT]),
        "value": st.sampled_from([*VALUES, ABSENT]),
        "negation": st.sampled_from([ABSENT, ABSENT, True, False, None, "yes", 1]),
        "group_type_index": st.sampled_from([ABSENT, ABSENT, 0, 0, 4, 5, None, "0"]),
    }
).map(lambda drawn: {name: value for name, value in drawn.items() if value is not ABSENT})
sets = st.fixed_dictionaries(
    {
        "properties": st.one_of(
            st.lists(leaves, max_size=2), st.sampled_from([ABSENT, None, {}, "x"])
        ),
        "rollout_percentage": st.sampled_from([ABSENT, None, 0, 33.3, 100, 101, -1, "50", True]),
        "variant": st.sampled_from([ABSENT, None, "", 5]),
    }
).map(lambda drawn: {name: value for name, value in drawn.items() if value is not ABSENT})
# Errors of a condition that only the descriptions of its schema mention.
IN_WORDS = re.compile(
    r"Invalid regular expression|Invalid date value|Invalid value for operator (not_)?between"
    r"|can only use group properties"
)


def refusal(filters: Json) -> Invalid | None:
    try:
        check_filters(filters, creating=False)
    except Invalid as problem:
        return problem
    return None


def require_agreement(filters: Json) -> None:
    problem = refusal(filters)
    if problem is None:
        FILTERS.validate(filters)
    elif not IN_WORDS.search(problem.detail):
        assert not FILTERS.is_valid(filters), problem.detail


@settings(max_examples=examples(500))
@given(leaves, st.sampled_from([None, 0]))
def test_schema_and_validation_agree_on_conditions(leaf: Json, index: int | None) -> None:
    filters: Json = {"groups": [{"properties": [leaf]}]}
    require_agreement({**filters, **({} if index is None else {"aggregation_group_type_index": 0})})


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("kind", OPERATORS)
def test_schema_and_validation_agree_on_every_operator_and_value(kind: str, value: Any) -> None:
    index = 0 if kind == "group" else None
    own = {"group_type_index": 0} if kind == "group" else {}
    for operator in (*OPERATOR_NAMES, "less", ""):
        leaf = {"type": kind, "key": "id", "operator": operator, "value": value, **own}
        require_agreement(
            {"groups": [{"properties": [leaf]}], "aggregation_group_type_index": index}
        )


@settings(max_examples=examples(500))
@given(st.sampled_from(["groups", "super_groups", "holdout_groups"]), st.lists(sets, max_size=2))
def test_schema_and_validation_agree_on_condition_sets(name: str, made: list[Json]) -> None:
    require_agreement({"groups": [], name: made})


# ── Cohorts ──────────────────────────────────────────────────────────────────────────────

DID: Json = {
    "type": "behavioral",
    "key": "signed in",
    "event_type": "events",
    "value": "performed_event",
    "time_value": 30,
    "time_interval": "day",
}
PAYS: Json = {"type": "person", "key": "plan", "operator": "exact", "value": "pro"}
TIMES = {**DID, "value": "performed_event_multiple", "operator": "gte", "operator_value": 2}


def criteria(*values: Any, kind: Any = "AND", **more: Any) -> Json:
    return {"properties": {"type": kind, "values": list(values), **more}}


def without(leaf: Json, name: str) -> Json:
    return {key: value for key, value in leaf.items() if key != name}


ACCEPTED_CRITERIA: dict[str, Json] = {
    "nobody": {"properties": {}},
    "a list": {"properties": [PAYS]},
    "no operator": criteria(without(PAYS, "operator")),
    "numbers as text": criteria({**DID, "time_value": "30"}),
    "since a date": criteria({**without(DID, "time_value"), "explicit_datetime": "-7d"}),
    "a number in order": criteria({**PAYS, "operator": "gt", "value": 5}),
    "a text in order": criteria({**PAYS, "operator": "gt", "value": " 5.5 "}),
    "is set": criteria(without({**PAYS, "operator": "is_set"}, "value")),
    "a static cohort": criteria({"type": "static-cohort", "key": "id", "value": "7"}),
    "an event's property": criteria(
        {
            **TIMES,
            "event_filters": [{"type": "event", "key": "total", "operator": "gt", "value": 5}],
        }
    ),
    "a sequence": criteria(
        {
            **DID,
            "value": "performed_event_sequence",
            "seq_event": "paid",
            "seq_event_type": "events",
            "seq_time_value": 2,
            "seq_time_interval": "hour",
        }
    ),
    "regularly": criteria(
        {
            **TIMES,
            "value": "performed_event_regularly",
            "min_periods": 2,
            "total_periods": 3,
        }
    ),
    "stopped": criteria(
        {
            **DID,
            "value": "stopped_performing_event",
            "seq_time_value": 1,
            "seq_time_interval": "day",
        }
    ),
    "groups in groups": criteria({"type": "OR", "values": [PAYS, DID]}),
    "what the interface adds": criteria({**DID, "sort_key": "1"}, sort_key="2"),
}
REFUSED_CRITERIA: dict[str, Json] = {
    "no properties": {},
    "property for properties": {"property": {}},
    "another name": {"properties": {}, "groups": []},
    "a group of NOT": criteria(PAYS, kind="NOT"),
    "value for values": {"properties": {"type": "AND", "value": [PAYS]}},
    "a mixture": criteria(PAYS, {"type": "AND", "values": [DID]}),
    "a property of a group": criteria({**PAYS, "type": "group", "group_type_index": 0}),
    "a flag": criteria(
        {"type": "flag", "key": "1", "operator": "flag_evaluates_to", "value": True}
    ),
    "less": criteria({**PAYS, "operator": "less"}),
    "op": criteria({**PAYS, "op": "gt"}),
    "no value": criteria(without(PAYS, "value")),
    "no key": criteria(without(PAYS, "key")),
    "order of a word": criteria({**PAYS, "operator": "gt", "value": "high"}),
    "times where they do not count": criteria({**DID, "operator_value": 2}),
    "a date where none is read": criteria(
        {**DID, "value": "performed_event_first_time", "explicit_datetime": "-7d"}
    ),
    "did": criteria({**DID, "value": "did"}),
    "times of a single one": criteria({**DID, "operator_value": 0, "value": TIMES["value"]}),
    "fortnights": criteria({**DID, "time_interval": "fortnight"}),
    "no interval": criteria(without(DID, "time_interval")),
    "0 days": criteria({**DID, "time_value": 0}),
    "half a day": criteria({**DID, "time_value": 0.5}),
    "an action": criteria({**DID, "event_type": "actions"}),
    "time": criteria({**DID, "time": 30}),
    "a count that is compared by least": criteria({**TIMES, "operator": "least"}),
    "a person's property of an event": criteria({**TIMES, "event_filters": [PAYS]}),
}


@pytest.mark.parametrize("name", ACCEPTED_CRITERIA)
def test_criteria_that_are_calculated_fit_the_schema(name: str) -> None:
    filters = ACCEPTED_CRITERIA[name]

    CRITERIA.validate(filters)
    resolve(Criteria(1, "c", False, filters, ()), {})


@pytest.mark.parametrize("name", REFUSED_CRITERIA)
def test_the_schema_refuses_mistakes_in_criteria(name: str) -> None:
    assert not CRITERIA.is_valid(REFUSED_CRITERIA[name])


def test_examples_of_criteria_can_be_calculated() -> None:
    for filters in cohort_schema.EXAMPLES["CohortFilters"]:
        resolve(Criteria(1, "c", False, filters, ()), {})
    for groups in cohort_schema.EXAMPLES["CohortGroups"]:
        returned = Criteria(1, "c", False, None, normal_groups(groups))
        resolve(returned, {})
