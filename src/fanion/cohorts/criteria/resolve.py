"""Criteria with nested cohorts expanded and conditions parsed, ready to be compiled.

Source: cohorts.md sections 3, 4, 7 and 8.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from fanion.actions.conditions import ResolvedAction
from fanion.cohorts.criteria.behaviour import (
    Behaviour,
    actions_of,
    parse_behaviour,
    with_actions,
)
from fanion.cohorts.criteria.definition import MIXED, Criteria, CriteriaError
from fanion.properties.filters import Behavioral, ConditionGroup, FlagIs, InCohort, Node, Property

# The depth of cohorts inside cohorts; flags have the same limit.
COHORT_DEPTH_MAX = 50
# A cohort that two paths lead to is expanded twice: this bounds the growth by many diamonds.
LEAVES_MAX = 2_000


@dataclass(frozen=True, slots=True)
class BehaviourLeaf:
    behaviour: Behaviour
    negation: bool = False


@dataclass(frozen=True, slots=True)
class StaticMembership:
    """Membership of a static cohort."""

    cohort_id: int
    negation: bool = False


@dataclass(frozen=True, slots=True)
class NoPerson:
    """A condition that matches no person, even when negated.

    It stands for a cohort that does not exist, and for empty criteria.
    """

    negation: bool = False


@dataclass(frozen=True, slots=True)
class Combination:
    """The AND or OR of at least one child."""

    type: Literal["AND", "OR"]
    children: "tuple[Tree, ...]"


Leaf = Property | BehaviourLeaf | StaticMembership | NoPerson
Tree = Combination | Leaf


def resolve(criteria: Criteria, others: Mapping[int, Criteria]) -> Tree:
    """Expand the nested cohorts of criteria and parse all conditions.

    Args:
        others: The cohorts of the project by id, including deleted ones.

    Raises:
        CriteriaError: The cohort cannot be calculated.
    """
    resolver = _CriteriaResolver(others)
    tree = resolver.cohort(criteria, negated=False, path=())
    if _pending(tree)[0]:
        raise CriteriaError(
            "Negated conditions must be combined with a condition that is not negated, by AND."
        )
    return tree


def leaves(tree: Tree) -> Iterator[Leaf]:
    if isinstance(tree, Combination):
        for child in tree.children:
            yield from leaves(child)
    else:
        yield tree


class _CriteriaResolver:
    def __init__(self, others: Mapping[int, Criteria]) -> None:
        self._others = others
        self._leaves = 0

    def cohort(self, criteria: Criteria, *, negated: bool, path: tuple[int, ...]) -> Tree:
        if criteria.id in path:
            raise CriteriaError("Cohorts cannot reference other cohorts in a loop.")
        if len(path) >= COHORT_DEPTH_MAX:
            raise CriteriaError(f"Cohorts are nested deeper than {COHORT_DEPTH_MAX}.")
        try:
            tree = criteria.tree()
        except ValueError as error:
            raise CriteriaError(f"The criteria cannot be read: {error}.") from None
        return self._node(tree, negated, (*path, criteria.id))

    def _node(self, node: Node, negated: bool, path: tuple[int, ...]) -> Tree:
        if isinstance(node, ConditionGroup):
            return self._group(node, negated, path)
        self._leaves += 1
        if self._leaves > LEAVES_MAX:
            raise CriteriaError(f"There are more than {LEAVES_MAX} conditions.")
        if isinstance(node, InCohort):
            return self._nested(node, negated, path)
        if isinstance(node, Behavioral):
            return BehaviourLeaf(parse_behaviour(node.spec), node.negation is not negated)
        if isinstance(node, FlagIs):
            raise CriteriaError("A cohort cannot depend on a flag.")
        if node.type != "person":
            raise CriteriaError(f"A condition of type {node.type} cannot be used in a cohort.")
        return replace(node, negation=node.negation is not negated)

    def _group(self, group: ConditionGroup, negated: bool, path: tuple[int, ...]) -> Tree:
        """Apply De Morgan's laws: a negated group has the other type and every child negated."""
        if not group.children:
            return NoPerson()
        inner = [isinstance(child, ConditionGroup) for child in group.children]
        if any(inner) and not all(inner):
            raise CriteriaError(MIXED)
        flipped: Literal["AND", "OR"] = "OR" if group.type == "AND" else "AND"
        children = tuple(self._node(child, negated, path) for child in group.children)
        return Combination(flipped if negated else group.type, children)

    def _nested(self, leaf: InCohort, negated: bool, path: tuple[int, ...]) -> Tree:
        negation = leaf.negation is not negated
        nested = self._others.get(leaf.cohort_id)
        if nested is None:
            return NoPerson(negation)
        if nested.is_static:
            return StaticMembership(nested.id, negation)
        return self.cohort(nested, negated=negation, path=path)


def _pending(tree: Tree) -> tuple[bool, bool]:
    """Return whether a negation is still unpaired, and whether there is a positive condition.

    Source: cohorts.md section 7, "Pairing rule".
    """
    if not isinstance(tree, Combination):
        return tree.negation, not tree.negation
    children = [_pending(child) for child in tree.children]
    negation = any(unpaired for unpaired, _ in children)
    positive = any(has for _, has in children)
    if tree.type == "AND" and negation and positive:
        return False, True
    return negation, positive


def actions_named(tree: Tree) -> Collection[int]:
    """Return the ids of the actions that conditions on events name."""
    behaviours = (leaf.behaviour for leaf in leaves(tree) if isinstance(leaf, BehaviourLeaf))
    return {action_id for behaviour in behaviours for action_id in actions_of(behaviour)}


def with_actions_of(tree: Tree, actions: Mapping[int, ResolvedAction]) -> Tree:
    """Return the criteria with their actions as they are now.

    Raises:
        CriteriaError: One does not exist.
    """
    if isinstance(tree, Combination):
        children = tuple(with_actions_of(child, actions) for child in tree.children)
        return Combination(tree.type, children)
    if isinstance(tree, BehaviourLeaf):
        return replace(tree, behaviour=with_actions(tree.behaviour, actions))
    return tree
