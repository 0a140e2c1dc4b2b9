"""The tries of an ordered funnel in which an event can match several steps.

A step takes an event that no other step takes, and the events of one moment count in whatever order
lets a try go furthest. The run of a moment from a step is made of as many steps, from this one on,
as can each take an event of the moment. The run from one step ends where the run from the next step
ends, or before. So the moment is laid out as its runs, the one from the last step first: a chain
that arrives at a step finds the run from there before all others, and after its end nothing that
could follow.

The ranks of elements lay out a moment with one event in this way already. Only the elements of
actors that have several events at one moment are laid out again.

Source: insights.md, section 5a, "Rule".
"""

from collections.abc import Sequence

from fanion.insights.funnels.elements_sql import TICKS, FunnelSql, ranks_before_steps
from fanion.insights.funnels.ordered_sql import OrderedTries
from fanion.insights.funnels.steps import contains, group_steps, sets_to_check
from fanion.insights.sql.compiler import Compiler

_AT = "bitShiftRight({}.1, 6)"

# Sorted elements have as many runs of one instant as runs of one event, unless several events
# share an instant.
_CROWDED = """
  SELECT *, length(arrayCompact(arrayMap(tick -> bitShiftRight(tick, 6), elements.1)))
            < length(arrayCompact(elements.2)) AS is_crowded
    FROM ({elements})
"""

# An actor that is not crowded has no moments here.
_MOMENTS = """
  SELECT *, arraySlice(elements, 1, if(is_crowded, length(elements), 0)) AS crowded,
         arraySplit((one, before) -> NOT {same}, crowded, arrayShiftRight(crowded, 1)) AS moments,
         arrayMap(moment -> [{numbers}], moments) AS numbers
    FROM ({crowded})
"""

_LAID_OUT = """
  SELECT *, arrayFlatten(arrayMap((moment, number) -> arrayConcat({runs}), moments, numbers))
              AS laid_out
    FROM ({moments})
"""


class OverlappingTries(OrderedTries):
    """The tries of an ordered funnel in which an event can match several steps.

    For each of `sets`, the column `numbers` says how many events of a moment match any step of it.
    """

    def __init__(self, compiler: Compiler, funnel: FunnelSql) -> None:
        super().__init__(compiler, funnel)
        self.sets = list(dict.fromkeys([(0,), *sets_to_check(group_steps(self.query.steps))]))

    def tries(self) -> str:
        of_laid_out = OrderedTries(self.compiler, self.funnel, "laid_out").tries()
        return f"if(is_crowded, {of_laid_out}, {super().tries()})"

    def source(self, elements: str) -> str:
        crowded = _CROWDED.format(elements=elements)
        moments = _MOMENTS.format(
            same=f"{_AT.format('one')} = {_AT.format('before')}",
            numbers=", ".join(map(self.number_of, self.sets)),
            crowded=crowded,
        )
        earlier = ranks_before_steps(self.query)
        last = earlier + self.size
        before = f"arrayFilter(one -> bitAnd(one.1, {TICKS - 1}) <= {earlier}, moment)"
        after = f"arrayFilter(one -> bitAnd(one.1, {TICKS - 1}) > {last}, moment)"
        has_after = any(not one.is_apart for one in self.query.optional)
        runs = [self.run(number) for number in reversed(range(1, self.size))]
        begun = f"arrayFlatten(arrayWithConstant(number[1], {self.run(0)}))"
        parts = [*([before] if earlier else []), *runs, begun, *([after] if has_after else [])]
        return _LAID_OUT.format(runs=", ".join(parts), moments=moments)

    def number_of(self, some: Sequence[int]) -> str:
        """Return SQL for the number of events of a moment that match any of these steps."""
        steps = self.query.steps
        for outer in some:
            if all(contains(steps[outer], steps[number]) for number in some):
                return f"arrayCount(one -> {self.is_rank(self.ranks[outer])}, moment)"
        bits = sum(1 << self.ranks[number] for number in set(some))
        is_any = f"bitTest(toUInt64({bits}), bitAnd(one.1, {TICKS - 1}))"
        ids = f"arrayMap(one -> one.2, arrayFilter(one -> {is_any}, moment))"
        return f"length(arrayDistinct({ids}))"

    def run(self, first: int) -> str:
        """Return SQL for the elements of a moment's run from the step `first`."""
        every = ", ".join(self.element(first, number) for number in range(first, self.size))
        return f"arraySlice([{every}], 1, arrayMin([{', '.join(self.ends(first))}]))"

    def ends(self, first: int) -> list[str]:
        """Return SQL for where the run must end: for each set, its first step without an event."""
        lengths = []
        for index, some in enumerate(self.sets, 1):
            offsets = [step - first for step in sorted(some) if step >= first]
            if offsets:
                listed = ", ".join(map(str, [*offsets, self.size - first]))
                lengths.append(f"[{listed}][least(number[{index}], {len(offsets)}) + 1]")
        return lengths

    def element(self, first: int, number: int) -> str:
        """Return SQL for a step as an element of a run; its id is not needed any more."""
        tick = f"bitAnd(moment[1].1, bitNot(toUInt64({TICKS - 1}))) + {self.ranks[number]}"
        parts = [tick, "toUInt128(0)"]
        if self.funnel.valued:
            is_read = self.with_value and number == self.query.attribution_step
            parts.append(self.value(first, number) if is_read else "''")
        return f"tuple({', '.join(parts)})"

    def value(self, first: int, number: int) -> str:
        """Return SQL for the value of a step; equal steps of a run take successive events."""
        steps = self.query.steps
        before = (
            contains(steps[number], steps[other]) and contains(steps[other], steps[number])
            for other in range(first, number)
        )
        fitting = f"arrayFilter(one -> {self.is_rank(self.ranks[number])}, moment)"
        return f"{fitting}[{sum(before) + 1}].3"
