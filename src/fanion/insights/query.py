"""The parts that every question has: events, conditions, range.

Source: insights.md, section 2.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, replace
from dataclasses import fields as fields_of
from typing import Annotated, Any, ClassVar, Final, Literal, Protocol, Self, TypeGuard, TypeVar

from fanion.actions.conditions import ResolvedAction
from fanion.insights.breakdowns import GROUP_TYPES_MAX, Breakdowns
from fanion.insights.dates.bounds import FROM_DEFAULT, LEFT_OUT, Bound
from fanion.insights.dates.intervals import DateRange, Interval, widen_to_interval
from fanion.insights.dates.ranges import RangeClock, resolve_range
from fanion.insights.parsing.fields import TIMES_STAND, Fields
from fanion.insights.parsing.options import CONDITIONS, date, switch, text, whole, word
from fanion.properties.filters import ConditionGroup, InCohort, Node, SqlCondition, leaves
from fanion.rest.json_schema import listed, reference
from fanion.rest.options import Before, Option, Options, read
from fanion.rest.posthog_insight_fields import ACCOMPANYING, DRAWN
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
# The component of the published schema for an event.
SERIES: Final = "EventSeries"
# That for an action, whose id is a number: clients that are generated have one type for a field.
ACTION_SERIES: Final = "ActionSeries"
# Events of one question.
ENTITIES_MAX: Final = 20
# The `type` of an entity that is an action, and all types.
ACTION: Final = "actions"
ENTITY_TYPES: Final = ("events", ACTION)
_NO_FILTERS = DRAWN | ACCOMPANYING | {TIMES_STAND}


def _event(fields: Fields, name: str, _: Before) -> str | None:
    event = fields.raw(name)
    if is_action(fields):
        return None
    if event is not None and not isinstance(event, str):
        raise fields.error(name, "The id of an event must be a string.")
    return event


def _entity_type(fields: Fields, name: str, _: Before) -> None:
    if fields.raw(name) not in (None, *ENTITY_TYPES):
        raise fields.error(name, 'The type of a series must be "events" or "actions".')


def is_action(fields: Fields, kind: str = "type") -> bool:
    """Return whether an entity, or the place of a number, names an action in place of an event."""
    return bool(fields.raw(kind) == ACTION)


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
    return _all_of(CONDITIONS.read(fields, name, before), fixed)


def _all_of(*nodes: Node | None) -> Node | None:
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
        place: The place of the id in the request.
        events: The names that events of a resolved action can have; None for any, and before.
        aggregate: The aggregate in SQL that its series counts, if it is one.
        sent: The entity as the client wrote it.

    Source: insights.md, section 2a.
    """

    event: Annotated[
        str | None,
        Option(_event, text().schema, "id"),
        "Name of the event, null for any; with the type `actions` the id of an action.",
    ] = None
    action: Annotated[int | None, Option(_action, None, "id")] = None
    type: ClassVar[Annotated[str, Option(_entity_type, word(ENTITY_TYPES).schema)]]
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

    def completed(self, fields: Fields) -> Self:
        order, place = fields.raw("order"), fields.place("id")
        return replace(
            self, order=order if _is_order(order) else 0, place=place, sent=fields.values
        )

    @property
    def id(self) -> str | int | None:
        """Return the name of the event, or the id of the action."""
        return self.event if self.action is None else self.action

    @property
    def type_name(self) -> str:
        return ENTITY_TYPES[self.action is not None]

    @property
    def names(self) -> tuple[str, ...] | None:
        """Return the names that the events can have, None for any."""
        return self.events if self.event is None else (self.event,)

    @property
    def label(self) -> str:
        return self.custom_name or self.name or self.event or "All events"

    def resolved(self, action: ResolvedAction) -> Self:
        """Return the entity with the conditions and the name of its action."""
        return replace(
            self,
            properties=_all_of(action.condition, self.properties),
            name=action.name,
            events=action.events,
            is_resolved=True,
        )


def read_entity_id(fields: Fields) -> str | int | None:
    """Return the event or the action by which the place of a number names its series.

    Raises:
        Invalid: The type is unknown, or the id is none.
    """
    fields.choice("entity_type", ENTITY_TYPES, "events")
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


