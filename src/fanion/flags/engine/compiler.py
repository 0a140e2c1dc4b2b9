"""Compilation of a flag into one Python function that picks among prepared decisions.

Evaluation allocates nothing: every answer that a flag can give exists before the first request, and
a hash is computed only where it can change the answer.

Source: flags.md section 4.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanion.flags.engine.conditions import EvaluationTest
from fanion.flags.engine.definition import Condition, Flag, Rules, payload_of
from fanion.flags.engine.hashing import (
    HOLDOUT_PREFIX,
    VARIANT_SALT,
    at_most,
    below,
    key_prefix,
    sha1,
)
from fanion.flags.engine.model import (
    CannotCompute,
    Decision,
    DecisionReason,
    EvaluationRun,
)
from fanion.properties.filters import Leaf, Property
from fanion.properties.match import Properties, all_of
from fanion.properties.values import MISSING

# The second parameter is the identity that is hashed, of a person or of a group.
Program = Callable[[Properties, bytes, EvaluationRun], Decision]
# A step before the conditions; None passes to the next step.
_Step = Callable[[Properties, bytes, EvaluationRun], Decision | None]
# The lowest digest inside, the lowest digest above, and the decision for digests in between.
_Shares = tuple[tuple[bytes, bytes, Decision], ...]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """One compiled condition.

    Attributes:
        is_known: Whether the result of the test is looked up in the run, and not computed.
        limit: The lowest digest that is excluded; None includes every subject.
        shares: Empty if the flag has no variants.
    """

    test: EvaluationTest | None
    is_known: bool
    limit: bytes | None
    shares: _Shares
    hit: Decision
    unmatched: Decision
    outside: Decision


def compile_program(
    flag: Flag,
    rules: Rules,
    leaf_test: Callable[[Leaf], EvaluationTest],
    group_types: Mapping[int, str],
) -> Program:
    """Compile a flag into a program.

    Args:
        leaf_test: Returns the test for a leaf; its ValueError is passed on.
    """
    choose = _conditions_program(flag, rules, leaf_test)
    steps = _steps_before_conditions(flag, rules, leaf_test)
    return for_subject(flag, rules, group_types, _with_steps(steps, choose) if steps else choose)


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


def _conditions_program(
    flag: Flag, rules: Rules, leaf_test: Callable[[Leaf], EvaluationTest]
) -> Program:
    compiled = [
        _compiled_condition(flag.key, index, condition, rules, leaf_test)
        for index, condition in enumerate(rules.conditions)
    ]
    ordered = [compiled[index] for index in evaluation_order(rules.conditions)]
    if not ordered:
        nothing = Decision(flag.key, False, DecisionReason.NO_CONDITION_MATCH, 0)
        return lambda properties, identity, run: nothing
    prefix = key_prefix(flag.key)
    if len(ordered) == 1:
        return _one_condition_program(prefix, ordered[0])
    return (
        _two_conditions_program(prefix, *ordered)
        if len(ordered) == 2
        else _many_conditions_program(prefix, ordered)
    )


def _one_condition_program(prefix: bytes, condition: _Compiled) -> Program:
    """Return the program for one condition, which most flags have, without the general loop."""
    test, is_known = condition.test, condition.is_known
    limit, shares = condition.limit, condition.shares
    hit, unmatched, outside = condition.hit, condition.unmatched, condition.outside

    def choose(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision:
        if test is not None and not (run[test] if is_known else test(properties, run)):
            return unmatched
        text = prefix + identity
        if limit is not None and sha1(text).digest() >= limit:
            return outside
        return _pick_variant(text, shares, hit) if shares else hit

    return choose


def _two_conditions_program(prefix: bytes, first: _Compiled, second: _Compiled) -> Program:
    """Return the program for two conditions (a rule and a fallback), without the general loop."""
    test, is_known, limit, shares = first.test, first.is_known, first.limit, first.shares
    hit, outside = first.hit, first.outside
    test_2, is_known_2 = second.test, second.is_known
    limit_2, shares_2 = second.limit, second.shares
    hit_2, unmatched_2, outside_2 = second.hit, second.unmatched, second.outside

    def choose(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision:
        miss, text = unmatched_2, prefix + identity
        if test is None or (run[test] if is_known else test(properties, run)):
            if limit is None or sha1(text).digest() < limit:
                return _pick_variant(text, shares, hit) if shares else hit
            miss = outside
        if test_2 is not None and not (run[test_2] if is_known_2 else test_2(properties, run)):
            return miss
        if limit_2 is not None and sha1(text).digest() >= limit_2:
            return outside_2
        return _pick_variant(text, shares_2, hit_2) if shares_2 else hit_2

    return choose


def _many_conditions_program(prefix: bytes, conditions: Sequence[_Compiled]) -> Program:
    """Return the program for any number of conditions: the first match wins.

    If none matches, being outside a rollout takes precedence over not matching.
    """
    listed = tuple(
        (c.test, c.is_known, c.limit, c.shares, c.hit, c.unmatched, c.outside) for c in conditions
    )

    def choose(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision:
        digest = b""
        miss = last_outside = None
        for test, is_known, limit, shares, hit, unmatched, outside in listed:
            if test is not None and not (run[test] if is_known else test(properties, run)):
                miss = unmatched
                continue
            if limit is not None:
                digest = digest or sha1(prefix + identity).digest()
                if digest >= limit:
                    last_outside = outside
                    continue
            return _pick_variant(prefix + identity, shares, hit) if shares else hit
        return last_outside or miss or conditions[-1].unmatched

    return choose


def _pick_variant(text: bytes, shares: _Shares, hit: Decision) -> Decision:
    digest = sha1(text + VARIANT_SALT).digest()
    for low, high, decision in shares:
        if low <= digest < high:
            return decision
    return hit


def _compiled_condition(
    key: str,
    index: int,
    condition: Condition,
    rules: Rules,
    leaf_test: Callable[[Leaf], EvaluationTest],
) -> _Compiled:
    tests = [leaf_test(leaf) for leaf in condition.leaves]
    of_person = rules.group_type_index is None
    is_known = of_person and len(tests) == 1
    if of_person and not is_known:
        tests = list(map(_looked_up, tests))
    forced = condition.variant in {variant.key for variant in rules.variants}
    match = DecisionReason.CONDITION_MATCH
    hit = _on_decision(key, condition.variant if forced else None, match, index, rules.payloads)
    return _Compiled(
        test=all_of(tests) if tests else None,
        is_known=is_known,
        limit=_rollout_limit(condition),
        shares=() if forced else _variant_shares(key, rules, match, index),
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


def _variant_shares(key: str, rules: Rules, reason: DecisionReason, index: int) -> _Shares:
    """Return the variants' running bounds in stored order.

    They are added up as every SDK does, including rounding.
    """
    shares: list[tuple[bytes, bytes, Decision]] = []
    low = 0.0
    for variant in rules.variants:
        high = low + variant.rollout_percentage / 100
        decision = _on_decision(key, variant.key, reason, index, rules.payloads)
        shares.append((below(low), below(high), decision))
        low = high
    return tuple(shares)


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
    limit, prefix = _rollout_limit(holdout), key_prefix(flag.key)
    reason = DecisionReason.HOLDOUT_CONDITION_VALUE
    held = _on_decision(flag.key, holdout.variant, reason, 0, rules.payloads)
    shares = () if holdout.variant else _variant_shares(flag.key, rules, reason, 0)

    def step(properties: Properties, identity: bytes, run: EvaluationRun) -> Decision | None:
        if limit is not None and sha1(HOLDOUT_PREFIX + identity).digest() >= limit:
            return None
        return _pick_variant(prefix + identity, shares, held) if shares else held

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
