"""When one step of a funnel is the same as another one, or holds all of its events.

source: insights.md section 5a, "Rule"
"""

from collections.abc import Iterator, Sequence

from fanion.insights.query import Entity
from fanion.properties.filters import ConditionGroup, Node


def contains(outer: Entity, inner: Entity) -> bool:
    """Every event of `inner` is one of `outer`: the same event with as many conditions or fewer."""
    if outer.event is not None and outer.event != inner.event:
        return False
    own = list(_all_of(inner.properties))
    return all(one in own for one in _all_of(outer.properties))


def needs_later(steps: Sequence[Entity], number: int) -> bool:
    """A step (from 0) that would be reached with the event of the step before it."""
    return number > 0 and contains(steps[number], steps[number - 1])


def copies_before(steps: Sequence[Entity], number: int) -> int:
    """How many of the steps before this one (from 0) are equal to it."""
    one = steps[number]
    return sum(contains(one, other) and contains(other, one) for other in steps[:number])


def _all_of(node: Node | None) -> Iterator[Node]:
    """Conditions that must all hold."""
    if isinstance(node, ConditionGroup) and (node.type == "AND" or len(node.children) == 1):
        for child in node.children:
            yield from _all_of(child)
    elif node is not None:
        yield node
