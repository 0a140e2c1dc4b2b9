"""Evaluation of a project's flags for one subject. Pure: time and stored values are passed in."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from fanion.flags.engine.compiler import CompiledRules
from fanion.flags.engine.conditions import Reads, merge_reads
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.engine.model import (
    CannotCompute,
    Decision,
    Evaluation,
    EvaluationRun,
    Subject,
)

_NONE_FAILED: frozenset[str] = frozenset()


def evaluate(
    flag_set: FlagSet,
    subject: Subject,
    now: datetime,
    keys: Collection[str] | None = None,
    *,
    with_inactive: bool = False,
) -> Evaluation:
    """Decide all active flags, or those in `keys`; unknown keys are ignored.

    Args:
        now: An aware time, from which relative dates count back.
        with_inactive: Also report flags that are switched off, as off with the reason `disabled`.

    Returns:
        An evaluation that leaves out the flags that cannot be computed and names them in `failed`.

    Source: flags.md sections 4 and 15.
    """
    run = EvaluationRun(subject, now)
    if keys is None:
        failed = _decide(run, flag_set.plans.begin(run)) | flag_set.broken
        decisions = run.decisions
    else:
        requested = dict.fromkeys(keys)
        unanswered = _decide(run, _rules_of(flag_set, requested)) | flag_set.broken
        failed = unanswered & requested.keys()
        decisions = {key: run.decisions[key] for key in requested if key in run.decisions}
    if with_inactive:
        off = flag_set.inactive
        decisions.update(off if keys is None else {k: off[k] for k in requested if k in off})
    return Evaluation(decisions, failed, now)


def decide(flag_set: FlagSet, run: EvaluationRun, keys: Collection[str]) -> frozenset[str]:
    """Add the decisions of some flags, and of the flags they depend on, to the run.

    Returns:
        The keys without an answer.
    """
    return _decide(run, _rules_of(flag_set, keys))


def _decide(run: EvaluationRun, rules: Iterable[CompiledRules]) -> frozenset[str]:
    """Add decisions to the run in the given order, and return the keys without an answer."""
    decisions: dict[str, Decision] = run.decisions
    properties, identity = run.properties, run.identity
    failed: list[str] = []
    for key, program, _, _ in rules:
        try:
            decisions[key] = program(properties, identity, run)
        except CannotCompute:
            decisions.pop(key, None)  # a plan stores a placeholder for it
            failed.append(key)
    return frozenset(failed) if failed else _NONE_FAILED


def _rules_of(flag_set: FlagSet, keys: Collection[str]) -> list[CompiledRules]:
    """Return the rules of the requested flags, dependencies first."""
    by_key = flag_set.by_key
    ordered = dict.fromkeys(
        step for key in keys if key in by_key for step in (*by_key[key].depends_on, key)
    )
    return [by_key[key].rules for key in ordered]


class Needs(Struct, frozen=True, gc=False):
    """The stored values that the requested flags need and the request does not contain.

    Attributes:
        person: Whether the person's stored properties are needed.
        cohorts: Ids of the cohorts whose stored members are needed.
        groups: (Group type index, group key) of each group whose stored properties are needed.
        continuity: Keys of the flags whose stored distinct ids are needed.
    """

    person: bool = False
    cohorts: frozenset[int] = frozenset()
    groups: frozenset[tuple[int, str]] = frozenset()
    continuity: frozenset[str] = frozenset()

    @property
    def nothing(self) -> bool:
        return self is NOTHING or self == NOTHING


NOTHING = Needs()
_NO_GROUPS: frozenset[tuple[int, str]] = frozenset()
_NO_PROPERTIES: Mapping[str, object] = {}


def find_needs(flag_set: FlagSet, subject: Subject, keys: Collection[str] | None = None) -> Needs:
    """Return the stored values that the flags read and the request does not contain.

    Args:
        subject: As the request describes it; stored values are ignored.
        keys: The requested flags; None for all.
    """
    reads = flag_set.reads if keys is None else _reads_of(flag_set, keys)
    person = not _covers(subject, reads.person)
    groups = (
        _needed_groups(flag_set, subject, reads) if reads.groups and subject.groups else _NO_GROUPS
    )
    if not (person or reads.cohorts or groups or reads.continuity):
        return NOTHING
    return Needs(person, reads.cohorts, groups, reads.continuity)


def _reads_of(flag_set: FlagSet, keys: Collection[str]) -> Reads:
    entries = [flag_set.by_key[key] for key in keys if key in flag_set.by_key]
    return entries[0].reads if len(entries) == 1 else merge_reads(entry.reads for entry in entries)


def _covers(subject: Subject, names: frozenset[str]) -> bool:
    if not names or names <= subject.sent.keys():
        return True
    return bool(subject.geoip) and names <= (subject.sent.keys() | subject.geoip.keys())


def _needed_groups(flag_set: FlagSet, subject: Subject, reads: Reads) -> frozenset[tuple[int, str]]:
    unsent = [
        name
        for name, names in reads.groups.items()
        if name in subject.groups
        and not names <= (subject.group_properties.get(name) or _NO_PROPERTIES).keys()
    ]
    if not unsent:
        return _NO_GROUPS
    return frozenset((flag_set.group_indexes[name], subject.groups[name]) for name in unsent)
