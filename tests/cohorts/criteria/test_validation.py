"""Validation of criteria when a cohort is created or changed."""

from typing import Any

import pytest

from fanion.cohorts.criteria.resolve import LEAVES_MAX
from fanion.cohorts.criteria.validation import check_criteria, check_groups
from fanion.errors import Invalid
from fanion.properties.condition_sql import OPERATORS
from fanion.properties.filters import GROUP_DEPTH_MAX
from fanion.properties.operators import QUERY_COMPARISONS, VALUES_MAX

Json = dict[str, Any]


def person(**more: Any) -> Json:
    return {"type": "person", "key": "plan", "value": "pro", "operator": "exact", **more}


def did(**more: Any) -> Json:
    return {
        "type": "behavioral",
        "key": "opened",
        "event_type": "events",
        "value": "performed_event",
        "time_value": 30,
        "time_interval": "day",
        **more,
    }


def often(**more: Any) -> Json:
    return did(**{"value": "performed_event_multiple", "operator_value": 2, **more})


def in_cohort(**more: Any) -> Json:
    return {"type": "cohort", "key": "id", "value": 12, **more}


def all_of(*values: Any, **more: Any) -> Json:
    return {"properties": {"type": "AND", "values": list(values), **more}}


def without(leaf: Json, name: str) -> Json:
    return {key: value for key, value in leaf.items() if key != name}


def refusal(filters: Any, stored: Json | None = None) -> str:
    with pytest.raises(Invalid) as raised:
        check_criteria(filters, stored)
    assert (raised.value.attr, raised.value.code) == ("filters", "invalid_input")
    return raised.value.detail


REGULARLY = did(
    value="performed_event_regularly", operator_value="1", min_periods=2, total_periods=3
)
SEQUENCE = did(
    value="performed_event_sequence",
    seq_event="paid",
    seq_event_type="events",
    seq_time_value=2,
    seq_time_interval="hour",
)
RESTARTED = did(value="restarted_performing_event", seq_time_value=2, seq_time_interval="hour")
# Fields that the interface of later versions sends and stores.
CARRIED: Json = {"sort_key": "a", "id": "1", "label": "x", "conditionHash": "c", "bytecode": [1]}


@pytest.mark.parametrize(
    "leaf",
    [
        person(),
        person(value=["pro", 5, True]),
        person(value=""),
        person(value=5, operator="gt"),
        person(value="1 000", operator="lte"),
        person(value=[1, "5"], operator="between"),
        person(value="^a+$", operator="regex", negation=True),
        person(value=5, operator="icontains"),
        person(value=["a", "b"], operator="icontains_multi"),
        person(value="2024-04-02", operator="is_date_exact"),
        person(value="-30d", operator="is_date_after"),
        person(value="v1.2", operator="semver_gte"),
        person(value="1.2.*", operator="semver_wildcard"),
        without(person(operator="is_set"), "value"),
        without(person(), "operator"),
        person(operator=None),
        person(operator="is_not_set", value=None),
        person(**CARRIED, group_type_index=None),
        did(),
        did(time_value="30", negation=False, operator_value=0),
        did(explicit_datetime="-7d", time_value=None, time_interval=None),
        did(explicit_datetime=None, event_filters=None),
        did(event_filters=[{"key": "total", "operator": "gt", "value": 50}]),
        did(event_filters=[{"type": "event", "key": "currency", "value": ["EUR"]}]),
        did(**CARRIED, value_property=None, seq_event=None, min_periods=None),
        often(operator="exact", explicit_datetime="2024-04-02"),
        REGULARLY,
        SEQUENCE,
        RESTARTED,
        in_cohort(),
        in_cohort(value="12", operator="not_in", cohort_name="c"),
        in_cohort(type="static-cohort", negation=True),
        in_cohort(type="precalculated-cohort"),
    ],
)
def test_criteria_that_can_be_calculated_are_accepted(leaf: Json) -> None:
    check_criteria(all_of(leaf))
    check_criteria({"properties": [leaf]})
    check_criteria(all_of({"type": "or", "values": [leaf], "sort_key": "b", "id": "c"}))


