"""Comparison of people inside and outside of a guarded release, step by step.

Steps are strata: each is compared by itself, and weighed by its people. Pooling them would take a
better or worse hour for an effect of the release.

Source: experiments.md sections 4g and 5c.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from fanion.experiments.guarded_release.model import Measured, MetricHarm, Release
from fanion.experiments.metrics.model import MeanMetric, Metric, RatioMetric
from fanion.experiments.statistics.guardrails import check_harm, harm_of, in_strata
from fanion.experiments.statistics.samples import BinarySample, MeanSample, RatioSample, Sample
from fanion.experiments.statistics.split_check import check_split

CONTROL: Final = "control"
TREATED: Final = "treated"
SUCCESSES_MIN: Final = 10  # of both arms together
UNITS_MIN: Final = 2  # of each arm in a stratum, to have a variance

# The sums of one metric in one step, by arm.
Arms = Mapping[str, Mapping[str, Any]]


def measure(release: Release, metrics: Sequence[Metric], current: Sequence[Arms]) -> Measured:
    """Return what the steps so far say.

    Args:
        metrics: The metrics of the release.
        current: The sums of each metric in the current step.
    """
    steps: Sequence[Sequence[Arms]] = [*release.sums, list(current)]
    control, treated = (max(_number(arms, arm) for arms in current) for arm in (CONTROL, TREATED))
    alpha = release.alpha / len(metrics)
    strata = [[step[index] for step in steps] for index in range(len(metrics))]
    share = release.rollout_percentage
    split = check_split(
        {CONTROL: control, TREATED: treated}, {CONTROL: 100 - share, TREATED: share}
    )
    pairs = list(zip(metrics, strata, strict=True))
    return Measured(
        control=control,
        treated=treated,
        sums=list(current),
        harms=[_harm(metric, arms, alpha) for metric, arms in pairs],
        is_enough=[_is_enough(metric, arms, release.minimum_exposures) for metric, arms in pairs],
        is_mismatch=split.is_mismatch,
    )


def _harm(metric: Metric, strata: Sequence[Arms], alpha: float) -> MetricHarm:
    effects = [
        harm_of(_sample(metric, arms[CONTROL]), _sample(metric, arms[TREATED]), metric.goal,
                metric.tolerance)
        for arms in strata
        if min(_number(arms, CONTROL), _number(arms, TREATED)) >= UNITS_MIN
    ]  # fmt: skip
    if not effects:
        return MetricHarm()
    test = check_harm(in_strata(effects), alpha, may_be_safe=metric.tolerance > 0)
    if test.standard_error == 0 and test.harm > 0:
        # Everyone inside and nobody outside: there is no spread to compare with, and no doubt.
        return MetricHarm(harm=_finite(test.harm), outcome="harmed")
    return MetricHarm(
        harm=_finite(test.harm),
        lower=_finite(test.lower),
        p_value=_finite(test.p_value),
        outcome=test.outcome,
    )


def _is_enough(metric: Metric, strata: Sequence[Arms], exposures_min: int) -> bool:
    """Return whether both arms have enough people, and enough of them did something."""
    numbers = [sum(_number(arms, arm) for arms in strata) for arm in (CONTROL, TREATED)]
    if min(numbers) < exposures_min:
        return False
    is_count = isinstance(metric, MeanMetric) and metric.source.math == "total"
    if not (metric.is_binary or is_count):
        return True
    successes = sum(float(arms.get(arm, {}).get("sum") or 0) for arms in strata for arm in arms)
    return successes >= SUCCESSES_MIN


def _sample(metric: Metric, sums: Mapping[str, Any]) -> Sample:
    number, total = int(sums["number"]), float(sums["sum"] or 0)
    if isinstance(metric, RatioMetric):
        return RatioSample(
            number,
            total,
            *(
                float(sums[name] or 0)
                for name in (
                    *("sum_squares", "denominator_sum", "denominator_sum_squares"),
                    "product_sum",
                )
            ),
        )
    if metric.is_binary:
        return BinarySample(number, total)
    return MeanSample(number, total, float(sums["sum_squares"] or 0))


def _number(arms: Arms, arm: str) -> int:
    return int(arms.get(arm, {}).get("number", 0))


def _finite(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else value
