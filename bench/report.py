"""The report of a benchmark: our figure, a floor measured in the same run, and their ratio."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter_ns


@dataclass(frozen=True, slots=True)
class Row:
    """One figure beside its floor.

    Attributes:
        ratio: How many times better than the floor; passes from `target` on.
    """

    case: str
    ours: str
    floor: str
    ratio: float
    target: float

    @property
    def passed(self) -> bool:
        return self.ratio >= self.target


def best_ns(run: Callable[[], object], rounds: int = 7, calls: int = 50) -> float:
    """Return the time per call of the fastest round, in which the machine was disturbed least."""
    best = float("inf")
    for _ in range(rounds):
        start = perf_counter_ns()
        for _ in range(calls):
            run()
        best = min(best, (perf_counter_ns() - start) / calls)
    return best


def show(rows: Iterable[Row]) -> None:
    lines = [f"{'case':44} {'ours':>14} {'floor':>14} {'ratio':>7} {'target':>7}"]
    lines += [
        f"{row.case:44} {row.ours:>14} {row.floor:>14} {row.ratio:>7.2f} {row.target:>7.2f}"
        f"{'' if row.passed else '  MISSED'}"
        for row in rows
    ]
    print("\n".join(lines))
