"""Results in the shape of PostHog's answers to its two kinds of queries.

Source: experiments.md, section 6.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final

from msgspec import to_builtins

from fanion.experiments.metrics.stats_config import StatsConfig
from fanion.experiments.results.experiment import MeasuredExperiment
from fanion.experiments.results.schemas import (
    ArmBody,
    ExposuresBody,
    IntervalBody,
    MetricBody,
    VariantBody,
)

METRIC_QUERY: Final = "ExperimentQuery"
EXPOSURE_QUERY: Final = "ExperimentExposureQuery"
_OF_ARMS: Final = (
    *("key", "number_of_samples", "sum", "sum_squares", "step_counts", "denominator_sum"),
    *("denominator_sum_squares", "numerator_denominator_sum_product", "validation_failures"),
)


def metric_answer(body: MetricBody, stats: StatsConfig, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to an ExperimentQuery.

    Args:
        sent: The metric as the client sent it.
    """
    return {
        "kind": METRIC_QUERY,
        "metric": sent,
        "baseline": None if body.baseline is None else _arm(body.baseline),
        "variant_results": [_variant(variant, stats) for variant in body.variants],
        "problems": body.problems,
        "stats_version": 2,
    }


def _arm(arm: ArmBody) -> dict[str, Any]:
    fields = to_builtins(arm)
    return {name: fields[name] for name in _OF_ARMS if name in fields}


def _variant(variant: VariantBody, stats: StatsConfig) -> dict[str, Any]:
    interval = _bounds(variant.lift if stats.method.is_relative else variant.difference)
    common = {**_arm(variant), "method": stats.wire_method, "significant": variant.significant}
    if stats.method.name == "bayesian":
        return {**common, "chance_to_win": variant.chance_to_win, "credible_interval": interval}
    return {**common, "p_value": variant.p_value, "confidence_interval": interval}


def _bounds(interval: IntervalBody) -> list[float] | None:
    if interval.low is None or interval.high is None:
        return None
    return [interval.low, interval.high]


def exposure_answer(experiment: MeasuredExperiment, body: ExposuresBody) -> dict[str, Any]:
    """Return the answer to an ExperimentExposureQuery, with first exposures added up by day."""
    total: dict[str, int] = dict(body.variants)
    if body.multiple:
        total["$multiple"] = body.multiple
    is_checked = body.split.p_value is not None
    return {
        "kind": EXPOSURE_QUERY,
        "timeseries": [
            {
                "variant": key,
                "days": body.days,
                "exposure_counts": list(accumulate(body.by_day.get(key, ()))),
            }
            for key in experiment.variants
        ],
        "total_exposures": total,
        "date_range": {"date_from": experiment.started_at, "date_to": experiment.ended_at},
        "sample_ratio_mismatch": {"expected": body.split.expected, "p_value": body.split.p_value}
        if is_checked
        else None,
    }
