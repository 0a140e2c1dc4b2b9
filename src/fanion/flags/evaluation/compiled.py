"""A project's flags as stored and as compiled; after a change only what it touched is compiled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from fanion.flags.engine.conditions import compile_cohort
from fanion.flags.engine.definition import Definitions, Flag, FlagRow, compile_flag
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.evaluation.packed import Packed, PackedRows

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Built:
    """All of one moment. compiled: by the flag's row, for the next time"""

    definitions: Definitions
    flag_set: FlagSet
    rows: PackedRows
    compiled: Sequence[Flag]


def build(definitions: Definitions, former: Built | None = None) -> Built:
    """Never fails, as build_flag_set does not.

    former: of the same project, whose flags are taken over where their rows are the same
    """
    rows = PackedRows(definitions.flags)
    flags = _compiled(definitions.flags, rows, former)
    flag_set = build_flag_set(
        flags,
        definitions.group_types,
        map(compile_cohort, definitions.cohorts),
        former.flag_set if former is not None and _surround_alike(definitions, former) else None,
    )
    return Built(replace(definitions, flags=rows), flag_set, rows, flags)


def _compiled(rows: Sequence[FlagRow], packed: PackedRows, former: Built | None) -> list[Flag]:
    known: dict[Packed, Flag] = {}
    if former is not None:
        pairs = zip(former.rows.packed, former.compiled, strict=True)
        known = {one: flag for one, flag in pairs if isinstance(one, bytes)}
    return [
        known[one] if isinstance(one, bytes) and one in known else compile_flag(row)
        for one, row in zip(packed.packed, rows, strict=True)
    ]


def _surround_alike(definitions: Definitions, former: Built) -> bool:
    """Whether what conditions name beside flags is what it was. As bytes, because 1 and true
    are equal in Python."""
    return _surroundings(definitions) == _surroundings(former.definitions)


def _surroundings(definitions: Definitions) -> bytes | object:
    try:
        return _encode((definitions.group_types, definitions.cohorts))
    except (OverflowError, TypeError, ValueError, RecursionError):
        return object()  # equal to nothing
