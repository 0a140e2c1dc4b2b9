"""Explanation of one flag's answer for one subject, condition by condition.

Nothing is decided here: each condition is compiled and run on its own like a flag, and its parts
are tested by the tests that the compiler combines.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from fanion.flags.engine.compiler import Program, compile_rules, evaluation_order, for_subject
from fanion.flags.engine.conditions import EvaluationTest, leaf_test
from fanion.flags.engine.definition import Condition, Flag, Rules
from fanion.flags.engine.evaluate import decide
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.engine.hashing import HOLDOUT_PREFIX, VARIANT_SALT, fraction, key_prefix, sha1
from fanion.flags.engine.model import (
    CannotCompute,
    Decision,
    DecisionReason,
    EvaluationRun,
    Subject,
)
from fanion.properties.filters import FlagIs, InCohort, Leaf, Property
from fanion.properties.match import Properties
from fanion.properties.values import MISSING

# Reasons of the steps that precede the conditions, when they decide.
_FIRST = {
    DecisionReason.SUPER_CONDITION_VALUE,
    DecisionReason.OUT_OF_ROLLOUT_BOUND,
    DecisionReason.HOLDOUT_CONDITION_VALUE,
}
# The decision of a program that only notes its input.
_NOTED = Decision("", False, DecisionReason.NO_GROUP_TYPE)


@dataclass(frozen=True, slots=True)
class ExplainedLeaf:
    """One leaf of a condition, with the value it was compared with.

    Attributes:
        is_set: Whether the subject has the property; None for cohorts and flags.
        compared: The subject's value; for a cohort whether the person is a member, for a flag its
            value.
        source: For a property: `sent`, `implied` or `stored`.
        matches: None if it cannot be known now.
    """

    leaf: Leaf
    is_set: bool | None
    compared: Any
    source: str | None
    matches: bool | None


@dataclass(frozen=True, slots=True)
class ExplainedCondition:
    """One condition, explained as if it were the flag's only one.

    Attributes:
        index: The position in the stored order.
        position: The position in the order of evaluation.
        is_reached: Whether no earlier condition has decided.
        decision: The condition's own decision; None if it cannot be known.
    """

    condition: Condition
    index: int
    position: int
    is_reached: bool
    decision: Decision | None
    leaves: tuple[ExplainedLeaf, ...]


@dataclass(frozen=True, slots=True)
class Buckets:
    """The subject's hashes for one flag, from 0 to 1.

    Attributes:
        identifier: The text that is hashed with the flag's key.
    """

    identifier: str
    rollout: float
    variant: float
    holdout: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of one flag's answer.

    Attributes:
        decision: None if the flag cannot be computed for this subject.
        problem: Why it cannot be computed.
        buckets: None if the subject lacks the flag's group type, or if they cannot be known.
        early: The first super group, which is evaluated before all conditions.
        is_held_out: Whether the first holdout takes the subject; None if there is no holdout.
    """

    decision: Decision | None
    problem: str | None = None
    buckets: Buckets | None = None
    early: ExplainedCondition | None = None
    is_held_out: bool | None = None
    conditions: tuple[ExplainedCondition, ...] = ()


def explain(flag_set: FlagSet, key: str, subject: Subject, now: datetime) -> Explanation:
    """Explain a flag's answer for a subject.

    Args:
        key: The key of an active flag in the set.
    """
    if key in flag_set.problems:
        return Explanation(None, problem=flag_set.problems[key])
    run = EvaluationRun(subject, now)
    failed = decide(flag_set, run, [key])
    problem = "what is stored of the subject could not be read" if key in failed else None
    return _Explainer(flag_set, flag_set.flags[key], subject, run).explanation(problem)


