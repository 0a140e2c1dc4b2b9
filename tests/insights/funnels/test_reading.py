"""The options that a question of a funnel may have, and those that are refused by name."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.funnels.parts import Exclusion, Window
from fanion.insights.funnels.query import read_correlation, read_funnels
from fanion.insights.parsing.fields import Fields

STEPS = [{"id": "a"}, {"id": "b"}, {"id": "c"}]
PRO = [{"key": "plan", "value": "pro"}]
OPTIONAL = {"id": "b", "optionalInFunnel": True}


def _excluded(first: Any, last: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"id": "x", "funnel_from_step": first, "funnel_to_step": last, **more}]


def test_a_funnel_has_the_defaults_of_the_reference() -> None:
    query = read_funnels(Fields({"events": STEPS}))

    assert [step.event for step in query.steps] == ["a", "b", "c"]
    assert (query.order, query.visualization) == ("ordered", "steps")
    assert query.window == Window(14, "day")
    assert (query.from_step, query.to_step) == (0, 2)
    assert query.attribution == "first_touch"


@pytest.mark.parametrize(
    ("sent", "window"),
    [
        ({"funnel_window_interval": 30, "funnel_window_interval_unit": "minute"}, (30, "minute")),
        ({"funnel_window_interval": "2"}, (2, "day")),
        (
            {
                "funnel_window_days": 3,
                "funnel_window_interval": 5,
                "funnel_window_interval_unit": "second",
            },
            (3, "day"),
        ),
    ],
)
def test_the_window_in_days_wins(sent: dict[str, Any], window: tuple[int, str]) -> None:
    result = read_funnels(Fields({"events": STEPS, **sent})).window

    assert (result.number, result.unit) == window


def test_the_oldest_clients_ask_for_trends_by_the_display() -> None:
    query = read_funnels(Fields({"events": STEPS, "display": "ActionsLineGraph"}))

    assert query.visualization == "trends"


def test_an_exclusion_lies_between_two_steps() -> None:
    [result] = read_funnels(Fields({"events": STEPS, "exclusions": _excluded(0, 2)})).exclusions

    assert (result.entity.event, result.from_step, result.to_step) == ("x", 0, 2)
    assert isinstance(result, Exclusion)


def test_the_place_of_a_number_and_what_correlation_reads_do_not_matter() -> None:
    read_funnels(
        Fields(
            {
                "events": STEPS,
                "funnel_step": -2,
                "funnel_step_breakdown": "pro",
                "funnel_correlation_type": "events",
                "retention_type": "retention_recurring",
            }
        )
    )


@pytest.mark.parametrize(
    ("sent", "attr", "detail"),
    [
        ({"events": [{"id": "a"}] * 21}, "events", "at most 20"),
        ({"funnel_viz_type": "flow"}, "funnel_viz_type", "flow"),
        ({"funnel_order_type": "random"}, "funnel_order_type", "random"),
        ({"display": "ActionsPie"}, "display", "ActionsPie"),
        ({"funnel_aggregate_by_hogql": 7}, "funnel_aggregate_by_hogql", "valid string"),
        (
            {"funnel_aggregate_by_hogql": "event", "aggregation_group_type_index": 0},
            "funnel_aggregate_by_hogql",
            "Leave one out",
        ),
        (
            {"funnel_aggregate_by_hogql": "event", "breakdown": "a", "breakdown_type": "person"},
            "breakdown_type",
            "Values of funnelAggregateByHogQL have no value",
        ),
        ({"compare_to": "soon"}, "compare_to", "soon"),
        ({"formula": "A/B"}, "formula", "not supported"),
        ({"funnel_window_interval": 0}, "funnel_window_interval", "between 1"),
        (
            {"funnel_window_interval": 1000, "funnel_window_interval_unit": "month"},
            "funnel_window_interval",
            "between 1 and 117",
        ),
        ({"funnel_window_interval_unit": "year"}, "funnel_window_interval_unit", "year"),
        ({"events": [{"id": "a", "math": "sum"}]}, "events__0__math", "sum"),
        (
            {"events": [{"id": "a", "math": "first_matching_event_for_user"}]},
            "events__0__math",
            "first_time_for_user_with_filters",
        ),
        (
            {"events": [{"id": "a", "optionalInFunnel": True}]},
            "events__0__optionalInFunnel",
            "first step",
        ),
        (
            {"events": [{"id": "a"}, OPTIONAL, {"id": "c"}], "funnel_order_type": "strict"},
            "events__1__optionalInFunnel",
            "ordered",
        ),
        (
            {"events": [{"id": "a"}, {**OPTIONAL, "properties": PRO}, {"id": "b"}]},
            "events__1__optionalInFunnel",
            "Step 3 is the same",
        ),
        (
            {"events": [{"id": "a"}, OPTIONAL, {"id": "c"}], "exclusions": _excluded(0, 1)},
            "exclusions__0__funnel_to_step",
            "not optional",
        ),
        (
            {
                "events": [{"id": "a"}, OPTIONAL, {"id": "c"}],
                "breakdown_attribution_type": "step",
                "breakdown_attribution_value": 1,
            },
            "breakdown_attribution_value",
            "Step 2 is optional",
        ),
        (
            {
                "events": [{"id": "a"}, OPTIONAL, {"id": "c"}],
                "funnel_viz_type": "trends",
                "funnel_to_step": 1,
            },
            "funnel_to_step",
            "Step 2 is optional",
        ),
        (
            {"events": [{"id": "a"}, OPTIONAL], "funnel_viz_type": "time_to_convert"},
            "events",
            "two steps",
        ),
        ({"breakdown_attribution_type": "step"}, "breakdown_attribution_value", "required"),
        (
            {"breakdown_attribution_type": "step", "breakdown_attribution_value": 3},
            "breakdown_attribution_value",
            "between 0 and 2",
        ),
        (
            {"funnel_viz_type": "time_to_convert", "funnel_to_step": 3},
            "funnel_to_step",
            "between 1 and 2",
        ),
        (
            {"funnel_viz_type": "time_to_convert", "funnel_to_step": 0},
            "funnel_to_step",
            "between 1 and 2",
        ),
        (
            {"funnel_viz_type": "trends", "funnel_from_step": 1, "funnel_to_step": 1},
            "funnel_from_step",
            "before funnel_to_step",
        ),
        ({"funnel_viz_type": "time_to_convert", "events": STEPS[:1]}, "events", "two steps"),
        (
            {"breakdown": "n", "breakdown_histogram_bin_count": 4},
            "breakdown_histogram_bin_count",
            "not supported",
        ),
        (
            {"breakdowns": [{"property": "a"}, {"property": "b", "type": "person"}]},
            "breakdowns",
            "same type",
        ),
        (
            {"breakdown": "plan", "breakdown_type": "person", "aggregation_group_type_index": 0},
            "breakdown_type",
            "Groups",
        ),
        ({"exclusions": _excluded(None, 1)}, "exclusions__0__funnel_from_step", "required"),
        ({"exclusions": _excluded(0, None)}, "exclusions__0__funnel_to_step", "required"),
        ({"exclusions": _excluded(1, 1)}, "exclusions__0__funnel_from_step", "later step"),
        ({"exclusions": _excluded(2, 3)}, "exclusions__0__funnel_from_step", "before the last"),
        ({"exclusions": _excluded(0, 3)}, "exclusions__0__funnel_to_step", "at a step"),
        ({"exclusions": _excluded(0, 1, id="a")}, "exclusions__0__id", "one of the steps"),
        ({"exclusions": _excluded(0, 1, id=None)}, "exclusions__0__id", "one of the steps"),
        (
            {
                "events": [{"id": "a"}, {"id": "b", "properties": PRO}],
                "exclusions": _excluded(0, 1, id="b"),
            },
            "exclusions__0__id",
            "contain",
        ),
        (
            {"funnel_order_type": "unordered", "exclusions": _excluded(0, 1)},
            "exclusions__0__funnel_from_step",
            "all of its steps",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    sent: dict[str, Any], attr: str, detail: str
) -> None:
    with pytest.raises(Invalid) as refused:
        read_funnels(Fields({"events": STEPS, **sent}))

    assert refused.value.attr == attr
    assert detail in refused.value.detail


def test_an_event_with_more_conditions_than_a_step_may_be_excluded() -> None:
    read_funnels(Fields({"events": STEPS, "exclusions": _excluded(0, 1, id="b", properties=PRO)}))
    read_funnels(Fields({"events": STEPS, "exclusions": _excluded(0, 1, id="c")}))


@pytest.mark.parametrize(
    ("sent", "attr"),
    [
        ({"breakdown": "plan"}, "breakdown"),
        ({"events": STEPS[:1]}, "events"),
        ({"funnel_correlation_type": "persons"}, "funnel_correlation_type"),
        ({"funnel_correlation_type": "properties"}, "funnel_correlation_names"),
        ({"funnel_correlation_type": "event_with_properties"}, "funnel_correlation_event_names"),
        ({"funnel_correlation_names": "x"}, "funnel_correlation_names"),
        (
            {
                "funnel_correlation_type": "properties",
                "funnel_correlation_names": ["$all"],
                "aggregation_group_type_index": 0,
            },
            "aggregation_group_type_index",
        ),
        ({"compare": True}, "compare"),
        ({"compare_to": "-1w"}, "compare_to"),
    ],
)
def test_a_correlation_that_cannot_be_calculated_is_refused(
    sent: dict[str, Any], attr: str
) -> None:
    with pytest.raises(Invalid) as refused:
        read_correlation(Fields({"events": STEPS, **sent}))

    assert refused.value.attr == attr


def test_a_correlation_reads_which_names_it_compares() -> None:
    query = read_correlation(
        Fields(
            {
                "events": STEPS,
                "funnel_correlation_type": "properties",
                "funnel_correlation_names": ["$all"],
                "funnel_correlation_exclude_names": ["email"],
            }
        )
    )

    assert query.type == "properties"
    assert (query.names, query.exclude_names) == ((), ("email",))
    assert query.entities == query.funnel.steps
