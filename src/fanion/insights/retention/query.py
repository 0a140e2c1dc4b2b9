"""The question of retention: who came back, and after how many intervals.

Source: insights.md, section 6.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Literal

from fanion.errors import Invalid
from fanion.insights.dates.bounds import Bound
from fanion.insights.dates.intervals import DateRange, Interval, Intervals
from fanion.insights.dates.ranges import RangeClock, resolve_range
from fanion.insights.dates.whole_intervals import interval_with, intervals_of, last_intervals
from fanion.insights.parsing.entity_options import refuse_math
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.scope import parse_breakdowns, parse_entity, parse_scope
from fanion.insights.query import Breakdowns, Entity, Scope
from fanion.insights.sql.breakdown import ACTOR_BREAKDOWNS
from fanion.properties.bindings import MICROSECOND
from fanion.rest.posthog_insight_fields import DISPLAYS, OF_KINDS

RetentionType = Literal["retention_recurring", "retention_first_time"]

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
_OWN: Final = frozenset(
    {
        *("retention_type", "total_intervals", "period", "target_entity", "returning_entity"),
        *("cumulative", "minimum_occurrences", "retention_custom_brackets"),
    }
)
_LONG_AGO: Final = Bound("1900-01-02", moment=datetime(1900, 1, 2, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class RetentionQuery:
    """The question of retention.

    Attributes:
        total_intervals: The number of values in the first row, and of rows if there is no
            `date_from`.
        cumulative: Whether a value counts those who came back then or later.
        occurrences: The number of events that an interval needs for coming back in it.
    """

    scope: Scope
    target: Entity = ENTITY_DEFAULT
    returning: Entity = ENTITY_DEFAULT
    type: RetentionType = "retention_recurring"
    period: Interval = "day"
    total_intervals: int = TOTAL_INTERVALS
    cumulative: bool = False
    occurrences: int = 1
    breakdowns: Breakdowns | None = None

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
    fields.choice("insight", ("RETENTION", "retention"), "RETENTION")
    fields.choice("display", DISPLAYS, "ActionsTable")  # only affects drawing
    # Newer clients name what is always the case here.
    fields.choice("aggregation_type", ("count",), "count")
    fields.choice("time_window_mode", ("strict_calendar_dates",), "strict_calendar_dates")
    scope = parse_scope(fields)
    query = RetentionQuery(
        scope=scope,
        target=_entity(fields, "target_entity"),
        returning=_entity(fields, "returning_entity"),
        type=_type(fields),
        period=_PERIODS[fields.choice("period", tuple(_PERIODS), "Day")],
        total_intervals=fields.whole("total_intervals", 1, TOTAL_INTERVALS_MAX) or TOTAL_INTERVALS,
        cumulative=fields.boolean("cumulative"),
        occurrences=fields.whole("minimum_occurrences", 1, OCCURRENCES_MAX) or 1,
        breakdowns=_breakdowns(fields, scope),
    )
    fields.refuse_unread("Retention questions", OF_KINDS - _OWN)
    return query


def _entity(fields: Fields, name: str) -> Entity:
    inner = fields.inner(name)
    if inner is None:
        return ENTITY_DEFAULT
    entity = parse_entity(inner)
    refuse_math(inner, "Events of retention")
    return entity


def _type(fields: Fields) -> RetentionType:
    if fields.raw("retention_type") == "retention_first_ever_occurrence":
        detail = "Retention with retention_first_ever_occurrence is not supported."
        raise fields.error("retention_type", detail)
    types: tuple[RetentionType, ...] = ("retention_recurring", "retention_first_time")
    return fields.choice("retention_type", types, "retention_recurring")


def _breakdowns(fields: Fields, scope: Scope) -> Breakdowns | None:
    """Parse the breakdown; all cohorts that it names are shown."""
    breakdowns = parse_breakdowns(fields)
    if breakdowns is None:
        return None
    name = "breakdowns" if fields.values.get("breakdowns") else "breakdown"
    if any(part.bins for part in breakdowns.parts):
        raise fields.error(name, "Retention with histograms is not supported.")
    if scope.group_type_index is not None and any(
        part.type in ACTOR_BREAKDOWNS for part in breakdowns.parts
    ):
        detail = "Groups cannot be broken down by their persons. Use a property of type group."
        raise fields.error(name, detail)
    if all(part.type == "cohort" for part in breakdowns.parts):
        return replace(breakdowns, limit=max(breakdowns.limit, len(breakdowns.parts)))
    return breakdowns
