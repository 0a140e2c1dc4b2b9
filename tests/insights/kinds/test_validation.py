"""Validation of an insight's filters: fields and words of every kind and version are known."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.dates.intervals import INTERVALS
from fanion.insights.kinds.validation import (
    check_dashboard_filters,
    check_insight_filters,
    cohort_places,
)
from fanion.insights.parsing.fields import Fields
from fanion.properties.operators import VALUES_MAX
from fanion.rest import posthog_insight_fields
from tests.support.odd_values import ODD

# Filters that PostHog's interface has stored with insights of each kind.
STORED: dict[str, dict[str, Any]] = {
    "trends": {
        "insight": "TRENDS",
        "display": "ActionsBar",
        "events": [{"id": "a", "type": "events", "order": 0, "uuid": "x", "math": "total"}],
        "filter_test_accounts": True,
        "hidden_legend_keys": {"a": True},
        "decimal_places": 2,
        "y_axis_scale_type": "log10",
    },
    "funnels": {
        "insight": "FUNNELS",
        "display": "FunnelViz",
        "events": [{"id": "a", "order": 0}, {"id": "b", "order": 1}],
        "exclusions": [{"id": "x", "type": "events", "funnel_from_step": 0, "funnel_to_step": 1}],
        "funnel_window_interval": 14,
        "funnel_window_interval_unit": "day",
        "funnel_viz_type": "steps",
        "funnel_order_type": "strict",
        "breakdown_attribution_type": "first_touch",
        "layout": "horizontal",
    },
    "retention": {
        "insight": "RETENTION",
        "period": "Week",
        "retention_type": "retention_first_time",
        "target_entity": {"id": "a", "type": "events", "kind": "EventsNode", "uuid": "x"},
        "returning_entity": {"id": "b", "type": "events"},
        "total_intervals": 8,
    },
    "paths": {
        "insight": "PATHS",
        "include_event_types": ["$pageview"],
        "path_groupings": ["/a/*"],
        "step_limit": 5,
        "edge_limit": 50,
    },
    "life cycle": {
        "insight": "LIFECYCLE",
        "shown_as": "Lifecycle",
        "events": [{"id": "a"}],
        "toggledLifecycles": ["new"],
    },
    "stickiness": {"insight": "STICKINESS", "shown_as": "Stickiness", "stickiness_days": 3},
    "none": {},
}


@pytest.mark.parametrize("kind", STORED)
def test_filters_of_every_kind_of_insight_are_stored(kind: str) -> None:
    check_insight_filters(STORED[kind], "filters")


@pytest.mark.parametrize("kind", STORED)
def test_an_unknown_name_is_refused_in_every_kind(kind: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_insight_filters({**STORED[kind], "zzz": 1}, "filters")

    assert refused.value.attr == "filters__zzz"


def test_every_calculated_interval_is_a_known_word() -> None:
    assert set(INTERVALS) == posthog_insight_fields.INTERVALS


@pytest.mark.parametrize("name", sorted(posthog_insight_fields.WORDS))
def test_an_unknown_word_is_refused(name: str) -> None:
    words: list[Any] = ["zzz", 5, ["day"], {}]
    for word in words:
        with pytest.raises(Invalid) as refused:
            check_insight_filters({"insight": "PATHS", name: word or {"a": 1}})

        assert (refused.value.code, refused.value.attr) == ("invalid_choice", name)


@pytest.mark.parametrize(("values", "is_taken"), [(VALUES_MAX, True), (VALUES_MAX + 1, False)])
def test_a_condition_has_the_limit_of_values_of_the_schema(values: int, is_taken: bool) -> None:
    condition = {"key": "a", "type": "event", "operator": "exact", "value": ["x"] * values}
    question = {"insight": "TRENDS", "events": [{"id": "a"}], "properties": [condition]}

    try:
        check_insight_filters(question)
        refused = None
    except Invalid as error:
        refused = error.attr

    assert refused == (None if is_taken else "properties__0__value")


NESTED: dict[str, Any] = {
    "properties": {
        "type": "AND",
        "values": [{"type": "OR", "values": [{"key": "a", "value": "x", "operator": "exact"}]}],
    },
    "events": [{"id": "a", "properties": [{"key": "a", "type": "person", "value": "x"}]}],
    "breakdowns": [],
}


@pytest.mark.parametrize("odd", ODD)
def test_unusual_values_are_refused_or_accepted(odd: Any) -> None:
    """Unusual values raise Invalid and nothing else, at any place."""
    names = sorted(posthog_insight_fields.OF_FILTERS)
    for filters in (
        *({**NESTED, name: odd} for name in names),
        {"properties": [odd]},
        {"properties": {"type": "AND", "values": odd}},
        {"properties": [{"key": "a", "value": odd, "operator": "gt"}]},
        {"properties": [{"key": "a", "value": 1, "operator": odd}]},
        {"properties": [{"key": "a", "value": 1, "type": odd}]},
        {"events": [{"id": "a", "properties": odd}]},
        {"insight": "FUNNELS", "exclusions": odd, "target_entity": odd},
    ):
        try:
            check_insight_filters(filters, "filters")
        except Invalid as refused:
            assert refused.detail


def test_deeply_nested_groups_are_refused_without_recursion() -> None:
    deep: Any = [{"key": "a", "value": "x"}]
    for _ in range(5_000):
        deep = [{"type": "AND", "values": deep}]

    with pytest.raises(Invalid) as refused:
        check_insight_filters({"insight": "FUNNELS", "properties": deep})

    assert "nested deeper" in refused.value.detail


def test_cohorts_are_reported_with_their_place() -> None:
    leaf = {"key": "id", "type": "cohort", "value": "7"}
    filters = {
        "properties": {"type": "AND", "values": [{"type": "OR", "values": [leaf]}]},
        "events": [{"id": "a", "properties": [{**leaf, "value": 9}]}],
    }

    assert cohort_places(Fields(filters, at="filters")) == {
        9: "filters__events__0__properties__0",
        7: "filters__properties__values__0__values__0",
    }


def test_a_dashboard_applies_its_date_range_and_conditions() -> None:
    condition = {"key": "a", "type": "event", "value": "x", "operator": "exact"}
    check_dashboard_filters({"date_from": "-30d", "date_to": None, "properties": [condition]})

    for name, value in {"properties": 5, "interval": "week", "zzz": 1, "date_to": "x"}.items():
        with pytest.raises(Invalid) as refused:
            check_dashboard_filters({name: value})
        assert refused.value.attr == f"filters__{name}"
