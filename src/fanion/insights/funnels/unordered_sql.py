"""The tries of an unordered funnel.

Source: insights.md, section 5c.
"""

from collections.abc import Iterator, Sequence

from fanion.insights.funnels.elements_sql import FunnelSql, steps_mask
from fanion.insights.funnels.steps import Cluster, Nest, group_steps, sets_to_check
from fanion.insights.funnels.tries_sql import TriesByMask
from fanion.insights.sql.compiler import Compiler

# Later than the end of any window. In arrays of times, 0 means never as well.
_NEVER = "18446744073709551615"


class UnorderedTries(TriesByMask):
    """The tries of an unordered funnel, which begin at the first event of each instant.

    The k-th time of a set of steps is when, from there on, an event matches any of its steps for
    the k-th time. At that time k of these steps are done, unless smaller sets of them have too few
    events.
    """

    def __init__(self, compiler: Compiler, funnel: FunnelSql) -> None:
        super().__init__(compiler, funnel)
        self.groups = group_steps(self.query.steps)
        self.sets = list(dict.fromkeys(sets_to_check(self.groups)))
        self.names = {
            (some, k): f"t{index}_{k}"
            for index, some in enumerate(self.sets)
            for k in range(1, len(some) + 1)
        }

    def tries(self) -> str:
        names = list(self.names.values())
        times = [self.time_of(*key) for key in self.names]
        zeros = ", ".join(["toUInt64(0)"] * (len(names) + 1))
        seen = (
            f"arrayFill(seen -> seen.1 != 0, arrayMap((one, before, {', '.join(names)}) -> "
            f"if(one.1 != before.1, tuple(toUInt64(1), {', '.join(names)}), tuple({zeros})), "
            f"elements, arrayShiftRight(elements, 1), {', '.join(times)}))"
        )
        excluded = [f"x{index}" for index in range(len(self.query.exclusions))]
        arrays = [self.excluded_later(index) for index in range(len(excluded))]
        arguments = ", ".join(["one", "seen", *excluded])
        done = (
            f"arrayMap(({arguments}) -> {self.of_seen(excluded)}, "
            f"{', '.join(['elements', seen, *arrays])})"
        )
        reached = [f"one.1[{number}]" for number in range(1, self.size + 1)]
        later = [f"one.{index + 3}" for index in range(len(excluded))]
        parts = ", ".join(["length(one.1)", "one.2", *reached, *later])
        return self.counted(f"arrayMap(one -> tuple({parts}), {done})")

    def time_of(self, some: tuple[int, ...], k: int) -> str:
        """Return SQL for when, from each element on, any of the steps is matched a k-th time."""
        times = f"arrayMap(one -> if({self.is_any(some)}, one.1, 0), elements)"
        times = f"arrayReverseFill(time -> time != 0, {times})"
        for _ in range(k - 1):
            marked = (
                f"arrayMap((one, time) -> if({self.is_any(some)}, time + 1, 0), elements, "
                f"arrayShiftLeft({times}, 1))"
            )
            times = f"arrayReverseFill(time -> time != 0, {marked})"
            times = f"arrayMap(time -> toUInt64(greatest(time, 1) - 1), {times})"
        return times

    def of_seen(self, excluded: Sequence[str]) -> str:
        """Return SQL for the times of steps in the window, its last instant, and the exclusions."""
        limit = self.limit("one.1")
        all_times = self.done(self.groups)
        done = f"arraySort(arrayFilter(time -> time != 0 AND time <= {limit}, {all_times}))"
        is_step = f"bitAnd(one.3, {steps_mask(self.query)}) != 0 AND one.1 <= {self.funnel.last}"
        times = f"if({is_step}, {done}, emptyArrayUInt64())"
        return f"tuple({', '.join([times, limit, *excluded])})"

    def done(self, groups: Sequence[Nest | Cluster]) -> str:
        """Return SQL for an unsorted array of when each step of these groups is done."""
        times: list[str] = []
        arrays = []
        for group in groups:
            if isinstance(group, Nest) and group.inner:
                arrays.append(self.done_with_inner(group))
            elif isinstance(group, Cluster):
                times += self.done_of_cluster(group)
            else:
                times += [self.time(group.steps, k) for k in range(1, len(group.steps) + 1)]
        return (
            f"arrayConcat([{', '.join(times)}], {', '.join(arrays)})"
            if arrays
            else (f"[{', '.join(times)}]")
        )

    def done_with_inner(self, nest: Nest) -> str:
        """Return SQL for the times of a nest: its own steps take the events left by inner ones."""
        own = ", ".join(self.time(nest.steps, k) for k in range(1, len(nest.steps) + 1))
        first = ", ".join(["toUInt64(0)"] * len(nest.equal))
        inner = f"arraySort(arrayMap({_ENDLESS}, {self.done(nest.inner)}))"
        return (
            f"arrayMap((time, other) -> greatest({_endless('time')}, other), "
            f"[{own}], arrayConcat([{first}], {inner}))"
        )

    def done_of_cluster(self, cluster: Cluster) -> Iterator[str]:
        size = len(cluster.steps)
        for number in range(1, size + 1):
            needed = [
                _endless(self.time(some, number - size + len(some)))
                for some in cluster.unions
                if number - size + len(some) > 0
            ]
            yield f"greatest({', '.join(needed)})" if len(needed) > 1 else needed[0]

    def time(self, some: tuple[int, ...], k: int) -> str:
        """Return SQL for a time in the row that `of_seen` reads."""
        return f"seen.{list(self.names).index((some, k)) + 2}"


def _endless(time: str) -> str:
    return f"if({time} = 0, {_NEVER}, {time})"


_ENDLESS = f"time -> {_endless('time')}"
