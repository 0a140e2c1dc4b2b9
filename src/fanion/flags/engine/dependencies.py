"""Whether a flag can be computed, and which others need it.

source: flags.md section 19, "Flag dependencies"
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fanion.flags.engine.conditions import CohortDefinition, ProjectCohorts, compile_cohort
from fanion.flags.engine.definition import Flag, FlagDefinitions, FlagRow, compile_flag
from fanion.flags.engine.flag_set import build_flag_set
from fanion.properties.filters import InCohort


def problem_of(flag_id: int, definitions: FlagDefinitions) -> str | None:
    """Why the flag could not be computed if it were switched on; None when it can be."""
    rows = _by_name(definitions.flags)
    row = rows.get(str(flag_id))
    if row is None:
        return None
    flag = compile_flag(replace(row, active=True))
    flags = [flag, *_below(flag, rows)]
    cohorts = map(compile_cohort, definitions.cohorts)
    return build_flag_set(flags, definitions.group_types, cohorts).problems.get(flag.key)


def left_behind(flag_id: int, former_key: str, definitions: FlagDefinitions) -> Sequence[str]:
    """Keys of active flags that name the flag and cannot find it, now that it is deleted or
    called otherwise."""
    names = {str(flag_id), former_key}
    rows = _by_name(definitions.flags)
    return [
        row.key
        for row in definitions.flags
        if row.active and row.id != flag_id
        for missing in [names & set(_named(compile_flag(row))) - rows.keys()]
        if missing
    ]


def without_answer(flags: Iterable[Flag], cohorts: Iterable[CohortDefinition]) -> Mapping[str, str]:
    """Key → why, of the flags that ask for a cohort which evaluation cannot read.

    cohorts: all of the project that are not deleted
    """
    known = ProjectCohorts({cohort.id: cohort for cohort in cohorts})
    found = {flag.key: _unread(flag, known) for flag in flags}
    return {key: why for key, why in found.items() if why is not None}


def _unread(flag: Flag, cohorts: ProjectCohorts) -> str | None:
    asked = () if flag.rules is None else flag.rules.leaves()
    try:
        for leaf in asked:
            if isinstance(leaf, InCohort):
                cohorts.test(leaf)
    except ValueError as error:
        return str(error)
    return None


def _by_name(flags: Sequence[FlagRow]) -> Mapping[str, FlagRow]:
    """A condition names a flag by its id, or by its key if no id is like that."""
    return {**{row.key: row for row in flags}, **{str(row.id): row for row in flags}}


def _below(flag: Flag, rows: Mapping[str, FlagRow]) -> Sequence[Flag]:
    """The flags that one depends on, and those that these do."""
    found: dict[str, Flag] = {}
    waiting = _named(flag)
    while waiting:
        row = rows.get(waiting.pop())
        if row is not None and row.key != flag.key and row.key not in found:
            found[row.key] = compile_flag(row)
            waiting += _named(found[row.key])
    return list(found.values())


def _named(flag: Flag) -> list[str]:
    return [] if flag.rules is None else flag.rules.flags_named()
