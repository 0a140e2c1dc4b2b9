"""Conditions of questions, as SQL that the query language of users takes.

A condition that the language would read differently is refused by its operator.
"""

from collections.abc import Callable, Mapping
from typing import Final

from fanion.insights.as_sql.refusals import no_sql_for, require_known
from fanion.insights.as_sql.texts import property_of, quoted, within
from fanion.insights.entities import Entity
from fanion.properties.condition_sql import ORDER
from fanion.properties.filters import (
    METADATA,
    ConditionGroup,
    InCohort,
    Node,
    Property,
    SqlCondition,
)
from fanion.properties.match import equal_texts
from fanion.properties.values import compile_pattern, number_of, range_of, text_of

_KNOWN: Final = ("key", "value", "operator", "type", "group_type_index", "negation")


def entity_conditions(entity: Entity) -> list[str]:
    """Return the conditions for an event to be one of an entity, all of which must hold.

    Raises:
        Invalid: One cannot be said in SQL.
    """
    require_known(
        entity,
        *("event", "action", "nodes", "properties", "name", "custom_name", "order", "events"),
        *("is_resolved", "aggregate"),
    )
    named = [] if entity.names is None else [_one_of("event", entity.names)]
    return [*named, *([condition(entity.properties)] if entity.properties else [])]


def _one_of(column: str, texts: tuple[str, ...] | list[str]) -> str:
    if len(texts) == 1:
        return f"{column} = {quoted(texts[0])}"
    return f"{column} IN ({', '.join(map(quoted, texts))})"


def condition(node: Node) -> str:
    """Return a condition on a row of `events`.

    Raises:
        Invalid: It cannot be said in SQL.
    """
    if isinstance(node, ConditionGroup):
        if not node.children:
            raise no_sql_for("a group without conditions")
        parts = [condition(child) for child in node.children]
        held = parts[0] if len(parts) == 1 else f"({f' {node.type} '.join(parts)})"
        return f"NOT ({held})" if node.negation else held
    if isinstance(node, InCohort):
        members = f"person_id IN COHORT {node.cohort_id}"
        return f"NOT ({members})" if node.negation else members
    if isinstance(node, SqlCondition):
        return f"NOT ifNull({within(node.key)}, 0)" if node.negation else within(node.key)
    if not isinstance(node, Property):
        raise no_sql_for("a condition of another type")
    held = _comparison(node)
    return f"NOT ({held})" if node.negation else held


def _comparison(leaf: Property) -> str:
    require_known(leaf, *_KNOWN)
    if leaf.type == METADATA:
        return f"event = {quoted(str(leaf.value))}"
    # Insights and SQL read other parts of a session that goes on beyond the range.
    if leaf.type not in ("event", "person", "group"):
        raise no_sql_for(f"a condition of type {leaf.type}")
    compare = _OPERATORS.get(leaf.operator)
    if compare is None:
        raise no_sql_for(f"the operator {leaf.operator}")
    return compare(leaf, property_of(owner_of(leaf.type, leaf.group_type_index), leaf.key))


def owner_of(kind: str, group_type_index: int | None) -> str:
    """Return the part of an event that has the properties of a type, empty for the event."""
    return {"person": "person", "group": f"group_{group_type_index}"}.get(kind, "")


def _number(leaf: Property) -> str:
    number = number_of(leaf.value)
    if number is None:
        raise no_sql_for(f"the operator {leaf.operator} with a text")
    return text_of(number)


def _is_negative(leaf: Property) -> bool:
    return leaf.operator.startswith("not_") or leaf.operator in ("is_not", "is_not_set")


def _signed(leaf: Property, held: str) -> str:
    """Return what holds, or its opposite, which includes events without a value."""
    return f"{'NOT ' * _is_negative(leaf)}ifNull({held}, 0)"


def _exact(leaf: Property, column: str) -> str:
    texts = sorted(equal_texts(leaf.value))
    held = _one_of(f"lowerUTF8({column})", texts)
    return f"NOT ({held})" if _is_negative(leaf) else held


def _contains(leaf: Property, column: str) -> str:
    part = quoted(text_of(leaf.value).lower())
    held = f"position(lowerUTF8({column}), {part}) > 0"
    return f"NOT ({held})" if _is_negative(leaf) else held


def _starts(leaf: Property, column: str) -> str:
    return _signed(leaf, f"startsWith(lowerUTF8({column}), {quoted(text_of(leaf.value).lower())})")


def _ends(leaf: Property, column: str) -> str:
    return _signed(leaf, f"endsWith(lowerUTF8({column}), {quoted(text_of(leaf.value).lower())})")


def _matches(leaf: Property, column: str) -> str:
    pattern = text_of(leaf.value)
    if compile_pattern(pattern) is None:
        raise no_sql_for("a regular expression that cannot be read")
    return _signed(leaf, f"match({column}, {quoted(f'(?-s){pattern}')})")


def _is_set(leaf: Property, column: str) -> str:
    owner = owner_of(leaf.type, leaf.group_type_index)
    properties = f"{owner}.properties" if owner else "properties"
    return _signed(leaf, f"JSONHas({properties}, {quoted(leaf.key)})")


def _ordered(leaf: Property, column: str) -> str:
    return f"toFloat({column}) {ORDER[leaf.operator]} {_number(leaf)}"


def _between(leaf: Property, column: str) -> str:
    ends = range_of(leaf.value)
    if ends is None:
        raise no_sql_for(f"the operator {leaf.operator} without two numbers")
    low, high = map(text_of, ends)
    return f"toFloat({column}) BETWEEN {low} AND {high}"


_OPERATORS: Final[Mapping[str, Callable[[Property, str], str]]] = {
    **dict.fromkeys(("exact", "is_not"), _exact),
    **dict.fromkeys(("icontains", "not_icontains"), _contains),
    **dict.fromkeys(("starts_with", "not_starts_with"), _starts),
    **dict.fromkeys(("ends_with", "not_ends_with"), _ends),
    **dict.fromkeys(("regex", "not_regex"), _matches),
    **dict.fromkeys(("is_set", "is_not_set"), _is_set),
    **dict.fromkeys(ORDER, _ordered),
    "between": _between,
}
