"""Plans: a project's flags, precomputed for persons who pass the same tests.

Most persons of a project pass the same few tests. For each such set of tests, a plan has the final
decision of flags that do not hash, and the decisions by digest of flags that do. With a plan, a
request evaluates no conditions: it copies decisions and computes hashes.
"""

import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import add, getitem
from typing import Final, Generic, NamedTuple, TypeVar

from fanion.flags.engine.compiler import (
    CompiledCondition,
    CompiledRules,
    VariantSplit,
    pick_variant,
)
from fanion.flags.engine.conditions import EvaluationTest
from fanion.flags.engine.hashing import VARIANT_SALT, digest_ranges, digests
from fanion.flags.engine.kept_memory import KEPT_MEMORY, KeptMemory
from fanion.flags.engine.model import CannotCompute, Decision, DecisionReason, EvaluationRun
from fanion.flags.engine.text_table import TextTable

# With fewer flags, running all tests at once does not pay off.
PLANNED_FLAGS_MIN: Final = 4
# The most sets of tests that are remembered. A plan is made when a set occurs a second time.
_SEEN_MAX: Final = 1_000
# With fewer flags, hashing is as fast as looking up a person's recent decisions.
_RECENT_FLAGS_MIN: Final = 8
# The most memory for one project.
PROJECT_BYTES_MAX: Final = 4 * 1024 * 1024
_HASHED_FLAG_BYTES: Final = 300
_RECENT_BYTES: Final = 300

# The placeholder for a flag that is not decided yet.
_PENDING: Final = Decision("", False, DecisionReason.NO_CONDITION_MATCH)

_Outcome = Decision | VariantSplit
T = TypeVar("T")
# Key, prefix, bounds and outcomes of one flag.
_Row = tuple[str, bytes, tuple[bytes, ...], tuple[T, ...]]


