"""Whether a flag can be computed, and which others need it.

source: flags.md section 19, "Flag dependencies"
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fanion.flags.conditions import compile_cohort
from fanion.flags.definition import Definitions, Flag, FlagRow, compile_flag
from fanion.flags.flag_set import build_flag_set


def problem_of(flag_id: int, definitions: Definitions) -> str | None:
    """Why the flag could not be computed if it were switched on; None when it can be."""
    rows = _by_name(definitions.flags)
    row = rows.get(str(flag_id))
    if row is None:
        return None
    flag = compile_flag(replace(row, active=True))
    flags = [flag, *_below(flag, rows)]
    cohorts = map(compile_cohort, definitions.cohorts)
    return build_flag_set(flags, definitions.group_types, cohorts).problems.get(flag.key)


def left_behind(flag_id: int, former_key: str, definitions: Definitions) -> Sequence[str]:
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
