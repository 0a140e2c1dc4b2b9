"""The relations between the steps of a funnel, as an event may match several of them.

An event is used for one step only, so it is a matching problem whether each of some steps can have
its own event. By Hall's theorem it can, if for every set of these steps at least as many
events match any step of the set as the set has steps. Not every set has to be checked: if of any
two steps one contains the other, or they have no event in common, it is enough to check the steps
that are equal to one step or contained in it.

Source: insights.md, section 5a, "Rule".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

from fanion.insights.entities import FIRST_TIME, Entity
from fanion.properties.filters import ConditionGroup, Node

# Up to this many overlapping steps, none of which contains all the others, are checked in every
# combination, 15 of them. Of more, each one, each pair of neighbours, and all together are checked.
COMBINED_MAX: Final = 4
_Kind = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Nest:
    """A step with those that it contains.

    Attributes:
        equal: The numbers, from 0, of the steps that are equal to this one, itself included.
        inner: The groups of the steps that it contains.
    """

    equal: tuple[int, ...]
    inner: tuple["Nest | Cluster", ...] = ()

    @property
    def steps(self) -> tuple[int, ...]:
        return (*self.equal, *(step for group in self.inner for step in group.steps))


@dataclass(frozen=True, slots=True)
class Cluster:
    """Overlapping steps of which none contains all the others.

    Attributes:
        unions: Sets of these steps, each with all the steps that it contains.
    """

    steps: tuple[int, ...]
    unions: tuple[tuple[int, ...], ...]


def contains(outer: Entity, inner: Entity) -> bool:
    """Return whether every event of `inner` matches `outer`, judged by their form.

    This holds if `outer` has the same event, action or group, or any event, and only conditions
    that `inner` has too. If `outer` counts first times, `inner` must count the same ones.
    """
    if outer.first_time is not None and not _are_first_of(outer, inner):
        return False
    if outer.nodes not in ((), inner.nodes):
        return False
    if outer.event is not None and outer.event != inner.event:
        return False
    if outer.action not in (None, inner.action):
        return False
    own = list(_all_of(inner.properties))
    return all(condition in own for condition in _all_of(outer.properties))


def _are_first_of(outer: Entity, inner: Entity) -> bool:
    """Return whether both are about the same first event of each person."""
    if (outer.first_time, outer.names) != (inner.first_time, inner.names):
        return False
    return outer.first_time == FIRST_TIME or outer.properties == inner.properties


def are_disjoint(steps: Sequence[Entity]) -> bool:
    """Return whether no event can match two of the steps."""
    return not any(can_share(first, second) for first, second in combinations(steps, 2))


def group_steps(steps: Sequence[Entity]) -> tuple[Nest | Cluster, ...]:
    """Return the steps in groups that have no event in common."""
    kinds = {tuple(n for n, other in enumerate(steps) if _are_equal(step, other)) for step in steps}
    return tuple(_grouped(steps, sorted(kinds)))


def sets_to_check(groups: Sequence[Nest | Cluster]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of steps that have to be checked."""
    for group in groups:
        if isinstance(group, Cluster):
            yield from group.unions
        else:
            yield group.steps
            yield from sets_to_check(group.inner)


def _grouped(steps: Sequence[Entity], kinds: Sequence[_Kind]) -> Iterator[Nest | Cluster]:
    left = list(kinds)
    while left:
        group = [left.pop(0)]
        for member in group:  # the loop extends it
            near = [kind for kind in left if can_share(steps[member[0]], steps[kind[0]])]
            group += near
            left = [kind for kind in left if kind not in near]
        yield _group(steps, sorted(group))


def _group(steps: Sequence[Entity], kinds: Sequence[_Kind]) -> Nest | Cluster:
    for kind in kinds:
        others = [other for other in kinds if other != kind]
        if all(contains(steps[kind[0]], steps[other[0]]) for other in others):
            return Nest(kind, tuple(_grouped(steps, others)))
    unions = (_with_contained(steps, kinds, some) for some in _chosen(kinds))
    return Cluster(_joined(kinds), tuple(dict.fromkeys(unions)))


def _chosen(kinds: Sequence[_Kind]) -> Iterator[Sequence[_Kind]]:
    if len(kinds) <= COMBINED_MAX:
        for size in range(1, len(kinds) + 1):
            yield from combinations(kinds, size)
        return
    yield from ([kind] for kind in kinds)
    yield from pairwise(kinds)
    yield kinds


def _with_contained(
    steps: Sequence[Entity], kinds: Sequence[_Kind], chosen: Sequence[_Kind]
) -> _Kind:
    return _joined(
        [
            kind
            for kind in kinds
            if any(contains(steps[outer[0]], steps[kind[0]]) for outer in chosen)
        ]
    )


def _joined(kinds: Sequence[_Kind]) -> _Kind:
    return tuple(step for kind in kinds for step in kind)


def _are_equal(one: Entity, other: Entity) -> bool:
    return contains(one, other) and contains(other, one)


def can_share(one: Entity, other: Entity) -> bool:
    """Return whether an event may match both, whatever their conditions are."""
    return one.names is None or other.names is None or not set(one.names).isdisjoint(other.names)


def _all_of(node: Node | None) -> Iterator[Node]:
    """Yield the conditions that must all hold."""
    if isinstance(node, ConditionGroup) and _is_all_of(node):
        for child in node.children:
            yield from _all_of(child)
    elif node is not None:
        yield node


def _is_all_of(group: ConditionGroup) -> bool:
    return not group.negation and (group.type == "AND" or len(group.children) == 1)
