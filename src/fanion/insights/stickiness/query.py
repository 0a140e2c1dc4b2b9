"""The question of stickiness: in how many intervals persons did something.

Source: insights.md, section 7.
"""

from dataclasses import dataclass
from typing import Final, Literal

from fanion.insights.dates.bounds import Bound
from fanion.insights.dates.intervals import DateRange, Interval, parse_interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.parsing.entity_options import pass_over_math
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.scope import (
    GROUP_TYPES_MAX,
    parse_compare_to,
    parse_entities,
    parse_scope,
)
from fanion.insights.query import Breakdowns, Entity, Scope
from fanion.rest.posthog_insight_fields import DISPLAYS_OF_SERIES, DISPLAYS_OF_TOTALS, OF_KINDS

Operator = Literal["gte", "lte", "exact"]

SERIES_MAX: Final = 10
OCCURRENCES_MAX: Final = 1_000_000
_OWN: Final = frozenset({"stickiness_criteria", "computed_as", "interval_count"})
_OPERATORS: Final[tuple[Operator, ...]] = ("gte", "lte", "exact")


@dataclass(frozen=True, slots=True)
class StickinessSeries:
    """One series.

    Attributes:
        group_type_index: The type of the groups that are counted; None to count what the question
            does.
    """

    entity: Entity
    group_type_index: int | None = None


@dataclass(frozen=True, slots=True)
class Criteria:
    """The number of events that an interval needs to count."""

    operator: Operator
    value: int


@dataclass(frozen=True, slots=True)
class StickinessQuery:
    """The question of stickiness.

    Attributes:
        cumulative: Whether a number counts actors with that many intervals or more.
        compare_to: How much earlier the range to compare with is; None for the one just before.
    """

    scope: Scope
    series: tuple[StickinessSeries, ...]
    interval: Interval = "day"
    criteria: Criteria | None = None
    cumulative: bool = False
    compare: bool = False
    compare_to: Bound | None = None

    @property
    def entities(self) -> tuple[Entity, ...]:
        return tuple(series.entity for series in self.series)

    @property
    def breakdowns(self) -> Breakdowns | None:
        return None

    def span(self, clock: RangeClock) -> DateRange:
        return self.scope.whole_span(self.interval, clock)


def read_stickiness(fields: Fields) -> StickinessQuery:
    fields.choice("insight", ("STICKINESS", "stickiness", "TRENDS", "trends"), "STICKINESS")
    fields.choice("shown_as", ("Stickiness",), "Stickiness")
    # Only affects drawing.
    fields.choice("display", DISPLAYS_OF_SERIES | DISPLAYS_OF_TOTALS, "ActionsLineGraph")
    query = StickinessQuery(
        scope=parse_scope(fields),
        series=tuple(_series(*pair) for pair in parse_entities(fields, most=SERIES_MAX)),
        interval=parse_interval(fields.raw("interval"), fields.place("interval")),
        criteria=_criteria(fields),
        cumulative=fields.choice("computed_as", ("cumulative", "non_cumulative"), "non_cumulative")
        == "cumulative",
        compare=fields.boolean("compare"),
        compare_to=parse_compare_to(fields),
    )
    fields.refuse_unread("Stickiness questions", OF_KINDS - _OWN)
    return query


def _series(entity: Entity, fields: Fields) -> StickinessSeries:
    """Return the series; math other than `unique_group` is ignored, since persons are counted."""
    if fields.raw("math") != "unique_group":
        pass_over_math(fields, "Series of stickiness")
        return StickinessSeries(entity)
    index = fields.whole("math_group_type_index", 0, GROUP_TYPES_MAX - 1)
    if index is None:
        detail = "Set the type of the groups that are counted."
        raise fields.error("math_group_type_index", detail)
    pass_over_math(fields, "Series of stickiness")
    return StickinessSeries(entity, index)


def _criteria(fields: Fields) -> Criteria | None:
    inner = fields.inner("stickiness_criteria")
    if inner is None:
        return None
    operator = inner.choice("operator", _OPERATORS, "gte")
    value = inner.whole("value", 1, OCCURRENCES_MAX)
    inner.refuse_unread("Criteria", ())
    return Criteria(operator, 1 if value is None else value)
