"""The report of an import: the outcome of each object."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Result = Literal["created", "updated", "unchanged", "skipped"]
RESULTS: tuple[Result, ...] = ("created", "updated", "unchanged", "skipped")
NAMES_LISTED_MAX = 5


@dataclass(frozen=True, slots=True)
class ObjectOutcome:
    """The outcome of one object, or of several that share it.

    Attributes:
        kind: The kind of the object, for messages.
        why: For an updated object the fields that differ, for a skipped one the reason.
        count: The number of objects that share this outcome.
    """

    kind: str
    name: str
    result: Result
    why: str = ""
    count: int = 1


def ignored(_: ObjectOutcome) -> None:
    pass


@dataclass
class Report:
    """The outcomes of an import.

    Attributes:
        on_outcome: Called with each outcome when it is added, to show progress.
    """

    outcomes: list[ObjectOutcome] = field(default_factory=list)
    on_outcome: Callable[[ObjectOutcome], None] = ignored

    def created(self, kind: str, name: str, count: int = 1) -> None:
        self._add(ObjectOutcome(kind, name, "created", count=count))

    def compared(self, kind: str, name: str, fields: Sequence[str]) -> None:
        """Report an object that exists as updated or unchanged.

        Args:
            fields: The fields that differed and were set; none for an unchanged object.
        """
        result: Result = "updated" if fields else "unchanged"
        self._add(ObjectOutcome(kind, name, result, ", ".join(fields)))

    def unchanged(self, kind: str, name: str, count: int = 1) -> None:
        self._add(ObjectOutcome(kind, name, "unchanged", count=count))

    def skipped(self, kind: str, name: str, why: str, count: int = 1) -> None:
        self._add(ObjectOutcome(kind, name, "skipped", why, count))

    def counts(self) -> Mapping[str, Mapping[Result, int]]:
        """Return the numbers of outcomes by kind, in the order of the first outcome of each."""
        totals: dict[str, Counter[Result]] = {}
        for outcome in self.outcomes:
            totals.setdefault(outcome.kind, Counter())[outcome.result] += outcome.count
        return {kind: {result: of[result] for result in RESULTS} for kind, of in totals.items()}

    def _add(self, outcome: ObjectOutcome) -> None:
        if outcome.count:
            self.outcomes.append(outcome)
            self.on_outcome(outcome)


def listed_names(names: Sequence[str]) -> str:
    """Return the first NAMES_LISTED_MAX names, separated by commas, and how many more there are."""
    listed = ", ".join(names[:NAMES_LISTED_MAX])
    more = len(names) - NAMES_LISTED_MAX
    return f"{listed} and {more} more" if more > 0 else listed
