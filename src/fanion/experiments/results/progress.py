"""The progress of an experiment towards its plan.

Source: experiments.md, section 6.
"""

from datetime import datetime, timedelta
from math import ceil
from typing import Final

from fanion.experiments.results.experiment import Plan
from fanion.experiments.results.schemas import ExposuresBody, PlannedBody

_DAY: Final = timedelta(days=1)


def days_between(start: datetime, now: datetime) -> float:
    return max((now - start) / _DAY, 0.0)


def planned_body(
    plan: Plan, exposures: ExposuresBody, variants: int, days: float, *, has_ended: bool
) -> PlannedBody:
    """Return the share of the plan that is reached, by units if they are planned, else by days.

    Args:
        days: Since the phase began.
    """
    per_variant = None if plan.units is None else ceil(plan.units / max(variants, 1))
    if plan.units:
        reached = exposures.total / plan.units
        left = _days_for(plan.units - exposures.total, exposures.total, days)
    elif plan.days:
        reached, left = days / plan.days, max(ceil(plan.days - days), 0)
    else:
        return PlannedBody(per_variant=None, reached=None, days_left=None)
    return PlannedBody(
        per_variant=per_variant,
        reached=min(round(reached, 4), 1.0),
        days_left=None if has_ended else left,
    )


def _days_for(missing: int, total: int, days: float) -> int | None:
    """Return the days until `missing` more units are exposed, None if none has been so far."""
    if missing <= 0:
        return 0
    return ceil(missing / (total / max(days, 1.0))) if total else None
