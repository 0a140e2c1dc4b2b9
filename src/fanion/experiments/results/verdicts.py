"""The verdict on an experiment: the first of a list that applies, with a sentence.

Source: experiments.md, section 6, "Verdicts".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from fanion.experiments.results.exposures import MULTIPLE_BREAKS_ABOVE, multiple_share
from fanion.experiments.results.schemas import (
    ExposuresBody,
    MetricBody,
    PlannedBody,
    VariantBody,
    VerdictBody,
    VerdictCode,
)
from fanion.experiments.results.sentences import gain, loss, percent, range_of, units
from fanion.experiments.statistics.comparison import EXPOSURES_MIN, SUCCESSES_MIN

DAYS_MIN: Final = 7
_HOLDS: Final = "This holds however often you looked."


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The inputs of a verdict.

    Attributes:
        days: Since the phase began.
        is_protected: Whether the method is valid however often one looks.
        effect: The planned least change, in percent.
        split: The percentage of each variant that is compared.
        has_started: False for a draft.
    """

    exposures: ExposuresBody
    metrics: Sequence[MetricBody]
    planned: PlannedBody
    days: float
    baseline: str
    is_protected: bool = True
    effect: float | None = None
    are_groups: bool = False
    split: dict[str, float]
    has_started: bool = True

    @property
    def primary(self) -> Sequence[MetricBody]:
        return [metric for metric in self.metrics if metric.role == "primary"]

    @property
    def is_plan_reached(self) -> bool:
        return self.planned.reached is not None and self.planned.reached >= 1

    @property
    def may_decide(self) -> bool:
        """Return whether primary metrics may decide now; unprotected ones only as planned."""
        return self.is_protected or self.is_plan_reached

    def with_outcome(self, outcome: str) -> Iterator[tuple[MetricBody, VariantBody]]:
        """Yield metrics that count for a verdict, with the variants of an outcome."""
        for metric in self.metrics:
            for variant in metric.variants:
                if metric.role != "secondary" and variant.outcome == outcome:
                    yield metric, variant


def verdict_of(evidence: Evidence) -> VerdictBody:
    """Return the first verdict that applies."""
    for each in (_not_started, _nobody, _broken, _stop, _collecting, _ship, _keep):
        verdict = each(evidence)
        if verdict is not None:
            return verdict
    return _wait(evidence)


def _verdict(
    code: VerdictCode, sentence: str, variant: str | None = None, *reasons: str
) -> VerdictBody:
    return VerdictBody(code=code, variant=variant, sentence=sentence, reasons=list(reasons))


def _not_started(evidence: Evidence) -> VerdictBody | None:
    return None if evidence.has_started else _verdict("not_started", "Not started.")


def _nobody(evidence: Evidence) -> VerdictBody | None:
    exposures = evidence.exposures
    if exposures.total or exposures.multiple:
        return None
    calls = exposures.without_variant
    if not calls:
        return _verdict("no_exposures", "Nobody has been counted.", None, "flag_not_called")
    times = "once" if calls == 1 else f"{calls:,} times"
    called = "The flag was called" if exposures.event.startswith("$feature") else "The event came"
    sentence = f"Nobody has been counted. {called} {times} without a variant."
    return _verdict("no_exposures", sentence, None, "no_variant")


def _broken(evidence: Evidence) -> VerdictBody | None:
    split, exposures = evidence.exposures.split, evidence.exposures
    if split.mismatch and not split.small:
        reasons = [warning for warning in exposures.warnings if warning != "multiple_variants"]
        return _verdict("broken", _mismatch(evidence), None, *reasons)
    share = multiple_share(exposures)
    if share <= MULTIPLE_BREAKS_ABOVE:
        return None
    whom = "groups" if evidence.are_groups else "people"
    sentence = f"Do not use these numbers: {percent(share)} of the {whom} saw several variants."
    return _verdict("broken", sentence, None, "multiple_variants")


def _mismatch(evidence: Evidence) -> str:
    """Return the sentence on variants whose numbers do not match their percentages."""
    counts, keys = evidence.exposures.variants, list(evidence.split)
    first, *others = (counts.get(key, 0) for key in keys)
    listed = ", ".join(
        [
            f"{keys[0]} has {units(first, are_groups=evidence.are_groups)}",
            *(f"{key} {count:,}" for key, count in zip(keys[1:], others, strict=True)),
        ]
    )
    shares = list(evidence.split.values())
    was_set = ", ".join(f"{share:g} %" for share in shares) + " were set"
    if len(shares) == 2 and len(set(shares)) == 1:
        was_set = "half each was set"
    return f"Do not use these numbers: {listed}, {was_set}."


