"""The relations between the steps of a funnel."""

import pytest

from fanion.insights.entities import Entity
from fanion.insights.funnels.steps import Cluster, Nest, are_disjoint, group_steps, sets_to_check
from fanion.properties.filters import ConditionGroup, parse_leaf


def step(event: str | None, **conditions: str) -> Entity:
    own = tuple(
        parse_leaf({"key": key, "value": value, "type": "event"})
        for key, value in conditions.items()
    )
    return Entity(event, properties=ConditionGroup("AND", own) if own else None)


def test_steps_of_other_events_have_nothing_in_common() -> None:
    steps = [step("a"), step("b"), step("c", plan="pro")]

    assert are_disjoint(steps)
    assert group_steps(steps) == (Nest((0,)), Nest((1,)), Nest((2,)))


def test_equal_steps_are_one_kind() -> None:
    steps = [step("a"), step("v"), step("v")]

    assert not are_disjoint(steps)
    assert group_steps(steps) == (Nest((0,)), Nest((1, 2)))


def test_a_step_holds_those_that_it_contains() -> None:
    steps = [step("v", plan="pro"), step(None), step("w"), step("v")]

    [nest] = group_steps(steps)

    assert nest == Nest((1,), (Nest((3,), (Nest((0,)),)), Nest((2,))))
    assert set(map(frozenset, sets_to_check([nest]))) == {
        frozenset(one) for one in ({0, 1, 2, 3}, {0, 3}, {0}, {2})
    }


@pytest.mark.parametrize(("number", "sets"), [(2, 3), (4, 15), (6, 12), (20, 40)])
def test_steps_that_overlap_in_part_are_combined(number: int, sets: int) -> None:
    steps = [step("v", **{f"p{place}": "yes"}) for place in range(number)]

    [cluster] = group_steps(steps)

    assert isinstance(cluster, Cluster)
    assert cluster.steps == tuple(range(number))
    assert len(cluster.unions) == sets
