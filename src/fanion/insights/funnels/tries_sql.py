"""The tries of each actor: one for every event with which a funnel can begin.

A try is `(level, t1, …, tn)`: how many steps it reached and when, 0 for steps that it did not
reach; with attribution by `step`, `(level, t1, …, tn, value)`. Tries in which an excluded event
happened are left out.

All is computed with functions that read an array once, however long it is: `arrayReverseFill`
gives every element what comes next. A lambda that searched the array for each element would take
the square of its length, in time and in memory.

source: insights.md sections 5a to 5d
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence

from fanion.insights.funnels.elements_sql import TICKS, FunnelSql, ranks, steps_mask
from fanion.insights.funnels.query import Window
from fanion.insights.funnels.steps import copies_before
from fanion.insights.sql.compiler import Compiler
from fanion.properties.bindings import micros

_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 7 * 86_400}
_MICROS = 1_000_000


def tries(compiler: Compiler, asked: FunnelSql) -> str:
    """An expression over `elements`."""
    builders: Mapping[str, Callable[[Compiler, FunnelSql], _Tries]] = {
        "ordered": _Ordered,
        "strict": _Strict,
        "unordered": _Unordered,
    }
    return builders[asked.query.order](compiler, asked).tries()


def window_end(compiler: Compiler, asked: FunnelSql, start: str) -> str:
    """The last instant of the window of a try. start: when it began, as elements have it"""
    window: Window = asked.query.window
    if window.unit != "month":
        return f"({start} + {window.number * _SECONDS[window.unit] * _MICROS})"
    origin = compiler.bindings.add(micros(asked.span.start) - 1, "Int64")
    moment = f"fromUnixTimestamp64Micro(toInt64({start}) + {origin}, 'UTC')"
    later = f"addMonths({moment}, {window.number})"
    return f"toUInt64(toUnixTimestamp64Micro({later}) - {origin})"


class _Tries(ABC):
    """size: of the steps; with_value: a try has the value of the event of one step"""

    def __init__(self, compiler: Compiler, asked: FunnelSql) -> None:
        self.compiler = compiler
        self.asked = asked
        self.query = asked.query
        self.size = len(asked.query.steps)
        self.with_value = asked.valued_tries

    @abstractmethod
    def tries(self) -> str: ...

    def limit(self, start: str) -> str:
        return window_end(self.compiler, self.asked, start)

    def counted(self, made: str) -> str:
        """made: an array of `(level, last instant, t1, …, tn, x1, …, xm)`, and the value where it
        is wanted. x: when each exclusion came after its first step, 0 for never
        """
        times = [f"one.{place}" for place in range(3, self.size + 3)]
        found = [f"one.{place + self.size + 3}" for place in range(len(self.query.exclusions))]
        happened = [
            f"(one.1 > {each.from_step} AND {x} != 0 "
            f"AND {x} < if(one.1 > {each.to_step}, {times[each.to_step]}, one.2))"
            for each, x in zip(self.query.exclusions, found, strict=True)
        ]
        level = f"if({' OR '.join(happened)}, 0, one.1)" if happened else "one.1"
        reached = [f"if(one.1 > {number}, {time}, 0)" for number, time in enumerate(times)]
        value = [f"one.{self.size + len(found) + 3}"] if self.with_value else []
        parts = ", ".join([f"toUInt8({level})", *reached, *value])
        return f"arrayFilter(try -> try.1 != 0, arrayMap(one -> tuple({parts}), {made}))"


class _Ordered(_Tries):
    """Each step of a try is the first that can follow; what lies beyond the window is cut off.

    A chain is a tuple of the times from one step to the last, behind each time those of the
    exclusions that begin with its step, and the value where it is wanted.
    """

    def tries(self) -> str:
        self.ranks = ranks(self.query.steps, len(self.query.exclusions))
        chain, width = "", 0
        for number in reversed(range(self.size)):
            chain, width = self.chain(number, chain, width)
        begun = f"arrayFilter(chain -> chain.1 != 0, {chain})"
        return self.counted(f"arrayMap(chain -> {self.of_chain()}, {begun})")

    def chain(self, number: int, rest: str, width: int) -> tuple[str, int]:
        """rest: the chains from the next step on, of `width` parts"""
        excluded = self.beginning(number)
        is_valued = self.with_value and number == self.query.attribution_step
        names = [f"x{place}" for place in excluded]
        own = ["bitShiftRight(one.1, 6)", *names, *(["one.3"] if is_valued else [])]
        parts = [*own, *(f"rest.{place}" for place in range(1, width + 1))]
        zeros = ["toUInt64(0)"] * (1 + len(names)) + (["''"] if is_valued else [])
        values = self.value_places(number + 1)
        zeros += ["''" if place in values else "toUInt64(0)" for place in range(width)]
        arrays = ["elements", *(self.next_excluded(place) for place in excluded)]
        arrays += [rest] if width else []
        arguments = ["one", *names, *(["rest"] if width else [])]
        made = (
            f"arrayMap(({', '.join(arguments)}) -> if({self.is_rank(self.ranks[number])}, "
            f"tuple({', '.join(parts)}), tuple({', '.join(zeros)})), {', '.join(arrays)})"
        )
        filled = f"arrayReverseFill(chain -> chain.1 != 0, {made})" if number else made
        return filled, len(parts)

    def beginning(self, number: int) -> list[int]:
        found = enumerate(self.query.exclusions)
        return [place for place, one in found if one.from_step == number]

    def is_rank(self, rank: int) -> str:
        return f"bitAnd(one.1, {TICKS - 1}) = {rank}"

    def next_excluded(self, place: int) -> str:
        rank = self.ranks[self.size + place]
        made = f"arrayMap(one -> if({self.is_rank(rank)}, bitShiftRight(one.1, 6), 0), elements)"
        return f"arrayReverseFill(x -> x != 0, {made})"

    def places(self, first: int = 0) -> Iterator[tuple[str, int]]:
        """What the parts of a chain are: a step's time, an exclusion's, or a value."""
        for number in range(first, self.size):
            yield "time", number
            for place in self.beginning(number):
                yield "excluded", place
            if self.with_value and number == self.query.attribution_step:
                yield "value", number

    def value_places(self, first: int) -> set[int]:
        return {at for at, (kind, _) in enumerate(self.places(first)) if kind == "value"}

    def of_chain(self) -> str:
        at = {part: f"chain.{place}" for place, part in enumerate(self.places(), 1)}
        times = [at["time", number] for number in range(self.size)]
        found = [at["excluded", place] for place in range(len(self.query.exclusions))]
        value = [at["value", self.query.attribution_step]] if self.with_value else []
        limit = self.limit(times[0])
        level = f"arrayCount(time -> time != 0 AND time <= {limit}, [{', '.join(times)}])"
        return f"tuple({', '.join([level, limit, *times, *found, *value])})"


class _ByMask(_Tries):
    """Of elements that are events, with a bit for each step and exclusion."""

    def is_bit(self, number: int, element: str = "one") -> str:
        return f"bitAnd({element}.3, {1 << number}) != 0"

    def excluded_later(self, place: int) -> str:
        """For each element, when an excluded event comes at a later instant; 0 for never."""
        is_excluded = self.is_bit(self.size + place)
        next_one = (
            f"arrayReverseFill(x -> x != 0, arrayMap(one -> if({is_excluded}, one.1, 0), elements))"
        )
        marked = (
            "arrayMap((x, one, then) -> if(then.1 != one.1, x + 1, 0), "
            f"arrayShiftLeft({next_one}, 1), elements, arrayShiftLeft(elements, 1))"
        )
        return f"arrayMap(x -> x - 1, arrayReverseFill(x -> x != 0, {marked}))"


class _Strict(_ByMask):
    """The steps are elements that follow one another: the array shifted by 1, 2, …"""

    def tries(self) -> str:
        shifted = [f"arrayShiftLeft(elements, {number})" for number in range(1, self.size)]
        later = [
            f"arrayShiftLeft({self.excluded_later(place)}, {one.from_step})"
            for place, one in enumerate(self.query.exclusions)
        ]
        names = [f"e{number}" for number in range(self.size)]
        excluded = [f"x{place}" for place in range(len(later))]
        arguments = ", ".join([*names, *excluded])
        arrays = ", ".join(["elements", *shifted, *later])
        begun = self.of_elements(names, excluded)
        return self.counted(f"arrayMap(({arguments}) -> {begun}, {arrays})")

    def of_elements(self, names: Sequence[str], excluded: Sequence[str]) -> str:
        times = [f"{name}.1" for name in names]
        limit = self.limit(times[0])
        tests = [
            f"({self.is_bit(number, name)} AND {name}.1 <= {limit})"
            for number, name in enumerate(names)
        ]
        level = f"arrayFirstIndex(is_next -> NOT is_next, [{', '.join([*tests, '0'])}]) - 1"
        value = [f"{names[self.query.attribution_step]}.4"] if self.with_value else []
        return f"tuple({', '.join([level, limit, *times, *excluded, *value])})"


class _Unordered(_ByMask):
    """When each step comes next, seen from the first event of each instant."""

    def tries(self) -> str:
        names = [f"t{number}" for number in range(self.size)]
        steps = [self.step_after(number) for number in range(self.size)]
        zeros = ", ".join(["toUInt64(0)"] * (self.size + 1))
        seen = (
            f"arrayFill(seen -> seen.1 != 0, arrayMap((one, before, {', '.join(names)}) -> "
            f"if(one.1 != before.1, tuple(toUInt64(1), {', '.join(names)}), tuple({zeros})), "
            f"elements, arrayShiftRight(elements, 1), {', '.join(steps)}))"
        )
        excluded = [f"x{place}" for place in range(len(self.query.exclusions))]
        arrays = [self.excluded_later(place) for place in range(len(excluded))]
        arguments = ", ".join(["one", "seen", *excluded])
        done = (
            f"arrayMap(({arguments}) -> {self.of_seen(excluded)}, "
            f"{', '.join(['elements', seen, *arrays])})"
        )
        times = [f"one.1[{number}]" for number in range(1, self.size + 1)]
        later = [f"one.{place + 3}" for place in range(len(excluded))]
        parts = ", ".join(["length(one.1)", "one.2", *times, *later])
        return self.counted(f"arrayMap(one -> tuple({parts}), {done})")

    def step_after(self, number: int) -> str:
        """An equal step further on needs another event for each of those before it."""
        found = f"arrayMap(one -> if({self.is_bit(number)}, one.1, 0), elements)"
        found = f"arrayReverseFill(time -> time != 0, {found})"
        for _ in range(copies_before(self.query.steps, number)):
            marked = (
                f"arrayMap((one, time) -> if({self.is_bit(number)}, time + 1, 0), elements, "
                f"arrayShiftLeft({found}, 1))"
            )
            found = f"arrayReverseFill(time -> time != 0, {marked})"
            found = f"arrayMap(time -> toUInt64(greatest(time, 1) - 1), {found})"
        return found

    def of_seen(self, excluded: Sequence[str]) -> str:
        """The times of the steps within the window, the last instant, the exclusions."""
        limit = self.limit("one.1")
        all_times = ", ".join(f"seen.{place}" for place in range(2, self.size + 2))
        done = f"arraySort(arrayFilter(time -> time != 0 AND time <= {limit}, [{all_times}]))"
        is_step = f"bitAnd(one.3, {steps_mask(self.query)}) != 0"
        found = f"if({is_step}, {done}, emptyArrayUInt64())"
        return f"tuple({', '.join([found, limit, *excluded])})"
