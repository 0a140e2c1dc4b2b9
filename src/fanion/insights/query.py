"""The parts that every question has: events, conditions, range.

source: insights.md section 2
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, Self

from fanion.insights.dates.bounds import LEFT_OUT, Bound
from fanion.insights.dates.intervals import DateRange, Interval, widened
from fanion.insights.dates.ranges import RangeClock, resolve
from fanion.properties.filters import ConditionGroup, InCohort, Node, leaves

BreakdownType = Literal["event", "person", "group", "session", "cohort"]


@dataclass(frozen=True, slots=True)
class Entity:
    """The events of one step or series. event: None is any event; sent: as the client wrote it"""

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
    """One entry for each value of a property.

    key:           of type cohort the id as text, or `all`
    bins:          numbers are counted in so many equal parts between the least and the greatest
    normalize_url: without `?…`, `#…` and slashes at the end
    """

    type: BreakdownType
    key: str
    group_type_index: int | None = None
    bins: int | None = None
    normalize_url: bool = False


@dataclass(frozen=True, slots=True)
class Breakdowns:
    """parts:      up to three, whose values are combined; of type cohort one entry for each
    limit:      values shown; the others are one entry, `Other`
    hide_other: without that entry
    """

    parts: tuple[Breakdown, ...]
    limit: int
    hide_other: bool = False

    @property
    def dimensions(self) -> int:
        """How many values each entry has; all cohorts are values of one."""
        types = [one.type for one in self.parts]
        return len(types) - max(0, types.count("cohort") - 1)

    @property
    def cohorts(self) -> tuple[int, ...]:
        found = [one.key for one in self.parts if one.type == "cohort" and one.key != "all"]
        return tuple(int(key) for key in found)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which events count, and for whom.

    is_explicit:      the range is not rounded
    group_type_index: groups of this type are counted in place of persons
    sent:             by the names of `filters`, without what only concerns drawing
    """

    since: Bound = LEFT_OUT
    until: Bound = LEFT_OUT
    is_explicit: bool = False
    properties: Node | None = None
    filter_test_accounts: bool = False
    group_type_index: int | None = None
    sent: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def span(self, interval: Interval, clock: RangeClock) -> DateRange:
        """raises: Invalid"""
        return resolve(self.since, self.until, interval, clock, is_explicit=self.is_explicit)

    def whole_span(self, interval: Interval, clock: RangeClock) -> DateRange:
        """From the start of its first interval, unless it is explicit. raises: Invalid"""
        span = self.span(interval, clock)
        if self.is_explicit:
            return span
        return widened(span, interval, clock.zone, clock.week_start_day)

    def within(self, own: Node | None) -> Self:
        """With conditions of the project too."""
        both = tuple(node for node in (self.properties, own) if node is not None)
        properties = ConditionGroup("AND", both) if both else None
        return replace(self, properties=properties, filter_test_accounts=False)


class InsightQuery(Protocol):
    """A question of any kind; all are frozen dataclasses.

    interval: of the points of the answer; day where it has none
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
        """The range whose events are counted. raises: Invalid"""
        ...


def cohorts_named(query: InsightQuery) -> Collection[int]:
    """By conditions and by the breakdown, each once."""
    nodes = [query.scope.properties, *(one.properties for one in query.entities)]
    found = (leaf for node in nodes if node is not None for leaf in leaves(node))
    named = (leaf.cohort_id for leaf in found if isinstance(leaf, InCohort))
    shown = query.breakdowns.cohorts if query.breakdowns else ()
    return list(dict.fromkeys([*named, *shown]))
