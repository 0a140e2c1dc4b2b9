"""The tries of each actor: one for every event in the range with which a funnel can begin.

A try is `(level, t1, …, tn, o1, …, ok)`: how many steps it reached and when, with 0 for steps that
it did not reach, and when it did each optional step, with 0 for never. With attribution by `step`
it is `(level, t1, …, tn, o1, …, ok, value)`. Tries in which an excluded event happened are left
out.

An optional step is done by its first event between the required step before it and the next one. If
an optional step that comes later is done before that event, the try has gone past this one.

Everything is computed with functions that read an array once, however long it is:
`arrayReverseFill` gives every element what comes next. A lambda that searched the array for each
element would take time and memory in the square of its length.

Source: insights.md, sections 5a to 5d.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from fanion.insights.funnels.elements_sql import FunnelSql
from fanion.insights.funnels.parts import Window
from fanion.insights.sql.compiler import Compiler
from fanion.properties.bindings import micros

_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 7 * 86_400}
_MICROS = 1_000_000


def window_end(compiler: Compiler, funnel: FunnelSql, start: str) -> str:
    """Return SQL for the last instant of the window of a try.

    Args:
        start: When the try began, on the scale of `at` in elements.
    """
    window: Window = funnel.query.window
    if window.unit != "month":
        return f"({start} + {window.number * _SECONDS[window.unit] * _MICROS})"
    origin = compiler.bindings.add(micros(funnel.span.start) - 1, "Int64")
    moment = f"fromUnixTimestamp64Micro(toInt64({start}) + {origin}, 'UTC')"
    later = f"addMonths({moment}, {window.number})"
    return f"toUInt64(toUnixTimestamp64Micro({later}) - {origin})"


class Tries(ABC):
    """The tries of one order of steps.

    Attributes:
        size: The number of steps.
        with_value: Whether a try has the value of the event of one step.
    """

    def __init__(self, compiler: Compiler, funnel: FunnelSql) -> None:
        self.compiler = compiler
        self.funnel = funnel
        self.query = funnel.query
        self.size = len(funnel.query.steps)
        self.with_value = funnel.valued_tries

    @abstractmethod
    def tries(self) -> str:
        """Return SQL for the array of tries, over the rows of `source`."""

    def source(self, elements: str) -> str:
        """Return a statement that adds what `tries` needs to the rows of `elements`."""
        return elements

    def limit(self, start: str) -> str:
        return window_end(self.compiler, self.funnel, start)

    def counted(self, made: str) -> str:
        """Return SQL for the tries that no exclusion removes.

        Args:
            made: An array of `(level, last instant, t1, …, tn, x1, …, xm, o1, …, ok)`, followed by
                the value if tries have one. Each x says when an exclusion came after its first
                step, and each o when an event of an optional step came after the required step
                before it, 0 for never.
        """
        times = [f"one.{index}" for index in range(3, self.size + 3)]
        excluded = [f"one.{index + self.size + 3}" for index in range(len(self.query.exclusions))]
        happened = [
            f"(one.1 > {each.from_step} AND {x} != 0 "
            f"AND {x} < if(one.1 > {each.to_step}, {times[each.to_step]}, one.2))"
            for each, x in zip(self.query.exclusions, excluded, strict=True)
        ]
        level = f"if({' OR '.join(happened)}, 0, one.1)" if happened else "one.1"
        reached = [f"if(one.1 > {number}, {time}, 0)" for number, time in enumerate(times)]
        place = self.size + len(excluded) + 3
        later = [f"one.{place + index}" for index in range(len(self.query.optional))]
        done = [self.done_at(index, times, later) for index in range(len(later))]
        value = [f"one.{place + len(later)}"] if self.with_value else []
        parts = ", ".join([f"toUInt8({level})", *reached, *done, *value])
        return f"arrayFilter(try -> try.1 != 0, arrayMap(one -> tuple({parts}), {made}))"

    def done_at(self, index: int, times: Sequence[str], later: Sequence[str]) -> str:
        """Return SQL for when a try of `counted` did an optional step, 0 for never."""
        own = later[index]
        passed = [
            f"NOT ({self.is_between(other, times, later[other])} "
            f"AND {later[other]} {'<=' if is_shared else '<'} {own})"
            for other, is_shared in self.query.optional[index].blockers
        ]
        conditions = " AND ".join([self.is_between(index, times, own), *passed])
        return f"if({conditions}, {own}, 0)"

    def is_between(self, index: int, times: Sequence[str], time: str) -> str:
        """Return the condition that an optional step came before the next required step."""
        step = self.query.optional[index]
        following = step.after + 1
        until = f"{time} <= one.2"
        if following < self.size:
            before = f"{time} {'<' if step.is_apart else '<='} {times[following]}"
            until = f"if(one.1 > {following}, {before}, {until})"
        return f"(one.1 > {step.after} AND {time} != 0 AND {until})"


class TriesByMask(Tries):
    """Tries of elements that are events, with a bit for each step and exclusion."""

    def is_bit(self, number: int, element: str = "one") -> str:
        return self.is_any((number,), element)

    def is_any(self, numbers: Sequence[int], element: str = "one") -> str:
        return f"bitAnd({element}.3, {sum(1 << number for number in set(numbers))}) != 0"

    def excluded_later(self, exclusion: int) -> str:
        """Return SQL for when an excluded event comes after the instant of each element, or 0."""
        is_excluded = self.is_bit(self.size + exclusion)
        next_one = (
            f"arrayReverseFill(x -> x != 0, arrayMap(one -> if({is_excluded}, one.1, 0), elements))"
        )
        marked = (
            "arrayMap((x, one, then) -> if(then.1 != one.1, x + 1, 0), "
            f"arrayShiftLeft({next_one}, 1), elements, arrayShiftLeft(elements, 1))"
        )
        return f"arrayMap(x -> x - 1, arrayReverseFill(x -> x != 0, {marked}))"
