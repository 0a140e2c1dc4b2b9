"""The question of a trend: events counted by interval.

Source: insights.md, section 4; cohorts.md, sections 20 to 23.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from fanion.errors import Invalid
from fanion.insights.breakdowns import Breakdowns, read_breakdowns
from fanion.insights.dates.bounds import Bound
from fanion.insights.dates.intervals import INTERVALS, DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import Entity, SqlText, events
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import (
    DISTANCE,
    StrictOptions,
    read_question,
    switch,
    text,
    texts,
    whole,
    word,
)
from fanion.insights.query import Scope
from fanion.insights.trends.formula import CHARS_MAX, Expression, FormulaError, parse_formula
from fanion.insights.trends.maths import TOTAL, Math
from fanion.rest.options import Before, Options, items, part, read
from fanion.rest.posthog_insight_fields import (
    DISPLAYS,
    DISPLAYS_CUMULATIVE,
    DISPLAYS_OF_SERIES,
    DISPLAYS_OF_TOTALS,
    DISPLAYS_OF_WEEK,
    OF_ENTITY,
)

# The component of the published schema.
TRENDS_FILTERS: Final = "TrendsFilters"
# Formulas have letters for this many series.
SERIES_MAX: Final = 26
FORMULAS_MAX: Final = 20
SMOOTHED_MAX: Final = 1_000
# A world map shows each country.
MAP_VALUES: Final = 250

Shape = Literal["series", "cumulative", "totals", "week"]
_SHAPES: Final[Mapping[str, Shape]] = {
    "ActionsLineGraph": "series",
    **dict.fromkeys(sorted(DISPLAYS_OF_SERIES), "series"),
    **dict.fromkeys(sorted(DISPLAYS_OF_TOTALS), "totals"),
    **dict.fromkeys(sorted(DISPLAYS_CUMULATIVE), "cumulative"),
    **dict.fromkeys(sorted(DISPLAYS_OF_WEEK), "week"),
}
_UNSUPPORTED: Final = {
    display: f"Trends with display {display} are not supported."
    for display in DISPLAYS.difference(_SHAPES)
}
_DISPLAY: Final = word(_SHAPES, "display", also=_UNSUPPORTED, refused=_UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class Series(Options):
    """One line of a chart."""

    known = OF_ENTITY

    entity: Entity
    math: Math = TOTAL

    def completed(self, fields: Fields) -> Self:
        if self.math.hogql is None:
            return self
        aggregate = SqlText("aggregate", self.math.hogql, fields.place("math_hogql"))
        return replace(self, entity=replace(self.entity, aggregate=aggregate))


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


# The length of a formula is checked when it is parsed.
_FORMULA: Final = replace(text(CHARS_MAX), read=text().read)


@dataclass(frozen=True, slots=True)
class _Node(StrictOptions):
    """A formula with a name, as it is sent."""

    required = ("formula",)
    called = "Formulas"

    formula: Annotated[str, _FORMULA] = ""
    custom_name: Annotated[str | None, text()] = None


@dataclass(frozen=True, slots=True)
class _Formulas(Options):
    """The three options for formulas, of which the newest that is used counts."""

    nodes: Annotated[
        Sequence[Fields],
        replace(
            items(_Node, FORMULAS_MAX, "formulaNodes"),
            read=lambda fields, name, _: fields.items(name, FORMULAS_MAX),
        ),
        "Several formulas with names.",
    ]
    formulas: Annotated[
        Sequence[str],
        replace(texts(FORMULAS_MAX, CHARS_MAX), read=texts(FORMULAS_MAX).read),
        "Several formulas.",
    ]
    formula: Annotated[
        str | None, _FORMULA, "A formula, such as `A / B`. Its result replaces the series."
    ] = None


def _formulas(fields: Fields, _: str, before: Before) -> tuple[Formula, ...]:
    sent, series = read(_Formulas, fields), len(before["series"])
    if sent.nodes:
        return tuple(_formula_node(node, series) for node in sent.nodes)
    if sent.formulas:
        at = fields.place("formulas")
        return tuple(
            _formula(text, series, f"{at}__{index}") for index, text in enumerate(sent.formulas)
        )
    return (
        () if sent.formula is None else (_formula(sent.formula, series, fields.place("formula")),)
    )


def _formula_node(fields: Fields, series: int) -> Formula:
    node = read(_Node, fields)
    if not node.formula:
        raise fields.error("formula", "A formula is required.")
    formula = _formula(node.formula, series, fields.place("formula"))
    return replace(formula, custom_name=node.custom_name)


def _formula(text: str, series: int, at: str) -> Formula:
    try:
        return Formula(text, parse_formula(text, series))
    except FormulaError as error:
        raise Invalid(str(error), attr=at) from None


def _breakdowns(fields: Fields, *_: object) -> Breakdowns | None:
    breakdowns = read_breakdowns(fields)
    if breakdowns is None:
        return None
    if fields.raw("display") == "WorldMap" and fields.raw("breakdown_limit") in (None, ""):
        breakdowns = replace(breakdowns, limit=MAP_VALUES)
    return breakdowns.with_all_cohorts


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendsQuery(Options):
    """The question of a trend.

    Attributes:
        shape: A number for each interval, running sums of them, one number for the whole range, or
            one for each hour of each weekday.
        compare_to: The distance to the range to compare with; None for the previous range.
        smoothed: Each number is the average of this many, rounded down.
    """

    insight: ClassVar[Annotated[str, word(["TRENDS"], also=["trends"])]]
    shown_as: ClassVar[Annotated[str, word(["Volume"])]]
    shape: Annotated[Shape, _DISPLAY, "A chart of totals has one number for the whole range."] = (
        "series"
    )
    series: Annotated[tuple[Series, ...], events(Series, SERIES_MAX), "Events to count."]
    compare_to: Annotated[
        Bound | None, DISTANCE, "Compares with a range that is this much earlier: `-1w`."
    ] = None
    scope: Scope
    interval: Annotated[Interval, word(INTERVALS)] = "day"
    breakdowns: Annotated[Breakdowns | None, replace(part(Breakdowns), read=_breakdowns)] = None
    compare: Annotated[bool, switch(), "Compares with the previous range."] = False
    formulas: Annotated[tuple[Formula, ...], replace(part(_Formulas), read=_formulas)] = ()
    smoothed: Annotated[
        int,
        whole(0, SMOOTHED_MAX, "smoothing_intervals", or_default=True),
        "Each number is the average of this many, rounded down.",
    ] = 1

    def completed(self, fields: Fields) -> Self:
        query = replace(self, compare=self.compare or self.compare_to is not None)
        if query.shape == "week":
            query._check_week(fields)
        return query

    def _check_week(self, fields: Fields) -> None:
        """Raise Invalid for an option that numbers by weekday and hour do not have."""
        detail = "Trends with display CalendarHeatmap have no such option. Leave it out."
        given = {
            ("formula", "formulas", "formulaNodes"): bool(self.formulas),
            ("breakdown", "breakdowns"): self.breakdowns is not None,
            ("compare", "compare_to"): self.compare,
            ("smoothing_intervals",): self.smoothed > 1,
        }
        for names in (names for names, is_given in given.items() if is_given):
            name = next(name for name in names if fields.values.get(name))
            raise fields.error(name, detail)
        if len(self.series) > 1:
            raise fields.error("events", "Trends with display CalendarHeatmap have one series.")
        if self.series and self.series[0].math.window is not None:
            word = self.series[0].math.word
            detail = f"Trends with display CalendarHeatmap have no math {word}. Use dau."
            raise fields.error("events__0__math", detail)

    @property
    def entities(self) -> tuple[Entity, ...]:
        return tuple(series.entity for series in self.series)

    @property
    def totals(self) -> bool:
        return self.shape == "totals"

    @property
    def effective_interval(self) -> Interval:
        """Return the interval; some shapes have none, and their range is rounded to days."""
        return "day" if self.shape in ("totals", "week") else self.interval

    def span(self, clock: RangeClock) -> DateRange:
        """Return the range in whole intervals.

        Source: insights.md, section 2c.
        """
        return self.scope.whole_span(self.effective_interval, clock)


def parse_trends(filters: Mapping[str, Any]) -> TrendsQuery:
    """Parse `filters`: decoded JSON, or the texts of a query string."""
    return read_trends(Fields(filters))


def read_trends(fields: Fields) -> TrendsQuery:
    return read_question(TrendsQuery, fields, "Trends")
