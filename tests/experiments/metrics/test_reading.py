"""Metrics as clients send them, and errors that name the field, the value and what is allowed."""

from collections.abc import Mapping
from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.experiments.metrics.model import (
    FunnelMetric,
    MeanMetric,
    Metric,
    Percentiles,
    RatioMetric,
    RetentionMetric,
)
from fanion.experiments.metrics.nodes import Node
from fanion.experiments.metrics.reading import METRICS_MAX, read_metric, read_metrics
from fanion.insights.entities import Entity
from fanion.properties.filters import ConditionGroup, Property

Json = Mapping[str, Any]
PURCHASE: Json = {"kind": "EventsNode", "event": "purchase"}
REVENUE: Json = {**PURCHASE, "math": "sum", "math_property": "revenue"}


def metric(metric_type: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "ExperimentMetric", "metric_type": metric_type, **fields}


def retention(**fields: Any) -> dict[str, Any]:
    window = {"retention_window_start": 1, "retention_window_end": 7}
    return metric(
        "retention", start_event=PURCHASE, completion_event={"event": "visit"}, **(window | fields)
    )


BOUGHT = Node(Entity("purchase"))
SPENT = Node(Entity("purchase"), "sum", "revenue")
DAY = 86_400


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (metric("mean", source=PURCHASE), MeanMetric(source=BOUGHT)),
        (
            metric("mean", source=REVENUE, uuid="u", name="Revenue", fingerprint="f"),
            MeanMetric(source=SPENT, uuid="u", name="Revenue"),
        ),
        (
            metric("mean", source={"event": None, "math": "dau"}, goal="decrease"),
            MeanMetric(source=Node(Entity(None), "dau"), goal="decrease"),
        ),
        (
            metric("mean", source={"math": "unique_group", "math_group_type_index": 2}),
            MeanMetric(source=Node(Entity(None), "unique_group", group_type_index=2)),
        ),
        (
            metric("mean", source=PURCHASE, conversion_window=2, conversion_window_unit="week"),
            MeanMetric(source=BOUGHT, window_s=14 * DAY),
        ),
        (
            metric("mean", source=PURCHASE, conversion_window=1, conversion_window_unit="month"),
            MeanMetric(source=BOUGHT, window_s=30 * DAY),
        ),
        (
            metric(
                "mean",
                source=REVENUE,
                lower_bound_percentile=0.01,
                upper_bound_percentile=0.99,
                ignore_zeros=True,
            ),
            MeanMetric(source=SPENT, percentiles=Percentiles(0.01, 0.99, True)),
        ),
        (metric("mean", source=PURCHASE, threshold=3), MeanMetric(source=BOUGHT, threshold=3)),
        (
            metric("funnel", series=[PURCHASE, {"event": "visit"}], funnel_order_type="unordered"),
            FunnelMetric(series=(BOUGHT, Node(Entity("visit"))), is_ordered=False),
        ),
        (
            metric(
                "ratio",
                numerator=REVENUE,
                denominator=PURCHASE,
                numerator_outlier_handling={"upper_bound_percentile": 0.9},
            ),
            RatioMetric(
                numerator=SPENT, denominator=BOUGHT, numerator_percentiles=Percentiles(upper=0.9)
            ),
        ),
        (
            retention(start_handling="last_seen", retention_window_unit="hour"),
            RetentionMetric(
                start=BOUGHT,
                completion=Node(Entity("visit")),
                retention_start=1,
                retention_end=7,
                unit="hour",
                is_of_last_start=True,
            ),
        ),
        (
            {
                "kind": "ExperimentTrendsQuery",
                "count_query": {"kind": "TrendsQuery", "series": [REVENUE]},
            },
            MeanMetric(source=SPENT),
        ),
        (
            {
                "kind": "ExperimentFunnelsQuery",
                "funnels_query": {
                    "kind": "FunnelsQuery",
                    "series": [{"event": "$feature_flag_called"}, PURCHASE],
                    "funnelsFilter": {
                        "funnelWindowInterval": 3,
                        "funnelWindowIntervalUnit": "hour",
                    },
                },
            },
            FunnelMetric(series=(BOUGHT,), window_s=3 * 3600),
        ),
        (
            {"kind": "ExperimentFunnelsQuery", "funnels_query": {"series": [PURCHASE, PURCHASE]}},
            FunnelMetric(series=(BOUGHT, BOUGHT)),
        ),
    ],
)
def test_a_metric_is_read(sent: Json, expected: Metric) -> None:
    assert read_metric(sent, "metric") == expected


def test_conditions_are_those_of_insights() -> None:
    condition = {"key": "plan", "value": ["pro"], "operator": "exact", "type": "event"}

    read = read_metric(metric("mean", source={**PURCHASE, "properties": [condition]}), "metric")

    [node] = read.nodes
    assert isinstance(node.entity.properties, ConditionGroup)
    [leaf] = node.entity.properties.children
    assert isinstance(leaf, Property) and leaf.key == "plan"


