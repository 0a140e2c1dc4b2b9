"""What flags may look at, known when they are loaded."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from fanion.flags.engine.compiler import hashes
from fanion.flags.engine.conditions import ProjectCohorts
from fanion.flags.engine.definition import Rules
from fanion.properties.filters import InCohort, Property, leaves

_T = TypeVar("_T")

# Always known: the request says it.
_IMPLIED = frozenset({"distinct_id", "$group_key"})
_NONE: Final[frozenset[Any]] = frozenset()


@dataclass(frozen=True, slots=True)
class Reads:
    """person:     names of person properties
    cohorts:    ids of cohorts whose stored members matter
    groups:     group type name → names of group properties
    continuity: keys of flags whose stored distinct ids matter
    """

    person: frozenset[str] = _NONE
    cohorts: frozenset[int] = _NONE
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    continuity: frozenset[str] = _NONE


def flag_reads(
    key: str,
    rules: Rules,
    cohorts: ProjectCohorts,
    type_name: str | None,
    *,
    keeps_experience: bool,
) -> Reads:
    """One flag's own, through cohorts as well.

    type_name: of a group flag whose type the project knows
    """
    names: set[str] = set()
    stored: set[int] = set()
    for leaf in rules.leaves():
        if isinstance(leaf, Property):
            names.add(leaf.key)
        elif isinstance(leaf, InCohort):
            _add_cohort(leaf, cohorts, names, stored, set())
    asked = frozenset(names) - _IMPLIED
    if rules.group_type_index is not None:
        return Reads(groups={type_name: asked} if type_name is not None and asked else {})
    keeps = keeps_experience and hashes(rules)
    return _reads(asked, stored, {}, {key} if keeps else ())


def union(parts: Iterable[Reads]) -> Reads:
    several = list(parts)
    if len(several) == 1:
        return several[0]
    person: set[str] = set()
    cohorts: set[int] = set()
    continuity: set[str] = set()
    groups: dict[str, frozenset[str]] = {}
    for part in several:
        person |= part.person
        cohorts |= part.cohorts
        continuity |= part.continuity
        for name, keys in part.groups.items():
            groups[name] = groups.get(name, frozenset()) | keys
    return _reads(person, cohorts, groups, continuity)


def _reads(
    person: Collection[str],
    cohorts: Collection[int],
    groups: Mapping[str, frozenset[str]],
    continuity: Collection[str],
) -> Reads:
    return Reads(_frozen(person), _frozen(cohorts), groups, _frozen(continuity))


def _frozen(found: Collection[_T]) -> frozenset[_T]:
    """Each empty set takes 216 bytes, and of a flag's three most are."""
    return frozenset(found) if found else _NONE


def _add_cohort(
    leaf: InCohort, cohorts: ProjectCohorts, names: set[str], stored: set[int], seen: set[int]
) -> None:
    definition = cohorts.existing(leaf.cohort_id)
    if definition is None or definition.id in seen:
        return
    seen.add(definition.id)
    if cohorts.is_stored(definition):
        stored.add(definition.id)
        return
    for inner in leaves(definition.tree) if definition.tree is not None else ():
        if isinstance(inner, Property):
            names.add(inner.key)
        elif isinstance(inner, InCohort):
            _add_cohort(inner, cohorts, names, stored, seen)
