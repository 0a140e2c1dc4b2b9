"""The question of retention: who came back, and after how many intervals.

Source: insights.md, section 6.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Annotated, ClassVar, Final, Literal, Self, get_args

from fanion.errors import Invalid
from fanion.insights.breakdowns import Breakdowns, read_breakdowns
from fanion.insights.dates.bounds import Bound
from fanion.insights.dates.intervals import DateRange, Interval, Intervals
from fanion.insights.dates.ranges import RangeClock, resolve_range
from fanion.insights.dates.whole_intervals import interval_with, intervals_of, last_intervals
from fanion.insights.entities import SERIES, Entity, refuse_math
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import (
    read_question,
    switch,
    text,
    whole,
    wholes,
    word,
)
from fanion.insights.query import Scope
from fanion.insights.sql.breakdown import ACTOR_BREAKDOWNS
from fanion.properties.bindings import MICROSECOND
from fanion.rest.json_schema import or_null, reference
from fanion.rest.options import Before, Option, Options, part, read
from fanion.rest.posthog_insight_fields import DISPLAYS

RetentionType = Literal["retention_recurring", "retention_first_time"]
Aggregation = Literal["count", "sum", "avg"]

# The defaults of `filters`, and of a `query`, whose translation sets it.
TOTAL_INTERVALS: Final = 11
TOTAL_INTERVALS_OF_QUERIES: Final = 7
# Intervals are the bits of a 64-bit number.
TOTAL_INTERVALS_MAX: Final = 64
OCCURRENCES_MAX: Final = 1_000_000
ENTITY_DEFAULT: Final = Entity("$pageview", name="$pageview")

_PERIODS: Final[dict[str, Interval]] = {
    "Hour": "hour",
    "Day": "day",
    "Week": "week",
    "Month": "month",
}
# Whether windows begin with each person, by the words of the API.
_WINDOWS: Final = {"strict_calendar_dates": False, "24_hour_windows": True}
# The length of the windows that stand for each interval, as PostHog has them.
_WIDTHS: Final[dict[Interval, timedelta]] = {
    "hour": timedelta(hours=1),
    "day": timedelta(hours=24),
    "week": timedelta(days=7),
    "month": timedelta(days=30),
}
_FIRST_EVER: Final = {
    "retention_first_ever_occurrence": (
        "Retention with retention_first_ever_occurrence is not supported."
    )
}
_OF_PERSONS: Final = {"person": "Retention of a property of persons is not supported."}
_EVENT: Final = or_null(reference(SERIES))
_LONG_AGO: Final = Bound("1900-01-02", moment=datetime(1900, 1, 2, tzinfo=UTC))


def _entity(fields: Fields, name: str, _: Before) -> Entity | None:
    inner = fields.inner(name)
    if inner is None:
        return None
    entity = read(Entity, inner)
    refuse_math(inner, "Events of retention")
    return entity


def _breakdowns(fields: Fields, _: str, before: Before) -> Breakdowns | None:
    breakdowns = read_breakdowns(fields)
    if breakdowns is None:
        return None
    name = "breakdowns" if fields.values.get("breakdowns") else "breakdown"
    if any(part.bins for part in breakdowns.parts):
        raise fields.error(name, "Retention with histograms is not supported.")
    if before["scope"].group_type_index is not None and any(
        part.type in ACTOR_BREAKDOWNS for part in breakdowns.parts
    ):
        detail = "Groups cannot be broken down by their persons. Use a property of type group."
        raise fields.error(name, detail)
    return breakdowns.with_all_cohorts


@dataclass(frozen=True, slots=True)
class Bracket:
    """The intervals that one value covers.

    Attributes:
        first: How many intervals after that of the row it begins, from 1.
        last: Its last interval.
    """

    first: int
    last: int

    @property
    def numbers(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class RetentionQuery(Options):
    """The question of retention.

    Attributes:
        total_intervals: The number of values in the first row, and of rows if there is no
            `date_from`.
        cumulative: Whether a value counts those who came back then or later.
        occurrences: The number of events that an interval needs for coming back in it.
        has_windows: Whether intervals after the first are windows that begin with the person's
            first event.
        sizes: How many intervals each value after the first covers; empty for one each.
        aggregation: The measure of returning persons: their number, or beside it the sum of a
            property of their events, or that sum for each of them.
        aggregated: The property of a sum or an average.
    """

    insight: ClassVar[Annotated[str, word(["RETENTION"], also=["retention"])]]
    display: ClassVar[Annotated[str, word(DISPLAYS)]]  # only affects drawing
    scope: Scope
    target: Annotated[Entity, Option(_entity, _EVENT, "target_entity")] = ENTITY_DEFAULT
    returning: Annotated[Entity, Option(_entity, _EVENT, "returning_entity")] = ENTITY_DEFAULT
    type: Annotated[
        RetentionType, word(get_args(RetentionType), "retention_type", refused=_FIRST_EVER)
    ] = "retention_recurring"
    period: Annotated[Interval, word(_PERIODS)] = "day"
    total_intervals: Annotated[int, whole(1, TOTAL_INTERVALS_MAX)] = TOTAL_INTERVALS
    cumulative: Annotated[bool, switch()] = False
    occurrences: Annotated[int, whole(1, OCCURRENCES_MAX, "minimum_occurrences")] = 1
    breakdowns: Annotated[Breakdowns | None, replace(part(Breakdowns), read=_breakdowns)] = None
    has_windows: Annotated[
        bool,
        word(_WINDOWS, "time_window_mode"),
        "`24_hour_windows` count from each person's first event, not by days of the calendar.",
    ] = False
    sizes: Annotated[
        tuple[int, ...],
        wholes(1, TOTAL_INTERVALS_MAX - 1, TOTAL_INTERVALS_MAX - 1, "retention_custom_brackets"),
        "How many intervals each value after the first covers: `[1, 3, 7]`.",
    ] = ()

    aggregation: Annotated[
        Aggregation,
        word(get_args(Aggregation), "aggregation_type"),
        "With `sum` or `avg` values have an `aggregation_value` too.",
    ] = "count"
    aggregated: Annotated[
        str | None, text(name="aggregation_property"), "The property of a `sum` or an `avg`."
    ] = None
    aggregation_property_type: ClassVar[Annotated[str, word(["event"], refused=_OF_PERSONS)]]

    def completed(self, fields: Fields) -> Self:
        self._check_aggregation(fields)
        if sum(self.sizes) >= TOTAL_INTERVALS_MAX:
            detail = f"Brackets have at most {TOTAL_INTERVALS_MAX - 1} intervals in all."
            raise fields.error("retention_custom_brackets", detail)
        return self

    def _check_aggregation(self, fields: Fields) -> None:
        if self.aggregation == "count":
            if self.aggregated is not None:
                detail = "Set aggregation_type to sum or avg, or leave this out."
                raise fields.error("aggregation_property", detail)
            return
        if self.aggregated is None:
            raise fields.required("aggregation_property")
        detail = f"Retention of a value ({self.aggregation}) has no such option. Leave it out."
        if self.cumulative:
            raise fields.error("cumulative", detail)
        if self.occurrences > 1:
            raise fields.error("minimum_occurrences", detail)

    @property
    def entities(self) -> tuple[Entity, ...]:
        return self.target, self.returning

    @property
    def interval(self) -> Interval:
        return self.period

    @property
    def period_name(self) -> str:
        return self.period.capitalize()

    @property
    def width(self) -> timedelta | None:
        """Return the length of the windows, None for intervals of the calendar."""
        return _WIDTHS[self.period] if self.has_windows else None

    @property
    def brackets(self) -> tuple[Bracket, ...]:
        ends = tuple(accumulate(self.sizes))
        return tuple(
            Bracket(end - size + 1, end) for size, end in zip(self.sizes, ends, strict=True)
        )

    @property
    def values_max(self) -> int:
        """Return how many values a row can have."""
        return 1 + len(self.sizes) if self.sizes else self.total_intervals

    def values_of(self, row: int, rows: int) -> int:
        """Return how many values a row has; what lies in the future has none.

        Args:
            row: From 0.
            rows: How many there are.
        """
        if not self.sizes:
            return min(rows - row, self.total_intervals)
        return 1 + sum(row + bracket.last < rows for bracket in self.brackets)

    @property
    def rows_max(self) -> int:
        """Return how many rows there can be."""
        is_open = self.scope.since.text is None
        return self.total_intervals if is_open else TOTAL_INTERVALS_MAX

    def span(self, clock: RangeClock) -> DateRange:
        """Return the range of the rows."""
        return self.rows(clock)[0]

    def rows(self, clock: RangeClock) -> tuple[DateRange, Intervals]:
        """Return the range of the rows and their intervals, which are whole.

        They begin with the interval of `date_from`, or are the last `total_intervals`; they end
        with the interval of `date_to`.

        Raises:
            Invalid: There are more than TOTAL_INTERVALS_MAX, or none.
        """
        since, until = self.scope.since, self._until(clock)
        if since.text is None:
            return last_intervals(self.total_intervals, until, self.period, clock)
        start = resolve_range(since, self.scope.until, self.period, clock).start
        first, last = (interval_with(moment, self.period, clock) for moment in (start, until))
        span = DateRange(first.start, last.end)
        rows = intervals_of(span, self.period, clock)
        if len(rows.starts) > TOTAL_INTERVALS_MAX:
            detail = (
                f"Retention has at most {TOTAL_INTERVALS_MAX} intervals. "
                "Use a later date_from or a longer period."
            )
            raise Invalid(detail, attr="date_from")
        return span, rows

    def _until(self, clock: RangeClock) -> datetime:
        """Return the last instant of the range; `until` itself if it is a time.

        An interval may begin with that time, and is then the last one.
        """
        until = self.scope.until
        if until.moment is None:
            return resolve_range(_LONG_AGO, until, self.period, clock).end - MICROSECOND
        return until.moment if until.moment.tzinfo else until.moment.replace(tzinfo=clock.zone)


def read_retention(fields: Fields) -> RetentionQuery:
    return read_question(RetentionQuery, fields, "Retention questions")