@pytest.mark.parametrize(
    ("sent", "attr", "detail"),
    [
        ([], "m", "Must be a JSON object."),
        ({"metric_type": "mean"}, "m__kind", "This field is required."),
        (
            {"kind": "TrendsQuery"},
            "m__kind",
            '"TrendsQuery" is not a valid choice. Did you mean "ExperimentTrendsQuery"?',
        ),
        ({"kind": "ExperimentMetric"}, "m__metric_type", "This field is required."),
        (
            metric("mode", source=PURCHASE),
            "m__metric_type",
            '"mode" is not a valid choice. Allowed are: funnel, mean, ratio, retention.',
        ),
        (metric("mean"), "m__source", "This field is required."),
        (
            metric("mean", source=PURCHASE, sauce=1),
            "m__sauce",
            'Unknown field "sauce". Did you mean "source"?',
        ),
        (
            metric("mean", source=PURCHASE, tolerance=0.1),
            "m__tolerance",
            'Unknown field "tolerance". No known name is similar.',
        ),
        (
            metric("mean", source={"kind": "ActionsNode"}),
            "m__source__id",
            "This field is required.",
        ),
        (
            metric("mean", source={"kind": "ActionsNode", "id": "signs up"}),
            "m__source__id",
            "A valid integer is required.",
        ),
        (
            metric("mean", source={"kind": "ActionsNode", "id": 0}),
            "m__source__id",
            "Ensure this value is between 1 and 9223372036854775807.",
        ),
        (
            metric("mean", source={"kind": "GroupNode", "nodes": []}),
            "m__source__nodes",
            "This field is required.",
        ),
        (
            metric("mean", source={"kind": "GroupNode", "nodes": [PURCHASE], "operator": "AND"}),
            "m__source__operator",
            '"AND" is not a valid choice. Allowed are: OR.',
        ),
        (
            metric("mean", source={"kind": "GroupNode", "nodes": [{"kind": "GroupNode"}]}),
            "m__source__nodes__0__kind",
            "A group of events cannot have groups.",
        ),
        (
            metric("mean", source={"kind": "GroupNode", "nodes": [{**PURCHASE, "math": "dau"}]}),
            "m__source__nodes__0__math",
            'Unknown field "math". Allowed are: custom_name, event, id, kind, name, properties, '
            "uuid.",
        ),
        (
            metric("mean", source={**PURCHASE, "nodes": []}),
            "m__source__nodes",
            'Unknown field "nodes". No known name is similar.',
        ),
        (
            metric("mean", source={"kind": "ActionsNode", "id": 7, "event": "purchase"}),
            "m__source__event",
            "An action has an id in place of an event. Leave it out.",
        ),
        (
            metric("mean", source={"kind": "Action", "id": 7}),
            "m__source__kind",
            '"Action" is not a valid choice. Did you mean "ActionsNode"?',
        ),
        (
            metric("mean", source={"kind": "ExperimentDataWarehouseNode"}),
            "m__source__kind",
            "There is no data warehouse. Use an EventsNode.",
        ),
        (
            metric("mean", source={**PURCHASE, "math": "median"}),
            "m__source__math",
            '"median" is not a valid choice. Allowed are: avg, dau, max, min, sum, total, '
            "unique_group, unique_session.",
        ),
        (
            metric("mean", source={**PURCHASE, "math": "hogql", "math_hogql": "sum(1)"}),
            "m__source__math",
            "Math hogql is not supported. Use one of: total, sum, avg, min, max, unique_session, "
            "dau, unique_group.",
        ),
        (
            metric("mean", source={**PURCHASE, "math": "sum"}),
            "m__source__math_property",
            "This field is required.",
        ),
        (
            metric("mean", source={**PURCHASE, "math": "unique_group"}),
            "m__source__math_group_type_index",
            "This field is required.",
        ),
        (
            metric("mean", source={"event": 7}),
            "m__source__event",
            "Not a valid string.",
        ),
        (
            metric("mean", source={"event": "e" * 201}),
            "m__source__event",
            "Ensure this field has no more than 200 characters.",
        ),
        (
            metric("mean", source={**PURCHASE, "math": "avg", "math_property": "a"}, threshold=1),
            "m__threshold",
            "A threshold needs math total or sum.",
        ),
        (
            metric("mean", source=PURCHASE, threshold=1, upper_bound_percentile=0.9),
            "m__threshold",
            "A metric has either a threshold or percentiles.",
        ),
        (
            metric("mean", source=PURCHASE, upper_bound_percentile=99),
            "m__upper_bound_percentile",
            "Ensure this value is between 0 and 1.",
        ),
        (
            metric("mean", source=PURCHASE, upper_bound_percentile="0.9"),
            "m__upper_bound_percentile",
            "A valid number is required.",
        ),
        (
            metric("mean", source=PURCHASE, lower_bound_percentile=0.9, upper_bound_percentile=0.1),
            "m__lower_bound_percentile",
            "The lower percentile must be less than the upper one.",
        ),
        (
            metric("mean", source=PURCHASE, conversion_window=0),
            "m__conversion_window",
            "Ensure this value is between 1 and 10000.",
        ),
        (
            metric("mean", source=PURCHASE, conversion_window=1, conversion_window_unit="year"),
            "m__conversion_window_unit",
            '"year" is not a valid choice. Allowed are: day, hour, minute, month, second, week.',
        ),
        (
            metric("mean", source=PURCHASE, goal="rise"),
            "m__goal",
            '"rise" is not a valid choice. Allowed are: decrease, increase.',
        ),
        (
            metric("mean", source=PURCHASE, breakdownFilter={"breakdown": "$browser"}),
            "m__breakdownFilter",
            "Breakdowns of metrics are not supported.",
        ),
        (
            metric("mean", source=PURCHASE, name="n" * 401),
            "m__name",
            "Ensure this field has no more than 400 characters.",
        ),
        (metric("funnel", series=[]), "m__series", "This field is required."),
        (
            metric("funnel", series=[PURCHASE] * 21),
            "m__series",
            "Ensure this list has at most 20 elements.",
        ),
        (
            metric("funnel", series=[REVENUE]),
            "m__series__0__math",
            "A step of a funnel cannot have math sum.",
        ),
        (
            metric("funnel", series=[{**PURCHASE, "optionalInFunnel": True}]),
            "m__series__0__optionalInFunnel",
            "Optional steps are not supported. Leave it out.",
        ),
        (
            metric("funnel", series=[PURCHASE], funnel_order_type="strict"),
            "m__funnel_order_type",
            "Funnels with order strict are not supported. Use ordered or unordered.",
        ),
        (metric("ratio", numerator=PURCHASE), "m__denominator", "This field is required."),
        (
            metric(
                "ratio",
                numerator=PURCHASE,
                denominator=PURCHASE,
                denominator_outlier_handling={"cap": 1},
            ),
            "m__denominator_outlier_handling__cap",
            'Unknown field "cap". Allowed are: ignore_zeros, lower_bound_percentile, '
            "upper_bound_percentile.",
        ),
        (
            retention(retention_window_start=None),
            "m__retention_window_start",
            "This field is required.",
        ),
        (
            retention(retention_window_start=8),
            "m__retention_window_end",
            "The end of the retention window must not be before its start.",
        ),
        (
            {"kind": "ExperimentTrendsQuery", "count_query": {"series": []}},
            "m__count_query__series",
            "This field is required.",
        ),
        ({"kind": "ExperimentFunnelsQuery"}, "m__funnels_query", "This field is required."),
    ],
)
def test_what_cannot_be_read_is_refused(sent: object, attr: str, detail: str) -> None:
    with pytest.raises(Invalid) as raised:
        read_metric(sent, "m")

    assert (raised.value.attr, raised.value.detail) == (attr, detail)


