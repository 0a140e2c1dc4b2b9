"""One evaluation from request to result: flags from memory, missing values from the stores.

Also counts how often each flag was evaluated to which value.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter

from msgspec import Struct
from msgspec.structs import replace

from fanion.db.engine import RecordsUnavailable
from fanion.errors import Unavailable
from fanion.flags.engine.evaluate import NOTHING, Needs, evaluate, find_needs
from fanion.flags.engine.model import Decision, Evaluation, Subject
from fanion.flags.evaluation.cache import ANSWERED_ON_LOOP_MAX, CompiledFlags, FlagSets
from fanion.flags.evaluation.request import FlagRequest, visible_keys
from fanion.flags.evaluation.subject_store import SubjectStore
from fanion.observability.metrics import HotHistogram

# Decisions counted exactly between two writes, enough for a server that is not busy.
EXACT_MAX = 60_000
SAMPLE_EVERY = 16

# The flags that were evaluated, and the result.
Evaluated = tuple[CompiledFlags, Evaluation]
# (flag key, value) → evaluations
ByAnswer = dict[tuple[str, bool | str], int]


class EvaluationCounters:
    """Counters in memory, bounded by EXACT_MAX and by the number of flags.

    Counting takes about 40 ns per flag. So between two writes a limited number of evaluations is
    counted exactly; of further requests, one in SAMPLE_EVERY is counted for all of them.
    """

    def __init__(self, chance: Callable[[], float]) -> None:
        """Create counters.

        Args:
            chance: Returns a random number in [0, 1).
        """
        self._chance = chance
        self._exact_left = EXACT_MAX
        # Looking a decision up takes a third of the time of its key and value.
        self._by_project: dict[int, defaultdict[Decision, int]] = {}
        self._unstored: dict[int, ByAnswer] = {}

    def count_decisions(self, project_id: int, decisions: Mapping[str, Decision]) -> None:
        """Count the decisions of one request."""
        times = 1
        if self._exact_left > 0:
            self._exact_left -= len(decisions)
        elif self._chance() * SAMPLE_EVERY >= 1:
            return
        else:
            times = SAMPLE_EVERY
        counts = self._by_project.get(project_id)
        if counts is None:
            counts = self._by_project[project_id] = defaultdict(int)
        for decision in decisions.values():
            counts[decision] += times

    def take_counts(self) -> Mapping[int, ByAnswer]:
        """Return the counts since the last call, by project."""
        counted, self._by_project = self._by_project, {}
        taken, self._unstored = self._unstored, {}
        self._exact_left = EXACT_MAX
        for project_id, counts in counted.items():
            by_answer = taken.setdefault(project_id, {})
            for decision, times in counts.items():
                _add(by_answer, (decision.key, decision.value), times)
        return taken

    def put_back(self, counts_by_project: Mapping[int, ByAnswer]) -> None:
        """Add counts that could not be stored to the next ones."""
        for project_id, counts in counts_by_project.items():
            unstored = self._unstored.setdefault(project_id, {})
            for answer, times in counts.items():
                _add(unstored, answer, times)


def _add(counts: ByAnswer, answer: tuple[str, bool | str], times: int) -> None:
    counts[answer] = counts.get(answer, 0) + times


class PreparedEvaluation(Struct, frozen=True, gc=False):
    """An evaluation whose flags and needs are known.

    Attributes:
        keys: The flags to evaluate; None for all.
        missing: What has to be read first.
        anon_distinct_id: The distinct id from before the login, if flags keep hashing it.
        in_thread: Whether it takes more than a few milliseconds.
    """

    project_id: int
    built: CompiledFlags
    subject: Subject
    keys: tuple[str, ...] | None
    missing: Needs
    anon_distinct_id: str | None
    in_thread: bool

    @property
    def has_to_read(self) -> bool:
        return self.missing is not NOTHING or self.anon_distinct_id is not None


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Evaluates flags for requests.

    Attributes:
        seconds: Observed once per evaluation, without the reads.
        counters: Evaluations for clients of the public API.
    """

    flag_sets: FlagSets
    subjects: SubjectStore
    now: Callable[[], datetime]
    seconds: HotHistogram
    counters: EvaluationCounters

    async def answer(
        self, project_id: int, flag_request: FlagRequest, *, with_inactive: bool = False
    ) -> Evaluated:
        """Evaluate a request of a client of the public API, and count it.

        Raises:
            Unavailable: The project's flags are not known and cannot be read.
        """
        result = await self.evaluate(project_id, flag_request, with_inactive=with_inactive)
        self.counters.count_decisions(project_id, result[1].decisions)
        return result

    async def evaluate(
        self, project_id: int, flag_request: FlagRequest, *, with_inactive: bool = False
    ) -> Evaluated:
        """Evaluate a request.

        Flags whose reads fail or come too late are missing from the evaluation.

        Raises:
            Unavailable: The project's flags are not known and cannot be read.
        """
        try:
            built = await self.flag_sets.compiled_flags(project_id)
        except RecordsUnavailable:
            raise Unavailable("The flags of this project cannot be read.") from None
        if flag_request.is_large:
            prepared = await asyncio.to_thread(_prepared, project_id, built, flag_request)
        else:
            prepared = _prepared(project_id, built, flag_request)
        if prepared.has_to_read:
            prepared = await self._read(prepared)
        if not prepared.in_thread:
            return self._evaluated(prepared, with_inactive)
        now, started = self.now(), perf_counter()
        evaluation = await asyncio.to_thread(_evaluation, prepared, now, with_inactive)
        self.seconds.observe(perf_counter() - started)
        return prepared.built, evaluation

    def prepare(self, project_id: int, flag_request: FlagRequest) -> PreparedEvaluation | None:
        """Prepare an evaluation; None if the flags are not current, or a thread is needed.

        Values that were read a moment ago are not read again.
        """
        built = self.flag_sets.current_flags(project_id)
        if built is None or flag_request.is_large:
            return None
        prepared = _prepared(project_id, built, flag_request)
        if prepared.in_thread:
            return None
        subject, missing = prepared.subject, prepared.missing
        if not prepared.has_to_read or missing.groups or missing.continuity:
            return prepared
        known = self.subjects.recent_values(project_id, subject, missing)
        if len(known) < bool(missing.person) + bool(missing.cohorts):
            return prepared
        return replace(prepared, subject=replace(subject, **known), missing=NOTHING)

    def answer_prepared(
        self, prepared: PreparedEvaluation, *, with_inactive: bool = False
    ) -> Evaluated:
        """Evaluate and count a request of a client of the public API that has nothing to read."""
        result = self._evaluated(prepared, with_inactive)
        self.counters.count_decisions(prepared.project_id, result[1].decisions)
        return result

    async def answer_after_read(
        self, prepared: PreparedEvaluation, *, with_inactive: bool = False
    ) -> Evaluated:
        """Read what a prepared request needs, evaluate it and count it."""
        return self.answer_prepared(await self._read(prepared), with_inactive=with_inactive)

    async def _read(self, prepared: PreparedEvaluation) -> PreparedEvaluation:
        subject = prepared.subject
        read = await self.subjects.read_values(
            prepared.project_id,
            prepared.built.flag_set,
            subject,
            prepared.missing,
            prepared.anon_distinct_id,
        )
        subject = replace(subject, **read)
        return replace(prepared, subject=subject, missing=NOTHING, anon_distinct_id=None)

    def _evaluated(self, prepared: PreparedEvaluation, with_inactive: bool) -> Evaluated:
        now, started = self.now(), perf_counter()
        evaluation = _evaluation(prepared, now, with_inactive)
        self.seconds.observe(perf_counter() - started)
        return prepared.built, evaluation


def _evaluation(prepared: PreparedEvaluation, now: datetime, with_inactive: bool) -> Evaluation:
    flag_set, keys = prepared.built.flag_set, prepared.keys
    return evaluate(flag_set, prepared.subject, now, keys, with_inactive=with_inactive)


def _prepared(
    project_id: int, built: CompiledFlags, flag_request: FlagRequest
) -> PreparedEvaluation:
    flag_set, subject = built.flag_set, flag_request.subject
    keys = visible_keys(flag_set, flag_request) if flag_set.limited else flag_request.keys
    flags = len(flag_set.by_key if keys is None else keys)
    return PreparedEvaluation(
        project_id,
        built,
        subject,
        keys,
        find_needs(flag_set, subject, keys),
        flag_request.anon_distinct_id if flag_set.continuity else None,
        flag_request.is_large or flags > ANSWERED_ON_LOOP_MAX,
    )
