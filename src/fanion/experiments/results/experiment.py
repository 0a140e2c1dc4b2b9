"""The parts of an experiment from which its results are calculated.

Source: experiments.md, sections 1a, 2e and 4d.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from fanion.experiments.calculation.question import ExposureQuestion, MetricQuestion, Window
from fanion.experiments.metrics.exposure import ExposureCriteria
from fanion.experiments.metrics.model import Metric
from fanion.experiments.metrics.stats_config import StatsConfig
from fanion.properties.filters import Node as Conditions

Role = Literal["primary", "secondary", "guardrail"]
Status = Literal["draft", "running", "paused", "stopped"]
# The chance that a guardrail of an experiment is called harmed and is not.
HARM_ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class MeasuredMetric:
    """A metric of an experiment.

    Attributes:
        metric: None for a stored one that cannot be calculated.
        error: Why it cannot be.
    """

    role: Role
    metric: Metric | None
    uuid: str | None = None
    name: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    """A time during which the split did not change, with the percentage of each variant."""

    started_at: datetime
    percentages: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned numbers, None for those that were not planned.

    Attributes:
        units: The units of all variants together.
        days: The planned running time.
        effect: The least change to find, in percent.
    """

    units: int | None = None
    days: float | None = None
    effect: float | None = None


UNPLANNED: Final = Plan()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredExperiment:
    """An experiment as results need it.

    Attributes:
        variants: The keys of the flag's variants.
        phases: Oldest first; empty for a draft.
        excluded: Variants that are compared with none.
        has_forced_variants: Whether a condition of the flag answers one variant to all.
    """

    id: int
    status: Status
    flag_key: str
    variants: tuple[str, ...]
    started_at: datetime | None
    ended_at: datetime | None
    phases: tuple[Phase, ...]
    criteria: ExposureCriteria
    stats: StatsConfig
    metrics: tuple[MeasuredMetric, ...]
    group_type_index: int | None = None
    accounts: Conditions | None = None
    plan: Plan = UNPLANNED
    excluded: frozenset[str] = frozenset()
    only_matured: bool = False
    has_forced_variants: bool = False

    @property
    def baseline(self) -> str:
        return self.stats.baseline if self.stats.baseline in self.variants else self.variants[0]

    def percentages(self, phase: int) -> Mapping[str, float]:
        """Return the split of a phase, without variants that are excluded or have no share."""
        split = self.phases[phase].percentages
        return {
            key: share for key, share in split.items() if share > 0 and key not in self.excluded
        }

    def compared(self, phase: int) -> tuple[str, ...]:
        """Return the test variants, which are compared with the baseline."""
        split = self.percentages(phase)
        return tuple(key for key in self.variants if key in split and key != self.baseline)

    def with_role(self, role: Role) -> tuple[MeasuredMetric, ...]:
        return tuple(each for each in self.metrics if each.role == role)

    def window(self, phase: int) -> Window:
        """Return the time and flag of a phase, which ends where the next one begins."""
        assert self.started_at is not None  # a draft has no phases
        later = self.phases[phase + 1 :]
        return Window(
            flag_key=self.flag_key,
            variants=self.variants,
            started_at=self.started_at,
            phase_at=max(self.phases[phase].started_at, self.started_at),
            ended_at=later[0].started_at if later else self.ended_at,
            group_type_index=self.group_type_index,
            criteria=self.criteria,
            accounts=self.accounts,
        )

    def exposures(self, phase: int) -> ExposureQuestion:
        return ExposureQuestion(self.window(phase))

    def questions(self, phase: int) -> Sequence[MetricQuestion | None]:
        """Return the question of each metric, None for one that cannot be calculated."""
        metrics = (measured.metric for measured in self.metrics)
        return [None if metric is None else self.question(metric, phase) for metric in metrics]

    def question(self, metric: Metric, phase: int) -> MetricQuestion:
        days, matured = self.stats.lookback_days, self.only_matured
        return MetricQuestion(self.window(phase), metric, days, matured)
