"""Conditions on cohorts and on other flags, compiled like those on properties.

Also determines, when a flag is loaded, which values its conditions may read.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from fanion.flags.engine.definition import CohortRow, Flag, Rules
from fanion.flags.engine.model import CannotCompute, EvaluationRun
from fanion.properties.filters import (
    Behavioral,
    ConditionGroup,
    FlagIs,
    InCohort,
    Leaf,
    Node,
    Property,
    leaves,
    parse_tree,
)
from fanion.properties.match import (
    Properties,
    Test,
    all_of,
    always,
    any_of,
    inverted,
    never,
    property_test,
)

# Cohorts inside cohorts; deeper chains can only be made by hand.
COHORT_DEPTH_MAX = 50

EvaluationTest = Test[EvaluationRun]
_T = TypeVar("_T")

# Always known, because they follow from the request.
_IMPLIED = frozenset({"distinct_id", "$group_key"})
_NONE: Final[frozenset[Any]] = frozenset()


@dataclass(frozen=True, slots=True)
class CohortDefinition:
    """A cohort as flags use it.

    Attributes:
        tree: The criteria of a dynamic cohort; None for a static one.
        problem: Why the criteria cannot be read. Flags that use the cohort cannot be computed.
    """

    id: int
    tree: ConditionGroup | None = None
    is_static: bool = False
    deleted: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Reads:
    """The values that conditions may read.

    Attributes:
        person: Names of person properties.
        cohorts: Ids of cohorts whose stored members matter.
        groups: Group type name → names of group properties.
        continuity: Keys of flags whose stored distinct ids matter.
    """

    person: frozenset[str] = _NONE
    cohorts: frozenset[int] = _NONE
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    continuity: frozenset[str] = _NONE


def compile_cohort(row: CohortRow) -> CohortDefinition:
    """Compile a cohort; if its criteria cannot be read, the definition holds the problem."""
    if row.is_static:
        return CohortDefinition(row.id, is_static=True)
    try:
        return CohortDefinition(row.id, parse_tree(row.criteria))
    except ValueError as error:
        return CohortDefinition(row.id, problem=str(error))


class ProjectCohorts:
    """All cohorts of a project, as the conditions of flags use them.

    A cohort that is defined by properties is tested live. A static cohort, and one whose criteria
    include events at any depth, is answered from its stored members. A deleted or unknown cohort
    has no members, and the negated condition matches no person either.

    Source: flags.md sections 1 and 7, cohorts.md sections 8 and 16.
    """

    def __init__(self, definitions: Mapping[int, CohortDefinition]) -> None:
        self._definitions = definitions
        self._tests: dict[int, EvaluationTest] = {}
        self._compiling: list[int] = []

    def cohort_test(self, leaf: InCohort) -> EvaluationTest:
        """Return the test for a condition on a cohort.

        Raises:
            ValueError: The cohort's criteria are unreadable, circular or too deep.
        """
        definition = self.existing_cohort(leaf.cohort_id)
        if definition is None:
            return never
        test = self._tests.get(leaf.cohort_id)
        if test is None:
            test = self._tests[leaf.cohort_id] = self._compiled(definition)
        return inverted(test) if leaf.negation else test

    def existing_cohort(self, cohort_id: int) -> CohortDefinition | None:
        definition = self._definitions.get(cohort_id)
        return None if definition is None or definition.deleted else definition

    def is_stored(self, definition: CohortDefinition) -> bool:
        """Return whether members are looked up: for static cohorts, and events at any depth."""
        if definition.is_static:
            return True
        return any(
            isinstance(leaf, Behavioral)
            for nested in self._reachable(definition)
            for leaf in leaves(nested)
        )

    def _reachable(self, definition: CohortDefinition) -> list[ConditionGroup]:
        """Return the criteria of the cohort and of every dynamic cohort it contains, each once."""
        trees: list[ConditionGroup] = []
        seen, pending = {definition.id}, [definition]
        while pending:
            tree = pending.pop().tree
            if tree is None:
                continue
            trees.append(tree)
            for leaf in leaves(tree):
                if isinstance(leaf, InCohort) and leaf.cohort_id not in seen:
                    seen.add(leaf.cohort_id)
                    nested = self.existing_cohort(leaf.cohort_id)
                    pending.extend([] if nested is None else [nested])
        return trees

    def _compiled(self, definition: CohortDefinition) -> EvaluationTest:
        if definition.problem is not None:
            raise ValueError(f"cohort {definition.id}: {definition.problem}")
        if self.is_stored(definition):
            return _member_test(definition.id)
        if definition.id in self._compiling:
            raise ValueError(f"cohort {definition.id} contains itself")
        if len(self._compiling) >= COHORT_DEPTH_MAX:
            raise ValueError(f"cohorts are nested deeper than {COHORT_DEPTH_MAX}")
        self._compiling.append(definition.id)
        try:
            return self._tree_test(definition.tree or ConditionGroup("OR", ()))
        finally:
            self._compiling.pop()

    def _tree_test(self, node: Node) -> EvaluationTest:
        if isinstance(node, ConditionGroup):
            if not node.children:
                return never
            tests = [self._tree_test(child) for child in node.children]
            return all_of(tests) if node.type == "AND" else any_of(tests)
        return leaf_test(node, self, no_flags)


def leaf_test(
    leaf: Leaf, cohorts: ProjectCohorts, find_flag: Callable[[str], Flag]
) -> EvaluationTest:
    """Return the test for one leaf of a condition.

    Args:
        find_flag: Returns the flag that a condition names.

    Raises:
        ValueError: The leaf cannot be tested.
    """
    if isinstance(leaf, InCohort):
        return cohorts.cohort_test(leaf)
    if isinstance(leaf, FlagIs):
        test = _flag_test(find_flag(leaf.flag), leaf)
        return inverted(test) if leaf.negation else test
    if isinstance(leaf, Behavioral):
        raise ValueError("a condition on events has no live answer")
    return property_test(leaf)


def no_flags(name: str) -> Flag:
    raise ValueError("a cohort cannot depend on a flag")


def _member_test(cohort_id: int) -> EvaluationTest:
    def test(properties: Properties, run: EvaluationRun) -> bool:
        if run.cohorts is None:
            raise CannotCompute(cohort_id)
        return cohort_id in run.cohorts

    return test


def _flag_test(flag: Flag, leaf: FlagIs) -> EvaluationTest:
    """Return the test for a condition on another flag.

    A variant matches its own key and true; case matters. A flag that is switched off is false.

    Source: flags.md section 19.
    """
    key, expected = flag.key, leaf.value
    if leaf.operator != "flag_evaluates_to" or not isinstance(expected, bool | str):
        return never
    if not flag.active:
        return always if expected is False else never

    def test(properties: Properties, run: EvaluationRun) -> bool:
        decision = run.decisions.get(key)
        if decision is None:
            raise CannotCompute(key)
        if isinstance(expected, bool):
            return decision.enabled is expected
        return decision.value == expected

    return test


def flag_reads(
    key: str,
    rules: Rules,
    cohorts: ProjectCohorts,
    type_name: str | None,
    *,
    keeps_experience: bool,
) -> Reads:
    """Return what one flag reads, including through cohorts, but not through other flags.

    Args:
        type_name: The group type of a group flag, if the project knows the type.
    """
    names: set[str] = set()
    stored: set[int] = set()
    for leaf in rules.leaves():
        if isinstance(leaf, Property):
            names.add(leaf.key)
        elif isinstance(leaf, InCohort):
            _add_cohort(leaf, cohorts, names, stored, set())
    property_names = frozenset(names) - _IMPLIED
    if rules.group_type_index is not None:
        if type_name is None or not property_names:
            return Reads()
        return Reads(groups={type_name: property_names})
    keeps = keeps_experience and rules.uses_hash
    return _reads(property_names, stored, {}, {key} if keeps else ())


def merge_reads(parts: Iterable[Reads]) -> Reads:
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


def _frozen(values: Collection[_T]) -> frozenset[_T]:
    """Return a frozen set, sharing one empty set: each takes 216 bytes, and most are empty."""
    return frozenset(values) if values else _NONE


def _add_cohort(
    leaf: InCohort, cohorts: ProjectCohorts, names: set[str], stored: set[int], seen: set[int]
) -> None:
    definition = cohorts.existing_cohort(leaf.cohort_id)
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
