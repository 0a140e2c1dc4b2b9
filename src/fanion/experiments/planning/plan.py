"""The plan that follows from what units did in the last days.

Source: experiments.md, section 4h.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final

from fanion.errors import Invalid
from fanion.experiments.metrics.model import Metric
from fanion.experiments.planning.schemas import (
    DetectableEffect,
    NewPlan,
    PlanBaseline,
    PlanBody,
)
from fanion.experiments.results.samples import arms_of
from fanion.experiments.statistics.planning import (
    days_needed,
    detectable_effect,
    detection_multiplier,
    units_together,
)
from fanion.experiments.statistics.samples import Sample

# The last days from which a plan is made.
DAYS: Final = 14
WEEKS: Final = (1, 2, 4)
ALPHA: Final = 0.05
EVERYBODY: Final = "everybody"


def shares_of(new_plan: NewPlan) -> Sequence[float]:
    """Return the share of each variant, of the baseline first.

    Raises:
        Invalid: There is another number of shares than of variants, or they are not 100 together.
    """
    sent = new_plan.rollout_percentages
    if sent is None:
        return [1 / new_plan.variants] * new_plan.variants
    if len(sent) != new_plan.variants:
        detail = f"There are {len(sent)} shares for {new_plan.variants} variants."
        raise Invalid(detail, attr="rollout_percentages")
    if abs(sum(sent) - 100) > 0.5:
        detail = f"The shares are {sum(sent):g} % together. They must be 100 %."
        raise Invalid(detail, attr="rollout_percentages")
    return [share / sum(sent) for share in sent]


def plan_of(
    new_plan: NewPlan,
    metric: Metric,
    sums: Mapping[str, Mapping[str, Any]],
    shares: Sequence[float],
) -> PlanBody:
    """Return the plan from the sums of all units of the last DAYS."""
    try:
        [arm] = arms_of(metric, [EVERYBODY], sums)
    except OverflowError:
        return _unknown("too_large")
    sample = arm.raw
    exposed = int(arm.sums.get("exposed", sample.number))
    if not sample.number or sample.mean == 0:
        return _unknown("no_data")
    if sample.variance == 0:
        return _unknown("no_variance")
    return _known(new_plan, sample, exposed, shares)


def _unknown(problem: str) -> PlanBody:
    return PlanBody(
        daily_exposures=None,
        baseline=None,
        per_variant=None,
        recommended_sample_size=None,
        recommended_running_time=None,
        detectable_effects=[
            DetectableEffect(weeks=weeks, minimum_detectable_effect=None) for weeks in WEEKS
        ],
        problems=[problem],
    )


def _known(new_plan: NewPlan, sample: Sample, exposed: int, shares: Sequence[float]) -> PlanBody:
    """Return the plan of a sample with a mean.

    Args:
        exposed: The units of the last days; of retention only some of them start.
    """
    mean, variance = abs(sample.mean), sample.variance
    multiplier = detection_multiplier(ALPHA / (new_plan.variants - 1), new_plan.power)
    effect = new_plan.minimum_detectable_effect / 100
    needed = units_together(mean, variance, effect, multiplier, shares)
    per_variant = ceil(needed / new_plan.variants)
    if new_plan.rollout_percentages is None:
        needed = per_variant * new_plan.variants
    daily, started = exposed / DAYS, sample.number / exposed
    return PlanBody(
        daily_exposures=round(daily, 2),
        baseline=PlanBaseline(number_of_samples=sample.number, mean=sample.mean, variance=variance),
        per_variant=per_variant,
        recommended_sample_size=needed,
        recommended_running_time=days_needed(needed, daily * started),
        detectable_effects=[
            DetectableEffect(
                weeks=weeks,
                minimum_detectable_effect=round(
                    100
                    * detectable_effect(
                        mean, variance, multiplier, daily * started * 7 * weeks, shares
                    ),
                    2,
                ),
            )
            for weeks in WEEKS
        ],
        problems=[],
    )
