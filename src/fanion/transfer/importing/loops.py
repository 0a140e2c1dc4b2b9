"""What in a document leads back to itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fanion.flags.engine.definition import parse_rules
from fanion.properties.filters import COHORT_TYPES
from fanion.transfer.document import CohortEntry, FlagEntry
from fanion.transfer.references import Ids, numbered_flag


def looping_cohorts(cohorts: Sequence[CohortEntry]) -> set[str]:
    """Keys of cohorts that reach themselves."""
    inside = {one.key: {*cohorts_named(one.filters), *cohorts_named(one.groups)} for one in cohorts}
    return {key for key in inside if _reaches(key, inside)}


def looping_flags(flags: Sequence[FlagEntry], ids: Ids) -> set[str]:
    """Keys of flags that reach themselves. One that is switched off depends on nothing."""
    keys = {ids.flags[one.key]: one.key for one in flags}
    inside = {one.key: {keys.get(name, name) for name in _flags_named(one, ids)} for one in flags}
    return {key for key in inside if _reaches(key, inside)}


def _flags_named(flag: FlagEntry, ids: Ids) -> Sequence[str]:
    if not flag.active:
        return ()
    try:
        return parse_rules(numbered_flag(flag.filters, ids)).flags_named()
    except ValueError:  # told of on its own
        return ()


def _reaches(key: str, inside: Mapping[str, set[str]]) -> bool:
    seen: set[str] = set()
    waiting = list(inside[key])
    while waiting:
        one = waiting.pop()
        if one == key:
            return True
        if one not in seen:
            seen.add(one)
            waiting += inside.get(one, ())
    return False


def cohorts_named(value: Any) -> Iterator[str]:
    """Keys of cohorts inside the criteria of another."""
    if isinstance(value, dict):
        found = value.get("value")
        kind = value.get("type")
        if isinstance(kind, str) and kind in COHORT_TYPES and isinstance(found, dict):
            yield str(found.get("cohort"))
        for inner in value.values():
            yield from cohorts_named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from cohorts_named(inner)
