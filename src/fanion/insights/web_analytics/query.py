"""The questions of web analytics: visitors, views and sessions, as a whole, by value and by goal.

Source: insights.md, section 11.
"""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from fanion.insights.dates.bounds import Bound
from fanion.insights.dates.comparison import earlier_range, intervals_back, previous_range
from fanion.insights.dates.intervals import DateRange, Interval, cut_into_intervals
from fanion.insights.dates.ranges import RangeClock, resolve_range
from fanion.insights.query import Entity, Scope

WebBreakdown = Literal[
    "Page",
    "InitialPage",
    "ExitPage",
    "ScreenName",
    "InitialReferringDomain",
    "InitialUTMSource",
    "InitialUTMMedium",
    "InitialUTMCampaign",
    "InitialUTMTerm",
    "InitialUTMContent",
    "InitialChannelType",
    "Browser",
    "OS",
    "DeviceType",
    "Viewport",
    "Country",
    "Region",
    "City",
    "Language",
    "Timezone",
]
WEB_BREAKDOWNS: Final[tuple[WebBreakdown, ...]] = get_args(WebBreakdown)
PAGES: Final = frozenset({"Page", "InitialPage", "ExitPage"})

Column = Literal[
    "visitors",
    "views",
    "bounce_rate",
    "total_conversions",
    "unique_conversions",
    "conversion_rate",
    "converting_users",
]
VIEW_EVENTS: Final = ("$pageview", "$screen")


@dataclass(frozen=True, slots=True)
class Ordering:
    """The column by which a table is ordered, and the direction."""

    column: Column
    is_descending: bool = True


@dataclass(frozen=True, slots=True)
class WebQuery:
    """The parts that all questions of web analytics have.

    Attributes:
        compare: Whether to compare with the previous range.
        compare_to: How much earlier the range to compare with is, if it is not the previous one.
    """

    scope: Scope
    compare: bool = False
    compare_to: Bound | None = None

    @property
    def entities(self) -> tuple[Entity, ...]:
        return tuple(Entity(name) for name in self.events)

    @property
    def events(self) -> tuple[str, ...]:
        """Return the names of the events that are counted."""
        return VIEW_EVENTS

    @property
    def breakdowns(self) -> None:
        return None

    @property
    def interval(self) -> Interval:
        return "day"

    @property
    def is_compared(self) -> bool:
        return self.compare or self.compare_to is not None

    def span(self, clock: RangeClock) -> DateRange:
        """Return the range in whole days, except for a bound that has a time.

        Source: insights.md, section 2c.
        """
        since, until, exact = self.scope.since, self.scope.until, self.scope.is_explicit
        if exact or (since.moment is None and until.moment is None):
            return resolve_range(since, until, "day", clock, is_explicit=exact)
        whole, as_sent = (
            resolve_range(since, until, "day", clock, is_explicit=explicit)
            for explicit in (False, True)
        )
        return DateRange(
            whole.start if since.moment is None else as_sent.start,
            whole.end if until.moment is None else as_sent.end,
        )

    def spans(self, clock: RangeClock) -> tuple[DateRange, ...]:
        """Return the range, and the one that it is compared with if there is one."""
        span = self.span(clock)
        if self.compare_to is not None:
            return span, earlier_range(span, self.compare_to, clock.zone)
        return (span, self._before(span, clock)) if self.compare else (span,)

    def _before(self, span: DateRange, clock: RangeClock) -> DateRange:
        days = cut_into_intervals(span, "day", clock.zone)
        number = intervals_back(self.scope.since, self.scope.until, days, "day", clock.zone)
        return previous_range(span, number, "day", clock.zone)


@dataclass(frozen=True, slots=True)
class WebOverviewQuery(WebQuery):
    """The question of the overview.

    Attributes:
        goal: The event that converts.
    """

    goal: str | None = None

    @property
    def events(self) -> tuple[str, ...]:
        return _with_goal(self.goal)


@dataclass(frozen=True, slots=True)
class WebStatsTableQuery(WebQuery):
    """The question of a table with one row for each value of a breakdown.

    Attributes:
        clean_paths: Whether pages are named by the project's rules for paths.
    """

    breakdown: WebBreakdown = "Page"
    limit: int = 10
    offset: int = 0
    bounce_rate: bool = False
    clean_paths: bool = False
    goal: str | None = None
    ordering: Ordering | None = None

    @property
    def events(self) -> tuple[str, ...]:
        return _with_goal(self.goal)


@dataclass(frozen=True, slots=True)
class WebGoalsQuery(WebQuery):
    """The question of a table of goals.

    Attributes:
        goals: The events that convert, one row each.
    """

    goals: tuple[str, ...] = ()
    limit: int = 10
    offset: int = 0
    ordering: Ordering | None = None

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*VIEW_EVENTS, *self.goals)))


def _with_goal(goal: str | None) -> tuple[str, ...]:
    return VIEW_EVENTS if goal is None else tuple(dict.fromkeys((*VIEW_EVENTS, goal)))
