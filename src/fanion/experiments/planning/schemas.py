"""The request for a plan of an experiment, and its answer.

Source: experiments.md, section 4h.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

from fanion.insights.breakdowns import GROUP_TYPES_MAX

VARIANTS_MAX = 20
Percent = Annotated[float, Meta(gt=0, le=100)]
EventName = Annotated[
    str,
    Meta(max_length=200, description="The event of the exposure; any event by default."),
]
Shares = Annotated[
    list[Percent],
    Meta(
        max_length=VARIANTS_MAX,
        description="The share of each variant, the baseline first; equal by default.",
    ),
]
GroupType = Annotated[
    int, Meta(ge=0, lt=GROUP_TYPES_MAX, description="Counts groups of this type.")
]


class NewPlan(Struct, kw_only=True, forbid_unknown_fields=True):
    metric: Annotated[dict[str, Any], Meta(description="A metric, as experiments have it.")]
    exposure_event: EventName | None = None
    minimum_detectable_effect: Annotated[
        float, Meta(gt=0, le=1000, description="The least change to find, in percent.")
    ] = 10.0
    variants: Annotated[
        int,
        Meta(ge=2, le=VARIANTS_MAX, description="Number of variants, with the baseline."),
    ] = 2
    power: Annotated[
        float, Meta(ge=0.5, le=0.99, description="The probability that the change is found.")
    ] = 0.8
    rollout_percentages: Shares | None = None
    aggregation_group_type_index: GroupType | None = None


class PlanBaseline(Struct, kw_only=True):
    """The units of the last days."""

    number_of_samples: int
    mean: float
    variance: float


class DetectableEffect(Struct, kw_only=True):
    weeks: int
    minimum_detectable_effect: Annotated[
        float | None, Meta(description="In percent, null if nothing is known.")
    ]


class PlanBody(Struct, kw_only=True):
    daily_exposures: Annotated[
        float | None, Meta(description="Units with their first exposure, per day.")
    ]
    baseline: PlanBaseline | None
    per_variant: Annotated[int | None, Meta(description="Units; the mean of an uneven split.")]
    recommended_sample_size: Annotated[int | None, Meta(description="Units of all variants.")]
    recommended_running_time: Annotated[int | None, Meta(description="Days, at least 7.")]
    detectable_effects: list[DetectableEffect]
    problems: Annotated[
        list[str],
        Meta(description="`no_data`, `no_variance` if all values are equal, or `too_large`."),
    ]
