"""Compilation of a flag into one Python function that picks among prepared decisions.

Evaluation allocates nothing: every answer that a flag can give exists before the first request, and
a hash is computed only where it can change the answer.

Source: flags.md section 4.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fanion.flags.engine.conditions import EvaluationTest
from fanion.flags.engine.definition import Condition, Flag, Rules, payload_of
from fanion.flags.engine.hashing import (
    HOLDOUT_PREFIX,
    VARIANT_SALT,
    at_most,
    below,
    digest_ranges,
    key_prefix,
    sha1,
)
from fanion.flags.engine.model import (
    CannotCompute,
    Decision,
    DecisionReason,
    EvaluationRun,
)
from fanion.properties.filters import InCohort, Leaf, Property
from fanion.properties.match import Properties, all_of
from fanion.properties.values import MISSING

# The second parameter is the identity that is hashed, of a person or of a group.
Program = Callable[[Properties, bytes, EvaluationRun], Decision]
# A step before the conditions; None passes to the next step.
_Step = Callable[[Properties, bytes, EvaluationRun], Decision | None]


class VariantSplit(NamedTuple):
    """Chooses a variant by the digest of the salted identity.

    Attributes:
        bounds: The lower bounds of all ranges but the first, ascending.
        decisions: The decision for each range.
    """

    prefix: bytes
    bounds: tuple[bytes, ...]
    decisions: tuple[Decision, ...]


class CompiledCondition(NamedTuple):
    """One compiled condition.

    Attributes:
        tests: The tests of the condition, one for each leaf; all of them have to pass.
        test: All tests as one; None includes every subject.
        is_known: Whether the result of the test is looked up in the run, and not computed.
        limit: The lowest digest that is excluded; None includes every subject.
        split: None if the flag has no variants.
    """

    tests: tuple[EvaluationTest, ...]
    test: EvaluationTest | None
    is_known: bool
    limit: bytes | None
    split: VariantSplit | None
    hit: Decision
    unmatched: Decision
    outside: Decision


class CompiledRules(NamedTuple):
    """The compiled rules of a flag.

    Attributes:
        conditions: In evaluation order; None if there are none, or if the decision depends on more
            than tests of the person's properties and the digest of the distinct id.
    """

    key: str
    program: Program
    prefix: bytes
    conditions: tuple[CompiledCondition, ...] | None


def compile_rules(
    flag: Flag,
    rules: Rules,
    leaf_test: Callable[[Leaf], EvaluationTest],
    group_types: Mapping[int, str],
) -> CompiledRules:
    """Compile the rules of a flag.

    Args:
        leaf_test: Returns the test for a leaf; its ValueError is passed on.
    """
    prefix = key_prefix(flag.key)
    conditions = _compiled_conditions(flag.key, prefix, rules, leaf_test)
    choose = _conditions_program(flag.key, prefix, conditions)
    steps = _steps_before_conditions(flag, rules, leaf_test)
    whole = _with_steps(steps, choose) if steps else choose
    program = for_subject(flag, rules, group_types, whole)
    is_plain = bool(conditions) and program is choose and _reads_only_the_person(rules)
    return CompiledRules(flag.key, program, prefix, conditions if is_plain else None)


def _reads_only_the_person(rules: Rules) -> bool:
    return all(isinstance(leaf, Property | InCohort) for leaf in rules.leaves())


def for_subject(
    flag: Flag, rules: Rules, group_types: Mapping[int, str], program: Program
) -> Program:
    """Wrap a program to receive what the flag buckets by: group, device or former identity."""
    if rules.group_type_index is not None:
        return _for_group(flag.key, group_types.get(rules.group_type_index), program)
    if flag.keeps_experience and rules.uses_hash:
        return _with_former_identity(flag.key, program)
    return _by_device(program) if flag.by_device else program


def evaluation_order(conditions: Sequence[Condition]) -> list[int]:
    """Return positions in the stored order, conditions that force a variant first."""
    return sorted(range(len(conditions)), key=lambda index: conditions[index].variant is None)


def _compiled_conditions(
    key: str, prefix: bytes, rules: Rules, leaf_test: Callable[[Leaf], EvaluationTest]
) -> tuple[CompiledCondition, ...]:
    return tuple(
        _compiled_condition(key, prefix, index, rules, leaf_test)
        for index in evaluation_order(rules.conditions)
    )


def _conditions_program(
    key: str, prefix: bytes, conditions: tuple[CompiledCondition, ...]
) -> Program:
    """Return the program for any number of conditions: the first match wins.

    If none matches, being outside a rollout takes precedence over not matching.
    """
    if not conditions:
        nothing = Decision(key, False, DecisionReason.NO_CONDITION_MATCH, 0)
        return lambda properties, identity, run: nothing

    def choose(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision:
        digest = b""
        miss = last_outside = None
        for _, test, is_known, limit, split, hit, unmatched, outside in conditions:
            if test is not None and not (run[test] if is_known else test(properties, run)):
                miss = unmatched
                continue
            if limit is not None:
                digest = digest or sha1(prefix + identity).digest()
                if digest >= limit:
                    last_outside = outside
                    continue
            return hit if split is None else pick_variant(split, identity + VARIANT_SALT)
        return last_outside or miss or conditions[-1].unmatched

    return choose


def pick_variant(split: VariantSplit, salted: bytes) -> Decision:
    """Return the decision for an identity with VARIANT_SALT appended."""
    prefix, bounds, decisions = split
    return decisions[bisect_right(bounds, sha1(prefix + salted).digest())]


def _compiled_condition(
    key: str,
    prefix: bytes,
    index: int,
    rules: Rules,
    leaf_test: Callable[[Leaf], EvaluationTest],
) -> CompiledCondition:
    condition = rules.conditions[index]
    tests = tuple(map(leaf_test, condition.leaves))
    of_person = rules.group_type_index is None
    is_known = of_person and len(tests) == 1
    looked_up = tests if is_known or not of_person else tuple(map(_looked_up, tests))
    forced = condition.variant in {variant.key for variant in rules.variants}
    match = DecisionReason.CONDITION_MATCH
    hit = _on_decision(key, condition.variant if forced else None, match, index, rules.payloads)
    return CompiledCondition(
        tests=tests,
        test=all_of(looked_up) if tests else None,
        is_known=is_known,
        limit=_rollout_limit(condition),
        split=None if forced else _variant_split(key, prefix, rules, match, index, hit),
        hit=hit,
        unmatched=Decision(key, False, DecisionReason.NO_CONDITION_MATCH, index),
        outside=Decision(key, False, DecisionReason.OUT_OF_ROLLOUT_BOUND, index),
    )


def _looked_up(test: EvaluationTest) -> EvaluationTest:
    """Return a test that looks up the result of another one on the person's properties."""
    return lambda properties, run: run[test]


