"""What a trend asks, read once from an insight's `filters`.

source: cohorts.md sections 20 to 23
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fanion.errors import Invalid
from fanion.insights.trends.date_range import (
    INTERVALS,
    Bound,
    Clock,
    Interval,
    Span,
    parse_bound,
    resolve,
    widened,
)
from fanion.properties.cohort_sql import OPERATORS
from fanion.properties.filters import (
    COHORT_TYPES,
    Behavioral,
    FlagIs,
    Group,
    InCohort,
    Node,
    Property,
    leaves,
    parse_tree,
)
from fanion.rest.posthog_insight_fields import DISPLAYS, DISPLAYS_OF_SERIES, DISPLAYS_OF_TOTALS
from fanion.rest.unknown_fields import no_choice

SERIES_MAX = 10
# Of all filters of one series; a statement's text grows with each.
LEAVES_MAX = 200
VALUES_MAX = 25  # of a breakdown; the rest is one entry

_TRUE, _FALSE = (True, "true", "True", "1", 1), (None, "", False, "false", "False", "0", 0)
# Options that are not calculated, with the values by which they ask for nothing. What is passed
# over shows a number that was not asked for.
OFF: Mapping[str, tuple[object, ...]] = {
    "smoothing_intervals": (0, 1, "0", "1"),
    "breakdown_limit": (VALUES_MAX, str(VALUES_MAX)),
    "breakdown_hide_other_aggregation": _FALSE[2:],
    "breakdown_histogram_bin_count": (),
    "breakdown_normalize_url": _FALSE[2:],
    "breakdowns": ([],),
    "formulas": ([],),
    "formulaNodes": ([],),
    "compare_to": (),
    "aggregation_group_type_index": (),
    "shown_as": ("Volume",),
    # The values beyond the largest are one entry, and have no pages.
    "offset": (0, "0"),
}
_UNSUPPORTED_DISPLAYS = DISPLAYS - DISPLAYS_OF_SERIES - DISPLAYS_OF_TOTALS

# `exact` is how older clients write `in`.
_COHORT_OPERATORS = ("exact", "in", "not_in")

Math = Literal["total", "dau"]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One entry for each value of a property of the event, or of its person."""

    key: str
    of_person: bool


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart. event: None is any event; raw: as sent

    math: `total` counts events, `dau` the persons who had one in an interval
    """

    event: str | None
    name: str
    math: Math
    properties: Node | None
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TrendsQuery:
    """totals:      one number for the whole range instead of one for each interval
    is_explicit: the range as it stands, nothing rounded
    """

    series: tuple[Series, ...]
    properties: Node | None
    since: Bound
    until: Bound
    interval: Interval
    breakdown: Breakdown | None
    totals: bool
    compare: bool
    is_explicit: bool = False

    @property
    def cut_by(self) -> Interval:
        """A number for the whole range knows no intervals: its range is of days."""
        return "day" if self.totals else self.interval

    def span(self, clock: Clock) -> Span:
        """The time whose events are counted. raises: Invalid

        source: insights.md section 2c
        """
        interval = self.cut_by
        span = resolve(self.since, self.until, interval, clock, is_explicit=self.is_explicit)
        return span if self.is_explicit else widened(span, interval, clock.zone)

    def cohort_ids(self) -> list[int]:
        """The cohorts that filters name, each once."""
        nodes = [self.properties, *(one.properties for one in self.series)]
        found = (leaf for node in nodes if node is not None for leaf in leaves(node))
        return list(dict.fromkeys(one.cohort_id for one in found if isinstance(one, InCohort)))


def parse_trends(filters: Mapping[str, Any]) -> TrendsQuery:
    """filters: decoded JSON, or the text of a query string. raises: Invalid"""
    kind = filters.get("insight") or "TRENDS"
    if not isinstance(kind, str) or kind.upper() != "TRENDS":
        raise Invalid("Only trends can be calculated.", attr="insight")
    for unsupported in ("actions", "formula"):
        if filters.get(unsupported):
            raise Invalid(f"Trends with {unsupported} are not supported.", attr=unsupported)
    for option, off in OFF.items():
        _check_off(filters.get(option), option, off)
    display = filters.get("display")
    if isinstance(display, str) and display in _UNSUPPORTED_DISPLAYS:
        raise Invalid(f"Trends with display {display} are not supported.", attr="display")
    return TrendsQuery(
        series=_all_series(filters.get("events")),
        properties=parse_filter(filters.get("properties"), "properties"),
        since=parse_bound(filters.get("date_from"), "date_from"),
        until=parse_bound(filters.get("date_to"), "date_to"),
        interval=_interval(filters.get("interval")),
        breakdown=_breakdown(filters),
        totals=isinstance(display, str) and display in DISPLAYS_OF_TOTALS,
        compare=_is_true(filters, "compare"),
        is_explicit=_is_true(filters, "explicit_date"),
    )


def _check_off(value: object, option: str, off: tuple[object, ...]) -> None:
    """raises: Invalid"""
    if value in (None, "") or any(type(value) is type(one) and value == one for one in off):
        return
    raise Invalid(f"Trends with {option} are not supported. Leave it out.", attr=option)


def _is_true(filters: Mapping[str, Any], name: str) -> bool:
    """raises: Invalid"""
    value = filters.get(name)
    if isinstance(value, str | int | None) and value in _TRUE + _FALSE:
        return value in _TRUE
    raise Invalid("Must be a valid boolean.", attr=name)


def parse_filter(raw: object, attr: str) -> Node | None:
    """A tree or a list of conditions; empty ones ask for nothing. raises: Invalid"""
    if not raw:
        return None
    try:
        tree = parse_tree(raw)
    except ValueError as error:
        raise Invalid(f"The filters cannot be read: {error}.", attr=attr) from None
    for number, leaf in enumerate(leaves(tree)):
        if number == LEAVES_MAX:
            raise Invalid(f"There are more than {LEAVES_MAX} filters.", attr=attr)
        _check_leaf(leaf, attr)
    for condition in _conditions(raw):
        if str(condition.get("type")) in COHORT_TYPES:
            _check_operator(condition.get("operator"), _COHORT_OPERATORS, attr)
    return _without_empty(tree)


def _check_leaf(leaf: Node, attr: str) -> None:
    if isinstance(leaf, Behavioral | FlagIs):
        raise Invalid("Filters are on events, persons and cohorts.", attr=attr)
    if isinstance(leaf, Property) and leaf.type not in ("event", "person"):
        raise Invalid(f"Filters of type {leaf.type} are not supported.", attr=attr)
    if isinstance(leaf, Property):
        _check_operator(leaf.operator, OPERATORS, attr)


def _check_operator(operator: object, known: Collection[str], attr: str) -> None:
    if operator is not None and operator not in known:
        allowed = ", ".join(sorted(known))
        raise Invalid(f'"{operator}" is not a known operator. Use one of: {allowed}.', attr=attr)


def _conditions(raw: Any) -> Iterator[Mapping[str, Any]]:
    """As sent, of a tree that could be read."""
    values = raw if isinstance(raw, list) else raw.get("values")
    if not isinstance(values, list):
        yield raw
        return
    for value in values:
        yield from _conditions(value)


def _without_empty(node: Node) -> Node | None:
    """In a cohort an empty group is nobody; a filter that is left empty filters nothing."""
    if not isinstance(node, Group):
        return node
    children = tuple(kept for child in node.children if (kept := _without_empty(child)) is not None)
    return Group(node.type, children) if children else None


def _all_series(raw: object) -> tuple[Series, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise Invalid("Events must be a list.", attr="events")
    if len(raw) > SERIES_MAX:
        raise Invalid(f"There are more than {SERIES_MAX} events.", attr="events")
    return tuple(_series(one) for one in raw)


def _series(raw: object) -> Series:
    if not isinstance(raw, dict):
        raise Invalid("An event must be an object.", attr="events")
    event = raw.get("id")
    if event is not None and not isinstance(event, str):
        raise Invalid("The id of an event must be text.", attr="events")
    if raw.get("type") not in (None, "events"):
        raise Invalid("Only events can be counted.", attr="events")
    math = raw.get("math") or "total"
    if math not in ("total", "dau"):
        raise Invalid(f"Trends with math {math} are not supported.", attr="events")
    return Series(
        event,
        next(_names(raw), "All events"),
        "dau" if math == "dau" else "total",
        parse_filter(raw.get("properties"), "events"),
        raw,
    )


def _names(raw: Mapping[str, Any]) -> Iterator[str]:
    for key in ("custom_name", "name", "id"):
        if isinstance(raw.get(key), str) and raw[key]:
            yield raw[key]


def _interval(raw: object) -> Interval:
    for interval in INTERVALS:
        if raw == interval or (raw in (None, "") and interval == "day"):
            return interval
    raise no_choice(raw, INTERVALS, "interval")


def _breakdown(filters: Mapping[str, Any]) -> Breakdown | None:
    key, kind = filters.get("breakdown"), filters.get("breakdown_type") or "event"
    if key is None or key == "":
        return None
    if not isinstance(key, str):
        raise Invalid("A breakdown must name one property.", attr="breakdown")
    if kind not in ("event", "person"):
        raise Invalid(f"Breakdowns of type {kind} are not supported.", attr="breakdown_type")
    return Breakdown(key, of_person=kind == "person")
