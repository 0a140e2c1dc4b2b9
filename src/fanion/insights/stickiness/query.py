"""The question of stickiness: in how many intervals persons did something.

Source: insights.md, section 7.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Literal, get_args

from fanion.insights.breakdowns import GROUP_TYPES_MAX
from fanion.insights.dates.bounds import Bound
from fanion.insights.dates.intervals import INTERVALS, DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import MATH_OPTIONS, MATHS, NAMES_OF_ENTITY, Entity, events
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import (
    DISTANCE,
    OFF,
    StrictOptions,
    read_question,
    switch,
    whole,
    word,
)
from fanion.insights.query import Scope
from fanion.rest.options import Before, Options, inner
from fanion.rest.posthog_insight_fields import DISPLAYS_OF_SERIES, DISPLAYS_OF_TOTALS

Operator = Literal["gte", "lte", "exact"]

SERIES_MAX: Final = 10
OCCURRENCES_MAX: Final = 1_000_000


def _group_type_index(fields: Fields, name: str, before: Before) -> int | None:
    if before["math"] != "unique_group":
        return None
    index = fields.whole(name, 0, GROUP_TYPES_MAX - 1)
    if index is None:
        raise fields.error(name, "Set the type of the groups that are counted.")
    return index


_GROUP_TYPE: Final = whole(0, GROUP_TYPES_MAX - 1, "math_group_type_index")


@dataclass(frozen=True, slots=True)
class StickinessSeries(StrictOptions):
    """One series, whose math other than `unique_group` is ignored, since persons are counted.

    Attributes:
        group_type_index: The type of the groups that are counted; None to count what the question
            does.
    """

    called = "Series of stickiness"
    passed_over = NAMES_OF_ENTITY | MATH_OPTIONS

    entity: Entity
    math: ClassVar[Annotated[str, word(MATHS, also=["hogql"])]]
    group_type_index: Annotated[int | None, replace(_GROUP_TYPE, read=_group_type_index)] = None


@dataclass(frozen=True, slots=True)
class Criteria(StrictOptions):
    """The number of events that an interval needs to count."""

    called = "Criteria"

    operator: Annotated[Operator, word(get_args(Operator))] = "gte"
    value: Annotated[int, whole(1, OCCURRENCES_MAX)] = 1


@dataclass(frozen=True, slots=True)
class StickinessQuery(Options):
    """The question of stickiness.

    Attributes:
        cumulative: Whether a number counts actors with that many intervals or more.
        compare_to: How much earlier the range to compare with is; None for the one just before.
    """

    insight: ClassVar[Annotated[str, word(["STICKINESS"], also=["stickiness", "TRENDS", "trends"])]]
    shown_as: ClassVar[Annotated[str, word(["Stickiness"])]]
    # Only affects drawing.
    display: ClassVar[Annotated[str, word(DISPLAYS_OF_SERIES | DISPLAYS_OF_TOTALS)]]
    scope: Scope
    series: Annotated[tuple[StickinessSeries, ...], events(StickinessSeries, SERIES_MAX)] = ()
    interval: Annotated[Interval, word(INTERVALS)] = "day"
    criteria: Annotated[
        Criteria | None,
        inner(Criteria, "stickiness_criteria"),
        'How many events an interval needs: `{"operator": "gte", "value": 2}`.',
    ] = None
    cumulative: Annotated[
        bool, word({"cumulative": True, "non_cumulative": False}, "computed_as")
    ] = False
    compare: Annotated[bool, switch()] = False
    compare_to: Annotated[Bound | None, DISTANCE] = None
    interval_count: ClassVar[Annotated[None, OFF]]

    @property
    def entities(self) -> tuple[Entity, ...]:
        return tuple(series.entity for series in self.series)

    @property
    def breakdowns(self) -> None:
        return None

    def span(self, clock: RangeClock) -> DateRange:
        return self.scope.whole_span(self.interval, clock)


def read_stickiness(fields: Fields) -> StickinessQuery:
    return read_question(StickinessQuery, fields, "Stickiness questions")
