"""The exposures of a phase of an experiment, with the check of its split.

Source: experiments.md, sections 2d, 2g and 4f.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from fanion.experiments.results.experiment import MeasuredExperiment
from fanion.experiments.results.schemas import ExposuresBody, SplitBody
from fanion.experiments.statistics.split_check import SplitCheck, check_split

# Shares of units with several variants above which there is a warning, and no usable result.
MULTIPLE_WARNS_ABOVE: Final = 0.01
MULTIPLE_WARNS_UNEVEN_ABOVE: Final = 0.001
MULTIPLE_BREAKS_ABOVE: Final = 0.1


def no_exposures(experiment: MeasuredExperiment) -> ExposuresBody:
    """Return the exposures of a draft."""
    return ExposuresBody(
        event=experiment.criteria.shown_event,
        total=0,
        variants=dict.fromkeys(experiment.variants, 0),
        multiple=0,
        holdout=0,
        without_variant=0,
        earlier_phases=0,
        first_at=None,
        last_at=None,
        split=_split_body(check_split({}, {})),
        days=[],
        by_day={},
        warnings=[],
    )


def exposures_body(
    experiment: MeasuredExperiment, results: Mapping[str, Any], phase: int
) -> ExposuresBody:
    """Return the exposures of a phase.

    Args:
        results: The answer of the event store.
    """
    by_day = results["by_day"]
    counts = {key: sum(by_day.get(key, ())) for key in experiment.variants}
    split = check_split(counts, experiment.percentages(phase))
    body = ExposuresBody(
        event=experiment.criteria.shown_event,
        total=sum(counts.values()),
        variants=counts,
        multiple=results["multiple"],
        holdout=results["holdout"],
        without_variant=results["without_variant"],
        earlier_phases=results["earlier"],
        first_at=_moment(results["first_at"]),
        last_at=_moment(results["last_at"]),
        split=_split_body(split),
        days=results["days"],
        by_day=by_day,
        warnings=[],
    )
    body.warnings = _warnings(experiment, body, phase)
    return body


def _split_body(split: SplitCheck) -> SplitBody:
    return SplitBody(
        p_value=split.p_value,
        expected=dict(split.expected),
        mismatch=split.is_mismatch,
        small=split.is_small,
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def multiple_share(exposures: ExposuresBody) -> float:
    """Return the share of units that were left out because they saw several variants."""
    units = exposures.total + exposures.multiple
    return exposures.multiple / units if units else 0.0


def _warnings(experiment: MeasuredExperiment, body: ExposuresBody, phase: int) -> list[str]:
    shares = experiment.percentages(phase).values()
    is_uneven = len(set(shares)) > 1
    most = MULTIPLE_WARNS_UNEVEN_ABOVE if is_uneven else MULTIPLE_WARNS_ABOVE
    warnings = ["multiple_variants"] if multiple_share(body) > most else []
    if body.split.mismatch:
        warnings.append("small_split_mismatch" if body.split.small else "split_mismatch")
        if experiment.has_forced_variants:
            warnings.append("forced_variants")
    return warnings
