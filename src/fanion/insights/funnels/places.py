"""Parsing of the place of a number in the answer to a funnel.

Every function raises Invalid for a place that it cannot read.

Source: insights.md, section 13.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from fanion.errors import Invalid
from fanion.insights.dates.bounds import parse_bound
from fanion.insights.dates.intervals import Intervals
from fanion.insights.funnels.query import FunnelCorrelationQuery, FunnelsQuery
from fanion.insights.funnels.values_sql import text_of_parts
from fanion.insights.parsing.fields import Fields

# How entries of an answer name the range of the question, and the one to compare with.
LABELS: Final = ("current", "previous")


@dataclass(frozen=True, slots=True)
class FunnelPlace:
    """The place of a number in the answer to a funnel.

    Attributes:
        levels: The exact numbers of required steps that the actors reached; empty for trends, and
            for an optional step.
        optional: The place of an optional step among the optional ones, from 0.
        interval: For trends, the name of the start of an interval.
        dropped: For trends and an optional step, whether the actors are those who did not reach the
            last measured step, or skipped the optional one.
        value: The value of the breakdown as rows have it; None for any.
        is_previous: Whether the number is in the range to compare with.
    """

    levels: tuple[int, ...] = ()
    optional: int | None = None
    interval: str = ""
    dropped: bool = False
    value: str | None = None
    is_previous: bool = False


def read_funnel_place(fields: Fields, query: FunnelsQuery) -> FunnelPlace:
    if not query.steps:
        raise fields.error("events", "A funnel without steps has no persons. Name its steps.")
    value, is_previous = _value(fields, query), _is_previous(fields, query)
    if query.visualization == "trends":
        start = fields.text("entrance_period_start")
        if start is None:
            raise fields.required("entrance_period_start")
        parse_bound(start, fields.place("entrance_period_start"))
        dropped = fields.boolean("drop_off")
        place = FunnelPlace(interval=start, dropped=dropped)
    else:
        place = _step_place(fields, query)
    return replace(place, value=value, is_previous=is_previous)


@dataclass(frozen=True, slots=True)
class CorrelationPlace:
    """The place of a number in the answer to a correlation.

    Attributes:
        name: The event or the property, as the answer names it.
        converted: Whether the actors are those who reached the last step; if not, those who did
            not.
    """

    name: str
    converted: bool


def read_correlation_place(fields: Fields, query: FunnelCorrelationQuery) -> CorrelationPlace:
    name = "funnel_correlation_person_converted"
    if fields.raw(name) in (None, ""):
        raise fields.required(name)
    converted = fields.boolean(name)
    if query.type == "properties":
        values = _items(fields, "funnel_correlation_property_values")
        return CorrelationPlace(_pair(values), converted)
    name = "funnel_correlation_person_entity"
    entity = fields.inner(name)
    if entity is None:
        raise fields.required(name)
    event = entity.text("id")
    if event is None:
        raise entity.required("id")
    if query.type == "event_with_properties":
        event = f"{event}::{_pair(_items(entity, 'properties'))}"
    return CorrelationPlace(event, converted)


def _items(fields: Fields, name: str) -> tuple[Fields, ...]:
    items = fields.items(name, 1)
    if not items:
        raise fields.required(name)
    return items


def _pair(conditions: Sequence[Fields]) -> str:
    """Return `plan::pro` for a condition that compares with one value."""
    key, value = conditions[0].text("key"), conditions[0].raw("value")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if key is None or not isinstance(value, str | int | float):
        raise conditions[0].error("value", "Name one property and one value.")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{key}::{text}"


def _step_place(fields: Fields, query: FunnelsQuery) -> FunnelPlace:
    """Return the place of a step.

    -k means that the required step before step k was reached and step k was not.
    """
    size = len(query.steps)
    custom = _custom_steps(fields, query)
    if custom:
        return FunnelPlace(levels=custom)
    step = fields.whole("funnel_step", -max(size, 2), max(size, 1))
    if step is None:
        raise fields.required("funnel_step")
    if step in (-1, 0):
        raise fields.error("funnel_step", "Ensure this value is 1 or greater, or -2 or less.")
    number = abs(step) - 1
    if query.steps[number].optional_at is not None:
        optional = number - query.required_place(number)
        return FunnelPlace(optional=optional, dropped=step < 0)
    level = query.required_place(number) + 1
    size = len(query.required_steps)
    return FunnelPlace(levels=tuple(range(level, size + 1)) if step > 0 else (level - 1,))


def _custom_steps(fields: Fields, query: FunnelsQuery) -> tuple[int, ...]:
    name, size = "funnel_custom_steps", len(query.steps)
    steps = _decoded(fields.raw(name))
    if steps in (None, "", []):
        return ()
    if not isinstance(steps, list) or not all(type(step) is int for step in steps):
        raise fields.error(name, "Must be a list of step numbers.")
    if not all(1 <= step <= size for step in steps):
        raise fields.error(name, f"Ensure each value is between 1 and {size}.")
    if any(query.steps[step - 1].optional_at is not None for step in steps):
        raise fields.error(name, "Leave optional steps out.")
    return tuple(query.required_place(step - 1) + 1 for step in steps)


def _value(fields: Fields, query: FunnelsQuery) -> str | None:
    name = "funnel_step_breakdown"
    sent = _decoded(fields.raw(name))
    if sent is None or sent == "":
        return None
    if query.breakdowns is None:
        raise fields.error(name, "Set breakdown when funnel_step_breakdown is set.")
    parts = sent if isinstance(sent, list) else [sent]
    if query.breakdowns.parts[0].type == "cohort" and len(parts) == 1:
        return str(parts[0])
    if not all(isinstance(part, str | int) for part in parts):
        raise fields.error(name, "Must be a list of strings.")
    return text_of_parts(query.breakdowns, [str(part) for part in parts])


def _is_previous(fields: Fields, query: FunnelsQuery) -> bool:
    is_previous = fields.choice("compare_label", LABELS, LABELS[0]) == LABELS[1]
    if is_previous and not query.compare:
        raise fields.error("compare_label", "The question does not compare.")
    return is_previous


def _decoded(value: Any) -> Any:
    """Decode a list that was sent as JSON text; return all else as it is."""
    if not isinstance(value, str) or not value.startswith("["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def interval_start(intervals: Intervals, name: str) -> datetime:
    """Return the start of the interval with this name.

    Args:
        name: As the answer has it in `days`, or with a time.
    """
    names: Sequence[str] = intervals.days
    for start, day in zip(intervals.starts, names, strict=True):
        if name in (day, f"{day} 00:00:00", f"{day}T00:00:00"):
            return start
    moment = parse_bound(name, "entrance_period_start").moment
    if moment is not None and moment.tzinfo is not None and moment in intervals.starts:
        return moment
    raise Invalid("No interval of the funnel starts then.", attr="entrance_period_start")