class _Explainer:
    def __init__(self, flag_set: FlagSet, flag: Flag, subject: Subject, run: EvaluationRun) -> None:
        assert flag.rules is not None
        self._flag_set, self._flag, self._rules = flag_set, flag, flag.rules
        self._subject, self._run = subject, run
        index = self._rules.group_type_index
        self._type_name = None if index is None else flag_set.group_types.get(index)
        self._alone = replace(self._rules, conditions=(), super_condition=None, holdout=None)

    def explanation(self, problem: str | None) -> Explanation:
        seen = self._program_input()
        properties = None if seen is None else seen[0]
        early, holdout = self._rules.super_condition, self._rules.holdout
        by_early = early is not None and self._decides(replace(self._alone, super_condition=early))
        is_held_out = holdout is not None and self._decides(replace(self._alone, holdout=holdout))
        is_over = seen is None or by_early or is_held_out
        return Explanation(
            self._run.decisions.get(self._flag.key),
            problem,
            None if seen is None else self._buckets(seen[1]),
            None if early is None else self._early(early, properties),
            None if holdout is None else is_held_out,
            self._conditions(properties, is_over=is_over),
        )

    def _program_input(self) -> tuple[Properties, bytes] | None:
        """Return the properties and the identity that the flag's program receives."""
        seen: list[tuple[Properties, bytes]] = []

        def note(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision:
            seen.append((properties, identity))
            return _NOTED

        program = for_subject(self._flag, self._rules, self._flag_set.group_types, note)
        self._run_program(program)
        return seen[0] if seen else None

    def _run_program(self, program: Program) -> Decision | None:
        try:
            return program(self._run.properties, self._run.identity, self._run)
        except CannotCompute:
            return None

    def _alone_answer(self, rules: Rules) -> Decision | None:
        types = self._flag_set.group_types
        return self._run_program(compile_rules(self._flag, rules, self._leaf_test, types).program)

    def _decides(self, rules: Rules) -> bool:
        """Return whether a step that precedes the conditions decides.

        Args:
            rules: Rules with only that step.
        """
        decision = self._alone_answer(rules)
        return decision is not None and decision.reason in _FIRST

    def _leaf_test(self, leaf: Leaf) -> EvaluationTest:
        return leaf_test(leaf, self._flag_set.cohorts, self._find_flag)

    def _find_flag(self, name: str) -> Flag:
        flag = self._flag_set.find_flag(name)
        if flag is None:
            raise ValueError(f"depends on flag {name}, which does not exist")
        return flag

    def _buckets(self, identity: bytes) -> Buckets:
        text = key_prefix(self._flag.key) + identity
        return Buckets(
            identity.decode(errors="replace"),
            *(
                fraction(sha1(hashed).digest())
                for hashed in (text, text + VARIANT_SALT, HOLDOUT_PREFIX + identity)
            ),
        )

    def _early(self, condition: Condition, properties: Properties | None) -> ExplainedCondition:
        decision = self._alone_answer(replace(self._alone, super_condition=condition))
        leaves = self._leaves(condition, properties)
        return ExplainedCondition(condition, 0, 0, True, decision, leaves)

    def _conditions(
        self, properties: Properties | None, *, is_over: bool
    ) -> tuple[ExplainedCondition, ...]:
        explained = []
        conditions = self._rules.conditions
        for position, index in enumerate(evaluation_order(conditions)):
            condition = conditions[index]
            alone = self._alone_answer(replace(self._alone, conditions=(condition,)))
            leaves = self._leaves(condition, properties)
            explained.append(
                ExplainedCondition(condition, index, position, not is_over, alone, leaves)
            )
            is_match = alone is not None and alone.reason is DecisionReason.CONDITION_MATCH
            is_over = is_over or is_match
        return tuple(sorted(explained, key=lambda item: item.index))

    def _leaves(
        self, condition: Condition, properties: Properties | None
    ) -> tuple[ExplainedLeaf, ...]:
        """Explain the leaves of a condition.

        Args:
            properties: None if there is no subject, as when the request has no group of the flag's
                type.
        """
        if properties is None:
            return tuple(ExplainedLeaf(leaf, None, None, None, None) for leaf in condition.leaves)
        return tuple(self._leaf(leaf, properties) for leaf in condition.leaves)

    def _leaf(self, leaf: Leaf, properties: Properties) -> ExplainedLeaf:
        matches = self._match_if_known(leaf, properties)
        if isinstance(leaf, Property):
            return self._property(leaf, properties, matches)
        if isinstance(leaf, InCohort):
            is_member = self._match_if_known(replace(leaf, negation=False), properties)
            return ExplainedLeaf(leaf, None, is_member, None, matches)
        value = self._value_of(leaf.flag) if isinstance(leaf, FlagIs) else None
        return ExplainedLeaf(leaf, None, value, None, matches)

    def _match_if_known(self, leaf: Leaf, properties: Properties) -> bool | None:
        try:
            return self._leaf_test(leaf)(properties, self._run)
        except CannotCompute:
            return None

    def _property(
        self, leaf: Property, properties: Properties, matches: bool | None
    ) -> ExplainedLeaf:
        try:
            value = properties.get(leaf.key, MISSING)
        except CannotCompute:
            return ExplainedLeaf(leaf, None, None, None, matches)
        if value is MISSING:
            return ExplainedLeaf(leaf, False, None, None, matches)
        return ExplainedLeaf(leaf, True, value, self._source(leaf.key), matches)

    def _source(self, name: str) -> str:
        subject, type_name = self._subject, self._type_name
        sent: Mapping[str, Any] = subject.sent
        implied = "distinct_id"
        if self._rules.group_type_index is not None:
            sent = subject.group_properties.get(type_name or "") or {}
            implied = "$group_key"
        if name in sent:
            return "sent"
        return "implied" if name == implied else "stored"

    def _value_of(self, name: str) -> bool | str | None:
        """Return a flag's value, or None if it cannot be known."""
        flag = self._flag_set.find_flag(name)
        if flag is None or not flag.active:
            return False
        decision = self._run.decisions.get(flag.key)
        return None if decision is None else decision.value
