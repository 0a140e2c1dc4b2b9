"""Requests and responses of the endpoints of guarded releases.

Source: experiments.md section 5b.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import Invalid
from fanion.experiments.guarded_release.model import (
    METRICS_MAX,
    STEPS_MAX,
    Act,
    MetricHarm,
    OnRegression,
    OnTooFew,
    PlainRelease,
    Reason,
    Release,
    State,
    Step,
)
from fanion.projects.model import UserSummary
from fanion.rest.validation import shared_fields

_MAINTAINED = frozenset(
    {
        *("id", "state", "reason", "step", "step_started_at", "rollout_percentage", "history"),
        *("next_step_at", "checked_at", "created_at", "created_by", "updated_at", "started_at"),
        "former_rollout_percentage",
    }
)
Steps = Annotated[
    list[Step],
    Meta(
        min_length=1,
        max_length=STEPS_MAX,
        description="Percentages that rise; each is held for so long before the next one.",
    ),
]
Metrics = Annotated[
    list[dict[str, Any]],
    Meta(
        min_length=1,
        max_length=METRICS_MAX,
        description="Guardrails: metrics of kind `ExperimentMetric`, each with a `goal` and a "
        "`tolerance`.",
    ),
]
Alpha = Annotated[
    float, Meta(ge=0.0001, le=0.5, description="How often a release without harm is stopped.")
]
Exposures = Annotated[
    int, Meta(ge=1, le=10_000_000, description="People in each arm, without whom nothing moves.")
]


class NewRelease(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = _MAINTAINED

    steps: Steps
    metrics: Metrics
    condition_index: Annotated[
        int, Meta(ge=0, le=1_000, description="The condition set whose rollout grows.")
    ] = 0
    alpha: Alpha = 0.05
    minimum_exposures: Exposures = 100
    on_regression: Annotated[
        OnRegression,
        Meta(description="`rollback` sets the percentage back to what it was before."),
    ] = "rollback"
    on_too_few: Annotated[
        OnTooFew, Meta(description="Whether a step waits for `minimum_exposures`.")
    ] = "hold"


class ReleaseChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = _MAINTAINED

    steps: Steps | UnsetType = UNSET
    metrics: Metrics | UnsetType = UNSET
    condition_index: int | UnsetType = UNSET
    alpha: Alpha | UnsetType = UNSET
    minimum_exposures: Exposures | UnsetType = UNSET
    on_regression: OnRegression | UnsetType = UNSET
    on_too_few: OnTooFew | UnsetType = UNSET


class ReleaseBody(PlainRelease, frozen=True, kw_only=True):
    id: int
    metrics: Annotated[
        list[dict[str, Any]],
        Meta(description="As sent, each with `harm`, `lower`, `p_value` and `outcome`."),
    ]
    state: State
    reason: Reason | None
    step: Annotated[int, Meta(description="Index of the current step.")]
    rollout_percentage: float
    former_rollout_percentage: float | None
    started_at: datetime
    step_started_at: datetime
    next_step_at: datetime | None
    checked_at: datetime | None
    history: list[Act]
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime


def release_body(release: Release) -> ReleaseBody:
    harms = [*release.harms, *([MetricHarm()] * (len(release.metrics) - len(release.harms)))]
    metrics = [
        {**metric, **shared_fields(harm, MetricHarm)}
        for metric, harm in zip(release.metrics, harms, strict=True)
    ]
    names = (
        *("id", "state", "reason", "step", "rollout_percentage", "started_at", "step_started_at"),
        *("next_step_at", "checked_at", "history", "created_by", "created_at", "updated_at"),
    )
    return ReleaseBody(
        **{**shared_fields(release, PlainRelease), "metrics": metrics},
        **{name: getattr(release, name) for name in names},
        former_rollout_percentage=release.former_percentage,
    )


def check_steps(steps: Sequence[Step], before: float) -> None:
    """Raise Invalid unless the percentages rise, and each but the last one is held.

    Args:
        before: The percentage before the first step.
    """
    for index, step in enumerate(steps):
        if step.rollout_percentage <= before:
            raise Invalid(
                f"The percentages of the steps must rise, from more than {before:g} %.",
                attr=f"steps__{index}__rollout_percentage",
            )
        before = step.rollout_percentage
        if step.hold_minutes is None and index + 1 < len(steps):
            raise Invalid(
                "This field is required.", code="required", attr=f"steps__{index}__hold_minutes"
            )


def without_results(metric: Mapping[str, Any]) -> dict[str, Any]:
    """Return a metric as it was sent before it was returned with what a check said."""
    results = {*MetricHarm.__struct_fields__, "fingerprint"}
    return {name: value for name, value in metric.items() if name not in results}
