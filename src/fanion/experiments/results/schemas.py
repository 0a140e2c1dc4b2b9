"""The answer with the results of an experiment.

Source: experiments.md, section 6.
"""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from fanion.experiments.metrics.model import MetricType
from fanion.experiments.results.experiment import Role, Status
from fanion.experiments.statistics.guardrails import Goal

Number = Annotated[float | None, Meta(description="Null where it cannot be computed.")]
Outcome = Literal["better", "worse", "unclear", "harmed", "safe", "not_harmed_so_far"]
VerdictCode = Literal[
    "not_started", "no_exposures", "broken", "stop", "collecting", "ship", "keep", "wait"
]


class IntervalBody(Struct, kw_only=True):
    """An estimate with the bounds between which the true value is."""

    estimate: Number
    low: Number
    high: Number


class ArmBody(Struct, kw_only=True):
    """The units of one variant."""

    key: str
    number_of_samples: int
    sum: Number
    sum_squares: Number
    mean: Number
    denominator_sum: Number | UnsetType = UNSET
    denominator_sum_squares: Number | UnsetType = UNSET
    numerator_denominator_sum_product: Number | UnsetType = UNSET
    step_counts: list[int] | UnsetType = UNSET
    exposed: Annotated[
        int | UnsetType,
        Meta(description="Retention only: exposed units, started or not."),
    ] = UNSET
    validation_failures: list[str]


class HarmBody(Struct, kw_only=True):
    """The test of a guardrail; an estimate above 0 is worse than tolerated."""

    estimate: Number
    lower: Number
    p_value: Number


class UnadjustedBody(Struct, kw_only=True):
    """The comparison without the adjustment by values before the exposure (CUPED)."""

    difference: IntervalBody
    lift: IntervalBody
    p_value: Number


class VariantBody(ArmBody, kw_only=True):
    """A test variant and its comparison with the baseline."""

    difference: IntervalBody
    lift: IntervalBody
    z: Number
    p_value: Annotated[Number, Meta(description="Valid at any time with the default method.")] = (
        None
    )
    chance_to_win: Annotated[Number, Meta(description="Bayesian method only.")] = None
    significant: bool
    outcome: Annotated[
        Outcome | None,
        Meta(description="By the metric's goal; null while the variants cannot be compared."),
    ]
    harm: HarmBody | UnsetType = UNSET
    unadjusted: UnadjustedBody | UnsetType = UNSET


class MetricBody(Struct, kw_only=True):
    """The results of one metric, or the error if it cannot be calculated."""

    uuid: str | None
    name: str | None
    role: Role
    metric_type: MetricType | None = None
    goal: Goal | None = None
    problems: list[str] = []
    unknown_event: Annotated[
        list[str] | UnsetType, Meta(description="Events of the metric that were never received.")
    ] = UNSET
    baseline: ArmBody | None = None
    variants: list[VariantBody] = []
    error: str | None = None


class SplitBody(Struct, kw_only=True):
    """The check that variants have as many units as their percentages promise."""

    p_value: Number
    expected: dict[str, float]
    mismatch: bool
    small: Annotated[bool, Meta(description="No share is off by more than half a point.")]


class ExposuresBody(Struct, kw_only=True):
    """The units that were exposed, by variant, and those that were left out."""

    event: str
    total: int
    variants: dict[str, int]
    multiple: Annotated[int, Meta(description="Units that saw several variants.")]
    holdout: int
    without_variant: Annotated[int, Meta(description="Calls of the flag without a variant.")]
    earlier_phases: Annotated[int, Meta(description="Units that an earlier phase exposed.")]
    first_at: datetime | None
    last_at: datetime | None
    split: SplitBody
    days: list[str]
    by_day: Annotated[
        dict[str, list[int]], Meta(description="First exposures of each variant by day.")
    ]
    warnings: list[str]


class MethodBody(Struct, kw_only=True):
    name: Literal["sequential", "fixed", "bayesian"]
    alpha: float
    comparisons: Annotated[
        int, Meta(description="Primary metrics times test variants, which share `alpha`.")
    ]
    tuning_parameter: int
    peeking: Annotated[
        Literal["protected", "unprotected"],
        Meta(description="Whether answers hold however often you look at them."),
    ]


class PlannedBody(Struct, kw_only=True):
    per_variant: int | None
    reached: Annotated[float | None, Meta(description="The share of the plan, from 0 to 1.")]
    days_left: int | None


class VerdictBody(Struct, kw_only=True):
    code: VerdictCode
    variant: str | None
    sentence: str
    reasons: list[str]


class ResultsBody(Struct, kw_only=True):
    experiment_id: int
    status: Status
    start: datetime | None = field(default=None, name="from")
    end: datetime | None = field(default=None, name="to")
    as_of: Annotated[datetime | None, Meta(description="Time of the oldest number.")]
    phase: int | None
    method: MethodBody
    exposures: ExposuresBody
    planned: PlannedBody
    metrics: list[MetricBody]
    verdict: VerdictBody