@pytest.mark.parametrize("properties", [{}, [], {"type": "AND", "values": []}])
def test_no_criteria_at_all_are_accepted(properties: Any) -> None:
    check_criteria({"properties": properties})


ALL_TYPES = "behavioral, cohort, person, precalculated-cohort, static-cohort"


@pytest.mark.parametrize(
    ("leaf", "detail"),
    [
        # Names
        (person(operater="gt"), 'Unknown field "operater". Did you mean "operator"?'),
        (did(time_valeu=3), 'Unknown field "time_valeu". Did you mean "time_value"?'),
        (in_cohort(negate=True), 'Unknown field "negate". Allowed are:'),
        (
            did(event_filters=[{"key": "a", "val": 1, "value": 1}]),
            'Unknown field "val". Did you mean "value"? (at properties.values[0].event_filters[0])',
        ),
        # Missing keys
        (without(person(), "value"), "Missing required keys for person filter: value"),
        (
            {"type": "person"},
            "Missing required keys for person filter: key, value",
        ),
        (without(did(), "event_type"), "Missing required keys for behavioral filter: event_type"),
        (without(did(), "time_value"), "Missing required keys for behavioral filter: time_value"),
        (without(SEQUENCE, "seq_event"), "Missing required keys for behavioral filter: seq_event"),
        (without(in_cohort(), "key"), "Missing required keys for cohort filter: key"),
        (without(in_cohort(), "value"), "Missing required keys for cohort filter: value"),
        # Types
        (without(person(), "type"), f"A condition needs a type. Allowed are: {ALL_TYPES}."),
        (
            person(type="persons"),
            'A condition of type "persons" cannot be used in a cohort. Did you mean "person"?',
        ),
        (
            person(type="event"),
            f'A condition of type "event" cannot be used in a cohort. Allowed are: {ALL_TYPES}.',
        ),
        (5, "A condition must be an object."),
        # Operators and values
        (
            person(operator="less"),
            'Unknown operator "less" for type "person". No known name is similar.',
        ),
        (
            person(operator="in"),
            'Operator "in" can only be used with cohorts. Use "exact" with a list of values.',
        ),
        (person(operator=5), 'Unknown operator "5" for type "person".'),
        (
            person(operator="gt"),
            'Invalid value "pro" for operator gt. It must be a number.',
        ),
        (
            person(operator="is_date_before", value="-7x"),
            'Invalid value "-7x" for operator is_date_before. It must be a date such as '
            "2024-04-02 or 2024-04-02T08:30:00Z, or a relative one such as -7d.",
        ),
        (
            person(operator="semver_tilde", value="1.2.*"),
            'Invalid value "1.2.*" for operator semver_tilde. It must be a version such as 1.4.0.',
        ),
        (
            person(operator="regex", value="("),
            'Invalid value "(" for operator regex. It must be a regular expression in the RE2 '
            "syntax, without look-around and back-references.",
        ),
        (person(value=[]), 'Invalid value "[]" for operator exact.'),
        (
            person(value=list(range(VALUES_MAX + 1))),
            f"A condition cannot have more than {VALUES_MAX} values.",
        ),
        (person(key=5), "The key of a condition must be the name of a property."),
        (person(negation="no"), 'Invalid negation "no". It must be a valid boolean.'),
        (person(group_type_index=0), "Group properties cannot be used in a cohort."),
        (
            in_cohort(operator="has"),
            'Unknown operator "has" for type "cohort". Allowed are: exact, in, not_in.',
        ),
        (
            in_cohort(value="twelve"),
            'Invalid value "twelve" for operator exact. It must be the id of a cohort.',
        ),
        (
            in_cohort(key="name"),
            'The key of a condition on a cohort must be "id", not "name".',
        ),
        # Conditions on events
        (
            did(value="performed"),
            'Unknown value "performed" for type "behavioral". Did you mean "performed_event"?',
        ),
        (did(value=[1]), 'Unknown value "[1]" for type "behavioral".'),
        (
            did(time_interval="fortnight"),
            'time_interval must be one of minute, hour, day, week, month, year, not "fortnight".',
        ),
        (did(time_value=0), 'time_value must be a whole number above 0, not "0".'),
        (did(event_type="actions"), "key must be the id of an action."),
        (did(event_type="views"), 'event_type must be events or actions, not "views".'),
        (
            often(operator="min"),
            'operator must be one of gte, lte, gt, lt, eq, exact, not "min".',
        ),
        (did(explicit_datetime="soon"), "explicit_datetime cannot be read: 'soon'"),
        (
            did(operator="gte", operator_value=5),
            "operator_value cannot be used with performed_event, only with "
            "performed_event_multiple, performed_event_regularly.",
        ),
        (
            did(value="performed_event_first_time", event_filters=[{"key": "a", "value": 1}]),
            "event_filters cannot be used with performed_event_first_time, only with "
            "performed_event, performed_event_multiple.",
        ),
        (
            did(event_filters=[{"key": "a", "value": "b", "operator": "gt"}]),
            'Invalid value "b" for operator gt. It must be a number.',
        ),
        (
            did(event_filters=[{"type": "person", "key": "a"}]),
            "event_filters may only name properties of the event.",
        ),
        (did(event_filters="a"), "event_filters must be a list."),
        (
            RESTARTED | {"seq_time_interval": "year"},
            "The recent window must not be longer than the whole window.",
        ),
        (
            REGULARLY | {"min_periods": 4},
            "min_periods must not be greater than total_periods.",
        ),
    ],
)
def test_invalid_criteria_are_refused_with_the_allowed_values(leaf: Any, detail: str) -> None:
    assert refusal(all_of(leaf)).startswith(detail)


