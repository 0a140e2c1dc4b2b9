"""The conditions of segments: their own, and as they stand in a question."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from fanion.errors import Invalid
from fanion.insights.parsing.conditions import LEAVES_MAX, parse_filter
from fanion.insights.query import InsightQuery
from fanion.insights.segments.model import CONDITIONS_MAX, NAMED_MAX
from fanion.properties.filters import (
    SEGMENT,
    ConditionGroup,
    Node,
    Property,
    SegmentCondition,
    SqlCondition,
    leaves,
)

_Query = TypeVar("_Query", bound=InsightQuery)


def check_own_conditions(raw: object, at: str = "properties") -> dict[str, Any]:
    """Return the conditions of a segment as one group.

    Their names and values are checked where they are part of a question.

    Args:
        raw: A list of conditions, or a group.

    Raises:
        Invalid: There are none or too many, they cannot be read, or they name a segment.
    """
    parsed = parse_filter(raw, at, with_sql=True, with_segments=True)
    if parsed is None:
        raise Invalid("A segment needs a condition.", code="empty", attr=at)
    own = list(leaves(parsed))
    for leaf in own:
        if isinstance(leaf, SegmentCondition):
            detail = "A segment cannot contain a segment. Use its conditions."
            raise Invalid(detail, attr=leaf.place)
    if len(own) > CONDITIONS_MAX:
        detail = f"A segment cannot have more than {CONDITIONS_MAX} conditions."
        raise Invalid(detail, attr=at)
    return raw if isinstance(raw, dict) else {"type": "AND", "values": raw}


def parse_own_conditions(properties: Mapping[str, Any]) -> ConditionGroup:
    """Return the conditions of a segment that were checked."""
    parsed = parse_filter(properties, "properties", with_sql=True)
    assert isinstance(parsed, ConditionGroup)
    return parsed


def named_segments(value: Any) -> Iterator[int]:
    """Yield the ids of the segments that a question, as it was sent, names at any depth."""
    if isinstance(value, list):
        for part in value:
            yield from named_segments(part)
    if isinstance(value, dict):
        segment_id = value.get("value")
        if value.get("type") == SEGMENT and str(segment_id).isdecimal():
            yield int(str(segment_id))
        for part in value.values():
            yield from named_segments(part)


def segments_among(conditions: Iterable[Node]) -> Mapping[int, str]:
    """Return the ids of the segments among single conditions, each with its first place.

    Raises:
        Invalid: There are too many of them.
    """
    named: dict[int, str] = {}
    for leaf in conditions:
        if isinstance(leaf, SegmentCondition):
            named.setdefault(leaf.value, leaf.place)
            if len(named) > NAMED_MAX:
                detail = f"A question cannot name more than {NAMED_MAX} segments."
                raise Invalid(detail, attr=leaf.place or None)
    return named


def with_segments(query: _Query, segments: Mapping[int, ConditionGroup]) -> _Query:
    """Return the question with the conditions of its segments in place of their ids.

    Args:
        segments: At least those that it names.

    Raises:
        Invalid: It has too many conditions with theirs.
    """
    resolved: _Query = _resolved(query, segments)
    return resolved


def _resolved(part: Any, segments: Mapping[int, ConditionGroup]) -> Any:
    if isinstance(part, ConditionGroup | SegmentCondition):
        return _with_conditions(part, segments)
    if isinstance(part, tuple):
        return tuple(_resolved(each, segments) for each in part)
    if not is_dataclass(part) or isinstance(part, type | Property):
        return part
    own = {each.name: getattr(part, each.name) for each in fields(part)}
    for value in own.values():
        if isinstance(value, ConditionGroup):
            _require_few(value, segments, len(own.get("nodes", ())))
    changed = {name: _resolved(value, segments) for name, value in own.items()}
    differing = {name: changed[name] for name in own if changed[name] is not own[name]}
    return replace(part, **differing) if differing else part


def _with_conditions(node: Node, segments: Mapping[int, ConditionGroup]) -> Node:
    if isinstance(node, SegmentCondition):
        placed = _at_place(segments[node.value], node.place)
        return replace(placed, negation=node.negation)
    if not isinstance(node, ConditionGroup):
        return node
    children = tuple(_with_conditions(child, segments) for child in node.children)
    return node if children == node.children else replace(node, children=children)


def _at_place(group: ConditionGroup, place: str) -> ConditionGroup:
    """Return the conditions of a segment, so that errors of their SQL name the segment's place."""
    return replace(group, children=tuple(_leaf_at(child, place) for child in group.children))


def _leaf_at(node: Node, place: str) -> Node:
    if isinstance(node, ConditionGroup):
        return _at_place(node, place)
    return replace(node, place=place) if isinstance(node, SqlCondition) else node


def _require_few(node: ConditionGroup, segments: Mapping[int, ConditionGroup], events: int) -> None:
    """Raise Invalid if there are too many conditions with those of segments.

    Args:
        events: The number of events of a group whose conditions are among them.
    """
    named = [leaf for leaf in leaves(node) if isinstance(leaf, SegmentCondition)]
    added = sum(1 for leaf in named for _ in leaves(segments[leaf.value]))
    if named and added + sum(1 for _ in leaves(node)) > LEAVES_MAX * (1 + events) + len(named):
        detail = f"There are more than {LEAVES_MAX} filters with those of the segments."
        raise Invalid(detail, attr=named[0].place or None)
