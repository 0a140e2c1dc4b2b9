"""Parsing of a question's conditions: a list, a tree, or a single one.

Source: insights.md, section 2b; cohorts.md, section 20.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fanion.errors import Invalid
from fanion.insights.sessions.fields import check_session_field
from fanion.properties.condition_sql import OPERATORS
from fanion.properties.filters import (
    COHORT_TYPES,
    SESSION,
    Behavioral,
    ConditionGroup,
    FlagIs,
    Node,
    Property,
    SegmentCondition,
    SqlCondition,
    leaves,
    parse_tree,
)
from fanion.properties.validation import check_index

# Conditions of one filter. The text of a statement grows with each.
LEAVES_MAX = 200

# `exact` is how older clients write `in`.
_COHORT_OPERATORS = ("exact", "in", "not_in")


def parse_filter(
    raw: object, attr: str, *, with_sql: bool = False, with_segments: bool = False
) -> Node | None:
    """Parse a tree or a list of conditions; return None without any.

    Args:
        attr: Their place in the request.
        with_sql: Whether they may be in SQL. Its text is not parsed here.
        with_segments: Whether they may name segments. Whether these exist is not checked here.

    Raises:
        Invalid: A condition cannot be read, or there are more than LEAVES_MAX.
    """
    if not raw:
        return None
    try:
        tree = parse_tree(raw, of_events=True, with_sql=with_sql, with_segments=with_segments)
    except ValueError as error:
        raise Invalid(f"The filters cannot be read: {error}.", attr=attr) from None
    for number, leaf in enumerate(leaves(tree)):
        if number == LEAVES_MAX:
            raise Invalid(f"There are more than {LEAVES_MAX} filters.", attr=attr)
        _check_leaf(leaf, attr)
    for condition in sent_conditions(raw):
        if str(condition.get("type")) in COHORT_TYPES:
            _check_operator(condition.get("operator"), _COHORT_OPERATORS, attr)
    return _without_empty(_with_places(tree, _places(raw, attr)))


def project_conditions(test_account_filters: Sequence[Any]) -> Node | None:
    return parse_filter(list(test_account_filters), "filter_test_accounts")


def _check_leaf(leaf: Node, attr: str) -> None:
    if isinstance(leaf, Behavioral | FlagIs):
        detail = "Filters can only be on events, persons, groups, sessions and cohorts."
        raise Invalid(detail, attr=attr)
    if isinstance(leaf, Property) and not isinstance(leaf, SegmentCondition):
        _check_operator(leaf.operator, OPERATORS, attr)
        _check_group(leaf, attr)
        if leaf.type == SESSION:
            check_session_field(leaf.key, attr)


def _check_group(leaf: Property, attr: str) -> None:
    if leaf.type != "group":
        return
    if leaf.group_type_index is None:
        raise Invalid("A filter of type group needs a group_type_index.", attr=attr)
    check_index(leaf.group_type_index, attr)


def _check_operator(operator: object, known: Collection[str], attr: str) -> None:
    if operator is not None and operator not in known:
        allowed = ", ".join(sorted(known))
        raise Invalid(f'"{operator}" is not a known operator. Use one of: {allowed}.', attr=attr)


def sent_conditions(raw: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the single conditions of a tree that `parse_filter` can read, as they were sent."""
    values = raw if isinstance(raw, list) else raw.get("values")
    if not isinstance(values, list):
        yield raw
        return
    for value in values:
        yield from sent_conditions(value)


def _places(raw: Any, at: str) -> Iterator[str]:
    """Yield the places of the single conditions of a tree, in their order."""
    values = raw if isinstance(raw, list) else raw.get("values")
    if not isinstance(values, list):
        yield at
        return
    within = at if isinstance(raw, list) else f"{at}__values"
    for number, value in enumerate(values):
        yield from _places(value, f"{within}__{number}")


def _with_places(node: Node, places: Iterator[str]) -> Node:
    if isinstance(node, ConditionGroup):
        return replace(node, children=tuple(_with_places(one, places) for one in node.children))
    place = next(places)
    if isinstance(node, SegmentCondition):
        return replace(node, place=f"{place}__value")
    return replace(node, place=f"{place}__key") if isinstance(node, SqlCondition) else node


def _without_empty(node: Node) -> Node | None:
    """Remove empty groups: an empty filter matches every event, not none as in a cohort."""
    if not isinstance(node, ConditionGroup):
        return node
    children = tuple(kept for child in node.children if (kept := _without_empty(child)) is not None)
    return replace(node, children=children) if children else None
