"""A plan of an experiment: what is asked, and what is answered.

Source: experiments.md, section 4h.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

from fanion.insights.breakdowns import GROUP_TYPES_MAX

VARIANTS_MAX = 20
Percent = Annotated[float, Meta(gt=0, le=100)]
EventName = Annotated[
    str,
    Meta(max_length=200, description="Who would be exposed: units with this event, or any."),
]
Shares = Annotated[
    list[Percent],
    Meta(
        max_length=VARIANTS_MAX,
        description="The share of each variant, first of the baseline; equal by default.",
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
        int, Meta(ge=2, le=VARIANTS_MAX, description="How many, with the baseline.")
    ] = 2
    power: Annotated[
        float, Meta(ge=0.5, le=0.99, description="How likely the change shall be found.")
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
        float | None, Meta(description="Units a day that are seen for the first time.")
    ]
    baseline: PlanBaseline | None
    per_variant: Annotated[int | None, Meta(description="Units; of an uneven split the mean.")]
    recommended_sample_size: Annotated[int | None, Meta(description="Units of all variants.")]
    recommended_running_time: Annotated[int | None, Meta(description="Days, at least 7.")]
    detectable_effects: list[DetectableEffect]
    problems: Annotated[
        list[str],
        Meta(description="`no_data`, or `no_variance` where all units have the same value."),
    ]
