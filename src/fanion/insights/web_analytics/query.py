"""The questions of web analytics: visitors, views and sessions, as a whole, by value and by goal.

Source: insights.md, section 11.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal, Self, get_args

from fanion.insights.dates.bounds import Bound
from fanion.insights.dates.comparison import earlier_range, intervals_back, previous_range
from fanion.insights.dates.intervals import DateRange, Interval, cut_into_intervals
from fanion.insights.dates.ranges import RangeClock, resolve_range
from fanion.insights.entities import Entity
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import DISTANCE, switch, texts, whole, word
from fanion.insights.query import Scope
from fanion.rest.options import Before, Option, Options
from fanion.rest.validation import INTEGER_MAX

WebBreakdown = Literal[
    "Page",
    "InitialPage",
    "ExitPage",
    "PreviousPage",
    "ScreenName",
    "InitialReferringDomain",
    "InitialUTMSource",
    "InitialUTMMedium",
    "InitialUTMCampaign",
    "InitialUTMTerm",
    "InitialUTMContent",
    "InitialUTMSourceMediumCampaign",
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
PAGES: Final = frozenset({"Page", "InitialPage", "ExitPage", "PreviousPage"})

Column = Literal[
    "visitors",
    "views",
    "avg_time_on_page",
    "bounce_rate",
    "clicks",
    "total_conversions",
    "unique_conversions",
    "conversion_rate",
    "converting_users",
]
VIEW_EVENTS: Final = ("$pageview", "$screen")
VIEWS: Final = tuple(Entity(name) for name in VIEW_EVENTS)
ROWS_MAX: Final = 1000
OFFSET_MAX: Final = 100_000
ROWS_DEFAULT: Final = 10

_COLUMNS_OF_STATS: Final[Mapping[str, Column]] = {
    "Visitors": "visitors",
    "Views": "views",
    "AvgTimeOnPage": "avg_time_on_page",
    "BounceRate": "bounce_rate",
    "TotalConversions": "total_conversions",
    "UniqueConversions": "unique_conversions",
    "ConversionRate": "conversion_rate",
}
_COLUMNS_OF_GOALS: Final[Mapping[str, Column]] = {
    "ConvertingUsers": "converting_users",
    "TotalConversions": "total_conversions",
    "ConversionRate": "conversion_rate",
}


@dataclass(frozen=True, slots=True)
class Ordering:
    """The column by which a table is ordered, and the direction."""

    column: Column
    is_descending: bool = True


def read_goal(goal: Fields) -> Entity:
    """Return the event or the action that a conversion goal names.

    Raises:
        Invalid: It names none or both, or has further options.
    """
    event, action = goal.text("customEventName"), goal.whole("actionId", 1, INTEGER_MAX)
    if event is None and action is None:
        raise goal.required("customEventName")
    if event is not None and action is not None:
        raise goal.error("actionId", "A goal is an event or an action. Leave one out.")
    goal.refuse_unread("Conversion goals", ())
    return Entity(event, action, place=goal.place("actionId"))


def _goal(fields: Fields, name: str, _: Before) -> Entity | None:
    goal = fields.inner(name)
    return None if goal is None else read_goal(goal)


GOAL: Final = Option(_goal, {"type": ["object", "null"]}, "conversionGoal")


def order_by(columns: Mapping[str, Column]) -> Option:
    """Return the option of an order such as `["Visitors", "DESC"]`."""

    def read_ordering(fields: Fields, name: str, _: Before) -> Ordering | None:
        sent, place = fields.texts(name, 2), fields.place(name)
        if not sent:
            return None
        parts = {"column": sent[0], "direction": sent[1] if len(sent) > 1 else None}
        named = Fields(parts, {"column": f"{place}__0", "direction": f"{place}__1"})
        column = columns[named.choice("column", columns, next(iter(columns)))]
        return Ordering(column, named.choice("direction", ("DESC", "ASC"), "DESC") == "DESC")

    return Option(read_ordering, texts(2).schema, "orderBy")


@dataclass(frozen=True, slots=True)
class WebQuery(Options):
    """The parts that all questions of web analytics have.

    Attributes:
        compare: Whether to compare with the previous range.
        compare_to: How much earlier the range to compare with is, if it is not the previous one.
    """

    scope: Scope
    compare: Annotated[bool, switch()] = False
    compare_to: Annotated[Bound | None, DISTANCE] = None

    @property
    def entities(self) -> tuple[Entity, ...]:
        """Return the events that are counted."""
        return VIEWS

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

    goal: Annotated[Entity | None, GOAL] = None

    @property
    def entities(self) -> tuple[Entity, ...]:
        return _views_and(self.goal)


@dataclass(frozen=True, slots=True)
class WebStatsTableQuery(WebQuery):
    """The question of a table with one row for each value of a breakdown.

    Attributes:
        time_on_page: Whether the time on each page is shown, and the bounce rate with it.
        clean_paths: Whether pages are named by the project's rules for paths.
    """

    breakdown: Annotated[WebBreakdown, word(WEB_BREAKDOWNS, "breakdownBy")] = "Page"
    limit: Annotated[int, whole(1, ROWS_MAX)] = ROWS_DEFAULT
    offset: Annotated[int, whole(0, OFFSET_MAX)] = 0
    bounce_rate: Annotated[bool, switch("includeBounceRate")] = False
    time_on_page: Annotated[bool, switch("includeAvgTimeOnPage")] = False
    clean_paths: Annotated[bool, switch("doPathCleaning")] = False
    goal: Annotated[Entity | None, GOAL] = None
    ordering: Annotated[Ordering | None, order_by(_COLUMNS_OF_STATS)] = None

    def completed(self, fields: Fields) -> Self:
        """Refuse columns that the answer lacks: with a goal, views and bounces are not counted."""
        if self.goal is not None and self.bounce_rate:
            detail = "A conversion goal and includeBounceRate cannot be combined. Leave one out."
            raise fields.error("includeBounceRate", detail)
        if self.time_on_page and (self.goal is not None or self.breakdown != "Page"):
            detail = "Only the breakdown by Page has it, without a conversion goal. Leave it out."
            raise fields.error("includeAvgTimeOnPage", detail)
        completed = replace(
            self,
            bounce_rate=self.bounce_rate or self.time_on_page,
            clean_paths=self.clean_paths and self.breakdown in PAGES,
        )
        if self.ordering is not None and self.ordering.column not in completed.columns:
            name = fields.raw("orderBy")[0]
            raise fields.error("orderBy", f"The answer has no column {name} to order by.")
        return completed

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the answer, after the value."""
        if self.goal is not None:
            return "visitors", "total_conversions", "unique_conversions", "conversion_rate"
        times: tuple[Column, ...] = ("avg_time_on_page",) if self.time_on_page else ()
        rates: tuple[Column, ...] = ("bounce_rate",) if self.bounce_rate else ()
        return "visitors", "views", *times, *rates

    @property
    def entities(self) -> tuple[Entity, ...]:
        return _views_and(self.goal)


@dataclass(frozen=True, slots=True)
class WebGoalsQuery(WebQuery):
    """The question of a table of goals.

    Attributes:
        goals: The events that convert, one row each.
    """

    goals: tuple[Entity, ...] = ()
    limit: Annotated[int, whole(1, ROWS_MAX)] = ROWS_DEFAULT
    offset: Annotated[int, whole(0, OFFSET_MAX)] = 0
    ordering: Annotated[Ordering | None, order_by(_COLUMNS_OF_GOALS)] = None

    @property
    def entities(self) -> tuple[Entity, ...]:
        return _views_and(*self.goals)


def _views_and(*goals: Entity | None) -> tuple[Entity, ...]:
    named = (goal for goal in goals if goal is not None and goal not in VIEWS)
    return *VIEWS, *named
