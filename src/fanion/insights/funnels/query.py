"""The question of a funnel: how many persons go how far through some steps.

Source: insights.md, section 5.
"""

from dataclasses import dataclass
from typing import Literal

from fanion.insights.dates.intervals import DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.query import Breakdowns, Entity, Scope

StepOrder = Literal["ordered", "strict", "unordered"]
Visualization = Literal["steps", "trends", "time_to_convert"]
Attribution = Literal["first_touch", "last_touch", "step", "all_events"]
WindowUnit = Literal["second", "minute", "hour", "day", "week", "month"]
CorrelationType = Literal["events", "properties", "event_with_properties"]


@dataclass(frozen=True, slots=True)
class Window:
    """The time after the first step in which the others count, its last instant included."""

    number: int = 14
    unit: WindowUnit = "day"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An event that must not happen between two steps, which count from 0."""

    entity: Entity
    from_step: int
    to_step: int


@dataclass(frozen=True, slots=True)
class FunnelsQuery:
    """The question of a funnel.

    Attributes:
        from_step: Where the part begins that trends and time to convert measure, from 0.
        to_step: Where that part ends, from 0.
        attribution: Which event gives a person its value of the breakdown.
        attribution_step: The step for attribution by `step`, from 0.
        bin_count: None to choose it by the number of persons.
    """

    scope: Scope
    steps: tuple[Entity, ...]
    order: StepOrder = "ordered"
    visualization: Visualization = "steps"
    window: Window = Window()
    exclusions: tuple[Exclusion, ...] = ()
    breakdowns: Breakdowns | None = None
    attribution: Attribution = "first_touch"
    attribution_step: int = 0
    from_step: int = 0
    to_step: int = 0
    bin_count: int | None = None
    interval: Interval = "day"

    @property
    def entities(self) -> tuple[Entity, ...]:
        return (*self.steps, *(exclusion.entity for exclusion in self.exclusions))

    def span(self, clock: RangeClock) -> DateRange:
        """Return the range of the question, in whole intervals for trends."""
        if self.visualization == "trends":
            return self.scope.whole_span(self.interval, clock)
        return self.scope.span("day", clock)


@dataclass(frozen=True, slots=True)
class FunnelCorrelationQuery:
    """The question of what correlates with reaching the last step of a funnel.

    Attributes:
        funnel: The funnel, whose own scope is not read.
        names: Properties of the person; empty for all.
        event_names: The events whose properties are compared.

    Source: insights.md, section 5i.
    """

    scope: Scope
    funnel: FunnelsQuery
    type: CorrelationType = "events"
    names: tuple[str, ...] = ()
    exclude_names: tuple[str, ...] = ()
    event_names: tuple[str, ...] = ()
    exclude_event_names: tuple[str, ...] = ()
    exclude_property_names: tuple[str, ...] = ()

    @property
    def entities(self) -> tuple[Entity, ...]:
        return self.funnel.entities

    @property
    def breakdowns(self) -> None:
        return None

    @property
    def interval(self) -> Interval:
        return "day"

    def span(self, clock: RangeClock) -> DateRange:
        return self.funnel.span(clock)
