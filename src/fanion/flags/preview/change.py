"""What a change of a flag does to whom: the question, how its answer is counted, and the messages
between the server and the process that counts.

source: flags.md section 6; who has several distinct ids counts by the first one
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from fanion.flags.engine.conditions import Reads, compile_cohort, union
from fanion.flags.engine.definition import FlagDefinitions, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject

# Up to so many persons or groups each one is evaluated: 1.5 s of a processor.
EXACT_MAX = 50_000
# Of more than that, so many. A share of half of them is 0.7 % off at most, 19 times of 20.
SAMPLE = 20_000

# None where a flag cannot be computed: clients get no value.
Value = bool | str | None
Transition = tuple[Value, Value, int]


class Version(msgspec.Struct, array_like=True, frozen=True):
    """A flag as it is, or as it would be. key: "" without a flag, which is false for everyone

    definitions: of the flag and what it depends on, in JSON, whose numbers have no limit
    """

    key: str
    definitions: bytes


class Question(msgspec.Struct, array_like=True, frozen=True):
    """group_type_index: of the flag in both versions; None for persons"""

    project_id: int
    saved: Version
    unsaved: Version
    group_type_index: int | None
    now: datetime
    exact_max: int = EXACT_MAX
    sample: int = SAMPLE


class Result(msgspec.Struct, array_like=True, frozen=True):
    """total:       persons of the project, or groups of the type
    evaluated:   of them
    transitions: from a value to a value, with the number of those that were evaluated
    """

    total: int
    evaluated: int
    transitions: list[Transition]


class Start(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The first message to the process."""

    records_url: str


class Compute(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Comes after the answer to the one before."""

    question: Question


class Abandon(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Of the last question, whether or not it is answered by now."""


class Computed(msgspec.Struct, tag=True, array_like=True, frozen=True):
    result: Result


class Failed(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """kind: "store", "abandoned", or "other" for an unexpected error"""

    kind: str
    reason: str = ""


Request = Start | Compute | Abandon
Answer = Computed | Failed

_decode = msgspec.json.Decoder(FlagDefinitions).decode


@dataclass(frozen=True, slots=True)
class Compiled:
    """A version that can be evaluated. flag_set: None where the flag is false for everyone"""

    key: str
    flag_set: FlagSet | None

    def value(self, subject: Subject, now: datetime) -> Value:
        if self.flag_set is None:
            return False
        decision = evaluate(self.flag_set, subject, now, [self.key]).decisions.get(self.key)
        return None if decision is None else decision.value

    @property
    def reads(self) -> Reads:
        entry = None if self.flag_set is None else self.flag_set.by_key.get(self.key)
        return Reads() if entry is None else entry.reads


def compile_version(version: Version) -> Compiled:
    definitions = _decode(version.definitions)
    flag_set = build_flag_set(
        map(compile_flag, definitions.flags),
        definitions.group_types,
        map(compile_cohort, definitions.cohorts),
    )
    flag = flag_set.flags.get(version.key)
    return Compiled(version.key, flag_set if flag is not None and flag.active else None)


class TransitionCount:
    """Counts subjects by what they get before a change and after it."""

    def __init__(self, saved: Compiled, unsaved: Compiled, now: datetime) -> None:
        self.reads = union([saved.reads, unsaved.reads])
        self._saved, self._unsaved, self._now = saved, unsaved, now
        self._found: Counter[tuple[Value, Value]] = Counter()

    def add(self, subjects: Iterable[Subject]) -> None:
        saved, unsaved, now = self._saved, self._unsaved, self._now
        self._found.update((saved.value(one, now), unsaved.value(one, now)) for one in subjects)

    @property
    def evaluated(self) -> int:
        return self._found.total()

    def transitions(self) -> list[Transition]:
        return [(before, after, count) for (before, after), count in self._found.items()]


def estimate(count: int, result: Result) -> int:
    """Of all, by what was counted of those that were evaluated."""
    return round(count * result.total / result.evaluated) if result.evaluated else 0


def ordered(transitions: Sequence[Transition]) -> list[Transition]:
    """Changes first, the most frequent first."""
    return sorted(
        transitions, key=lambda one: (one[0] == one[1], -one[2], str(one[0]), str(one[1]))
    )
