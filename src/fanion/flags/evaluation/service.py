"""One evaluation from beginning to end: flags from memory, what is missing from the stores."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter

from msgspec.structs import replace

from fanion.db.engine import RecordsUnavailable
from fanion.errors import Unavailable
from fanion.flags.engine.evaluate import NOTHING, Needs, evaluate, needs
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.engine.model import Decision, Evaluation
from fanion.flags.evaluation.cache import ANSWERED_ON_LOOP_MAX, CompiledFlags, FlagSets
from fanion.flags.evaluation.counters_store import uncounted
from fanion.flags.evaluation.request import FlagRequest, visible_keys
from fanion.flags.evaluation.subject_store import SubjectStore
from fanion.observability.metrics import HotHistogram


@dataclass(frozen=True, slots=True)
class Evaluator:
    """seconds: observed once for each evaluation, without the reads
    count:   called with the project and the decisions of each answer to a client
    """

    flag_sets: FlagSets
    readings: SubjectStore
    now: Callable[[], datetime]
    seconds: HotHistogram
    count: Callable[[int, Mapping[str, Decision]], None] = uncounted

    async def answer(
        self, project_id: int, asked: FlagRequest, *, with_inactive: bool = False
    ) -> tuple[CompiledFlags, Evaluation]:
        """As `evaluate`, for a client of the public API: it counts."""
        found = await self.evaluate(project_id, asked, with_inactive=with_inactive)
        self.count(project_id, found[1].decisions)
        return found

    async def evaluate(
        self, project_id: int, asked: FlagRequest, *, with_inactive: bool = False
    ) -> tuple[CompiledFlags, Evaluation]:
        """Flags whose reads fail or are late are missing from the evaluation.

        raises: Unavailable when the project's flags are not known and cannot be read
        """
        try:
            built = await self.flag_sets.built(project_id)
        except RecordsUnavailable:
            raise Unavailable("The flags of this project cannot be read.") from None
        flag_set, subject = built.flag_set, asked.subject
        if asked.is_large:
            keys, missing = await asyncio.to_thread(_wanted, flag_set, asked)
        else:
            keys, missing = _wanted(flag_set, asked)
        anon = asked.anon_distinct_id
        if missing is not NOTHING or (anon is not None and flag_set.continuity):
            read = await self.readings.read(project_id, flag_set, subject, missing, anon)
            subject = replace(subject, **read)
        now, started = self.now(), perf_counter()
        flags = len(flag_set.programs if keys is None else keys)
        if flags <= ANSWERED_ON_LOOP_MAX and not asked.is_large:
            evaluation = evaluate(flag_set, subject, now, keys, with_inactive=with_inactive)
        else:
            evaluation = await asyncio.to_thread(
                evaluate, flag_set, subject, now, keys, with_inactive=with_inactive
            )
        self.seconds.observe(perf_counter() - started)
        return built, evaluation


def _wanted(flag_set: FlagSet, asked: FlagRequest) -> tuple[tuple[str, ...] | None, Needs]:
    """The keys of the flags to evaluate, None for all, and what must be read before."""
    keys = visible_keys(flag_set, asked)
    return keys, needs(flag_set, asked.subject, keys)
