"""The parts that every question has: events, conditions, range.

Source: insights.md, section 2.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, Self

from fanion.insights.dates.bounds import LEFT_OUT, Bound
from fanion.insights.dates.intervals import DateRange, Interval, widen_to_interval
from fanion.insights.dates.ranges import RangeClock, resolve_range
from fanion.properties.filters import ConditionGroup, InCohort, Node, leaves

BreakdownType = Literal["event", "person", "group", "session", "cohort"]


@dataclass(frozen=True, slots=True)
class Entity:
    """The events of one step or series.

    Attributes:
        event: None for any event.
        sent: The entity as the client wrote it.
    """

    event: str | None
    order: int = 0
    name: str | None = None
    custom_name: str | None = None
    properties: Node | None = None
    sent: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def label(self) -> str:
        return self.custom_name or self.name or self.event or "All events"


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One property whose values have their own entries.

    Attributes:
        key: The name of the property; for a cohort its id as text, or `all`.
        bins: Numbers are counted in this many parts of equal width, from the least to the greatest.
        normalize_url: Whether `?`, `#` and `/` are removed from the end.
    """

    type: BreakdownType
    key: str
    group_type_index: int | None = None
    bins: int | None = None
    normalize_url: bool = False


@dataclass(frozen=True, slots=True)
class Breakdowns:
    """The breakdown of a question.

    Attributes:
        parts: Up to three properties whose values are combined, or one part for each cohort.
        limit: The number of values shown; all others have one entry, `Other`.
        hide_other: Whether that entry is left out.
    """

    parts: tuple[Breakdown, ...]
    limit: int
    hide_other: bool = False

    @property
    def dimensions(self) -> int:
        """Return how many values each entry has; all cohorts together have one."""
        types = [part.type for part in self.parts]
        return len(types) - max(0, types.count("cohort") - 1)

    @property
    def cohorts(self) -> tuple[int, ...]:
        keys = [part.key for part in self.parts if part.type == "cohort" and part.key != "all"]
        return tuple(int(key) for key in keys)


@dataclass(frozen=True, slots=True)
class Scope:
    """The range and conditions of a question, and whom it counts.

    Attributes:
        is_explicit: Whether the range is taken as it is, without rounding.
        group_type_index: The type of the groups that are counted instead of persons.
        sent: The question by the names of `filters`, without what only concerns drawing.
    """

    since: Bound = LEFT_OUT
    until: Bound = LEFT_OUT
    is_explicit: bool = False
    properties: Node | None = None
    filter_test_accounts: bool = False
    group_type_index: int | None = None
    sent: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def span(self, interval: Interval, clock: RangeClock) -> DateRange:
        return resolve_range(self.since, self.until, interval, clock, is_explicit=self.is_explicit)

    def whole_span(self, interval: Interval, clock: RangeClock) -> DateRange:
        """Return the range from the start of its first interval, unless it is explicit."""
        span = self.span(interval, clock)
        if self.is_explicit:
            return span
        return widen_to_interval(span, interval, clock.zone, clock.week_start_day)

    def with_conditions(self, own: Node | None) -> Self:
        """Return the scope with further conditions, those on test accounts included."""
        both = tuple(node for node in (self.properties, own) if node is not None)
        properties = ConditionGroup("AND", both) if both else None
        return replace(self, properties=properties, filter_test_accounts=False)


class InsightQuery(Protocol):
    """A question of any kind, which is a frozen dataclass.

    Attributes:
        interval: The interval of the points in the answer; `day` if it has none.
    """

    @property
    def scope(self) -> Scope: ...

    @property
    def entities(self) -> tuple[Entity, ...]: ...

    @property
    def breakdowns(self) -> Breakdowns | None: ...

    @property
    def interval(self) -> Interval: ...

    def span(self, clock: RangeClock) -> DateRange:
        """Return the range whose events are counted.

        Raises:
            Invalid: The range is empty or cannot be resolved.
        """
        ...


def cohorts_named(query: InsightQuery) -> Collection[int]:
    """Return the ids of the cohorts in conditions and in the breakdown, each once."""
    nodes = [query.scope.properties, *(entity.properties for entity in query.entities)]
    conditions = (leaf for node in nodes if node is not None for leaf in leaves(node))
    named = (leaf.cohort_id for leaf in conditions if isinstance(leaf, InCohort))
    shown = query.breakdowns.cohorts if query.breakdowns else ()
    return list(dict.fromkeys([*named, *shown]))
