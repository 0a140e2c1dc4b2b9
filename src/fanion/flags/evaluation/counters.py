"""How often each flag was answered with which value, counted where flags are answered.

Counting takes about 100 ns a flag. So each stretch of time between two takings counts a number
of answers exactly, and of further requests one in SAMPLE_EVERY, which then counts for all.
"""

from collections.abc import Callable, Mapping

from fanion.flags.engine.decision import Decision

# Answers, one for each flag of a request: exact where a server is not busy.
EXACT_MAX = 60_000
SAMPLE_EVERY = 16

# (flag key, value) → evaluations
ByAnswer = dict[tuple[str, bool | str], int]


class EvaluationCounts:
    """chance: a number in [0, 1), every time another. Bounded by the flags that there are."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self._exact_left = EXACT_MAX
        self._by_project: dict[int, ByAnswer] = {}

    def add(self, project_id: int, decisions: Mapping[str, Decision]) -> None:
        """Of one request."""
        times = 1
        if self._exact_left > 0:
            self._exact_left -= len(decisions)
        elif self._chance() * SAMPLE_EVERY >= 1:
            return
        else:
            times = SAMPLE_EVERY
        counts = self._by_project.get(project_id)
        if counts is None:
            counts = self._by_project[project_id] = {}
        for key, decision in decisions.items():
            answer = key, decision.value
            counts[answer] = counts.get(answer, 0) + times

    def take(self) -> Mapping[int, ByAnswer]:
        """By project what was counted since the last taking; counting begins anew."""
        taken, self._by_project = self._by_project, {}
        self._exact_left = EXACT_MAX
        return taken

    def put_back(self, taken: Mapping[int, ByAnswer]) -> None:
        """What could not be kept counts the next time."""
        for project_id, counts in taken.items():
            now = self._by_project.setdefault(project_id, {})
            for answer, times in counts.items():
                now[answer] = now.get(answer, 0) + times


def uncounted(project_id: int, decisions: Mapping[str, Decision]) -> None:
    """Where nobody asks how often."""
