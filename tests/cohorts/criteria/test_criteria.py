"""Resolved criteria, the pairing of negations, and their description in English."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.cohorts.criteria.definition import (
    Criteria,
    CriteriaError,
    filters_of_groups,
    nested_ids,
)
from fanion.cohorts.criteria.describe import describe_criteria
from fanion.cohorts.criteria.resolve import (
    BehaviourLeaf,
    Combination,
    NoPerson,
    StaticMembership,
    Tree,
    leaves,
    resolve,
)
from fanion.cohorts.criteria.time_window import TimeWindow, parse_start_bound
from fanion.errors import Invalid
from fanion.properties.filters import Property

Json = dict[str, Any]
NOW = datetime(2024, 3, 31, 12, 30, tzinfo=UTC)


def person(key: str, negation: bool = False) -> Json:
    return {"type": "person", "key": key, "value": "x", "negation": negation}


def did(event: str = "a", **more: Any) -> Json:
    return {
        "type": "behavioral",
        "key": event,
        "event_type": "events",
        "value": "performed_event",
        "time_value": 1,
        "time_interval": "week",
        **more,
    }


def cohort(cohort_id: int, **more: Any) -> Json:
    return {"type": "cohort", "key": "id", "value": cohort_id, **more}


def all_of(*values: Json) -> Json:
    return {"type": "AND", "values": list(values)}


def any_of(*values: Json) -> Json:
    return {"type": "OR", "values": list(values)}


def criteria(tree: Any, cohort_id: int = 1, name: str | None = None) -> Criteria:
    return Criteria(cohort_id, name, False, {"properties": tree}, ())


def resolved(tree: Any, *others: Criteria) -> Tree:
    return resolve(criteria(tree), {other.id: other for other in others})


A, B, C = person("a"), person("b"), person("c")
NOT_A, NOT_B, NOT_C = person("a", True), person("b", True), person("c", True)


@pytest.mark.parametrize(
    ("tree", "allowed"),
    [
        (all_of(NOT_A), False),
        (all_of(A, NOT_B), True),
        (any_of(A, NOT_B), False),
        (any_of(all_of(A), all_of(any_of(NOT_B), any_of(C))), True),
        (any_of(all_of(A), all_of(any_of(NOT_B), any_of(NOT_C))), False),
        (all_of(any_of(A), all_of(any_of(NOT_B), any_of(NOT_C))), True),
        (all_of(any_of(NOT_A), all_of(any_of(NOT_B))), False),
    ],
)
def test_a_negation_needs_a_positive_condition_in_its_group(tree: Json, allowed: bool) -> None:
    if allowed:
        resolved(tree)
    else:
        with pytest.raises(CriteriaError, match="Negated conditions"):
            resolved(tree)


def test_a_negated_cohort_is_inverted_by_de_morgans_laws() -> None:
    inner = criteria(any_of(A, NOT_B), 2)

    tree = resolved(all_of(C, cohort(2, negation=True)), inner)

    assert tree == Combination(
        "AND",
        (
            Property("c", "x", type="person"),
            Combination(
                "AND",
                (
                    Property("a", "x", type="person", negation=True),
                    Property("b", "x", type="person"),
                ),
            ),
        ),
    )


def test_not_in_is_a_negation_and_a_double_negation_cancels_out() -> None:
    once = resolved(all_of(A, cohort(2, operator="not_in")), criteria(all_of(B), 2))
    twice = resolved(
        all_of(cohort(2, operator="not_in")),
        criteria(all_of(cohort(3, negation=True)), 2),
        criteria(all_of(B), 3),
    )

    assert [leaf.negation for leaf in leaves(once)] == [False, True]
    assert [leaf.negation for leaf in leaves(twice)] == [False]


def test_static_and_unknown_cohorts_stay_leaves() -> None:
    static = Criteria(2, None, True, None, ())

    tree = resolved(any_of(cohort(2), cohort(3)), static)

    assert tree == Combination("OR", (StaticMembership(2), NoPerson()))


@pytest.mark.parametrize("tree", [{}, [], all_of(), any_of()])
def test_empty_criteria_match_no_person(tree: Any) -> None:
    assert resolved(tree) == NoPerson()


def test_loops_and_many_diamonds_are_refused() -> None:
    with pytest.raises(CriteriaError, match="loop"):
        resolved(all_of(cohort(2)), criteria(all_of(cohort(2)), 2))
    doubling = [criteria(all_of(cohort(n + 1), cohort(n + 1)), n) for n in range(2, 30)]
    with pytest.raises(CriteriaError, match="more than"):
        resolved(all_of(cohort(2)), *doubling, criteria(all_of(A), 30))


@pytest.mark.parametrize(
    ("leaf", "problem"),
    [
        (did(value=None), "cannot have the value"),
        (did(time_value=0), "whole number above 0"),
        (did(time_value="1.5"), "whole number above 0"),
        (did(time_interval="fortnight"), "time_interval"),
        (did(time_interval=None), "Missing required keys for behavioral filter: time_interval"),
        (did(event_type="actions"), "id of an action"),
        (did(explicit_datetime="soon"), "explicit_datetime"),
        (did(event_filters=[{"type": "person", "key": "a"}]), "properties of the event"),
        (did(value="performed_event_multiple", operator_value=True), "operator_value"),
        (did(value="performed_event_multiple", operator_value=1, operator="in"), "operator must"),
        (
            did(value="stopped_performing_event", seq_time_value=8, seq_time_interval="day"),
            "must not be longer",
        ),
        (
            did(
                value="performed_event_regularly",
                operator_value=1,
                min_periods=3,
                total_periods=2,
            ),
            "min_periods",
        ),
        ({"key": "a", "value": 1}, "type event"),
        ({"type": "element", "key": "a"}, "type 'element'"),
        ({"type": "flag", "key": "a"}, "depend on a flag"),
        (cohort("x"), "must be a number"),  # type: ignore[arg-type]  # what a client may send
    ],
)
def test_invalid_criteria_are_refused_with_the_reason(leaf: Json, problem: str) -> None:
    with pytest.raises(CriteriaError, match=problem):
        resolved(all_of(leaf))


def test_groups_and_conditions_cannot_be_mixed() -> None:
    with pytest.raises(CriteriaError, match="cannot contain both"):
        resolved(all_of(A, any_of(B)))


def test_equal_windows_are_allowed_and_numbers_may_be_strings() -> None:
    leaf = did(
        value="stopped_performing_event",
        time_value="7",
        time_interval="day",
        seq_time_value=1,
        seq_time_interval="week",
    )

    [resolved_leaf] = leaves(resolved(all_of(leaf)))

    assert isinstance(resolved_leaf, BehaviourLeaf)


@pytest.mark.parametrize(
    ("span", "before"),
    [
        (TimeWindow(5, "minute"), NOW - timedelta(minutes=5)),
        (TimeWindow(2, "week"), NOW - timedelta(weeks=2)),
        (TimeWindow(1, "month"), datetime(2024, 2, 29, 12, 30, tzinfo=UTC)),
        (TimeWindow(1, "year"), datetime(2023, 3, 31, 12, 30, tzinfo=UTC)),
        (TimeWindow(10**9, "year"), datetime(1900, 1, 1, tzinfo=UTC)),
        (TimeWindow(10**9, "minute"), datetime(1900, 1, 1, tzinfo=UTC)),
    ],
)
def test_windows_count_back_from_now(span: TimeWindow, before: datetime) -> None:
    assert span.before(NOW) == before


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-03-02", "2024-03-01T23:00:00+00:00"),
        ("2024-03-02T08:30:00", "2024-03-02T07:30:00+00:00"),
        ("2024-03-02T08:30:00Z", "2024-03-02T08:30:00+00:00"),
        ("2024-03-02T08:30:00+02:00", "2024-03-02T06:30:00+00:00"),
        ("-7d", "2024-03-24T12:30:00+00:00"),
        ("-12h", "2024-03-31T00:30:00+00:00"),
        ("-1q", "2023-12-31T12:30:00+00:00"),
        ("-1m", "2024-02-29T12:30:00+00:00"),
        ("dStart", "2024-03-30T23:00:00+00:00"),
        ("-1mStart", "2024-01-31T23:00:00+00:00"),
        ("yStart", "2023-12-31T23:00:00+00:00"),
    ],
)
def test_lower_bounds_are_read_in_the_projects_zone(text: str, moment: str) -> None:
    bound = parse_start_bound(text).moment(NOW, ZoneInfo("Europe/Berlin"))

    assert bound.isoformat() == moment


@pytest.mark.parametrize("text", ["", "soon", "d", "-7x", "-7dEnd", 7, None])
def test_an_invalid_lower_bound_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="explicit_datetime"):
        parse_start_bound(text)


@pytest.mark.parametrize(
    ("entry", "leaf"),
    [
        ({"event_id": "E"}, {"value": "performed_event", "operator_value": 0, "time_value": 365}),
        (
            {"event_id": "E", "days": "3", "count": "0", "count_operator": "lte"},
            {"value": "performed_event", "operator_value": 0, "time_value": "3"},
        ),
        (
            {"event_id": "E", "count": -1},
            {"value": "performed_event", "operator_value": 0, "time_value": 365},
        ),
        (
            {"event_id": "E", "count": "2", "days": 1},
            {
                "value": "performed_event_multiple",
                "operator": "eq",
                "operator_value": 2,
                "time_value": 1,
            },
        ),
    ],
)
def test_old_groups_become_conditions(entry: Json, leaf: Json) -> None:
    filters = filters_of_groups([entry])

    common = {"key": "E", "type": "behavioral", "event_type": "events", "time_interval": "day"}
    assert filters["properties"]["values"][0]["values"] == [{**common, **leaf}]


def test_an_old_property_without_a_type_is_a_person_property() -> None:
    group = {"properties": [{"key": "a", "value": 1}, {"key": "b", "value": 2, "type": "event"}]}
    tree = {"properties": {"type": "OR", "values": [{"key": "c", "value": 3}]}}

    filters = filters_of_groups([group, tree])

    [first, second] = filters["properties"]["values"]
    assert [leaf["type"] for leaf in first["values"]] == ["person", "person"]
    assert second == {"type": "OR", "values": [{"key": "c", "value": 3, "type": "person"}]}


SEQUENCE = did(
    value="performed_event_sequence",
    seq_event="b",
    seq_event_type="events",
    seq_time_value=2,
    seq_time_interval="hour",
)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (all_of(A), "Persons whose “a” is “x”."),
        (
            any_of(all_of(A, person("b", True)), all_of(cohort(2))),
            "Persons (whose “a” is “x” and whose “b” is not “x”) or who are in “Friends”.",
        ),
        (
            all_of(
                did(
                    value="performed_event_multiple",
                    operator="gte",
                    operator_value=3,
                    event_filters=[{"key": "total", "operator": "gt", "value": 5}],
                )
            ),
            "Persons who did “a” where “total” is greater than 5 at least 3 times "
            "in the last 1 week.",
        ),
        (
            all_of(SEQUENCE),
            "Persons who did “a” and after it “b” within 2 hours, both in the last 1 week.",
        ),
        (
            all_of(A, did(negation=True)),
            "Persons whose “a” is “x” and for whom it is not true that they did “a” "
            "in the last 1 week.",
        ),
    ],
)
def test_criteria_read_as_a_sentence(tree: Json, words: str) -> None:
    static = Criteria(2, "Friends", True, None, ())

    assert describe_criteria(resolved(tree, static), {2: "Friends"}) == words


TEXT = st.text("ab0é\0", max_size=3)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "values", "key"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(
    groups=st.lists(
        st.dictionaries(
            st.sampled_from(["properties", "event_id", "days", "count", "count_operator"]),
            ANYTHING,
            max_size=4,
        ),
        max_size=2,
    )
)
def test_malformed_groups_are_readable_and_only_their_calculation_fails(
    groups: list[dict[str, Any]],
) -> None:
    criteria = Criteria(1, None, False, None, tuple(groups))

    assert set(criteria.effective_filters) == {"properties"}
    with suppress(CriteriaError):
        resolve(criteria, {})


@given(leaf=st.dictionaries(st.sampled_from(["type", "value", "values"]), ANYTHING))
def test_nested_cohorts_are_found_in_any_condition(leaf: dict[str, Any]) -> None:
    with suppress(Invalid):
        nested_ids({"properties": {"type": "AND", "values": [leaf]}})