class _Hashed(NamedTuple, Generic[T]):
    """Flags that hash the same identity, in parallel lists.

    Attributes:
        bounds: The lower bounds of all ranges but the first, ascending.
        outcomes: The outcome for each range.
    """

    prefixes: tuple[bytes, ...]
    bounds: tuple[tuple[bytes, ...], ...]
    outcomes: tuple[tuple[T, ...], ...]

    def choose(self, identity: bytes) -> Iterator[T]:
        """Return the outcome of each flag."""
        found = digests(map(add, self.prefixes, repeat(identity)))
        return map(getitem, self.outcomes, map(bisect_right, self.bounds, found))


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A project's flags, reduced to what is still open for persons who pass the same tests.

    Attributes:
        decided: Key → decision of every flag, in order; a placeholder for flags that hash.
        rollouts: Flags with a percentage and without variants.
        splits: Flags that give every person a variant.
        both: Flags with a percentage and, within it, variants.
        others: Flags that also depend on something else.
        hashed: Keys of the flags that hash: those of `rollouts`, `splits` and `both`.
    """

    decided: dict[str, Decision]
    rollouts: _Hashed[Decision]
    splits: _Hashed[Decision]
    both: _Hashed[_Outcome]
    others: tuple[CompiledRules, ...]
    hashed: tuple[str, ...]

    def hash(self, identity: bytes) -> tuple[Decision, ...]:
        """Return the decisions of the flags that hash."""
        salted = identity + VARIANT_SALT
        both = [
            outcome if isinstance(outcome, Decision) else pick_variant(outcome, salted)
            for outcome in self.both.choose(identity)
        ]
        return (*self.rollouts.choose(identity), *self.splits.choose(salted), *both)

    def decisions(self, hashed: tuple[Decision, ...]) -> dict[str, Decision]:
        """Return all decisions in order; those of `others` are placeholders."""
        decisions = self.decided.copy()
        decisions.update(zip(self.hashed, hashed, strict=True))
        return decisions


class Plans:
    """The flags of a project, with plans for sets of tests that recur.

    It also caches the decisions for recently hashed identities, because clients ask about the same
    person on every page or for every flag.

    Attributes:
        size: The memory of what is cached, in bytes.
    """

    __slots__ = ("__weakref__", "_is_planned", "_memory", "_plans", "_recent", "_rules", "_seen",
                 "_tables", "_tests", "_unmatched", "size")  # fmt: skip

    def __init__(
        self,
        rules: Sequence[CompiledRules],
        tables: Sequence[TextTable[EvaluationTest]],
        memory: KeptMemory = KEPT_MEMORY,
    ) -> None:
        """Prepare the rules and tests for plans.

        Args:
            rules: Those of all flags, each after those it depends on.
            tables: Tests that run together.
        """
        together = {test for table in tables for test in table.tests()}
        plain = [each.conditions for each in rules if each.conditions is not None]
        tests = dict.fromkeys(test for each in plain for one in each for test in one.tests)
        self._is_planned = len(plain) >= PLANNED_FLAGS_MIN
        self._rules = rules
        self._tables = tables
        self._tests = [each for each in tests if each not in together] if self._is_planned else []
        self._unmatched = dict.fromkeys((*together, *self._tests), False)
        self._plans: dict[frozenset[EvaluationTest], Plan] = {}
        self._recent: dict[tuple[Plan, bytes], tuple[Decision, ...]] = {}
        self._seen: set[int] = set()
        self._memory = memory
        self.size = 0
        memory.add(self)

    def begin(self, run: EvaluationRun) -> Sequence[CompiledRules]:
        """Decide what a plan can decide, if there is one.

        Returns:
            The rules of the flags that are still to be decided.
        """
        if not self._is_planned and not self._tables:
            return self._rules
        try:
            passed = self._passed(run)
        except CannotCompute:  # a stored value is unknown
            return self._rules
        plan = self._plans.get(passed) or self._plan(passed)
        if plan is None:
            run.update(self._unmatched)
            run.update(dict.fromkeys(passed, True))
            return self._rules
        run.decisions = plan.decisions(self._hash(plan, run.identity))
        return plan.others

    def _passed(self, run: EvaluationRun) -> frozenset[EvaluationTest]:
        properties = run.properties
        passed = [test for test in self._tests if test(properties, run)]
        for table in self._tables:
            passed += table.passed(properties)
        return frozenset(passed)

    def _plan(self, passed: frozenset[EvaluationTest]) -> Plan | None:
        """Return a new plan if this set of tests has occurred before."""
        if not self._is_planned:
            return None
        if hash(passed) not in self._seen:
            self._seen = self._seen if len(self._seen) < _SEEN_MAX else set()
            self._seen.add(hash(passed))
            return None
        plan = self._plans[passed] = make_plan(self._rules, passed)
        self._use(sys.getsizeof(plan.decided) + len(plan.hashed) * _HASHED_FLAG_BYTES)
        return plan

    def _hash(self, plan: Plan, identity: bytes) -> tuple[Decision, ...]:
        if len(plan.hashed) < _RECENT_FLAGS_MIN:
            return plan.hash(identity)
        recent = self._recent.get((plan, identity))
        if recent is None:
            recent = plan.hash(identity)
            if self.size > PROJECT_BYTES_MAX:
                self.forget()
            self._recent[plan, identity] = recent
            self._use(sys.getsizeof(recent) + len(identity) + _RECENT_BYTES)
        return recent

    def _use(self, size: int) -> None:
        self.size += size
        self._memory.use(size)

    def forget(self) -> int:
        """Clear the cache and return how many bytes that freed."""
        size, self.size = self.size, 0
        self._plans, self._recent = {}, {}
        return size


def make_plan(rules: Sequence[CompiledRules], passed: frozenset[EvaluationTest]) -> Plan:
    """Return the plan for persons who pass exactly these tests.

    Args:
        rules: Those of all flags, each after those it depends on.
    """
    decided: dict[str, Decision] = {}
    others: list[CompiledRules] = []
    rollouts: list[_Row[Decision]] = []
    splits: list[_Row[Decision]] = []
    both: list[_Row[_Outcome]] = []
    for each in rules:
        key, _, prefix, conditions = each
        decided[key] = _PENDING
        if conditions is None:
            others.append(each)
            continue
        bounds, outcomes = _by_digest(conditions, passed)
        decisions = tuple(each for each in outcomes if isinstance(each, Decision))
        if bounds and len(decisions) == len(outcomes):
            rollouts.append((key, prefix, bounds, decisions))
        elif bounds:
            both.append((key, prefix, bounds, outcomes))
        elif isinstance(outcomes[0], VariantSplit):
            splits.append((key, *outcomes[0]))
        else:
            decided[key] = outcomes[0]
    hashed = tuple(row[0] for row in (*rollouts, *splits, *both))
    return Plan(decided, _hashed(rollouts), _hashed(splits), _hashed(both), tuple(others), hashed)


def _hashed(rows: Sequence[_Row[T]]) -> _Hashed[T]:
    return _Hashed(
        prefixes=tuple(row[1] for row in rows),
        bounds=tuple(row[2] for row in rows),
        outcomes=tuple(row[3] for row in rows),
    )


def _by_digest(
    conditions: Sequence[CompiledCondition], passed: frozenset[EvaluationTest]
) -> tuple[tuple[bytes, ...], tuple[_Outcome, ...]]:
    """Return the bounds of a flag's digest ranges, and the outcome of each range."""
    ranges: list[tuple[bytes, bytes, _Outcome]] = []
    rest = unmatched = None
    for condition in conditions:
        if not passed.issuperset(condition.tests):
            unmatched = condition.unmatched
            continue
        inside = condition.hit if condition.split is None else condition.split
        if condition.limit is None:
            rest = inside
            break
        ranges.append((b"", condition.limit, inside))
        rest = condition.outside
    return digest_ranges(ranges, rest or unmatched or conditions[-1].unmatched)
