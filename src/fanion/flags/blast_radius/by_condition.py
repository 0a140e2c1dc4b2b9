"""Counts per condition of a flag: whom it reaches, and whom earlier conditions have taken.

Whom a percentage includes depends on the flag's key and the subject's id, which the event store
does not hold, so a percentage counts as that share of the subjects. A subject has the same bucket
in all rollouts of a flag, so 50 % after 30 % adds only 20 %.

Source: flags.md sections 3 and 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from fanion.errors import Invalid
from fanion.flags.blast_radius.query import LEAVES_MAX, CountCompiler, CountStatement
from fanion.flags.engine.compiler import evaluation_order
from fanion.flags.engine.conditions import ProjectCohorts
from fanion.flags.engine.definition import Condition, Rules
from fanion.properties.filters import FlagIs, Leaf, Property
from fanion.properties.match import Moment, PropertyTest, all_of, always, never, property_test

# A condition takes the event store 10 ms for 200,000 persons, and one bit of a 64-bit number.
CONDITIONS_MAX = 50
# Combinations of matching conditions; this many take a second in a thread.
COMBINATIONS_MAX = 100_000

_COUNT = """
  SELECT is_decided, matched, count()
    FROM (
      SELECT {decided} AS is_decided, {matched} AS matched
        FROM persons FINAL
       WHERE project_id = {project}
    )
GROUP BY is_decided, matched
   LIMIT {limit}
