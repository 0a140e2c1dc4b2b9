"""What changes when a cohort's members become others: two sorted lists, walked once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Differences:
    """wanted: all members from now on, as UUID bytes, ascending

    `walk` takes the members until now, batch after batch in the same order; what it returns
    are the numbers of those that are members no longer. `added` are the new ones so far.
    """

    wanted: Sequence[bytes]
    added: list[bytes] = field(default_factory=list)
    _place: int = 0

    def walk(self, held: Iterable[tuple[bytes, int]]) -> list[int]:
        """held: UUID as bytes, and the number under which the member is stored"""
        wanted, place, end = self.wanted, self._place, len(self.wanted)
        gone: list[int] = []
        for member, number in held:
            while place < end and wanted[place] < member:
                self.added.append(wanted[place])
                place += 1
            if place < end and wanted[place] == member:
                place += 1
            else:
                gone.append(number)
        self._place = place
        return gone

    def rest(self) -> None:
        """No more members of before: what was not met is new."""
        self.added.extend(self.wanted[self._place :])
        self._place = len(self.wanted)
