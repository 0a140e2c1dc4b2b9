"""Questions to the event store about an experiment: its exposures, and sums of its metrics.

Source: experiments.md, sections 2, 3 and 7.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Final

from fanion.experiments.metrics.exposure import ExposureCriteria
from fanion.experiments.metrics.model import Metric, RetentionMetric
from fanion.insights.breakdowns import Breakdowns
from fanion.insights.dates.bounds import FROM_DEFAULT, parse_bound
from fanion.insights.dates.intervals import DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import Entity
from fanion.insights.query import Scope
from fanion.properties.bindings import MICROSECOND
from fanion.properties.filters import Node as Conditions

DEFAULT_CRITERIA: Final = ExposureCriteria()
_ANY_START: Final = parse_bound(FROM_DEFAULT, "date_from")
# Units of retention that begin with a day or an hour of the project's time zone.
CUT_UNITS: Final = ("day", "hour")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The flag of an experiment and the time of one of its phases.

    Attributes:
        variants: The keys of the flag's variants. Other answers of the flag are no exposures.
        started_at: The start of the experiment; units exposed before the phase are left out.
        phase_at: The start of the phase.
        ended_at: None while it goes on.
        accounts: The project's conditions on test accounts, for exposures.
        population: The events that put a unit into the only arm, for a plan; None where the flag
            decides.
    """

    flag_key: str
    variants: tuple[str, ...]
    started_at: datetime
    phase_at: datetime
    ended_at: datetime | None = None
    group_type_index: int | None = None
    criteria: ExposureCriteria = DEFAULT_CRITERIA
    accounts: Conditions | None = None
    population: Entity | None = None

    def until(self, now: datetime) -> datetime:
        """Return the last instant at which a unit can be exposed."""
        return now if self.ended_at is None else min(self.ended_at, now)


@dataclass(frozen=True, slots=True)
class _Question:
    """The parts that questions about an experiment share with those of insights.

    Attributes:
        breakdowns: Always None.
        interval: Of the exposures by day.
    """

    breakdowns: ClassVar[Breakdowns | None] = None
    interval: ClassVar[Interval] = "day"

    window: Window

    @property
    def scope(self) -> Scope:
        # It is explicit, as its range moves with every microsecond. The window says where it
        # begins, so this start means nothing; without one it would be completed.
        index = self.window.group_type_index
        return Scope(since=_ANY_START, is_explicit=True, group_type_index=index)

    @property
    def exposures(self) -> tuple[Entity, ...]:
        criteria, population = self.window.criteria, self.window.population
        if population is not None:
            return (population,)
        return criteria.exposing

    @property
    def entities(self) -> tuple[Entity, ...]:
        """Return all events whose conditions name cohorts, with those on test accounts."""
        return (*self.exposures, Entity(properties=self.window.accounts), *self.measured)

    @property
    def measured(self) -> tuple[Entity, ...]:
        return ()

    def span(self, clock: RangeClock) -> DateRange:
        """Return the range of exposures."""
        until = self.window.until(clock.now)
        return DateRange(self.window.started_at, until + MICROSECOND)


@dataclass(frozen=True, slots=True)
class ExposureQuestion(_Question):
    """The question how many units saw each variant, by the day of their first exposure."""


@dataclass(frozen=True, slots=True)
class MetricQuestion(_Question):
    """The question for the sums of a metric by variant.

    Attributes:
        lookback_days: The days before the first exposure that are compared with those after
            (CUPED); None for none.
        only_matured: Whether only units count whose window has passed.
    """

    metric: Metric
    lookback_days: int | None = None
    only_matured: bool = False

    @property
    def measured(self) -> tuple[Entity, ...]:
        return tuple(self.metric.entities)

    @property
    def events(self) -> tuple[str, ...]:
        """Return the names of the events that are measured, without those of actions."""
        parts = [part for entity in self.measured for part in (entity, *entity.nodes)]
        return tuple(part.event for part in parts if part.event is not None)

    @property
    def is_adjusted(self) -> bool:
        return self.lookback_days is not None and self.metric.can_be_adjusted

    def reach(self, now: datetime) -> DateRange:
        """Return the range of events to read: from the lookback to the end of the last window."""
        window = self.window
        start = window.started_at
        if self.is_adjusted and self.lookback_days is not None:
            start = min(start, window.phase_at - timedelta(days=self.lookback_days))
        return DateRange(start, min(self._last(now), now) + MICROSECOND)

    def _last(self, now: datetime) -> datetime:
        """Return when the window of the last exposed unit ends."""
        last = self.window.until(now)
        metric = self.metric
        if metric.window_s is not None:
            last = _later(last, metric.window_s)
        if isinstance(metric, RetentionMetric):
            _, end = metric.retention_s
            # A cut unit ends with the day of that time.
            last = _later(last, end + 2 * _DAY_S)
        return last


_DAY_S: Final = 86_400
_YEARS_S: Final = 100 * 365 * _DAY_S


def _later(moment: datetime, seconds: int) -> datetime:
    return moment + timedelta(seconds=min(seconds, _YEARS_S))


ExperimentQuestion = ExposureQuestion | MetricQuestion
