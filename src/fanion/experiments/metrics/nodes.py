"""The events of a metric, and the math by which they are counted.

Source: experiments.md, section 1c.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from fanion.errors import Invalid
from fanion.insights.breakdowns import GROUP_TYPES_MAX
from fanion.insights.entities import NODES_MAX, Entity
from fanion.insights.parsing.conditions import parse_filter
from fanion.insights.parsing.fields import Fields
from fanion.properties.filters import ConditionGroup
from fanion.properties.filters import Node as Conditions
from fanion.rest.unknown_fields import no_choice, require_known
from fanion.rest.validation import INTEGER_MAX

Math = Literal["total", "sum", "avg", "min", "max", "unique_session", "dau", "unique_group"]
MATHS: Final[tuple[Math, ...]] = get_args(Math)
PROPERTY_MATHS: Final = frozenset({"sum", "avg", "min", "max"})
EVENT_KIND: Final = "EventsNode"
ACTION_KIND: Final = "ActionsNode"
GROUP_KIND: Final = "GroupNode"
_KINDS: Final = (ACTION_KIND, EVENT_KIND, GROUP_KIND)
_REFUSED_KINDS: Final = {
    "ExperimentDataWarehouseNode": "There is no data warehouse. Use an EventsNode.",
}
# The fields of an event in PostHog's API of any version.
KNOWN: Final = frozenset(
    {
        *("kind", "event", "name", "custom_name", "properties", "fixedProperties", "math"),
        *("math_property", "math_property_type", "math_group_type_index", "math_hogql"),
        *("math_multiplier", "math_property_revenue_currency", "optionalInFunnel", "uuid"),
        *("id", "type", "order", "index", "limit", "orderBy", "response", "version"),
    }
)
_OF_GROUP: Final = frozenset({"nodes", "operator"})
# What is counted belongs to the group.
_OF_GROUPED: Final = frozenset({"kind", "event", "name", "custom_name", "properties", "id", "uuid"})
EVENT_CHARS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Node:
    """Events, and the math by which they are counted for one unit."""

    entity: Entity
    math: Math = "total"
    math_property: str | None = None
    group_type_index: int | None = None

    @property
    def label(self) -> str:
        return label_of(self.entity)


def label_of(entity: Entity) -> str:
    """Return the name of the events for people."""
    if entity.nodes and not entity.name:
        return " or ".join(map(label_of, entity.nodes))
    unnamed = "any event" if entity.action is None else f"action {entity.action}"
    return entity.name or entity.event or unnamed


def read_node(fields: Fields) -> Node:
    """Read the events of a metric.

    Raises:
        Invalid: A value cannot be read, is unknown or cannot be calculated.
    """
    is_group = fields.text("kind") == GROUP_KIND
    require_known(fields.values, KNOWN | (_OF_GROUP if is_group else frozenset()), fields.at)
    math = _math(fields)
    return Node(
        _group(fields) if is_group else _entity(fields),
        math,
        _property(fields) if math in PROPERTY_MATHS else None,
        _group_type(fields) if math == "unique_group" else None,
    )


def required_node(fields: Fields, name: str) -> Node:
    """Read the events that have this name in a metric."""
    inner = fields.inner(name)
    if inner is None:
        raise fields.required(name)
    return read_node(inner)


def _entity(fields: Fields) -> Entity:
    kind = fields.text("kind") or EVENT_KIND
    if kind in _REFUSED_KINDS:
        raise fields.error("kind", _REFUSED_KINDS[kind])
    if kind not in _KINDS:
        raise no_choice(kind, _KINDS, fields.place("kind"))
    named = action_entity(fields) if kind == ACTION_KIND else Entity(_event(fields))
    return _described(named, fields)


def _group(fields: Fields) -> Entity:
    """Read a group of events and actions, any of which counts."""
    fields.choice("operator", ("OR",), "OR")
    items = fields.items("nodes", NODES_MAX)
    if not items:
        raise fields.required("nodes")
    group = _described(Entity(nodes=tuple(map(_grouped, items))), fields)
    return group.joined() if all(node.is_known for node in group.nodes) else group


def _grouped(fields: Fields) -> Entity:
    require_known(fields.values, _OF_GROUPED, fields.at)
    if fields.text("kind") == GROUP_KIND:
        raise fields.error("kind", "A group of events cannot have groups.")
    return _entity(fields)


def _described(entity: Entity, fields: Fields) -> Entity:
    """Return an entity with its conditions and its name."""
    name = fields.text("name") or fields.text("custom_name")
    return replace(entity, properties=_conditions(fields), name=name)


def action_entity(fields: Fields) -> Entity:
    """Read the id of an action, which has no event beside it.

    Raises:
        Invalid: There is no id, or an event.
    """
    if fields.raw("event") is not None:
        raise fields.error("event", "An action has an id in place of an event. Leave it out.")
    action_id = fields.whole("id", 1, INTEGER_MAX)
    if action_id is None:
        raise fields.required("id")
    return Entity(action=action_id, place=fields.place("id"))


def _event(fields: Fields) -> str | None:
    event = fields.text("event")
    if event is not None and len(event) > EVENT_CHARS_MAX:
        detail = f"Ensure this field has no more than {EVENT_CHARS_MAX} characters."
        raise fields.error("event", detail)
    return event


def _math(fields: Fields) -> Math:
    sent = fields.text("math")
    if sent == "hogql" or fields.text("math_hogql") is not None:
        detail = f"Math hogql is not supported. Use one of: {', '.join(MATHS)}."
        raise fields.error("math", detail)
    return fields.choice("math", MATHS, "total")


def _property(fields: Fields) -> str:
    own = fields.text("math_property")
    if own is None:
        raise fields.required("math_property")
    fields.choice("math_property_type", ("event_properties",), "event_properties")
    return own


def _group_type(fields: Fields) -> int:
    index = fields.whole("math_group_type_index", 0, GROUP_TYPES_MAX - 1)
    if index is None:
        raise fields.required("math_group_type_index")
    return index


def _conditions(fields: Fields) -> Conditions | None:
    """Return the conditions, which older clients send under two names."""
    parts = [
        parsed
        for name in ("properties", "fixedProperties")
        if (parsed := conditions_at(fields, name)) is not None
    ]
    return ConditionGroup("AND", tuple(parts)) if len(parts) > 1 else next(iter(parts), None)


def conditions_at(fields: Fields, name: str) -> Conditions | None:
    """Return conditions on events, which may name segments."""
    return parse_filter(fields.raw(name), fields.place(name), with_segments=True)


def fields_of(raw: object, at: str) -> Fields:
    """Return a reader of a JSON object.

    Raises:
        Invalid: The value is not an object.
    """
    if not isinstance(raw, Mapping):
        raise Invalid("Must be a JSON object.", attr=at or None)
    values: Mapping[str, Any] = raw
    return Fields(values, at=at)


def number(fields: Fields, name: str, least: float, most: float) -> float | None:
    """Return a number between two bounds, None when it is not given."""
    value = fields.raw(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fields.error(name, "A valid number is required.")
    if not least <= value <= most:
        raise fields.error(name, f"Ensure this value is between {least:g} and {most:g}.")
    return float(value)
