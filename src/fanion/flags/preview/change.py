"""The effect of changing a flag: the question, how the answer is counted, and the messages.

The messages are exchanged between the server and the process that counts.

Source: flags.md section 6. A person with several distinct ids counts by the first one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from fanion.flags.engine.conditions import Reads, compile_cohort, merge_reads
from fanion.flags.engine.definition import FlagDefinitions, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject

# Up to this number, all persons or groups are evaluated, which takes 1.5 s of CPU time.
EXACT_MAX = 50_000
# Of more persons or groups only a sample is evaluated. A share of one half is at most 0.7 % off, in
# 19 of 20 cases.
SAMPLE = 20_000

# None means that the flag cannot be computed, and clients get no value.
Value = bool | str | None
Transition = tuple[Value, Value, int]


class Version(msgspec.Struct, array_like=True, frozen=True):
    """A flag before or after the change.

    Attributes:
        key: Empty if there is no flag, which is false for everyone.
        definitions: The flag and what it depends on, as JSON, because its numbers have no limit.
    """

    key: str
    definitions: bytes


class Question(msgspec.Struct, array_like=True, frozen=True):
    """A question about the effect of a change.

    Attributes:
        group_type_index: The group type of the flag in both versions; None for persons.
    """

    project_id: int
    saved: Version
    unsaved: Version
    group_type_index: int | None
    now: datetime
    exact_max: int = EXACT_MAX
    sample: int = SAMPLE


class Result(msgspec.Struct, array_like=True, frozen=True):
    """The counted effect of a change.

    Attributes:
        total: Persons of the project, or groups of the type.
        evaluated: How many of them were evaluated.
        transitions: (Value before, value after, number of evaluated subjects).
    """

    total: int
    evaluated: int
    transitions: list[Transition]


class Start(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The first message to the process."""

    records_url: str


class Compute(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A question, sent after the answer to the previous one."""

    question: Question


class Abandon(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The request to abandon the last question, whether or not it is answered by now."""


class Computed(msgspec.Struct, tag=True, array_like=True, frozen=True):
    result: Result


class Failed(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A question that was not answered.

    Attributes:
        kind: "store", "abandoned", or "other" for an unexpected error.
    """

    kind: str
    reason: str = ""


Request = Start | Compute | Abandon
Answer = Computed | Failed

_decode = msgspec.json.Decoder(FlagDefinitions).decode


@dataclass(frozen=True, slots=True)
class Compiled:
    """A version that can be evaluated.

    Attributes:
        flag_set: None if the flag is false for everyone.
    """

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
    """Counters of subjects by their values before and after a change."""

    def __init__(self, saved: Compiled, unsaved: Compiled, now: datetime) -> None:
        self.reads = merge_reads([saved.reads, unsaved.reads])
        self._saved, self._unsaved, self._now = saved, unsaved, now
        self._found: Counter[tuple[Value, Value]] = Counter()

    def count_subjects(self, subjects: Iterable[Subject]) -> None:
        saved, unsaved, now = self._saved, self._unsaved, self._now
        self._found.update(
            (saved.value(subject, now), unsaved.value(subject, now)) for subject in subjects
        )

    @property
    def evaluated(self) -> int:
        return self._found.total()

    def transitions(self) -> list[Transition]:
        return [(before, after, count) for (before, after), count in self._found.items()]


def estimate_total(count: int, result: Result) -> int:
    """Extrapolate a count of evaluated subjects to all subjects."""
    return round(count * result.total / result.evaluated) if result.evaluated else 0


def ordered_transitions(transitions: Sequence[Transition]) -> list[Transition]:
    """Return transitions with changes first, and the most frequent ones first among these."""
    return sorted(
        transitions,
        key=lambda transition: (
            transition[0] == transition[1],
            -transition[2],
            str(transition[0]),
            str(transition[1]),
        ),
    )
