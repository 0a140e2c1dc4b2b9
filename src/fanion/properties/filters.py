"""The typed filter tree, parsed once from the stored JSON of flags and cohorts.

A tree is immutable, and everything that interprets it can trust it: the Python matcher (`match`)
and the SQL compilers.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any, Final, Literal

from fanion.properties.elements.comparisons import (
    CHAIN,
    OPERATORS_OF_ELEMENTS,
    elements_pattern,
    is_of_whole_elements,
)
from fanion.wire.distinct_id import with_stored_ids

# More than the web interface can nest, and far below what the recursion limit allows.
GROUP_DEPTH_MAX = 50

ID_MAX = 2**63 - 1

PROPERTY_TYPES = frozenset({"person", "event", "group"})
# The type of a property of the event's session; only queries about events have it.
SESSION: Final = "session"
# The type of a condition that only the steps of actions have, and that clients cannot send: on the
# name of the event.
METADATA: Final = "event_metadata"
# The type of a condition on the elements that a person clicked; only queries about events have it.
ELEMENT: Final = "element"
# The type of a condition in SQL; only queries about events have it.
SQL: Final = "hogql"
# The type of a condition that stands for the conditions of a segment; only queries about events
# have it.
SEGMENT: Final = "segment"
SEGMENT_OPERATORS: Final = ("in", "not_in")
COHORT_TYPES = frozenset({"cohort", "static-cohort", "precalculated-cohort"})


@dataclass(frozen=True, slots=True)
class Property:
    """A comparison with one property of a person, a group or an event.

    Attributes:
        value: JSON as stored, with a tuple for a list.
        operator: As stored; `exact` if absent. An unknown operator never matches.
        type: `event` if absent, which flags and cohorts read as a person property.
        negation: Inverts the result.
    """

    key: str
    value: Any = None
    operator: str = "exact"
    type: str = "event"
    group_type_index: int | None = None
    negation: bool = False


@dataclass(frozen=True, slots=True)
class SqlCondition(Property):
    """A condition in SQL on an event: its key is the text, neither parsed nor checked.

    Attributes:
        place: The place of the text in the request.
    """

    type: str = SQL
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class SegmentCondition(Property):
    """A condition on an event that stands for the conditions of a segment.

    It is replaced by them before anything compares it: its value is the id of the segment.

    Attributes:
        place: The place of the id in the request.
    """

    key: str = "id"
    operator: str = "in"
    type: str = SEGMENT
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class InCohort:
    """Membership of a cohort; `negation` includes the operator `not_in`."""

    cohort_id: int
    negation: bool = False


@dataclass(frozen=True, slots=True)
class FlagIs:
    """A comparison with another flag's value.

    Attributes:
        flag: The id in decimal, or the key.
        value: True, False or the key of a variant.
    """

    flag: str
    value: Any
    operator: str
    negation: bool = False


@dataclass(frozen=True, slots=True)
class Behavioral:
    """A condition on something a person did.

    Attributes:
        spec: The leaf as stored; the cohorts package parses it further.
    """

    spec: Mapping[str, Any]
    negation: bool = False


@dataclass(frozen=True, slots=True)
class ConditionGroup:
    """The AND or OR of its children; an empty group of either type matches no person.

    Attributes:
        negation: Inverts the result; only queries about events, which name segments, have it.
    """

    type: Literal["AND", "OR"]
    children: "tuple[Node, ...]"
    negation: bool = False


Leaf = Property | InCohort | FlagIs | Behavioral
Node = ConditionGroup | Leaf


def parse_tree(
    raw: object, *, of_events: bool = False, with_sql: bool = False, with_segments: bool = False
) -> ConditionGroup:
    """Parse a cohort's `filters.properties`: a group, a bare list (AND), or {} (no person).

    Args:
        of_events: Also allow conditions on the session of an event, and on clicked elements.
        with_sql: Also allow conditions in SQL.
        with_segments: Also allow segments.

    Raises:
        ValueError: Names the part that cannot be read.

    Source: cohorts.md section 3.
    """
    if isinstance(raw, list):
        raw = {"type": "AND", "values": raw}
    if not isinstance(raw, dict):
        raise ValueError("a filter tree must be an object or a list")
    types = PROPERTY_TYPES | {SESSION, ELEMENT} if of_events else PROPERTY_TYPES
    types = types | {SQL} if with_sql else types
    types = types | {SEGMENT} if with_segments else types
    return _group(raw, 0, types) if raw else ConditionGroup("OR", ())


def parse_leaves(raw: object, types: Collection[str] = PROPERTY_TYPES) -> tuple[Leaf, ...]:
    """Parse the `properties` of one release condition; absent or null means none.

    Args:
        types: The types of properties that can be compared.

    Raises:
        ValueError: Names the part that cannot be read.

    Source: flags.md section 2.
    """
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise ValueError("properties must be a list")
    return tuple(parse_leaf(item, types) for item in raw)


def parse_leaf(raw: object, types: Collection[str] = PROPERTY_TYPES) -> Leaf:
    """Parse one condition.

    Args:
        types: The types of properties that can be compared.

    Raises:
        ValueError: Names the part that cannot be read.
    """
    if not isinstance(raw, dict):
        raise ValueError("a property must be an object")
    kind = raw.get("type") or "event"
    negation = bool(raw.get("negation"))
    if not isinstance(kind, str):
        raise ValueError(f"a property cannot have the type {kind!r}")
    if kind in COHORT_TYPES:
        outside = raw.get("operator") == "not_in"
        return InCohort(_id(raw.get("value"), "cohort"), negation is not outside)
    if kind == "flag":
        return FlagIs(_flag_name(raw.get("key")), raw.get("value"), _operator(raw), negation)
    if kind == "behavioral":
        return Behavioral(raw, negation)
    if kind not in types:
        raise ValueError(f"a property cannot have the type {kind!r}")
    if kind == SQL:
        return _sql_condition(raw, negation)
    if kind == ELEMENT:
        return _element_condition(_property(raw, kind, negation))
    if kind == SEGMENT:
        return _segment_condition(raw, negation)
    return _property(raw, kind, negation)


def names_distinct_ids(raw: Mapping[str, Any]) -> bool:
    """Return whether a condition compares with whole distinct ids, which are stored cut."""
    return raw.get("key") == "distinct_id" and raw.get("operator") in (None, "exact", "is_not")


def leaves(node: Node) -> Iterator[Leaf]:
    """Yield every leaf below a node, in stored order."""
    if isinstance(node, ConditionGroup):
        for child in node.children:
            yield from leaves(child)
    else:
        yield node


def _group(raw: Mapping[str, Any], depth: int, types: Collection[str]) -> ConditionGroup:
    if depth >= GROUP_DEPTH_MAX:
        raise ValueError(f"groups are nested deeper than {GROUP_DEPTH_MAX}")
    kind = raw.get("type")
    values = raw.get("values")
    if not isinstance(values, list):
        raise ValueError("a group must have a list of values")
    children = tuple(_child(item, depth, types) for item in values)
    if isinstance(kind, str) and kind.upper() == "AND":
        return ConditionGroup("AND", children)
    if isinstance(kind, str) and kind.upper() == "OR":
        return ConditionGroup("OR", children)
    raise ValueError(f"a group must be of type AND or OR, not {kind!r}")


def _child(raw: object, depth: int, types: Collection[str]) -> Node:
    is_group = isinstance(raw, dict) and (
        "values" in raw or str(raw.get("type")).upper() in ("AND", "OR")
    )
    if is_group and isinstance(raw, dict):
        return _group(raw, depth + 1, types)
    return parse_leaf(raw, types)


def _sql_condition(raw: Mapping[str, Any], negation: bool) -> SqlCondition:
    key = raw.get("key")
    if not isinstance(key, str):
        raise ValueError("a condition of type hogql must have an expression as its key")
    if raw.get("value") is not None or raw.get("operator") not in (None, "exact"):
        raise ValueError("a condition of type hogql has neither an operator nor a value")
    return SqlCondition(key, negation=negation)


def _element_condition(sent: Property) -> Property:
    """Return a condition on clicked elements; on whole ones it becomes one on their chain."""
    operators = OPERATORS_OF_ELEMENTS.get(sent.key)
    if operators is None:
        raise ValueError(f"a condition of type element cannot have the key {sent.key!r}")
    if sent.operator not in operators:
        raise ValueError(f"the {sent.key} of an element has no operator {sent.operator!r}")
    if not is_of_whole_elements(sent.key):
        return sent
    operator = "regex" if sent.operator == "exact" else "not_regex"
    pattern = elements_pattern(sent.key, sent.value)
    return Property(CHAIN, pattern, operator, negation=sent.negation)


def _segment_condition(raw: Mapping[str, Any], negation: bool) -> SegmentCondition:
    operator = raw.get("operator") or "in"
    if operator not in SEGMENT_OPERATORS:
        raise ValueError("a condition of type segment must have the operator in or not_in")
    if raw.get("key") not in (None, "id"):
        raise ValueError("a condition of type segment must have the key id")
    segment_id = _id(raw.get("value"), "segment")
    return SegmentCondition(value=segment_id, negation=negation is not (operator == "not_in"))


def _property(raw: Mapping[str, Any], kind: str, negation: bool) -> Property:
    key = raw.get("key")
    if not isinstance(key, str):
        raise ValueError("a property must have a text key")
    index = raw.get("group_type_index")
    if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
        raise ValueError("group_type_index must be a whole number")
    value = with_stored_ids(raw.get("value")) if names_distinct_ids(raw) else raw.get("value")
    value = tuple(value) if isinstance(value, list) else value
    # JSON decoding creates a new text each time, although there are few different names.
    return Property(intern(key), value, intern(_operator(raw)), intern(kind), index, negation)


def _operator(raw: Mapping[str, Any]) -> str:
    operator = raw.get("operator")
    if operator is None:
        return "exact"
    if not isinstance(operator, str):
        raise ValueError("operator must be text")
    return operator


def _id(value: object, kind: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"a {kind} id must be a number, not {value!r}")
    try:
        number = int(value)
    except ValueError:
        raise ValueError(f"a {kind} id must be a number, not {value!r}") from None
    # A number that no store can hold as an id names no cohort or segment, and 0 does not either.
    return number if 0 < number <= ID_MAX else 0


def _flag_name(key: object) -> str:
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise ValueError("a condition on a flag must name the flag")
    return str(key)
