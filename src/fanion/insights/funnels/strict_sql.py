"""The tries of a strict funnel.

Source: insights.md, section 5b.
"""

from collections.abc import Sequence

from fanion.insights.funnels.tries_sql import TriesByMask


class StrictTries(TriesByMask):
    """The tries of a strict funnel: its steps are consecutive elements.

    They are found by shifting the array of elements by 1, 2 and so on.
    """

    def tries(self) -> str:
        shifted = [f"arrayShiftLeft(elements, {number})" for number in range(1, self.size)]
        later = [
            f"arrayShiftLeft({self.excluded_later(index)}, {exclusion.from_step})"
            for index, exclusion in enumerate(self.query.exclusions)
        ]
        names = [f"e{number}" for number in range(self.size)]
        excluded = [f"x{index}" for index in range(len(later))]
        arguments = ", ".join([*names, *excluded])
        arrays = ", ".join(["elements", *shifted, *later])
        begun = self.of_elements(names, excluded)
        return self.counted(f"arrayMap(({arguments}) -> {begun}, {arrays})")

    def of_elements(self, names: Sequence[str], excluded: Sequence[str]) -> str:
        times = [f"{name}.1" for name in names]
        limit = self.limit(times[0])
        ends = [str(self.funnel.last), *[limit] * (self.size - 1)]
        tests = [
            f"({self.is_bit(number, name)} AND {name}.1 <= {end})"
            for number, (name, end) in enumerate(zip(names, ends, strict=True))
        ]
        level = f"arrayFirstIndex(is_next -> NOT is_next, [{', '.join([*tests, '0'])}]) - 1"
        value = [f"{names[self.query.attribution_step]}.4"] if self.with_value else []
        return f"tuple({', '.join([level, limit, *times, *excluded, *value])})"
