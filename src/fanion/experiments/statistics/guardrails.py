"""The one-sided test of harm, of one pair of arms or of the steps of a guarded release.

Source: experiments.md, sections 4g and 5c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from fanion.experiments.statistics.samples import Sample, squared_error
from fanion.experiments.statistics.sequential import (
    TUNING_DEFAULT,
    OneSidedTest,
    SequentialTest,
)

Goal = Literal["increase", "decrease"]
Outcome = Literal["harmed", "safe", "not_harmed_so_far"]


@dataclass(frozen=True, slots=True)
class Effect:
    """How much worse the test is than control, with the squared standard error.

    Attributes:
        harm: The harm beyond the tolerance; above 0 is worse.
        number: The units of both arms.
    """

    harm: float
    squared_error: float
    number: int


@dataclass(frozen=True, slots=True)
class HarmTest:
    """The result of a test of harm, with None for values that cannot be computed.

    Attributes:
        lower: The lower bound of the harm, valid however often one looks.
    """

    harm: float
    standard_error: float
    z: float | None
    p_value: float | None
    lower: float | None
    outcome: Outcome | None


def harm_of(control: Sample, test: Sample, goal: Goal, tolerance: float = 0.0) -> Effect:
    """Return the harm beyond the tolerance.

    Args:
        goal: The direction that is better.
        tolerance: The share of control's mean that may be lost.
    """
    sign = 1.0 if control.mean >= 0 else -1.0
    if goal == "decrease":
        scale = 1 + tolerance * sign
        harm = test.mean - control.mean * scale
    else:
        scale = 1 - tolerance * sign
        harm = control.mean * scale - test.mean
    error = squared_error(control) * scale**2 + squared_error(test)
    return Effect(harm, error, control.number + test.number)


def in_strata(effects: Sequence[Effect]) -> Effect:
    """Return the effect of all steps together, each weighted by its units.

    Pooling their units would compare different days where the rollout grew meanwhile.
    """
    number = sum(effect.number for effect in effects)
    weights = [effect.number / number for effect in effects]
    return Effect(
        sum(weight * each.harm for weight, each in zip(weights, effects, strict=True)),
        sum(weight**2 * each.squared_error for weight, each in zip(weights, effects, strict=True)),
        number,
    )


def check_harm(
    effect: Effect, alpha: float = 0.05, tuning: int = TUNING_DEFAULT, *, may_be_safe: bool = False
) -> HarmTest:
    """Return the test whether the harm is above 0, which is valid however often one looks.

    Args:
        may_be_safe: Whether a harm whose upper bound is below 0 is `safe`; needs a tolerance.
    """
    error = sqrt(effect.squared_error)
    if error == 0:
        return HarmTest(effect.harm, 0.0, None, None, None, None)
    test, z = OneSidedTest(alpha, tuning), effect.harm / error
    lower = effect.harm - test.multiplier(effect.number) * error
    upper = effect.harm + SequentialTest(alpha, tuning).multiplier(effect.number) * error
    outcome: Outcome = "not_harmed_so_far"
    if lower > 0:
        outcome = "harmed"
    elif may_be_safe and upper < 0:
        outcome = "safe"
    return HarmTest(effect.harm, error, z, test.p_value(z, effect.number), lower, outcome)
