"""How the steps of a funnel relate to one another, as an event may be several of them.

An event is used for one step. How many of some steps some events can be is a question of matching,
which Hall's theorem answers: all of them, if for every set of steps there are as many events that
are any of it. Not every set has to be looked at: where one of two steps always contains the other
or has nothing in common with it, those steps that are equal or contained in one are enough.

source: insights.md section 5a, "Rule"
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

from fanion.insights.query import Entity
from fanion.properties.filters import ConditionGroup, Node

# Of steps that have something in common, none of which contains the others, so many are looked at
# in every combination, 15 of them; of more each one, those that follow one another, and all.
COMBINED_MAX: Final = 4
_Kind = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Nest:
    """A step with those that it contains.

    equal: the numbers of the steps, from 0, that are this one; inner: of what it contains
    """

    equal: tuple[int, ...]
    inner: tuple["Nest | Cluster", ...] = ()

    @property
    def steps(self) -> tuple[int, ...]:
        return (*self.equal, *(step for one in self.inner for step in one.steps))


@dataclass(frozen=True, slots=True)
class Cluster:
    """Steps of which none contains all the others. unions: sets of them, each with all that it
    contains"""

    steps: tuple[int, ...]
    unions: tuple[tuple[int, ...], ...]


def contains(outer: Entity, inner: Entity) -> bool:
    """Every event of `inner` is one of `outer`: the same event with as many conditions or fewer."""
    if outer.event is not None and outer.event != inner.event:
        return False
    own = list(_all_of(inner.properties))
    return all(one in own for one in _all_of(outer.properties))


def are_disjoint(steps: Sequence[Entity]) -> bool:
    """Whether no event can be two of the steps."""
    return not any(_can_share(one, other) for one, other in combinations(steps, 2))


def related(steps: Sequence[Entity]) -> tuple[Nest | Cluster, ...]:
    """Return the steps in groups that have no event in common."""
    kinds = {tuple(n for n, other in enumerate(steps) if _are_equal(step, other)) for step in steps}
    return tuple(_grouped(steps, sorted(kinds)))


def sets_of(groups: Sequence[Nest | Cluster]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of steps that have to be looked at."""
    for group in groups:
        if isinstance(group, Cluster):
            yield from group.unions
        else:
            yield group.steps
            yield from sets_of(group.inner)


def _grouped(steps: Sequence[Entity], kinds: Sequence[_Kind]) -> Iterator[Nest | Cluster]:
    left = list(kinds)
    while left:
        group = [left.pop(0)]
        for one in group:  # grows while it is read
            near = [kind for kind in left if _can_share(steps[one[0]], steps[kind[0]])]
            group += near
            left = [kind for kind in left if kind not in near]
        yield _group(steps, sorted(group))


def _group(steps: Sequence[Entity], kinds: Sequence[_Kind]) -> Nest | Cluster:
    for kind in kinds:
        others = [one for one in kinds if one != kind]
        if all(contains(steps[kind[0]], steps[one[0]]) for one in others):
            return Nest(kind, tuple(_grouped(steps, others)))
    unions = (_with_contained(steps, kinds, some) for some in _chosen(kinds))
    return Cluster(_joined(kinds), tuple(dict.fromkeys(unions)))


def _chosen(kinds: Sequence[_Kind]) -> Iterator[Sequence[_Kind]]:
    if len(kinds) <= COMBINED_MAX:
        for size in range(1, len(kinds) + 1):
            yield from combinations(kinds, size)
        return
    yield from ([one] for one in kinds)
    yield from pairwise(kinds)
    yield kinds


def _with_contained(
    steps: Sequence[Entity], kinds: Sequence[_Kind], chosen: Sequence[_Kind]
) -> _Kind:
    return _joined(
        [kind for kind in kinds if any(contains(steps[one[0]], steps[kind[0]]) for one in chosen)]
    )


def _joined(kinds: Sequence[_Kind]) -> _Kind:
    return tuple(step for kind in kinds for step in kind)


def _are_equal(one: Entity, other: Entity) -> bool:
    return contains(one, other) and contains(other, one)


def _can_share(one: Entity, other: Entity) -> bool:
    """Whether an event may be both, whatever their conditions are."""
    return None in (one.event, other.event) or one.event == other.event


def _all_of(node: Node | None) -> Iterator[Node]:
    """Conditions that must all hold."""
    if isinstance(node, ConditionGroup) and (node.type == "AND" or len(node.children) == 1):
        for child in node.children:
            yield from _all_of(child)
    elif node is not None:
        yield node
