"""The numbers of a funnel whose actors can be asked for."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.funnels.places import FunnelPlace, read_funnel_place
from fanion.insights.funnels.query import read_funnels
from fanion.insights.parsing.fields import Fields
from fanion.insights.sql.compiler import NONE
from tests.insights.funnels.test_examples import HISTORY, STEPS
from tests.support.asked_actors import actors
from tests.support.histories import PERSONS, Analyst, History, history_event

BY_PLAN = {"breakdown": "plan"}
BY_TWO = {"breakdown": ["plan", "n"]}
TRENDS = {"funnel_viz_type": "trends"}


def _place(**sent: Any) -> FunnelPlace:
    fields = Fields({"events": STEPS, **sent})
    return read_funnel_place(fields, read_funnels(fields))


@pytest.mark.parametrize(
    ("sent", "place"),
    [
        ({"funnel_step": 2}, FunnelPlace((2, 3))),
        ({"funnel_step": "-3"}, FunnelPlace((2,))),
        ({"funnel_custom_steps": "[1, 3]"}, FunnelPlace((1, 3))),
        (
            BY_PLAN | {"funnel_step": 1, "funnel_step_breakdown": "pro"},
            FunnelPlace((1, 2, 3), value="pro"),
        ),
        (
            BY_PLAN | {"funnel_step": 3, "funnel_step_breakdown": [""]},
            FunnelPlace((3,), value=NONE),
        ),
        (
            BY_TWO | {"funnel_step": 3, "funnel_step_breakdown": '["pro", "1"]'},
            FunnelPlace((3,), value='["pro","1"]'),
        ),
        (
            {"breakdown": [7, "all"], "breakdown_type": "cohort"}
            | {"funnel_step": 3, "funnel_step_breakdown": 7},
            FunnelPlace((3,), value="7"),
        ),
        (
            TRENDS | {"entrance_period_start": "2024-04-02 00:00:00", "drop_off": "true"},
            FunnelPlace(interval="2024-04-02 00:00:00", dropped=True),
        ),
    ],
)
def test_a_place_is_read(sent: dict[str, Any], place: FunnelPlace) -> None:
    assert _place(**sent) == place


@pytest.mark.parametrize(
    ("sent", "attr"),
    [
        ({}, "funnel_step"),
        ({"funnel_step": 0}, "funnel_step"),
        ({"funnel_step": -1}, "funnel_step"),
        ({"funnel_step": 4}, "funnel_step"),
        ({"funnel_step": -4}, "funnel_step"),
        ({"funnel_custom_steps": [4]}, "funnel_custom_steps"),
        ({"funnel_custom_steps": "1"}, "funnel_custom_steps"),
        ({"funnel_step": 1, "funnel_step_breakdown": "pro"}, "funnel_step_breakdown"),
        (TRENDS, "entrance_period_start"),
        (TRENDS | {"entrance_period_start": "soon"}, "entrance_period_start"),
    ],
)
def test_a_place_that_the_answer_does_not_have_is_refused(sent: dict[str, Any], attr: str) -> None:
    with pytest.raises(Invalid) as refused:
        _place(**sent)

    assert refused.value.attr == attr


async def test_an_interval_starts_where_the_answer_says(analyst: Analyst) -> None:
    project = await analyst.store(HISTORY)
    question: dict[str, Any] = {"insight": "FUNNELS", "events": STEPS, **TRENDS}

    result = await actors(analyst, project, **question, entrance_period_start="2024-04-02")

    assert [value for _, value in result] == [3]
    with pytest.raises(Invalid) as refused:
        await actors(analyst, project, **question, entrance_period_start="2024-04-02 01:00:00")
    assert refused.value.attr == "entrance_period_start"


async def test_values_of_several_properties_name_their_people(analyst: Analyst) -> None:
    """The people are found whatever characters the values contain."""
    paths: dict[str, Any] = {"plan": "/a/b", "n": 'x"\n\u2028é'}
    project = await analyst.store(
        History(happened=[history_event("a", 1, "2024-04-02T10:00", **paths)])
    )
    question: dict[str, Any] = {"insight": "FUNNELS", "events": STEPS[:1], **BY_TWO}

    [[step]] = await analyst.ask(project, **question)
    result = await actors(
        analyst, project, **question, funnel_step=1, funnel_step_breakdown=step["breakdown_value"]
    )

    assert step["breakdown_value"] == list(paths.values())
    assert [who for who, _ in result] == [PERSONS[0]]


def test_a_funnel_without_steps_has_no_persons() -> None:
    with pytest.raises(Invalid) as refused:
        _place(events=[], funnel_step=1)

    assert refused.value.attr == "events"


@pytest.mark.parametrize(("kind", "value"), [("person", "plan"), ("cohort", [1])])
def test_groups_are_not_broken_down_by_their_persons(kind: str, value: Any) -> None:
    question = {"events": STEPS, "aggregation_group_type_index": 0}
    with pytest.raises(Invalid) as refused:
        read_funnels(Fields({**question, "breakdown_type": kind, "breakdown": value}))

    assert refused.value.attr == "breakdown_type"
    assert refused.value.detail == "Groups have no value of this breakdown. Leave it out."
