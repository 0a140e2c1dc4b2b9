"""The results of a metric: each test variant compared with the baseline.

Source: experiments.md, sections 3, 4 and 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET
from msgspec.structs import asdict

from fanion.experiments.metrics.model import FunnelMetric, Metric, RatioMetric, RetentionMetric
from fanion.experiments.results.experiment import (
    HARM_ALPHA,
    MeasuredExperiment,
    MeasuredMetric,
    Role,
)
from fanion.experiments.results.samples import Arm, Sums, arms_of
from fanion.experiments.results.schemas import (
    ArmBody,
    HarmBody,
    IntervalBody,
    MetricBody,
    Outcome,
    UnadjustedBody,
    VariantBody,
)
from fanion.experiments.statistics.comparison import (
    Comparison,
    Method,
    compare,
    failures_of,
    is_comparable,
)
from fanion.experiments.statistics.guardrails import HarmTest, check_harm, harm_of
from fanion.experiments.statistics.intervals import Interval
from fanion.experiments.statistics.samples import BinarySample, RatioSample

# Below this the shares of those who started differ between variants.
STARTERS_DIFFER_BELOW: Final = 0.01
TOO_LARGE: Final = "The values are too large to be added up."


@dataclass(frozen=True, slots=True)
class Rules:
    """How the variants of one metric are compared.

    Attributes:
        harm_alpha: For one comparison of a guardrail.
    """

    method: Method
    role: Role
    harm_alpha: float
    baseline: str
    compared: tuple[str, ...]


def rules_of(experiment: MeasuredExperiment, role: Role, phase: int) -> Rules:
    """Return the rules for metrics of a role; primary ones share alpha with all variants."""
    method, compared = experiment.stats.method, experiment.compared(phase)
    if role == "primary":
        method = method.shared_by(len(experiment.with_role("primary")) * len(compared))
    guardrails = len(experiment.with_role("guardrail")) * len(compared)
    harm_alpha = HARM_ALPHA / max(guardrails, 1)
    return Rules(method, role, harm_alpha, experiment.baseline, compared)


def evaluate(
    measured: MeasuredMetric, metric: Metric, sums: Mapping[str, Sums], rules: Rules
) -> MetricBody:
    """Return the results of a metric from the sums of its variants."""
    body = metric_body(measured)
    try:
        baseline, *variants = arms_of(metric, (rules.baseline, *rules.compared), sums)
    except OverflowError:
        body.error = TOO_LARGE
        return body
    problems = _problems(sums)
    body.baseline = _arm(metric, baseline, is_baseline=True)
    for variant in variants:
        body.variants.append(_variant(metric, baseline, variant, rules, problems))
    body.problems = list(dict.fromkeys(problems))
    return body


def metric_body(measured: MeasuredMetric) -> MetricBody:
    """Return what is known of a metric without its numbers."""
    metric = measured.metric
    return MetricBody(
        uuid=measured.uuid,
        name=measured.name or (None if metric is None else metric.label),
        role=measured.role,
        metric_type=None if metric is None else metric.metric_type,
        goal=None if metric is None else metric.goal,
        variants=[],
        error=measured.error,
    )


def _problems(sums: Mapping[str, Sums]) -> list[str]:
    problems = []
    if any(each.get("truncated") for each in sums.values()):
        problems.append("truncated")
    if any(each.get(name) == 0 for each in sums.values() for name in ("high", "denominator_high")):
        problems.append("cap_is_zero")
    return problems


def _arm(metric: Metric, arm: Arm, *, is_baseline: bool = False) -> ArmBody:
    raw, sums = arm.raw, arm.sums
    body = ArmBody(
        key=arm.key,
        number_of_samples=raw.number,
        sum=sums.get("sum", 0),
        sum_squares=sums.get("sum_squares", 0),
        mean=raw.mean if raw.number else None,
        validation_failures=_failures(arm, is_baseline=is_baseline),
    )
    if isinstance(metric, RatioMetric):
        body.denominator_sum = sums.get("denominator_sum", 0)
        body.denominator_sum_squares = sums.get("denominator_sum_squares", 0)
        body.numerator_denominator_sum_product = sums.get("product_sum", 0)
    if isinstance(metric, FunnelMetric):
        steps = range(len(metric.series))
        body.step_counts = [int(sums.get(f"step_{step}", 0)) for step in steps]
    if isinstance(metric, RetentionMetric):
        body.exposed = int(sums.get("exposed", 0))
    return body


def _failures(arm: Arm, *, is_baseline: bool = False) -> list[str]:
    failures = [str(failure) for failure in failures_of(arm.raw, is_baseline=is_baseline)]
    return [*failures, *(["not-enough-metric-data"] if _has_no_denominator(arm) else [])]


def _has_no_denominator(arm: Arm) -> bool:
    raw = arm.raw
    return isinstance(raw, RatioSample) and raw.number > 0 and raw.denominator_sum == 0


def _variant(
    metric: Metric, baseline: Arm, arm: Arm, rules: Rules, problems: list[str]
) -> VariantBody:
    result = _compared(baseline, arm, rules.method)
    if result.has_no_variance:
        problems.append("no_variance")
    if isinstance(metric, RetentionMetric) and _starters_differ(baseline, arm):
        problems.append("starters_differ")
    body = VariantBody(
        **asdict(_arm(metric, arm)),
        difference=_interval(result.difference),
        lift=_interval(result.lift),
        z=result.z,
        p_value=result.p_value,
        chance_to_win=result.chance_to_win,
        significant=result.is_significant,
        outcome=_outcome(metric, result),
        unadjusted=_unadjusted(baseline, arm, rules.method) if arm.is_adjusted else UNSET,
    )
    if rules.role == "guardrail":
        _add_harm(body, metric, baseline, arm, rules)
    return body


def _compared(baseline: Arm, arm: Arm, method: Method) -> Comparison:
    if _has_no_denominator(baseline) or _has_no_denominator(arm):
        return Comparison(Interval(None), Interval(None))
    return compare(baseline.tested, arm.tested, method)


def _unadjusted(baseline: Arm, arm: Arm, method: Method) -> UnadjustedBody:
    result = compare(baseline.raw, arm.raw, method)
    return UnadjustedBody(
        difference=_interval(result.difference),
        lift=_interval(result.lift),
        p_value=result.p_value,
    )


def _interval(interval: Interval) -> IntervalBody:
    return IntervalBody(estimate=interval.estimate, low=interval.low, high=interval.high)


def _outcome(metric: Metric, result: Comparison) -> Outcome | None:
    if result.z is None or result.difference.estimate is None:
        return None
    if not result.is_significant:
        return "unclear"
    return "better" if (result.difference.estimate > 0) == (metric.goal == "increase") else "worse"


def _starters_differ(baseline: Arm, arm: Arm) -> bool:
    control, test = (
        BinarySample(int(each.sums.get("exposed", 0)), float(each.sums.get("number", 0)))
        for each in (baseline, arm)
    )
    p_value = compare(control, test, Method()).p_value
    return p_value is not None and p_value < STARTERS_DIFFER_BELOW


def _add_harm(body: VariantBody, metric: Metric, baseline: Arm, arm: Arm, rules: Rules) -> None:
    """Put the one-sided test of a guardrail in place of the outcome of its comparison."""
    test = _harm(metric, baseline, arm, rules)
    body.outcome = None if test is None else test.outcome
    body.harm = HarmBody(
        estimate=None if test is None else test.harm,
        lower=None if test is None else test.lower,
        p_value=None if test is None else test.p_value,
    )


def _harm(metric: Metric, baseline: Arm, arm: Arm, rules: Rules) -> HarmTest | None:
    is_ratio_of_nothing = _has_no_denominator(baseline) or _has_no_denominator(arm)
    if is_ratio_of_nothing or not is_comparable(baseline.tested, arm.tested):
        return None
    effect = harm_of(baseline.tested, arm.tested, metric.goal, metric.tolerance)
    may_be_safe = metric.tolerance > 0
    return check_harm(effect, rules.harm_alpha, rules.method.tuning, may_be_safe=may_be_safe)