def _rollout_limit(condition: Condition) -> bytes | None:
    share = condition.rollout_percentage
    return None if share is None or not condition.is_partial else at_most(share / 100)


def _variant_split(
    key: str, prefix: bytes, rules: Rules, reason: DecisionReason, index: int, rest: Decision
) -> VariantSplit | None:
    """Return the split by the variants' running bounds in stored order.

    They are added up as every SDK does, including rounding.

    Args:
        rest: The decision for digests that no variant has.
    """
    ranges: list[tuple[bytes, bytes, Decision]] = []
    low = 0.0
    for variant in rules.variants:
        high = low + variant.rollout_percentage / 100
        decision = _on_decision(key, variant.key, reason, index, rules.payloads)
        ranges.append((below(low), below(high), decision))
        low = high
    return VariantSplit(prefix, *digest_ranges(ranges, rest)) if ranges else None


def _on_decision(
    key: str, variant: str | None, reason: DecisionReason, index: int, payloads: Mapping[str, Any]
) -> Decision:
    return Decision(key, variant or True, reason, index, payload_of(payloads, variant or "true"))


def _steps_before_conditions(
    flag: Flag, rules: Rules, leaf_test: Callable[[Leaf], EvaluationTest]
) -> list[_Step]:
    steps: list[_Step] = []
    if rules.super_condition is not None:
        steps.append(_super_step(flag, rules.super_condition, rules, leaf_test))
    if rules.holdout is not None and not rules.holdout.leaves:
        steps.append(_holdout_step(flag, rules.holdout, rules))
    return steps


