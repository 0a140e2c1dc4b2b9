"""The tries of an ordered funnel.

Source: insights.md, section 5a.
"""

from collections.abc import Iterator

from fanion.insights.funnels.elements_sql import TICKS, FunnelSql, step_ranks
from fanion.insights.funnels.tries_sql import Tries
from fanion.insights.sql.compiler import Compiler


class OrderedTries(Tries):
    """The tries of an ordered funnel, each step the first event that can follow the previous one.

    What lies beyond the window is cut off. A chain is a tuple of the times from one step to the
    last. Each time is followed by the times of the exclusions that begin with its step, and by the
    value of the breakdown if this step gives it.

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
        self.ranks = step_ranks(self.query.steps, len(self.query.exclusions))

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
        excluded = self.beginning(number)
        is_valued = self.with_value and number == self.query.attribution_step
        names = [f"x{index}" for index in excluded]
        own = [self.time(), *names, *(["one.3"] if is_valued else [])]
        parts = [*own, *(f"rest.{index}" for index in range(1, width + 1))]
        arrays = [self.array, *(self.next_excluded(index) for index in excluded)]
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
        exclusions = enumerate(self.query.exclusions)
        return [index for index, exclusion in exclusions if exclusion.from_step == number]

    def is_rank(self, rank: int) -> str:
        return f"bitAnd({self.tick}, {TICKS - 1}) = {rank}"

    def time(self) -> str:
        return f"bitShiftRight({self.tick}, 6)"

    def next_excluded(self, exclusion: int) -> str:
        rank = self.ranks[self.size + exclusion]
        made = f"arrayMap(one -> if({self.is_rank(rank)}, {self.time()}, 0), {self.array})"
        return f"arrayReverseFill(x -> x != 0, {made})"

    def places(self, first: int = 0) -> Iterator[tuple[str, int]]:
        """Yield what the parts of a chain are: the time of a step or exclusion, or a value."""
        for number in range(first, self.size):
            yield "time", number
            for exclusion in self.beginning(number):
                yield "excluded", exclusion
            if self.with_value and number == self.query.attribution_step:
                yield "value", number

    def of_chain(self) -> str:
        at = {part: f"chain.{index}" for index, part in enumerate(self.places(), 1)}
        times = [at["time", number] for number in range(self.size)]
        excluded = [at["excluded", index] for index in range(len(self.query.exclusions))]
        value = [at["value", self.query.attribution_step]] if self.with_value else []
        limit = self.limit(times[0])
        level = f"arrayCount(time -> time != 0 AND time <= {limit}, [{', '.join(times)}])"
        return f"tuple({', '.join([level, limit, *times, *excluded, *value])})"
