"""The question of a trend: events counted by interval.

Source: insights.md, section 4; cohorts.md, sections 20 to 23.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from fanion.errors import Invalid
from fanion.insights.dates.bounds import Bound
from fanion.insights.dates.intervals import DateRange, Interval, parse_interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.scope import (
    VALUES_MAX,
    parse_breakdowns,
    parse_compare_to,
    parse_entities,
    parse_scope,
)
from fanion.insights.query import Breakdowns, Entity, Scope
from fanion.insights.trends.formula import Expression, FormulaError, parse_formula
from fanion.insights.trends.maths import TOTAL, Math, read_math
from fanion.rest.posthog_insight_fields import (
    DISPLAYS,
    DISPLAYS_CUMULATIVE,
    DISPLAYS_OF_SERIES,
    DISPLAYS_OF_TOTALS,
    OF_KINDS,
)

# Formulas have letters for this many series.
SERIES_MAX: Final = 26
FORMULAS_MAX: Final = 20
SMOOTHED_MAX: Final = 1_000
# A world map shows each country.
MAP_VALUES: Final = 250
_UNSUPPORTED_DISPLAYS = DISPLAYS - DISPLAYS_OF_SERIES - DISPLAYS_OF_TOTALS - DISPLAYS_CUMULATIVE

Shape = Literal["series", "cumulative", "totals"]


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart."""

    entity: Entity
    math: Math = TOTAL


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula of series.

    Attributes:
        text: As it was sent.
        custom_name: Its label, if it has one.
    """

    text: str
    expression: Expression
    custom_name: str | None = None

    @property
    def label(self) -> str:
        return self.custom_name or f"Formula ({self.text})"


@dataclass(frozen=True, slots=True)
class TrendsQuery:
    """The question of a trend.

    Attributes:
        shape: A number for each interval, running sums of them, or one number for the whole range.
        compare_to: The distance to the range to compare with; None for the previous range.
        smoothed: Each number is the average of this many, rounded down.
    """

    scope: Scope
    series: tuple[Series, ...]
    interval: Interval = "day"
    breakdowns: Breakdowns | None = None
    shape: Shape = "series"
    compare: bool = False
    compare_to: Bound | None = None
    formulas: tuple[Formula, ...] = ()
    smoothed: int = 1

    @property
    def entities(self) -> tuple[Entity, ...]:
        return tuple(series.entity for series in self.series)

    @property
    def totals(self) -> bool:
        return self.shape == "totals"

    @property
    def effective_interval(self) -> Interval:
        """Return the interval; totals have none, and their range is rounded to days."""
        return "day" if self.totals else self.interval

    def span(self, clock: RangeClock) -> DateRange:
        """Return the range in whole intervals.

        Source: insights.md, section 2c.
        """
        return self.scope.whole_span(self.effective_interval, clock)


def parse_trends(filters: Mapping[str, Any]) -> TrendsQuery:
    """Parse `filters`: decoded JSON, or the texts of a query string."""
    return read_trends(Fields(filters))


def read_trends(fields: Fields) -> TrendsQuery:
    fields.choice("insight", ("TRENDS", "trends"), "TRENDS")
    fields.choice("shown_as", ("Volume",), "Volume")
    display = fields.choice("display", DISPLAYS, "ActionsLineGraph")
    if display in _UNSUPPORTED_DISPLAYS:
        raise fields.error("display", f"Trends with display {display} are not supported.")
    series = tuple(_series(*pair) for pair in parse_entities(fields, most=SERIES_MAX))
    compare_to = parse_compare_to(fields)
    query = TrendsQuery(
        scope=parse_scope(fields),
        series=series,
        interval=parse_interval(fields.raw("interval"), fields.place("interval")),
        breakdowns=_breakdowns(fields, display),
        shape=_shape(display),
        compare=fields.boolean("compare") or compare_to is not None,
        compare_to=compare_to,
        formulas=_formulas(fields, len(series)),
        smoothed=fields.whole("smoothing_intervals", 0, SMOOTHED_MAX) or 1,
    )
    fields.refuse_unread("Trends", OF_KINDS)
    return query


def _series(entity: Entity, fields: Fields) -> Series:
    return Series(entity, read_math(fields))


def _shape(display: str) -> Shape:
    if display in DISPLAYS_OF_TOTALS:
        return "totals"
    return "cumulative" if display in DISPLAYS_CUMULATIVE else "series"


def _breakdowns(fields: Fields, display: str) -> Breakdowns | None:
    """Parse the breakdown; all cohorts that it names are shown."""
    breakdowns = parse_breakdowns(fields, MAP_VALUES if display == "WorldMap" else VALUES_MAX)
    if breakdowns is None or not all(part.type == "cohort" for part in breakdowns.parts):
        return breakdowns
    return replace(breakdowns, limit=max(breakdowns.limit, len(breakdowns.parts)))


def _formulas(fields: Fields, series: int) -> tuple[Formula, ...]:
    """Parse the formulas in the newest of the three fields that is used."""
    nodes = fields.items("formulaNodes", FORMULAS_MAX)
    texts = fields.texts("formulas", FORMULAS_MAX)
    single = fields.text("formula")
    if nodes:
        return tuple(_formula_node(node, series) for node in nodes)
    if texts:
        at = fields.place("formulas")
        return tuple(_formula(text, series, f"{at}__{index}") for index, text in enumerate(texts))
    return () if single is None else (_formula(single, series, fields.place("formula")),)


def _formula_node(node: Fields, series: int) -> Formula:
    text, name = node.text("formula"), node.text("custom_name")
    node.refuse_unread("Formulas", ())
    if text is None:
        raise node.error("formula", "A formula is required.")
    return replace(_formula(text, series, node.place("formula")), custom_name=name)


def _formula(text: str, series: int, at: str) -> Formula:
    try:
        return Formula(text, parse_formula(text, series))
    except FormulaError as error:
        raise Invalid(str(error), attr=at) from None
