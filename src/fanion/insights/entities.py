"""The events of one step or series of a question: an event, an action, or any of several of them.

Source: insights.md, section 2a.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeGuard

from fanion.actions.conditions import ResolvedAction
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import CONDITIONS, text, word
from fanion.properties.filters import METADATA, ConditionGroup, Node, Property
from fanion.rest.json_schema import listed, one_of, or_null, reference
from fanion.rest.options import Before, Option, Options, read
from fanion.rest.validation import INTEGER_MAX, object_id

# Fields of an entity that do not affect what is counted.
NAMES_OF_ENTITY: Final = frozenset({"event", "index", "kind", "uuid", "custom_event"})
MATHS: Final = (
    *("total", "dau", "weekly_active", "monthly_active", "unique_session", "unique_group"),
    *("first_time_for_user", "first_matching_event_for_user"),
    *("avg", "sum", "min", "max", "median", "p25", "p75", "p90", "p95", "p99"),
    *("avg_count_per_actor", "min_count_per_actor", "max_count_per_actor"),
    *("median_count_per_actor", "p25_count_per_actor", "p75_count_per_actor"),
    *("p90_count_per_actor", "p95_count_per_actor", "p99_count_per_actor"),
    *("avg_sum_per_actor", "min_sum_per_actor", "max_sum_per_actor"),
    *("median_sum_per_actor", "p25_sum_per_actor", "p75_sum_per_actor"),
    *("p90_sum_per_actor", "p95_sum_per_actor", "p99_sum_per_actor"),
)
MATH_OPTIONS: Final = frozenset(
    {
        *("math_property", "math_property_type", "math_group_type_index", "math_hogql"),
        *("math_multiplier", "math_property_revenue_currency"),
    }
)
# The math of kinds that always count persons.
PERSON_MATHS: Final = ("total", "dau")
# The math of steps of a funnel that count only the first event of each person: its very first of
# that name, or the first that fulfils the conditions.
FIRST_TIME: Final = "first_time_for_user"
FIRST_MATCHING: Final = "first_time_for_user_with_filters"
FIRST_TIMES: Final = (FIRST_TIME, FIRST_MATCHING)
# The component of the published schema for an event.
SERIES: Final = "EventSeries"
# That for an action, whose id is a number: clients that are generated have one type for a field.
ACTION_SERIES: Final = "ActionSeries"
# Events of one question.
ENTITIES_MAX: Final = 20
# The `type` of an entity that is an action, and all types.
ACTION: Final = "actions"
ENTITY_TYPES: Final = ("events", ACTION)
# The `type` of an entity that is any of several events and actions.
GROUP: Final = "groups"
NODES_MAX: Final = 20


def _event(fields: Fields, name: str, _: Before) -> str | None:
    event = fields.raw(name)
    if is_action(fields):
        return None
    if is_group(fields) and event is not None:
        raise fields.error(name, "A group of events has nodes in place of an id.")
    if event is not None and not isinstance(event, str):
        raise fields.error(name, "The id of an event must be a string.")
    return event


def _entity_type(fields: Fields, name: str, _: Before) -> None:
    if fields.raw(name) not in (None, *ENTITY_TYPES, GROUP):
        detail = 'The type of a series must be "events", "actions" or "groups".'
        raise fields.error(name, detail)


def is_action(fields: Fields, kind: str = "type") -> bool:
    """Return whether an entity, or the place of a number, names an action in place of an event."""
    return bool(fields.raw(kind) == ACTION)


def is_group(fields: Fields, kind: str = "type") -> bool:
    """Return whether an entity, or the place of a number, names a group of events."""
    return bool(fields.raw(kind) == GROUP)


def _operator(fields: Fields, name: str, _: Before) -> None:
    operator = fields.text(name)
    if operator == "AND":
        detail = "One event is never several events. Use OR, or conditions."
        raise fields.error(name, detail)
    fields.choice(name, ("OR",), "OR")


def _nodes(fields: Fields, name: str, _: Before) -> "tuple[Entity, ...]":
    """Return the events and actions of a group.

    Raises:
        Invalid: There are none or too many, one cannot be read or has options of a series, or the
            entity is no group.
    """
    items = fields.items(name, NODES_MAX)
    if not is_group(fields):
        if items:
            raise fields.error(name, 'nodes are only for the type "groups". Leave them out.')
        return ()
    if not items:
        raise fields.required(name)
    return tuple(_node(item, fields.raw("math")) for item in items)


def _node(fields: Fields, math: object) -> "Entity":
    if is_group(fields):
        raise fields.error("type", "A group of events cannot have groups.")
    entity = read(Entity, fields)
    if fields.raw("math") not in (None, "total", math):
        raise fields.error("math", "What is counted belongs to the group. Leave it out.")
    fields.refuse_unread("Events of a group", NAMES_OF_ENTITY | MATH_OPTIONS)
    return entity


def _action(fields: Fields, name: str, _: Before) -> int | None:
    """Return the id of an action; older clients send it as text.

    Raises:
        Invalid: It is no id.
    """
    if not is_action(fields):
        return None
    sent = fields.raw(name)
    action_id = object_id(str(sent)) if isinstance(sent, str | int) else None
    if action_id is None or isinstance(sent, bool):
        raise fields.error(name, "The id of an action must be a number above 0.")
    return action_id


def _conditions(fields: Fields, name: str, before: Before) -> Node | None:
    """Return the conditions on an event, which older clients send under two names."""
    fixed = CONDITIONS.read(fields, "fixedProperties", before)
    return all_of(CONDITIONS.read(fields, name, before), fixed)


def all_of(*nodes: Node | None) -> Node | None:
    sent = tuple(node for node in nodes if node is not None)
    return ConditionGroup("AND", sent) if sent else None


@dataclass(frozen=True, slots=True)
class SqlText:
    """An expression in SQL within a question, neither parsed nor checked.

    Attributes:
        role: What it is: true for an event or not, a value of it, or an aggregate of events.
        place: Its place in the request.
    """

    role: Literal["condition", "value", "aggregate"]
    text: str
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Entity(Options):
    """The events of one step or series.

    Attributes:
        event: None for any event, and for the events of an action.
        action: The id of the action.
        nodes: The events and actions of a group, which matches the events of all of them.
        place: The place of the id in the request.
        events: The names that events of a resolved action or group can have; None for any, and
            before.
        aggregate: The aggregate in SQL that its series counts, if it is one.
        first_time: For a step of a funnel, one of FIRST_TIMES if only the first such event of each
            person counts.
        optional_at: The place in the request that makes it an optional step, None for all others.
        sent: The entity as the client wrote it.

    Source: insights.md, section 2a.
    """

    event: Annotated[
        str | None,
        Option(_event, text().schema, "id"),
        "Name of the event, null for any; with the type `actions` the id of an action.",
    ] = None
    action: Annotated[int | None, Option(_action, None, "id")] = None
    type: ClassVar[Annotated[str, Option(_entity_type, word((*ENTITY_TYPES, GROUP)).schema)]]
    nodes: Annotated[
        tuple["Entity", ...],
        Option(_nodes, listed({"type": "object"}, maxItems=NODES_MAX)),
        "With the type `groups`, events and actions, any of which counts.",
    ] = ()
    operator: ClassVar[Annotated[None, Option(_operator, or_null(one_of(["OR"])))]]
    properties: Annotated[
        Node | None, replace(CONDITIONS, read=_conditions), "Conditions on this event."
    ] = None
    name: Annotated[str | None, text()] = None
    custom_name: Annotated[str | None, text(), "Label of the series."] = None
    order: int = 0
    events: tuple[str, ...] | None = None
    is_resolved: bool = False
    place: str = field(default="", compare=False)
    sent: Mapping[str, Any] = field(default_factory=dict, compare=False)
    aggregate: SqlText | None = None
    first_time: str | None = None
    optional_at: str | None = None

    def completed(self, fields: Fields) -> Self:
        order, place = fields.raw("order"), fields.place("id")
        entity = replace(
            self, order=order if _is_order(order) else 0, place=place, sent=fields.values
        )
        return entity.joined() if all(node.is_known for node in self.nodes) else entity

    @property
    def id(self) -> str | int | None:
        """Return the name of the event, or the id of the action."""
        return self.event if self.action is None else self.action

    @property
    def type_name(self) -> str:
        return GROUP if self.nodes else ENTITY_TYPES[self.action is not None]

    @property
    def is_known(self) -> bool:
        """Return whether the events are known without the action of this name."""
        return self.is_resolved or self.action is None

    @property
    def names(self) -> tuple[str, ...] | None:
        """Return the names that the events can have, None for any."""
        return self.events if self.event is None else (self.event,)

    @property
    def label(self) -> str:
        named = self.custom_name or self.name or self.event
        return named or " or ".join(node.label for node in self.nodes) or "All events"

    def joined(self) -> Self:
        """Return the entity with the events and conditions of its nodes, which are known."""
        if not self.nodes:
            return self
        names = [node.names for node in self.nodes]
        known = dict.fromkeys(name for some in names for name in some or ())
        conditions = [_condition_of(node) for node in self.nodes]
        each = tuple(condition for condition in conditions if condition is not None)
        any_node = ConditionGroup("OR", each) if len(each) == len(conditions) else None
        return replace(
            self,
            properties=all_of(any_node, self.properties),
            name=self.name or self.label,
            events=None if None in names else tuple(known),
            is_resolved=True,
        )

    def resolved(self, action: ResolvedAction) -> Self:
        """Return the entity with the conditions and the name of its action."""
        return replace(
            self,
            properties=all_of(action.condition, self.properties),
            name=action.name,
            events=action.events,
            is_resolved=True,
        )


def _condition_of(entity: Entity) -> Node | None:
    """Return the condition for an event to be one of the entity, None if any event is."""
    named = None if entity.event is None else Property("event", entity.event, type=METADATA)
    return all_of(named, entity.properties)


def read_entity_id(fields: Fields) -> str | int | None:
    """Return the event or the action by which the place of a number names its series.

    Raises:
        Invalid: The type is unknown, or the id is none.
    """
    fields.choice("entity_type", (*ENTITY_TYPES, GROUP), "events")
    if not is_action(fields, "entity_type"):
        return fields.text("entity_id")
    action_id = fields.whole("entity_id", 1, INTEGER_MAX)
    if action_id is None:
        raise fields.required("entity_id")
    return action_id


def parse_entities(fields: Fields, name: str, most: int) -> Sequence[tuple[Entity, Fields]]:
    """Parse the events of a question, sorted by `order` if all have one.

    Returns:
        Each entity with its fields, from which a kind reads the options that only it knows.

    Raises:
        Invalid: One cannot be read, or there are more than `most`.
    """
    items = (*fields.items(name, most), *_actions(fields, most))
    if len(items) > most:
        raise fields.error(name, f"Ensure that there are at most {most} events and actions.")
    entities = [(read(Entity, item), item) for item in items]
    if all(_is_order(item.raw("order")) for item in items):
        return sorted(entities, key=lambda pair: pair[0].order)
    return [
        (entity if _is_order(item.raw("order")) else replace(entity, order=number), item)
        for number, (entity, item) in enumerate(entities)
    ]


def _actions(fields: Fields, most: int) -> Iterator[Fields]:
    """Yield the fields of the entities that older clients send apart from events."""
    for number, item in enumerate(fields.items("actions", most)):
        yield fields.item("actions", number, {**item.values, "type": ACTION})


def _is_order(order: object) -> TypeGuard[int]:
    return isinstance(order, int) and not isinstance(order, bool)


def events(kind: type[Options], most: int = ENTITIES_MAX) -> Option:
    """Return the option of a list of events.

    Args:
        kind: The event with the options that only its kind of question knows; it has an `entity`.
    """

    def read_events(fields: Fields, name: str, _: Before) -> tuple[Options, ...]:
        pairs = parse_entities(fields, name, most)
        return tuple(read(kind, options, entity=entity) for entity, options in pairs)

    schema = listed(reference(SERIES), maxItems=most)
    actions = {
        **listed(reference(ACTION_SERIES), maxItems=most),
        "description": "Series of actions, beside those of events.",
    }
    return Option(read_events, schema, "events", beside={"actions": actions})


def refuse_math(entity: Fields, kind: str) -> None:
    """Refuse any math that does not mean persons, for a kind that always counts persons.

    Raises:
        Invalid: The math is not allowed, or an option is not read.
    """
    math = entity.text("math")
    if math is not None and math not in PERSON_MATHS:
        raise entity.error("math", f"{kind} with math {math} are not supported. Leave it out.")
    entity.refuse_unread(kind, NAMES_OF_ENTITY)
