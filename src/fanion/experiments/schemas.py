"""Requests and responses of the endpoints of experiments.

Source: experiments.md sections 1a and 1d.
"""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import AppError
from fanion.experiments.model import (
    CONCLUSIONS,
    DESCRIPTION_CHARS_MAX,
    NAME_CHARS_MAX,
    Experiment,
    HoldoutRecord,
    Kind,
    LatestVerdict,
    MetricLink,
    Phase,
    PlainExperiment,
    Status,
)
from fanion.experiments.parameters import calculator_of, shown_parameters
from fanion.flags.definitions.schemas import FlagKey
from fanion.flags.definitions.store import StoredFlag
from fanion.flags.engine.definition import grouped_filters
from fanion.flags.sdk.local_evaluation import FlagSummary, flag_summary
from fanion.projects.model import UserSummary
from fanion.rest.posthog_fields import OF_EXPERIMENT
from fanion.rest.validation import INTEGER_MAX, shared_fields

VERSION_HEADER = "X-Experiment-Version"
_encode = msgspec.json.Encoder(order="deterministic").encode

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
Description = Annotated[str, Meta(max_length=DESCRIPTION_CHARS_MAX)]
Parameters = Annotated[
    dict[str, Any],
    Meta(
        description="`feature_flag_variants` (`[{key, name, rollout_percentage}]`, of which one is "
        "`control`), `rollout_percentage` of the flag's first condition set, and the numbers of "
        "the plan. Replaced as a whole."
    ),
]
MetricList = Annotated[
    list[dict[str, Any]], Meta(description="Metrics, of kind `ExperimentMetric`.")
]
SavedMetricIds = Annotated[
    Any,
    Meta(
        description="`[{id, metadata: {type}}]`, where `type` is `primary`, `secondary` or "
        "`guardrail`. Replaced as a whole."
    ),
]
HoldoutId = Annotated[int, Meta(ge=1, le=INTEGER_MAX, description="Id of a holdout.")]
Uuids = Annotated[list[str], Meta(description="The order of the metrics on screens.")]
Criteria = Annotated[
    dict[str, Any],
    Meta(
        description="Who counts as exposed: `filterTestAccounts`, `exposure_config`, "
        "`multiple_variant_handling`."
    ),
]
StatsConfig = Annotated[
    dict[str, Any],
    Meta(description="The statistical method and its options, with PostHog's names."),
]
Version = Annotated[
    int,
    Meta(
        description="Version of the experiment that the change is based on; 409 if there is a "
        "newer one."
    ),
]
Comment = Annotated[str, Meta(max_length=DESCRIPTION_CHARS_MAX)]


