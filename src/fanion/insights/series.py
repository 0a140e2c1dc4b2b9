"""The parts of a query that every kind of insight has: events, conditions, a breakdown.

source: cohorts.md sections 20 to 23
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fanion.errors import Invalid
from fanion.properties.cohort_sql import OPERATORS
from fanion.properties.filters import (
    COHORT_TYPES,
    Behavioral,
    ConditionGroup,
    FlagIs,
    InCohort,
    Node,
    Property,
    leaves,
    parse_tree,
)

SERIES_MAX = 10
# Of all filters of one series; a statement's text grows with each.
LEAVES_MAX = 200

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


def parse_series(raw: object) -> tuple[Series, ...]:
    """raw: the `events` of an insight's filters. raises: Invalid"""
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise Invalid("events must be a list.", attr="events")
    if len(raw) > SERIES_MAX:
        raise Invalid(f"There are more than {SERIES_MAX} events.", attr="events")
    return tuple(_series(one) for one in raw)


def _series(raw: object) -> Series:
    if not isinstance(raw, dict):
        raise Invalid("An event must be an object.", attr="events")
    event = raw.get("id")
    if event is not None and not isinstance(event, str):
        raise Invalid("The id of an event must be a string.", attr="events")
    if raw.get("type") not in (None, "events"):
        raise Invalid('The type of a series must be "events".', attr="events")
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


def parse_breakdown(filters: Mapping[str, Any]) -> Breakdown | None:
    """raises: Invalid"""
    key, kind = filters.get("breakdown"), filters.get("breakdown_type") or "event"
    if key is None or key == "":
        return None
    if not isinstance(key, str):
        raise Invalid("breakdown must name one property.", attr="breakdown")
    if kind not in ("event", "person"):
        raise Invalid(f"Breakdowns of type {kind} are not supported.", attr="breakdown_type")
    return Breakdown(key, of_person=kind == "person")


def parse_filter(raw: object, attr: str) -> Node | None:
    """A tree or a list of conditions; None without any. raises: Invalid"""
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
        raise Invalid("Filters can only be on events, persons and cohorts.", attr=attr)
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
    """In a cohort an empty group matches no person; an empty filter matches every event."""
    if not isinstance(node, ConditionGroup):
        return node
    children = tuple(one for child in node.children if (one := _without_empty(child)) is not None)
    return ConditionGroup(node.type, children) if children else None


def cohort_ids(nodes: Collection[Node | None]) -> list[int]:
    """The cohorts that conditions name, each once."""
    found = (leaf for node in nodes if node is not None for leaf in leaves(node))
    return list(dict.fromkeys(one.cohort_id for one in found if isinstance(one, InCohort)))


def series_body(series: Series, order: int) -> dict[str, Any]:
    """As results name it, in `action`."""
    raw = series.raw
    return {
        "id": series.event,
        "type": "events",
        "order": order,
        "name": raw.get("name") or series.event,
        "custom_name": raw.get("custom_name"),
        "math": raw.get("math"),
        "math_property": None,
        "math_group_type_index": None,
        "properties": raw.get("properties") or {},
    }
