"""How many persons or groups each condition of a flag reaches, and how many are already taken by
what is evaluated before it.

Whom a percentage lets in depends on the flag's key and the subject's id, which the event store does
not hold: a share counts as that part of the subjects. One subject has one place in all rollouts of
a flag, so of 50 % below 30 % only 20 % are new.

source: flags.md sections 3 and 4
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

# 50 conditions of a million persons take 0.8 s of the event store, 100 more than 2 s.
CONDITIONS_MAX = 50

_COUNT = """
  SELECT count(), countIf(is_decided), {counts}
    FROM (
      SELECT {columns}
        FROM persons FINAL
       WHERE project_id = {project}
    )
"""
# Of one condition, all of those that it matches: who are decided before all conditions, the sum of
# the shares above, the sum of what it adds, who are left by what is above, and to whom it adds.
_OF_CONDITION = (
    "countIf(c{n}), countIf(c{n} AND is_decided), sumIf(above{n}, c{n} AND NOT is_decided), "
    "sumIf(greatest({share} - above{n}, 0), c{n} AND NOT is_decided), "
    "countIf(c{n} AND NOT is_decided AND above{n} < 100), "
    "countIf(c{n} AND NOT is_decided AND above{n} < {share})"
)
_COUNTS = 6


@dataclass(frozen=True, slots=True)
class Step:
    """A condition in the order of evaluation. place: in the stored order

    leaves: None when they ask for another flag, which nothing stored answers
    share:  percent
    """

    place: int
    leaves: Sequence[Leaf] | None
    share: float


@dataclass(frozen=True, slots=True)
class Ladder:
    """early:         whom the first super group decides before all conditions: who has this
                   property, all or none
    holdout_share: percent, whom the first holdout decides then
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
        """Whether no percentage decides."""
        shares = [self.holdout_share, *(step.share for step in self.steps)]
        return all(share in (0, 100) for share in shares)


@dataclass(slots=True)
class Counts:
    """As _OF_CONDITION says."""

    matches: int = 0
    decided: int = 0
    above: float = 0.0
    added: float = 0.0
    left: int = 0
    gaining: int = 0


@dataclass(frozen=True, slots=True)
class ConditionReach:
    """None for what cannot be counted, as conditions on other flags and what they take away"""

    matches: int | None
    already_taken: int | None
    rolled_out: int | None
    never_reached: bool | None


@dataclass(frozen=True, slots=True)
class LadderReach:
    """decided_early, held_out: before all conditions; conditions: in the stored order"""

    total: int
    decided_early: int
    held_out: int
    conditions: Sequence[ConditionReach]


def ladder_of(rules: Rules) -> Ladder:
    """raises: Invalid for more than can be counted in one request"""
    conditions = rules.conditions
    for name, count, at_most in (
        ("groups", len(conditions), CONDITIONS_MAX),
        ("properties", sum(len(one.leaves) for one in conditions), LEAVES_MAX),
    ):
        if count > at_most:
            raise Invalid(
                f"Ensure there are at most {at_most} {name}, not {count}.", attr="filters"
            )
    holdout = rules.holdout
    return Ladder(
        [_step(place, conditions[place]) for place in evaluation_order(conditions)],
        _early(rules.super_condition),
        0.0 if holdout is None or holdout.leaves else _share(holdout),
        rules.group_type_index,
    )


def _step(place: int, condition: Condition) -> Step:
    asks_flag = any(isinstance(leaf, FlagIs) for leaf in condition.leaves)
    return Step(place, None if asks_flag else condition.leaves, _share(condition))


def _share(condition: Condition) -> float:
    share = condition.rollout_percentage
    return 100.0 if share is None else min(max(share, 0.0), 100.0)