class _ExperimentFields(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fields that a request may set at any time."""

    also_known: ClassVar[frozenset[str]] = OF_EXPERIMENT

    description: Description | UnsetType | None = UNSET
    start_date: datetime | UnsetType | None = UNSET
    end_date: datetime | UnsetType | None = UNSET
    parameters: Parameters | UnsetType | None = UNSET
    running_time_calculation: Annotated[
        dict[str, Any] | UnsetType | None,
        Meta(description="The numbers of the plan, which are part of `parameters` too."),
    ] = UNSET
    metrics: MetricList | UnsetType | None = UNSET
    metrics_secondary: MetricList | UnsetType | None = UNSET
    guardrail_metrics: Annotated[
        list[dict[str, Any]] | UnsetType | None,
        Meta(description="Metrics that must not get worse, each with a `tolerance`."),
    ] = UNSET
    saved_metrics_ids: SavedMetricIds = UNSET
    primary_metrics_ordered_uuids: Uuids | UnsetType | None = UNSET
    secondary_metrics_ordered_uuids: Uuids | UnsetType | None = UNSET
    exposure_criteria: Criteria | UnsetType | None = UNSET
    holdout_id: HoldoutId | UnsetType | None = UNSET
    stats_config: StatsConfig | UnsetType | None = UNSET
    type: Annotated[Kind | UnsetType | None, Meta(description="`product` by default.")] = UNSET
    conclusion: CONCLUSIONS | UnsetType | None = UNSET
    conclusion_comment: Comment | UnsetType | None = UNSET
    archived: bool | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET
    only_count_matured_users: bool | UnsetType = UNSET
    filters: Annotated[
        dict[str, Any] | UnsetType | None,
        Meta(description="The oldest form of metrics: kept, and not calculated."),
    ] = UNSET
    secondary_metrics: Annotated[
        list[Any] | UnsetType | None,
        Meta(description="The oldest form of metrics: kept, and not calculated."),
    ] = UNSET
    allow_unknown_events: Annotated[
        bool | UnsetType, Meta(description="Metrics may always name events that never came.")
    ] = UNSET


class NewExperiment(_ExperimentFields, kw_only=True, omit_defaults=True):
    name: Name
    feature_flag_key: FlagKey


class ExperimentChanges(_ExperimentFields, kw_only=True, omit_defaults=True):
    name: Name | UnsetType = UNSET
    feature_flag_key: FlagKey | UnsetType = UNSET
    update_feature_flag_params: Annotated[
        bool | UnsetType,
        Meta(
            description="Write the percentages of `parameters` into the flag of an experiment that "
            "was launched. A new split begins a new phase."
        ),
    ] = UNSET
    version: Version | UnsetType | None = UNSET


class Conclusion(Struct, kw_only=True, forbid_unknown_fields=True):
    """How an experiment ended."""

    conclusion: CONCLUSIONS | UnsetType | None = UNSET
    conclusion_comment: Comment | UnsetType | None = UNSET


class ShippedVariant(Conclusion, kw_only=True, forbid_unknown_fields=True):
    """The variant that everyone gets."""

    variant_key: str
    release_to_everyone: Annotated[
        bool, Meta(description="Begin with a condition set for everyone.")
    ] = False


class ExperimentCopy(Struct, kw_only=True, forbid_unknown_fields=True):
    """The fields of a copy of an experiment that are not those of the original."""

    feature_flag_key: Annotated[
        FlagKey, Meta(description="Of another flag, which is created if it does not exist.")
    ]
    name: Name | UnsetType | None = UNSET


class ExperimentBody(PlainExperiment, frozen=True, kw_only=True):
    """An experiment as it is returned."""

    id: int
    feature_flag: FlagSummary | None
    status: Status
    running_time_calculation: dict[str, Any] | None
    saved_metrics: list[MetricLink]
    holdout: HoldoutRecord | None
    holdout_id: int | None
    exposure_cohort: int | None
    phases: Annotated[
        list[Phase],
        Meta(description="Times with the same split. Results are those of the last phase."),
    ]
    latest_verdict: Annotated[
        LatestVerdict | None,
        Meta(
            description="The verdict of the last hourly calculation since the launch; null before "
            "the first one. `results/` is more recent."
        ),
    ]
    deleted: bool
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime


def experiment_body(experiment: Experiment) -> ExperimentBody:
    shown = {
        **shared_fields(experiment, PlainExperiment),
        "parameters": shown_parameters(experiment.parameters),
        **{
            name: [with_fingerprint(metric, experiment) for metric in getattr(experiment, name)]
            for name in ("metrics", "metrics_secondary", "guardrail_metrics")
        },
    }
    names = ("id", "holdout", "holdout_id", "deleted", "created_by", "created_at", "updated_at")
    return ExperimentBody(
        **shown,
        **{name: getattr(experiment, name) for name in names},
        feature_flag=None if experiment.flag is None else small_flag(experiment.flag),
        status=experiment.status,
        running_time_calculation=calculator_of(experiment.parameters),
        saved_metrics=list(experiment.links),
        exposure_cohort=experiment.exposure_cohort_id,
        latest_verdict=experiment.latest_verdict,
    )


def with_fingerprint(metric: Mapping[str, Any], experiment: Experiment) -> dict[str, Any]:
    """Return a metric with a hash of all that its numbers follow from."""
    asked = {name: value for name, value in metric.items() if name not in ("uuid", "name")}
    method = (experiment.stats_config or {}).get("method")
    parts = (asked, experiment.start_date, method, experiment.exposure_criteria)
    return {**metric, "fingerprint": sha256(_encode(parts)).hexdigest()}


def small_flag(flag: StoredFlag) -> FlagSummary:
    row = flag.definition
    return FlagSummary(**flag_summary(flag.project_id, row, grouped_filters(row)))


class StaleExperiment(AppError):
    """The experiment has changed since the caller read it; the response contains it as it is."""

    status, type, default_code = 409, "invalid_request", "conflict"

    def __init__(self, experiment: Experiment) -> None:
        super().__init__(
            "The experiment was changed since you read it. Review the current version and try "
            "again.",
            attr="version",
        )
        self.current = experiment

    def body(self) -> bytes:
        """Return the common fields of an error, with the experiment and its version."""
        moved = {"version": self.current.version, "current": experiment_body(self.current)}
        return msgspec.json.encode({**self.fields(), **moved})

    def headers(self) -> tuple[tuple[str, str], ...]:
        return ((VERSION_HEADER.lower(), str(self.current.version)),)


class Implementation(Struct, frozen=True, kw_only=True):
    result: Annotated[
        bool,
        Meta(description="Whether no event of the last 7 days carries a value of any flag."),
    ]


class EligibleFlags(Struct, frozen=True, kw_only=True):
    """The flags with which an experiment can run."""

    results: list[FlagSummary]
    count: int
