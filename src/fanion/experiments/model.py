"""Experiments as they are stored, and the rules that need nothing else.

An experiment is a window of time over a multivariate flag, with metrics. The flag assigns its
variants; nothing is stored for each person.

Source: experiments.md section 1.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from fanion.errors import Invalid
from fanion.flags.definitions.store import StoredFlag
from fanion.projects.model import UserSummary

NAME_CHARS_MAX: Final = 400
DESCRIPTION_CHARS_MAX: Final = 3_000
CONTROL: Final = "control"
CONCLUSIONS = Literal["won", "lost", "inconclusive", "stopped_early", "invalid"]
Status = Literal["draft", "running", "paused", "stopped"]
Kind = Literal["product", "web"]
Role = Literal["primary", "secondary", "guardrail"]

# What a new experiment gets, where the request does not say it.
NEW_STATS_CONFIG: Final[Mapping[str, Any]] = {
    "method": "frequentist",
    "frequentist": {
        "alpha": 0.05,
        "difference_type": "RELATIVE",
        "sequential_testing_enabled": True,
        "sequential_tuning_parameter": 5000,
    },
    "cuped": {"enabled": False, "lookback_days": 14},
    "baseline_variant_key": CONTROL,
}
NEW_EXPOSURE_CRITERIA: Final[Mapping[str, Any]] = {"filterTestAccounts": True}
# The keys of `parameters` that the calculator of the running time uses.
CALCULATOR_KEYS: Final = (
    "minimum_detectable_effect",
    "recommended_running_time",
    "recommended_sample_size",
    "exposure_estimate_config",
)

Metrics = Annotated[
    list[dict[str, Any]],
    Meta(description="Metrics as they were sent, each with a `uuid` and a `fingerprint`."),
]
Uuids = Annotated[list[str], Meta(description="The order of the metrics on screens.")]


class Phase(Struct, frozen=True, kw_only=True):
    """A time during which the flag split people in the same way.

    Attributes:
        variants: Percentages by the key of the variant.
    """

    started_at: datetime
    variants: dict[str, float]


class PlainExperiment(Struct, frozen=True, kw_only=True):
    """The fields of an experiment that are recorded, exported and imported.

    The defaults are those of a new experiment.
    """

    name: str
    feature_flag_key: str
    description: str | None = None
    start_date: datetime | None = None
    end_date: datetime | None = None
    parameters: dict[str, Any] | None = None
    metrics: list[dict[str, Any]] = []
    metrics_secondary: list[dict[str, Any]] = []
    guardrail_metrics: list[dict[str, Any]] = []
    primary_metrics_ordered_uuids: list[str] | None = None
    secondary_metrics_ordered_uuids: list[str] | None = None
    exposure_criteria: dict[str, Any] | None = None
    stats_config: dict[str, Any] | None = None
    type: Kind = "product"
    conclusion: CONCLUSIONS | None = None
    conclusion_comment: str | None = None
    archived: bool = False
    only_count_matured_users: bool = False
    filters: dict[str, Any] = {}
    secondary_metrics: list[Any] = []
    phases: list[Phase] = []


class MetricLink(Struct, frozen=True, kw_only=True):
    """A saved metric of an experiment."""

    id: int
    experiment: int
    saved_metric: int
    metadata: dict[str, Any]
    query: dict[str, Any]
    name: str
    created_at: datetime


class HoldoutRecord(Struct, frozen=True, kw_only=True):
    """A holdout as it is stored and returned: persons who are kept out of experiments."""

    id: int
    name: str
    description: str | None
    filters: Annotated[
        list[dict[str, Any]],
        Meta(description="`[{properties: [], rollout_percentage, variant}]`."),
    ]
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime


class LatestVerdict(Struct, frozen=True, kw_only=True):
    """The verdict of an experiment at its last calculation in the background."""

    code: str
    variant: str | None
    sentence: str
    exposures: Annotated[int, Meta(description="Units that were exposed.")]
    as_of: datetime


class Experiment(PlainExperiment, frozen=True, kw_only=True):
    """An experiment of a project.

    Attributes:
        flag: None once the deleted flag was replaced by another one with its key.
        links: The saved metrics, in the order in which they were sent.
        version: Increases with every change.
    """

    id: int
    project_id: int
    feature_flag_id: int | None
    flag: StoredFlag | None
    holdout_id: int | None
    holdout: HoldoutRecord | None
    links: Sequence[MetricLink]
    exposure_cohort_id: int | None
    deleted: bool
    version: int
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime
    verdict: str | None = None
    verdict_variant: str | None = None
    verdict_sentence: str | None = None
    verdict_exposures: int | None = None
    checked_at: datetime | None = None

    @property
    def latest_verdict(self) -> LatestVerdict | None:
        """Return the verdict since the launch, None before the first calculation."""
        if self.start_date is None or self.checked_at is None or self.checked_at <= self.start_date:
            return None
        if self.verdict is None or self.verdict_sentence is None or self.verdict_exposures is None:
            return None
        return LatestVerdict(
            code=self.verdict,
            variant=self.verdict_variant,
            sentence=self.verdict_sentence,
            exposures=self.verdict_exposures,
            as_of=self.checked_at,
        )

    @property
    def creator_id(self) -> int | None:
        return None if self.created_by is None else self.created_by.id

    @property
    def is_draft(self) -> bool:
        return self.start_date is None

    @property
    def is_running(self) -> bool:
        """Return whether it was launched and has not ended; a paused one runs too."""
        return self.start_date is not None and self.end_date is None

    @property
    def status(self) -> Status:
        if self.is_draft:
            return "draft"
        if not self.is_running:
            return "stopped"
        return "running" if self.flag_is_active else "paused"

    @property
    def flag_is_active(self) -> bool:
        row = None if self.flag is None else self.flag.definition
        return row is not None and row.active and not row.deleted

    def require_running(self) -> None:
        """Raise Invalid unless the experiment was launched and has not ended."""
        if self.is_draft:
            raise Invalid("Experiment has not been launched yet.")
        if not self.is_running:
            raise Invalid("Experiment has already ended.")


def require_end_after_start(start: datetime | None, end: datetime | None) -> None:
    if end is not None and start is None:
        raise Invalid("Experiment has not been launched yet.", attr="end_date")
    if start is not None and end is not None and end <= start:
        raise Invalid("End date must be after start date", attr="end_date")


def phases_from(start: datetime | None, phases: Sequence[Phase]) -> list[Phase]:
    """Return the phases of an experiment whose start was moved.

    A phase that ended before the new start is left out; the first one begins with the experiment.
    """
    if start is None or not phases:
        return []
    ended = sum(phase.started_at <= start for phase in phases[1:])
    first, *later = phases[ended:]
    return [Phase(started_at=start, variants=first.variants), *later]