def _early(condition: Condition | None) -> Property | bool:
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
    """Of one row: as `read_counts` reads it.

    runs:   under which the members of `stored_cohorts` lie
    raises: ValueError when the criteria of a cohort have no live answer
    """
    compiler = CountCompiler(cohorts, runs, now)
    early = ladder.early
    decided = compiler.condition(early) if isinstance(early, Property) else str(int(early))
    columns, counts = [f"({decided}) AS is_decided", "toFloat64(0) AS above0"], []
    for number, step in enumerate(ladder.steps):
        # After one that cannot be counted, what is above is not known, and not told.
        tests = None if step.leaves is None else [compiler.condition(leaf) for leaf in step.leaves]
        found = "0" if tests is None else " AND ".join(tests) or "1"
        share = compiler.bindings.add(step.share, "Float64")
        columns.append(f"({found}) AS c{number}")
        columns.append(f"greatest(above{number}, if(c{number}, {share}, 0)) AS above{number + 1}")
        counts.append(_OF_CONDITION.format(n=number, share=share))
    text = _COUNT.format(
        counts=", ".join([*counts, "1"]),
        columns=", ".join(columns),
        project=compiler.bindings.add(project_id, "UInt64"),
    )
    return CountStatement(text, compiler.bindings.values)


class LadderTally:
    """Counts subjects one by one, as the statement does."""

    def __init__(self, ladder: Ladder) -> None:
        self.total = 0
        self.decided = 0
        self.counts = [Counts() for _ in ladder.steps]
        self._tests = [(_all(step.leaves), step.share) for step in ladder.steps]
        early = ladder.early
        self._early = property_test(early) if isinstance(early, Property) else _constant(early)

    def add(self, properties: Mapping[str, object], where: Moment) -> None:
        self.total += 1
        is_decided, above = self._early(properties, where), 0.0
        self.decided += is_decided
        for counts, (test, share) in zip(self.counts, self._tests, strict=True):
            if not test(properties, where):
                continue
            counts.matches += 1
            if is_decided:
                counts.decided += 1
                continue
            counts.above += above
            counts.added += max(share - above, 0.0)
            counts.left += above < 100
            counts.gaining += above < share
            above = max(above, share)


def _all(leaves: Sequence[Leaf] | None) -> PropertyTest:
    if leaves is None:
        return never
    tests = [property_test(leaf) for leaf in leaves if isinstance(leaf, Property)]
    return all_of(tests) if tests else always


def _constant(answer: bool) -> PropertyTest:
    return always if answer else never


def read_counts(row: Sequence[float]) -> tuple[int, int, Sequence[Counts]]:
    """Persons, whom of them the super group decides, and the counts of each step."""
    total, decided, *rest = row
    counts = []
    for start in range(0, len(rest) - _COUNTS + 1, _COUNTS):
        matches, early, above, added, left, gaining = rest[start : start + _COUNTS]
        counts.append(
            Counts(int(matches), int(early), float(above), float(added), int(left), int(gaining))
        )
    return int(total), int(decided), counts


def reach_of(ladder: Ladder, total: int, decided: int, counts: Sequence[Counts]) -> LadderReach:
    """Shares of the subjects are rounded."""
    held = ladder.holdout_share / 100
    found: dict[int, ConditionReach] = {}
    is_known = True
    for step, one in zip(ladder.steps, counts, strict=True):
        if step.leaves is None:
            is_known = False
            found[step.place] = ConditionReach(None, None, None, None)
        elif is_known:
            found[step.place] = _reached(one, step.share, held)
        else:
            found[step.place] = ConditionReach(one.matches, None, None, None)
    ordered = [found[place] for place in sorted(found)]
    return LadderReach(total, decided, round((total - decided) * held), ordered)


def _reached(counts: Counts, share: float, held: float) -> ConditionReach:
    """held: the part of the subjects that the holdout takes"""
    undecided = counts.matches - counts.decided
    taken = counts.decided + held * undecided + (1 - held) * counts.above / 100
    is_over = held >= 1 or counts.left == 0 or (share > 0 and counts.gaining == 0)
    return ConditionReach(
        counts.matches,
        round(taken),
        round((1 - held) * counts.added / 100),
        counts.matches > 0 and is_over,
    )