@dataclass(frozen=True, slots=True)
class Scope(Options):
    """The range and conditions of a question, and whom it counts.

    Attributes:
        is_explicit: Whether the range is taken as it is, without rounding.
        group_type_index: The type of the groups that are counted instead of persons.
        sent: The question by the names of `filters`, without what only concerns drawing.
    """

    since: Annotated[
        Bound,
        date(FROM_DEFAULT, "date_from"),
        "A date, a time, `-30d`, `-1mStart`, `dStart`, or `all`.",
    ] = LEFT_OUT
    until: Annotated[Bound, date(name="date_to"), "In the same formats; now by default."] = LEFT_OUT
    is_explicit: Annotated[bool, switch("explicit_date"), "The range is not rounded."] = False
    properties: Annotated[Node | None, CONDITIONS, "Conditions on all events."] = None
    filter_test_accounts: Annotated[
        bool, switch(), "Applies the project's `test_account_filters` too."
    ] = False
    group_type_index: Annotated[
        int | None,
        whole(0, GROUP_TYPES_MAX - 1, "aggregation_group_type_index"),
        "Counts groups of this type in place of persons.",
    ] = None
    sent: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def completed(self, fields: Fields) -> Self:
        # `check_sampling` refuses it in new questions; a stored one is ignored: answers are exact.
        fields.raw("sampling_factor")
        sent = fields.values
        return replace(self, sent={name: sent[name] for name in sent if name not in _NO_FILTERS})

    def span(self, interval: Interval, clock: RangeClock) -> DateRange:
        return resolve_range(self.since, self.until, interval, clock, is_explicit=self.is_explicit)

    def whole_span(self, interval: Interval, clock: RangeClock) -> DateRange:
        """Return the range from the start of its first interval, unless it is explicit."""
        span = self.span(interval, clock)
        if self.is_explicit:
            return span
        return widen_to_interval(span, interval, clock.zone, clock.week_start_day)

    def with_conditions(self, own: Node | None) -> Self:
        """Return the scope with further conditions, those on test accounts included."""
        properties = _all_of(self.properties, own)
        return replace(self, properties=properties, filter_test_accounts=False)


class InsightQuery(Protocol):
    """A question of any kind, which is a frozen dataclass.

    Attributes:
        interval: The interval of the points in the answer; `day` if it has none.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def scope(self) -> Scope: ...

    @property
    def entities(self) -> tuple[Entity, ...]: ...

    @property
    def breakdowns(self) -> Breakdowns | None: ...

    @property
    def interval(self) -> Interval: ...

    def span(self, clock: RangeClock) -> DateRange:
        """Return the range whose events are counted.

        Raises:
            Invalid: The range is empty or cannot be resolved.
        """
        ...


_Query = TypeVar("_Query", bound=InsightQuery)


def with_scope(query: _Query, scope: Scope) -> _Query:
    """Return the question with another scope."""
    return replace(query, scope=scope)


def cohorts_named(query: InsightQuery) -> Collection[int]:
    """Return the ids of the cohorts in conditions and in the breakdown, each once."""
    nodes = [query.scope.properties, *(entity.properties for entity in query.entities)]
    conditions = (leaf for node in nodes if node is not None for leaf in leaves(node))
    named = (leaf.cohort_id for leaf in conditions if isinstance(leaf, InCohort))
    shown = query.breakdowns.cohorts if query.breakdowns else ()
    return list(dict.fromkeys([*named, *shown]))


def sql_named(query: InsightQuery) -> Sequence[SqlText]:
    """Return the expressions in SQL of conditions, of the breakdown and of series, each once."""
    nodes = [query.scope.properties, *(entity.properties for entity in query.entities)]
    conditions = (leaf for node in nodes if node is not None for leaf in leaves(node))
    found = [
        SqlText("condition", leaf.key, leaf.place)
        for leaf in conditions
        if isinstance(leaf, SqlCondition)
    ]
    parts = query.breakdowns.parts if query.breakdowns else ()
    found += [SqlText("value", part.key, part.place) for part in parts if part.type == "hogql"]
    found += [one.aggregate for one in query.entities if one.aggregate is not None]
    return list(dict.fromkeys(found))


def actions_named(query: InsightQuery) -> Mapping[int, str]:
    """Return the ids of the actions that are still to be resolved, each with its first place."""
    named: dict[int, str] = {}
    for entity in query.entities:
        if entity.action is not None and not entity.is_resolved:
            named.setdefault(entity.action, entity.place)
    return named


def with_actions(query: _Query, actions: Mapping[int, ResolvedAction]) -> _Query:
    """Return the question with the conditions of its actions.

    Args:
        actions: At least those of `actions_named`.
    """
    resolved: _Query = _resolved(query, actions)
    return resolved


def _resolved(part: Any, actions: Mapping[int, ResolvedAction]) -> Any:
    """Return a part of a question in which each entity that is an action has its conditions."""
    if isinstance(part, Entity):
        is_open = part.action is not None and not part.is_resolved
        return part.resolved(actions[part.action or 0]) if is_open else part
    if isinstance(part, tuple):
        return tuple(_resolved(each, actions) for each in part)
    if isinstance(part, Options):
        own = {each.name: getattr(part, each.name) for each in fields_of(part)}
        changed = {name: _resolved(value, actions) for name, value in own.items()}
        differing = {name: changed[name] for name in own if changed[name] is not own[name]}
        return replace(part, **differing) if differing else part
    return part