MIXED = "Property list cannot contain both PropertyGroup and Property objects"


@pytest.mark.parametrize(
    ("filters", "detail"),
    [
        (None, "Filters must be a dictionary with a 'properties' key."),
        ([], "Filters must be a dictionary with a 'properties' key."),
        ({"propertys": {}}, "Filters must be a dictionary with a 'properties' key."),
        ({"properties": {}, "groups": []}, 'Unknown field "groups". '),
        ({"properties": None}, "Criteria must be a group, or a list of conditions."),
        ({"properties": "x"}, "Criteria must be a group, or a list of conditions."),
        ({"properties": {"type": "AND"}}, "A group must have a list of values."),
        (all_of(type="NOT"), 'Invalid type "NOT" of a group. Allowed are: AND, OR.'),
        ({"properties": {"values": []}}, 'Invalid type "None" of a group. Allowed are: AND, OR.'),
        (all_of(negation=True), 'Unknown field "negation". Allowed are: id, sort_key, type, '),
        (all_of(person(), {"type": "OR", "values": [person()]}), MIXED),
        (all_of(*[person()] * (LEAVES_MAX + 1)), f"There are more than {LEAVES_MAX} conditions."),
        (
            all_of(*[did(event_filters=[{"key": "a", "value": 1}] * 2_000)] * 2),
            f"There are more than {LEAVES_MAX} conditions.",
        ),
    ],
)
def test_a_malformed_tree_of_conditions_is_refused(filters: Any, detail: str) -> None:
    assert refusal(filters).startswith(detail)


def test_the_nesting_of_groups_has_a_limit() -> None:
    tree: Any = {"type": "AND", "values": [person()]}
    for _ in range(GROUP_DEPTH_MAX - 1):
        tree = {"type": "OR", "values": [tree]}
    check_criteria({"properties": tree})

    deeper = {"properties": {"type": "AND", "values": [tree]}}

    assert refusal(deeper) == f"Groups are nested deeper than {GROUP_DEPTH_MAX}."


