"""What an import has done, or would do, told thing by thing."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Result = Literal["created", "updated", "unchanged", "skipped"]
RESULTS: tuple[Result, ...] = ("created", "updated", "unchanged", "skipped")
NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """kind:  what kind of thing, as people call it
    why:   of one that is updated the fields that differ, of one that is skipped the reason
    count: for many things that are told together
    """

    kind: str
    name: str
    result: Result
    why: str = ""
    count: int = 1


def untold(_: Outcome) -> None:
    pass


@dataclass
class Report:
    """told: is told of each outcome at once, to show progress"""

    outcomes: list[Outcome] = field(default_factory=list)
    told: Callable[[Outcome], None] = untold

    def created(self, kind: str, name: str, count: int = 1) -> None:
        self._add(Outcome(kind, name, "created", count=count))

    def compared(self, kind: str, name: str, fields: Sequence[str]) -> None:
        """fields: that differed and were set"""
        result: Result = "updated" if fields else "unchanged"
        self._add(Outcome(kind, name, result, ", ".join(fields)))

    def unchanged(self, kind: str, name: str, count: int = 1) -> None:
        self._add(Outcome(kind, name, "unchanged", count=count))

    def skipped(self, kind: str, name: str, why: str, count: int = 1) -> None:
        self._add(Outcome(kind, name, "skipped", why, count))

    def counts(self) -> Mapping[str, Mapping[Result, int]]:
        """By kind, in the order in which the kinds came."""
        found: dict[str, Counter[Result]] = {}
        for one in self.outcomes:
            found.setdefault(one.kind, Counter())[one.result] += one.count
        return {kind: {result: of[result] for result in RESULTS} for kind, of in found.items()}

    def _add(self, outcome: Outcome) -> None:
        if outcome.count:
            self.outcomes.append(outcome)
            self.told(outcome)


def some(names: Sequence[str]) -> str:
    """The first of them, for people."""
    shown = ", ".join(names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
