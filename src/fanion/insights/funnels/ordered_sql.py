"""The tries of an ordered funnel.

Source: insights.md, section 5a.
"""

from collections.abc import Iterator

from fanion.insights.funnels.elements_sql import TICKS, FunnelSql, ranks_of
from fanion.insights.funnels.tries_sql import Tries
from fanion.insights.sql.compiler import Compiler


class OrderedTries(Tries):
    """The tries of an ordered funnel, each step the first event that can follow the previous one.

    What lies beyond the window is cut off. A chain is a tuple of the times from one step to the
    last. Each time is followed by the times of the exclusions and optional steps that begin with
    its step, and by the value of the breakdown if this step gives it.

    Args:
        array: The column of elements. If an event can match several steps, events of one instant
            must be laid out as `OverlappingTries` does.

    Attributes:
        tick: SQL for the tick of an element.
    """

    tick = "one.1"

    def __init__(self, compiler: Compiler, funnel: FunnelSql, array: str = "elements") -> None:
        super().__init__(compiler, funnel)
        self.array = array
        self.ranks = ranks_of(self.query)

    def tries(self) -> str:
        chain, width = "", 0
        for number in reversed(range(self.size)):
            chain, width = self.chain(number, chain, width)
        begun = f"arrayFilter(chain -> {self.is_begun()}, {chain})"
        return self.of_chains(begun)

    def of_chains(self, chains: str) -> str:
        """Return SQL for the tries of an array of chains that have all steps."""
        return self.counted(f"arrayMap(chain -> {self.of_chain()}, {chains})")

    def is_begun(self) -> str:
        return f"chain.1 != 0 AND chain.1 <= {self.funnel.last}"

    def chain(self, number: int, rest: str, width: int) -> tuple[str, int]:
        """Return SQL for the chains from a step on, and the number of parts of a chain.

        Args:
            rest: The chains from the next step on, with `width` parts each.
        """
        later = self.beginning(number)
        is_valued = self.with_value and number == self.query.attribution_step
        names = [f"x{index}" for index in later]
        own = [self.time(), *names, *(["one.3"] if is_valued else [])]
        parts = [*own, *(f"rest.{index}" for index in range(1, width + 1))]
        arrays = [self.array, *(self.next_of(index) for index in later)]
        arrays += [rest] if width else []
        arguments = ["one", *names, *(["rest"] if width else [])]
        made = (
            f"arrayMap(({', '.join(arguments)}) -> if({self.is_rank(self.ranks[number])}, "
            f"tuple({', '.join(parts)}), {self.no_chain(number)}), {', '.join(arrays)})"
        )
        filled = f"arrayReverseFill(chain -> chain.1 != 0, {made})" if number else made
        return filled, len(parts)

    def no_chain(self, number: int) -> str:
        zeros = {"value": "''"}
        parts = (zeros.get(kind, "toUInt64(0)") for kind, _ in self.places(number))
        return f"tuple({', '.join(parts)})"

    def beginning(self, number: int) -> list[int]:
        """Return the places, in one list, of the exclusions and optional steps after a step."""
        starts = [exclusion.from_step for exclusion in self.query.exclusions]
        starts += [optional.after for optional in self.query.optional]
        return [index for index, start in enumerate(starts) if start == number]

    def is_rank(self, rank: int) -> str:
        return f"bitAnd({self.tick}, {TICKS - 1}) = {rank}"

    def time(self) -> str:
        return f"bitShiftRight({self.tick}, 6)"

    def next_of(self, index: int) -> str:
        rank = self.ranks[self.size + index]
        made = f"arrayMap(one -> if({self.is_rank(rank)}, {self.time()}, 0), {self.array})"
        return f"arrayReverseFill(x -> x != 0, {made})"

    def places(self, first: int = 0) -> Iterator[tuple[str, int]]:
        """Yield what the parts of a chain are: when a step or what follows came, or a value."""
        for number in range(first, self.size):
            yield "time", number
            for index in self.beginning(number):
                yield "later", index
            if self.with_value and number == self.query.attribution_step:
                yield "value", number

    def of_chain(self) -> str:
        at = {part: f"chain.{index}" for index, part in enumerate(self.places(), 1)}
        times = [at["time", number] for number in range(self.size)]
        count = len(self.query.exclusions) + len(self.query.optional)
        later = [at["later", index] for index in range(count)]
        value = [at["value", self.query.attribution_step]] if self.with_value else []
        limit = self.limit(times[0])
        level = f"arrayCount(time -> time != 0 AND time <= {limit}, [{', '.join(times)}])"
        return f"tuple({', '.join([level, limit, *times, *later, *value])})"