def _stop(evidence: Evidence) -> VerdictBody | None:
    for metric, variant in evidence.with_outcome("harmed"):
        sentence = f"Stop: {variant.key} harms “{metric.name}”, which is a guardrail."
        return _verdict("stop", sentence, variant.key, "guardrail_harmed")
    if not evidence.may_decide:
        return None
    for metric, variant in evidence.with_outcome("worse"):
        sentence = f"Stop: {loss(metric, variant, evidence.baseline)}."
        return _verdict("stop", sentence, variant.key, "primary_worse")
    return None


def _collecting(evidence: Evidence) -> VerdictBody | None:
    """Return the verdict while no primary metric of any variant has passed the gates."""
    calculated = [metric for metric in evidence.primary if metric.error is None]
    if not calculated or any(_is_compared(metric) for metric in calculated):
        return None
    are_counted = any(metric.metric_type in ("funnel", "retention") for metric in calculated)
    needed = units(EXPOSURES_MIN, are_groups=evidence.are_groups)
    conversions = f" and {SUCCESSES_MIN} conversions" if are_counted else ""
    sentence = f"Too early: each variant needs {needed}{conversions}."
    return _verdict("collecting", sentence, None, *_failures(calculated))


def _is_compared(metric: MetricBody) -> bool:
    """Return whether both arms of any comparison have enough units and conversions."""
    gates = {"not-enough-exposures", "not-enough-metric-data"}
    if metric.baseline is None or gates.intersection(metric.baseline.validation_failures):
        return False
    return any(gates.isdisjoint(variant.validation_failures) for variant in metric.variants)


def _failures(metrics: Sequence[MetricBody]) -> list[str]:
    return sorted(
        {
            failure
            for metric in metrics
            for arm in (metric.baseline, *metric.variants)
            if arm is not None
            for failure in arm.validation_failures
        }
    )


def _ship(evidence: Evidence) -> VerdictBody | None:
    better = _best(evidence)
    if better is None or evidence.days < DAYS_MIN or not evidence.may_decide:
        return None
    metric, variant = better
    sentence = f"Ship {variant.key}: {gain(metric, variant, evidence.baseline)}."
    holds = f" {_HOLDS}" if evidence.is_protected else ""
    return _verdict("ship", f"{sentence}{holds}", variant.key)


def _best(evidence: Evidence) -> tuple[MetricBody, VariantBody] | None:
    """Return the better variant, if there are several the one with the largest change."""
    better = list(evidence.with_outcome("better"))
    return max(better, key=lambda pair: abs(pair[1].lift.estimate or 0), default=None)


def _keep(evidence: Evidence) -> VerdictBody | None:
    if not evidence.is_plan_reached or _best(evidence) is not None or not evidence.primary:
        return None
    per_variant = evidence.planned.per_variant
    after = (
        "as long as planned"
        if per_variant is None
        else (f"{units(per_variant, are_groups=evidence.are_groups)} each")
    )
    effect = "what was planned" if evidence.effect is None else f"{evidence.effect:g} % or more"
    sentence = (
        f"Keep {evidence.baseline}: after {after}, a change of {effect} would very likely "
        "have shown."
    )
    return _verdict("keep", sentence, evidence.baseline)


def _wait(evidence: Evidence) -> VerdictBody:
    if not evidence.primary:
        sentence = "Not decided: there is no primary metric."
        return _verdict("wait", sentence, None, "no_primary_metric")
    days = _days_left(evidence)
    better = _best(evidence)
    if better is not None and evidence.may_decide:
        metric, variant = better
        leads = f"{variant.key} has {gain(metric, variant, evidence.baseline)}."
        sentence = f"Not decided: {leads} A whole week is needed.{days}"
        return _verdict("wait", sentence, variant.key, "less_than_a_week")
    reasons = [] if evidence.may_decide else ["method_holds_once"]
    ranges = [range_of(variant) for metric in evidence.primary for variant in metric.variants]
    known = next((each for each in ranges if each), "")
    sentence = f"Not decided: between {known}.{days}" if known else f"Not decided.{days}"
    return _verdict("wait", sentence, None, *reasons)


def _days_left(evidence: Evidence) -> str:
    days = evidence.planned.days_left
    if days is None:
        return ""
    return " About 1 day left." if days == 1 else f" About {days} days left."