def _with_steps(steps: Sequence[_Step], program: Program) -> Program:
    listed = tuple(steps)

    def choose(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision:
        for step in listed:
            decision = step(properties, identity, run)
            if decision is not None:
                return decision
        return program(properties, identity, run)

    return choose


def _super_step(
    flag: Flag, condition: Condition, rules: Rules, leaf_test: Callable[[Leaf], EvaluationTest]
) -> _Step:
    """Return the step for early access: if the property is set it decides, else the step passes.

    Without a property the percentage decides.
    """
    on = _on_decision(flag.key, None, DecisionReason.SUPER_CONDITION_VALUE, 0, rules.payloads)
    off = Decision(flag.key, False, DecisionReason.SUPER_CONDITION_VALUE, 0)
    if not condition.leaves:
        prefix, limit = key_prefix(flag.key), _rollout_limit(condition)
        outside = Decision(flag.key, False, DecisionReason.OUT_OF_ROLLOUT_BOUND, 0)
        return lambda properties, identity, run: (
            on if limit is None or sha1(prefix + identity).digest() < limit else outside
        )
    first = condition.leaves[0]
    if not isinstance(first, Property):
        return lambda properties, identity, run: None
    tests = [leaf_test(leaf) for leaf in condition.leaves]
    if rules.group_type_index is None:
        tests = list(map(_looked_up, tests))
    key, test = first.key, all_of(tests)

    def step(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision | None:
        if properties.get(key, MISSING) is MISSING:
            return None
        return on if test(properties, run) else off

    return step


def _holdout_step(flag: Flag, holdout: Condition, rules: Rules) -> _Step:
    """Return the step for the holdout, whose hash excludes the flag's key.

    Therefore the same subjects are held out of every flag.
    """
    limit = _rollout_limit(holdout)
    reason = DecisionReason.HOLDOUT_CONDITION_VALUE
    held = _on_decision(flag.key, holdout.variant, reason, 0, rules.payloads)
    split = None
    if not holdout.variant:
        split = _variant_split(flag.key, key_prefix(flag.key), rules, reason, 0, held)

    def step(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision | None:
        if limit is not None and sha1(HOLDOUT_PREFIX + identity).digest() >= limit:
            return None
        return held if split is None else pick_variant(split, identity + VARIANT_SALT)

    return step


def _for_group(key: str, type_name: str | None, program: Program) -> Program:
    """Return a program that evaluates the request's group instead of the person.

    The flag is off if the request has no such group.
    """
    off = Decision(key, False, DecisionReason.NO_GROUP_TYPE)
    if type_name is None:
        return lambda properties, identity, run: off

    def choose(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision:
        group = run.group(type_name)
        return off if group is None else program(group[0], group[1], run)

    return choose


def _by_device(program: Program) -> Program:
    """Return a program that hashes the device id, or the distinct id if there is no device."""

    def choose(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision:
        return program(properties, run.device or identity, run)

    return choose


def _with_former_identity(key: str, program: Program) -> Program:
    """Return a program that hashes the distinct id from before the login.

    Conditions still see the current distinct id.
    """

    def choose(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision:
        if run.hash_keys is None:
            raise CannotCompute(key)
        stored_id = run.hash_keys.get(key)
        if stored_id is not None:
            identity = stored_id.encode(errors="replace")
        return program(properties, identity, run)

    return choose