def test_the_index_of_a_metric_is_told() -> None:
    sent = [metric("mean", source=PURCHASE), metric("mean")]

    with pytest.raises(Invalid) as raised:
        read_metrics(sent, "metrics")

    assert raised.value.fields() == {
        "type": "validation_error",
        "code": "required",
        "detail": "Invalid metric at index 1: This field is required.",
        "attr": "metrics__1__source",
    }


def test_only_guardrails_have_a_tolerance() -> None:
    sent = [metric("mean", source=PURCHASE, tolerance=0.05)]

    [guardrail] = read_metrics(sent, "guardrail_metrics", are_guardrails=True)

    assert guardrail.tolerance == 0.05
    with pytest.raises(Invalid, match="Ensure this value is between 0 and 1000"):
        read_metrics([{**sent[0], "tolerance": -1}], "guardrail_metrics", are_guardrails=True)


@pytest.mark.parametrize(
    ("sent", "detail"),
    [
        ({}, 'Expected a list of items but got type "dict".'),
        (
            [metric("mean", source=PURCHASE)] * (METRICS_MAX + 1),
            f"Ensure this list has at most {METRICS_MAX} elements.",
        ),
    ],
)
def test_a_list_that_is_none_is_refused(sent: object, detail: str) -> None:
    with pytest.raises(Invalid) as raised:
        read_metrics(sent, "metrics")

    assert (raised.value.attr, raised.value.detail) == ("metrics", detail)


def test_no_list_is_no_metrics() -> None:
    assert read_metrics(None, "metrics") == ()


def test_the_kinds_of_metrics() -> None:
    mean = read_metric(metric("mean", source=PURCHASE), "m")
    active = read_metric(metric("mean", source={**PURCHASE, "math": "dau"}), "m")
    funnel = read_metric(metric("funnel", series=[PURCHASE, {"event": "visit"}]), "m")

    assert (mean.is_binary, active.is_binary, funnel.is_binary) == (False, True, True)
    assert (mean.label, funnel.label) == ("purchase", "purchase → visit")
    assert mean.can_be_adjusted and not read_metric(retention(), "m").can_be_adjusted
