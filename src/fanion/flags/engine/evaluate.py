"""Every flag's answer for one subject. Pure: time and stored values come from outside."""

from collections.abc import Collection, Iterable
from datetime import datetime

from fanion.flags.engine.compiler import Program
from fanion.flags.engine.decision import DISABLED, CannotCompute, Decision, Evaluation
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.engine.subject import Run, Subject

_NONE_FAILED: frozenset[str] = frozenset()


def evaluate(
    flag_set: FlagSet,
    subject: Subject,
    now: datetime,
    keys: Collection[str] | None = None,
    *,
    with_inactive: bool = False,
) -> Evaluation:
    """Decide all active flags, or those of `keys`; unknown keys are ignored.

    now:           aware; relative dates count back from it
    with_inactive: also report flags that are switched off, as off and `disabled`
    returns:       flags that cannot be computed are missing and named in `failed`
    source:        flags.md sections 4 and 15
    """
    run = Run(subject, now)
    if keys is None:
        failed = _decide(run, flag_set.programs) | flag_set.broken
        decisions = run.decisions
    else:
        wanted = dict.fromkeys(keys)
        unanswered = _decide(run, _programs_of(flag_set, wanted)) | flag_set.broken
        failed = unanswered & wanted.keys()
        decisions = {key: run.decisions[key] for key in wanted if key in run.decisions}
    if with_inactive:
        off = flag_set.inactive if keys is None else wanted.keys() & set(flag_set.inactive)
        decisions.update(dict.fromkeys(off, DISABLED))
    return Evaluation(decisions, failed)


def _decide(run: Run, programs: Iterable[tuple[str, Program]]) -> frozenset[str]:
    """Fill the run's decisions in order; returns the keys without an answer."""
    decisions: dict[str, Decision] = run.decisions
    properties, identity = run.properties, run.identity
    failed: list[str] = []
    for key, program in programs:
        try:
            decisions[key] = program(properties, identity, run)
        except CannotCompute:
            failed.append(key)
    return frozenset(failed) if failed else _NONE_FAILED


def _programs_of(flag_set: FlagSet, keys: Collection[str]) -> list[tuple[str, Program]]:
    """The flags asked for, each after those it depends on."""
    by_key = flag_set.by_key
    ordered = dict.fromkeys(
        step for key in keys if key in by_key for step in (*by_key[key].depends_on, key)
    )
    return [(key, by_key[key].program) for key in ordered]