def test_an_error_among_several_conditions_names_its_place() -> None:
    first = {"type": "AND", "values": [person()]}
    second = {"type": "AND", "values": [person(), did(time_value=-1)]}

    assert refusal(all_of(first, second)) == (
        'time_value must be a whole number above 0, not "-1". (at properties.values[1].values[1])'
    )


def test_every_operator_of_the_table_is_compared_by_the_calculation() -> None:
    assert QUERY_COMPARISONS.keys() == OPERATORS


OLD = person(operator="less", colour=1)
OLD_GROUP = {"type": "AND", "values": [OLD, {"type": "walked"}], "odd": 1}


@pytest.mark.parametrize(
    "filters",
    [
        {"properties": OLD_GROUP, "more": 1},
        all_of(OLD, person()),
        all_of(OLD_GROUP, {"type": "OR", "values": [person()]}),
        {"properties": {"type": "OR", "values": [{"type": "AND", "values": [OLD]}]}},
    ],
)
def test_stored_conditions_are_accepted_at_any_place(filters: Json) -> None:
    stored = {"properties": OLD_GROUP, "more": 1}

    check_criteria(filters, stored)


def test_a_new_error_next_to_a_stored_one_is_refused() -> None:
    stored = all_of(OLD)

    detail = refusal(all_of(OLD, {**OLD, "colour": 2}), stored)

    assert detail == ('Unknown field "colour". No known name is similar. (at properties.values[1])')


def test_older_conditions_may_omit_their_operator() -> None:
    leaf = without(person(), "operator")

    check_criteria(all_of(leaf, without(in_cohort(), "key")), complete=False)


@pytest.mark.parametrize(
    "entry",
    [
        {"event_id": "opened"},
        {"event_id": "opened", "days": "3", "count": 2, "count_operator": "gte", "label": "l"},
        {"event_id": "opened", "count": 0, "count_operator": "lte", "start_date": None},
        {"properties": [{"key": "plan", "value": "pro"}]},
        {"properties": [{"key": "plan", "value": 5, "type": "event", "operator": "gt"}]},
        {"properties": {"plan": "pro", "age": 5}},
        {"properties": {"type": "OR", "values": [{"key": "plan", "value": "pro"}]}},
        {"properties": [in_cohort(), did()]},
    ],
)
def test_older_criteria_are_accepted(entry: Json) -> None:
    check_groups([entry])


@pytest.mark.parametrize(
    ("entry", "detail"),
    [
        ({"event_id": "a", "day": 3}, 'Unknown field "day". Did you mean "days"?'),
        ({"event_id": "a", "days": -3}, 'days must be a whole number above 0, not "-3".'),
        (
            {"event_id": "a", "count": 2, "count_operator": "min"},
            'Unknown count_operator "min"',
        ),
        ({"action_id": "Paid"}, "key must be the id of an action."),
        ({"properties": [{"key": "a", "value": 1, "operater": "gt"}]}, 'Unknown field "operater".'),
        ({"properties": {"values": 1}}, "A group must have a list of values."),
        ({"properties": "plan"}, "The properties of a group must be a list."),
        (
            {"properties": [person()], "event_id": "a"},
            "A group must have either properties, or event_id or action_id, not both",
        ),
        ({"days": 3}, "A group must have properties, event_id or action_id."),
        ("x", "A group must be an object."),
    ],
)
def test_older_criteria_that_cannot_be_used_are_refused(entry: Any, detail: str) -> None:
    with pytest.raises(Invalid) as raised:
        check_groups([{"event_id": "fine"}, entry])

    assert raised.value.attr == "groups"
    assert raised.value.detail.startswith(detail)
    check_groups([entry], stored=[entry])