"""
# Whether the super group decides, and a number in which bit n is set if step n matches.
Combination = tuple[bool, int]


@dataclass(frozen=True, slots=True)
class Step:
    """A condition in the order of evaluation.

    Attributes:
        index: The position in the stored order.
        leaves: None if one refers to another flag, which no stored data can answer.
        share: Percent.
    """

    index: int
    leaves: Sequence[Leaf] | None
    share: float


@dataclass(frozen=True, slots=True)
class Ladder:
    """The conditions of a flag in the order of evaluation, with what precedes them.

    Attributes:
        early: Whom the first super group decides: those with this property, all or none.
        holdout_share: Percent that the first holdout takes after that.
    """

    steps: Sequence[Step]
    early: Property | bool = False
    holdout_share: float = 0.0
    group_type_index: int | None = None

    @property
    def leaves(self) -> Sequence[Leaf]:
        return [leaf for step in self.steps for leaf in step.leaves or ()]

    @property
    def is_exact(self) -> bool:
        """Return whether no percentage affects the counts."""
        shares = [self.holdout_share, *(step.share for step in self.steps)]
        return all(share in (0, 100) for share in shares)


@dataclass(slots=True)
class Counts:
    """Counts of the subjects that a condition matches.

    Attributes:
        decided: Subjects that the super group decides.
        above: The sum, over the others, of the percentage that earlier conditions have taken.
        added: The sum, over the others, of the percentage that this condition adds.
        left: Subjects that earlier conditions have not taken entirely.
        gaining: Subjects of whom this condition adds a percentage.
    """

    matches: int = 0
    decided: int = 0
    above: float = 0.0
    added: float = 0.0
    left: int = 0
    gaining: int = 0


@dataclass(frozen=True, slots=True)
class ConditionReach:
    """Whom one condition reaches.

    None means unknown: for conditions on other flags, and for what these take from later ones.
    """

    matches: int | None
    already_taken: int | None
    rolled_out: int | None
    never_reached: bool | None


@dataclass(frozen=True, slots=True)
class LadderReach:
    """Whom each condition of a flag reaches.

    Attributes:
        decided_early: Subjects that the super group decides before all conditions.
        held_out: Subjects that the holdout takes before all conditions.
        conditions: In the stored order.
    """

    total: int
    decided_early: int
    held_out: int
    conditions: Sequence[ConditionReach]


def ladder_of(rules: Rules) -> Ladder:
    """Return the ladder of a flag's rules.

    Raises:
        Invalid: There is more than one request can count.
    """
    conditions = rules.conditions
    for name, count, at_most in (
        ("groups", len(conditions), CONDITIONS_MAX),
        ("properties", sum(len(condition.leaves) for condition in conditions), LEAVES_MAX),
    ):
        if count > at_most:
            raise Invalid(
                f"Ensure there are at most {at_most} {name}, not {count}.", attr="filters"
            )
    holdout = rules.holdout
    return Ladder(
        [_step(index, conditions[index]) for index in evaluation_order(conditions)],
        _early_condition(rules.super_condition),
        0.0 if holdout is None or holdout.leaves else _share(holdout),
        rules.group_type_index,
    )


def _step(index: int, condition: Condition) -> Step:
    asks_flag = any(isinstance(leaf, FlagIs) for leaf in condition.leaves)
    return Step(index, None if asks_flag else condition.leaves, _share(condition))


def _share(condition: Condition) -> float:
    share = condition.rollout_percentage
    return 100.0 if share is None else min(max(share, 0.0), 100.0)


def _early_condition(condition: Condition | None) -> Property | bool:
    if condition is None or not condition.leaves:
        return condition is not None
    first = condition.leaves[0]
    if not isinstance(first, Property):
        return False
    return replace(first, operator="is_set", value=None, negation=False)


def ladder_statement(
    project_id: int,
    ladder: Ladder,
    cohorts: ProjectCohorts,
    runs: Mapping[int, UUID],
    now: datetime,
) -> CountStatement:
    """Return the statement that counts the persons for each Combination, one per row.

    Args:
        runs: Cohort id → the run under which the members of `stored_cohorts` were uploaded.

    Raises:
        ValueError: The criteria of a cohort cannot be tested live.
    """
    compiler = CountCompiler(cohorts, runs, now)
    early = ladder.early
    decided = compiler.condition(early) if isinstance(early, Property) else str(int(early))
    bits = ["toUInt64(0)"]
    for number, step in enumerate(ladder.steps):
        if step.leaves is not None:
            condition = " AND ".join(compiler.condition(leaf) for leaf in step.leaves) or "1"
            bits.append(f"({condition}) * toUInt64({1 << number})")
    text = _COUNT.format(
        decided=f"toUInt8({decided})",
        matched=" + ".join(bits),
        project=compiler.bindings.add(project_id, "UInt64"),
        limit=COMBINATIONS_MAX + 1,
    )
    return CountStatement(text, compiler.bindings.values)


class LadderTests:
    """Tests that compute the combination of one group, like the statement does for persons."""

    def __init__(self, ladder: Ladder) -> None:
        self._tests = [_all_leaves_test(step.leaves) for step in ladder.steps]
        early = ladder.early
        self._early = property_test(early) if isinstance(early, Property) else _constant_test(early)

    def combination(self, properties: Mapping[str, object], where: Moment) -> Combination:
        bits = (test(properties, where) << n for n, test in enumerate(self._tests))
        return self._early(properties, where), sum(bits)


def _all_leaves_test(leaves: Sequence[Leaf] | None) -> PropertyTest:
    if leaves is None:
        return never
    tests = [property_test(leaf) for leaf in leaves if isinstance(leaf, Property)]
    return all_of(tests) if tests else always


def _constant_test(answer: bool) -> PropertyTest:
    return always if answer else never


def reach_of(ladder: Ladder, combinations: Mapping[Combination, int]) -> LadderReach:
    """Return whom each condition reaches; shares of the subjects are rounded.

    Args:
        combinations: The number of subjects with each combination.

    Raises:
        Invalid: There are too many combinations.
    """
    if len(combinations) > COMBINATIONS_MAX:
        detail = f"The groups match in more than {COMBINATIONS_MAX:,} combinations."
        raise Invalid(detail, attr="filters")
    held_out, counts = ladder.holdout_share / 100, _counted(ladder, combinations)
    reached: dict[int, ConditionReach] = {}
    is_known = True
    for step, condition_counts in zip(ladder.steps, counts, strict=True):
        if step.leaves is None:
            is_known = False
            reached[step.index] = ConditionReach(None, None, None, None)
        elif is_known:
            reached[step.index] = _reached(condition_counts, step.share, held_out)
        else:
            reached[step.index] = ConditionReach(condition_counts.matches, None, None, None)
    total = sum(combinations.values())
    decided = sum(number for (is_early, _), number in combinations.items() if is_early)
    ordered = [reached[index] for index in sorted(reached)]
    return LadderReach(total, decided, round((total - decided) * held_out), ordered)


def _counted(ladder: Ladder, combinations: Mapping[Combination, int]) -> Sequence[Counts]:
    counts = [Counts() for _ in ladder.steps]
    for (is_decided, bits), number in combinations.items():
        above = 0.0
        for n, step in enumerate(ladder.steps):
            if bits >> n & 1:
                _add_subjects(counts[n], number, step.share, None if is_decided else above)
                above = max(above, step.share)
    return counts


def _add_subjects(counts: Counts, number: int, share: float, above: float | None) -> None:
    """Add subjects to the counts.

    Args:
        above: The highest earlier share in percent; None for subjects that the super group decides.
    """
    counts.matches += number
    if above is None:
        counts.decided += number
        return
    counts.above += above * number
    counts.added += max(share - above, 0.0) * number
    counts.left += number if above < 100 else 0
    counts.gaining += number if above < share else 0


def _reached(counts: Counts, share: float, held_out: float) -> ConditionReach:
    """Return the reach from the counts.

    Args:
        held_out: The share of the subjects that the holdout takes, from 0 to 1.
    """
    undecided = counts.matches - counts.decided
    taken = counts.decided + held_out * undecided + (1 - held_out) * counts.above / 100
    is_over = held_out >= 1 or counts.left == 0 or (share > 0 and counts.gaining == 0)
    return ConditionReach(
        counts.matches,
        round(taken),
        round((1 - held_out) * counts.added / 100),
        counts.matches > 0 and is_over,
    )
