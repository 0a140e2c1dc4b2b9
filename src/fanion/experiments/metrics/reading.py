"""Reading of metrics as clients send and as experiments store them.

Source: experiments.md, sections 1a and 1c.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from fanion.errors import Invalid
from fanion.experiments.metrics.exposure import DEFAULT_EVENT
from fanion.experiments.metrics.model import (
    UNIT_SECONDS,
    FunnelMetric,
    MeanMetric,
    Metric,
    Percentiles,
    RatioMetric,
    RetentionMetric,
    WindowUnit,
)
from fanion.experiments.metrics.nodes import (
    Node,
    fields_of,
    number,
    read_node,
    required_node,
)
from fanion.insights.parsing.fields import Fields
from fanion.rest.unknown_fields import no_choice, require_known

# Metrics of one list of an experiment, and steps of a funnel.
METRICS_MAX: Final = 50
STEPS_MAX: Final = 20
NAME_CHARS_MAX: Final = 400
_WINDOW_MAX: Final = 10_000
_NUMBER_MAX: Final = 1e15

_CAPS: Final = frozenset({"lower_bound_percentile", "upper_bound_percentile", "ignore_zeros"})
# Fields of every metric, of PostHog's API in any version.
_COMMON: Final = frozenset(
    {
        *("kind", "metric_type", "uuid", "name", "goal", "fingerprint", "response", "version"),
        *("conversion_window", "conversion_window_unit", "breakdownFilter", "description"),
        *("isSharedMetric", "sharedMetricId", "sharedMetricUuid", "tags", "experiment_id"),
        *("metric_uuid", "saved_metric_id"),
    }
)
_KNOWN: Final[Mapping[str, frozenset[str]]] = {
    "mean": _COMMON | _CAPS | {"source", "threshold"},
    "funnel": _COMMON | {"series", "funnel_order_type"},
    "ratio": _COMMON
    | {"numerator", "denominator", "numerator_outlier_handling", "denominator_outlier_handling"},
    "retention": _COMMON
    | {
        *("start_event", "completion_event", "start_handling"),
        *("retention_window_start", "retention_window_end", "retention_window_unit"),
    },
}
# The kinds of 2024 and 2025, each with the name of its question.
_OLDER: Final[Mapping[str, str]] = {
    "ExperimentTrendsQuery": "count_query",
    "ExperimentFunnelsQuery": "funnels_query",
}
_KINDS: Final = ("ExperimentMetric", *_OLDER)


def read_metrics(
    raw: object,
    attr: str,
    *,
    are_guardrails: bool = False,
    exposure_event: str | None = DEFAULT_EVENT,
) -> tuple[Metric, ...]:
    """Read the metrics of one list of an experiment.

    Args:
        raw: Decoded JSON; None for no metrics.
        attr: The name of the list.
        exposure_event: The event of the exposure, which funnels of older clients begin with; None
            for an action.

    Raises:
        Invalid: A metric cannot be read. The text begins with its index.
    """
    if raw is None:
        return ()
    if not isinstance(raw, list):
        type_name = type(raw).__name__
        raise Invalid(f'Expected a list of items but got type "{type_name}".', attr=attr)
    if len(raw) > METRICS_MAX:
        raise Invalid(f"Ensure this list has at most {METRICS_MAX} elements.", attr=attr)
    return tuple(
        _indexed(value, attr, index, are_guardrails, exposure_event)
        for index, value in enumerate(raw)
    )


def _indexed(
    value: object, attr: str, index: int, is_guardrail: bool, exposure_event: str | None
) -> Metric:
    try:
        return read_metric(
            value, f"{attr}__{index}", is_guardrail=is_guardrail, exposure_event=exposure_event
        )
    except Invalid as error:
        detail = f"Invalid metric at index {index}: {error.detail}"
        raise Invalid(detail, code=error.code, attr=error.attr) from None


def read_metric(
    raw: object,
    attr: str,
    *,
    is_guardrail: bool = False,
    exposure_event: str | None = DEFAULT_EVENT,
) -> Metric:
    """Read one metric.

    Args:
        attr: Its place in the request.

    Raises:
        Invalid: A value cannot be read, is unknown or cannot be calculated.
    """
    fields = fields_of(raw, attr)
    kind = fields.choice("kind", _KINDS, "")
    if not kind:
        raise fields.required("kind")
    if kind != "ExperimentMetric":
        return _older(fields, kind, exposure_event)
    metric_type = fields.text("metric_type")
    if metric_type is None:
        raise fields.required("metric_type")
    if metric_type not in _KNOWN:
        raise no_choice(metric_type, tuple(_KNOWN), fields.place("metric_type"))
    require_known(fields.values, _KNOWN[metric_type] | _own_names(is_guardrail), fields.at)
    return _with_common(_READERS[metric_type](fields), fields, is_guardrail)


def _own_names(is_guardrail: bool) -> frozenset[str]:
    return frozenset({"tolerance"}) if is_guardrail else frozenset()


def _with_common(metric: Metric, fields: Fields, is_guardrail: bool) -> Metric:
    name = fields.text("name")
    if name is not None and len(name) > NAME_CHARS_MAX:
        detail = f"Ensure this field has no more than {NAME_CHARS_MAX} characters."
        raise fields.error("name", detail)
    _refuse_breakdown(fields)
    return replace(
        metric,
        uuid=fields.text("uuid"),
        name=name,
        goal=fields.choice("goal", ("increase", "decrease"), "increase"),
        window_s=metric.window_s or _window(fields),
        tolerance=(number(fields, "tolerance", 0, 1000) or 0.0) if is_guardrail else 0.0,
    )


def _refuse_breakdown(fields: Fields) -> None:
    breakdown = fields.inner("breakdownFilter")
    if breakdown is not None and any(breakdown.values.values()):
        raise fields.error("breakdownFilter", "Breakdowns of metrics are not supported.")


def _window(fields: Fields) -> int | None:
    """Return the seconds of the conversion window, None for no window."""
    unit: WindowUnit = fields.choice("conversion_window_unit", tuple(UNIT_SECONDS), "day")
    count = fields.whole("conversion_window", 1, _WINDOW_MAX)
    return None if count is None else count * UNIT_SECONDS[unit]


def _mean(fields: Fields) -> Metric:
    source = required_node(fields, "source")
    threshold = number(fields, "threshold", -_NUMBER_MAX, _NUMBER_MAX)
    if threshold is not None and source.math not in ("total", "sum"):
        detail = "A threshold needs math total or sum."
        raise fields.error("threshold", detail)
    percentiles = _percentiles(fields)
    if percentiles.are_given and threshold is not None:
        raise fields.error("threshold", "A metric has either a threshold or percentiles.")
    return MeanMetric(source=source, percentiles=percentiles, threshold=threshold)


def _percentiles(fields: Fields) -> Percentiles:
    lower = number(fields, "lower_bound_percentile", 0, 1)
    upper = number(fields, "upper_bound_percentile", 0, 1)
    if lower is not None and upper is not None and lower >= upper:
        detail = "The lower percentile must be less than the upper one."
        raise fields.error("lower_bound_percentile", detail)
    return Percentiles(lower, upper, fields.boolean("ignore_zeros"))


def _funnel(fields: Fields) -> Metric:
    items = fields.items("series", STEPS_MAX)
    if not items:
        raise fields.required("series")
    order = fields.choice("funnel_order_type", ("ordered", "unordered", "strict"), "ordered")
    if order == "strict":
        detail = "Funnels with order strict are not supported. Use ordered or unordered."
        raise fields.error("funnel_order_type", detail)
    return FunnelMetric(series=tuple(map(_step, items)), is_ordered=order == "ordered")


def _step(fields: Fields) -> Node:
    node = read_node(fields)
    if node.math not in ("total", "dau"):
        raise fields.error("math", f"A step of a funnel cannot have math {node.math}.")
    if fields.boolean("optionalInFunnel"):
        raise fields.error("optionalInFunnel", "Optional steps are not supported. Leave it out.")
    return node


def _ratio(fields: Fields) -> Metric:
    return RatioMetric(
        numerator=required_node(fields, "numerator"),
        denominator=required_node(fields, "denominator"),
        numerator_percentiles=_handling(fields, "numerator_outlier_handling"),
        denominator_percentiles=_handling(fields, "denominator_outlier_handling"),
    )


def _handling(fields: Fields, name: str) -> Percentiles:
    inner = fields.inner(name)
    if inner is None:
        return Percentiles()
    require_known(inner.values, _CAPS, inner.at)
    return _percentiles(inner)


def _retention(fields: Fields) -> Metric:
    start = fields.whole("retention_window_start", 0, _WINDOW_MAX)
    end = fields.whole("retention_window_end", 0, _WINDOW_MAX)
    if start is None or end is None:
        raise fields.required("retention_window_start" if start is None else "retention_window_end")
    if end < start:
        detail = "The end of the retention window must not be before its start."
        raise fields.error("retention_window_end", detail)
    unit: WindowUnit = fields.choice("retention_window_unit", tuple(UNIT_SECONDS), "day")
    handling = fields.choice("start_handling", ("first_seen", "last_seen"), "first_seen")
    return RetentionMetric(
        start=required_node(fields, "start_event"),
        completion=required_node(fields, "completion_event"),
        retention_start=start,
        retention_end=end,
        unit=unit,
        is_of_last_start=handling == "last_seen",
    )


_READERS: Final[Mapping[str, Callable[[Fields], Metric]]] = {
    "mean": _mean,
    "funnel": _funnel,
    "ratio": _ratio,
    "retention": _retention,
}


def _older(fields: Fields, kind: str, exposure_event: str | None) -> Metric:
    """Return the metric that a question of an older client means."""
    name = _OLDER[kind]
    question = fields.inner(name)
    if question is None:
        raise fields.required(name)
    items = question.items("series", STEPS_MAX)
    if not items:
        raise question.required("series")
    if kind == "ExperimentTrendsQuery":
        return _with_common(MeanMetric(source=read_node(items[0])), fields, False)
    return _with_common(_older_funnel(question, items, exposure_event), fields, False)


def _older_funnel(question: Fields, items: Sequence[Fields], exposure_event: str | None) -> Metric:
    """Return a funnel without the exposure, with which those of older clients begin."""
    series = tuple(map(_step, items))
    first = series[0].entity
    if len(series) > 1 and exposure_event is not None and first.event == exposure_event:
        series = series[1:]
    options = question.inner("funnelsFilter") or Fields({})
    order = options.choice("funnelOrderType", ("ordered", "unordered", "strict"), "ordered")
    if order == "strict":
        detail = "Funnels with order strict are not supported. Use ordered or unordered."
        raise options.error("funnelOrderType", detail)
    unit: WindowUnit = options.choice("funnelWindowIntervalUnit", tuple(UNIT_SECONDS), "day")
    count = options.whole("funnelWindowInterval", 1, _WINDOW_MAX)
    window = None if count is None else count * UNIT_SECONDS[unit]
    return FunnelMetric(series=series, is_ordered=order == "ordered", window_s=window)
