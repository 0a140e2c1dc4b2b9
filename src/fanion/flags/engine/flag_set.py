"""All flags of a project, ready to be evaluated.

A set is immutable, so requests share it without a lock. It is built again when a flag, cohort or
group type changes. Before a changed flag is stored, a set of that flag and its dependencies tells
whether it could be computed.

Source: flags.md section 19, "Flag dependencies".
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from fanion.flags.engine.compiler import CompiledRules, compile_rules
from fanion.flags.engine.conditions import (
    CohortDefinition,
    EvaluationTest,
    ProjectCohorts,
    Reads,
    compile_cohort,
    flag_reads,
    leaf_test,
    merge_reads,
)
from fanion.flags.engine.definition import (
    ANYWHERE,
    Flag,
    FlagDefinitions,
    FlagRow,
    Rules,
    compile_flag,
)
from fanion.flags.engine.model import Decision, disabled
from fanion.flags.engine.plan import Plans
from fanion.flags.engine.text_table import TextTable, has_table, text_table
from fanion.properties.filters import InCohort, Leaf, Property

# Fewer tests of one property run by themselves, each at its first look-up.
TABLE_TESTS_MIN = 4


@dataclass(frozen=True, slots=True)
class CompiledFlag:
    """One active flag that can be computed.

    Attributes:
        depends_on: Keys of all flags that must be decided first, in a valid order.
        reads: What the flag reads, including what the flags it depends on read.
    """

    rules: CompiledRules
    depends_on: tuple[str, ...]
    reads: Reads


@dataclass(frozen=True, slots=True)
class FlagSet:
    """The compiled flags of a project.

    Attributes:
        flags: Key → flag, for all that are not deleted, in the order given.
        by_key: Key → entry of each active computable flag, after those it depends on.
        problems: Key → reason, for active flags that cannot be computed.
        broken: The keys of `problems`.
        inactive: Key → decision of each flag that is switched off.
        group_types: Group type index → name.
        group_indexes: Group type name → index.
        cohorts: All cohorts that conditions may refer to.
        keys_by_id: Flag id in decimal → key, because conditions name flags by id.
        continuity: Keys of active flags with experience continuity across a login.
        tests: The test of each leaf, to be reused by the next build.
        plans: How all flags are evaluated together.
        limited: Whether any flag is limited to certain runtimes or contexts.
        reads: What all entries together read.
    """

    flags: Mapping[str, Flag]
    by_key: Mapping[str, CompiledFlag]
    problems: Mapping[str, str]
    broken: frozenset[str]
    inactive: Mapping[str, Decision]
    group_types: Mapping[int, str]
    group_indexes: Mapping[str, int]
    cohorts: ProjectCohorts
    keys_by_id: Mapping[str, str]
    continuity: frozenset[str]
    tests: Mapping[object, EvaluationTest]
    plans: Plans
    limited: bool
    reads: Reads

    def find_flag(self, name: str) -> Flag | None:
        """Return the flag that a condition names, by id (in decimal) or by key."""
        return self.flags.get(self.keys_by_id.get(name, name))


def build_flag_set(
    flags: Iterable[Flag],
    group_types: Mapping[int, str],
    cohorts: Iterable[CohortDefinition] = (),
    former: FlagSet | None = None,
) -> FlagSet:
    """Compile a project's flags; flags that cannot be computed are set aside with their problem.

    Args:
        flags: Flags of one project, in the order in which responses list them.
        group_types: Group type index → name.
        former: A set with the same group types and cohorts. Its compiled entries are reused for
            flags that are the very same objects here.
    """
    existing = {flag.key: flag for flag in flags if not flag.deleted}
    all_cohorts = ProjectCohorts({cohort.id: cohort for cohort in cohorts})
    builder = _FlagSetBuilder(existing, group_types, all_cohorts, former)
    builder.add_all()
    rules = tuple(entry.rules for entry in builder.entries.values())
    return FlagSet(
        flags=existing,
        by_key=builder.entries,
        problems=builder.problems,
        broken=frozenset(builder.problems),
        inactive={key: disabled(key) for key, flag in existing.items() if not flag.active},
        group_types=dict(group_types),
        group_indexes={name: index for index, name in group_types.items()},
        cohorts=builder.cohorts,
        keys_by_id=builder.keys_by_id,
        continuity=frozenset(k for k, f in existing.items() if f.active and f.keeps_experience),
        tests=builder.tests,
        plans=Plans(rules, builder.text_tables()),
        limited=any(f.contexts or f.runtime != ANYWHERE for f in existing.values()),
        reads=merge_reads(entry.reads for entry in builder.entries.values()),
    )


class _FlagSetBuilder:
    def __init__(
        self,
        flags: Mapping[str, Flag],
        group_types: Mapping[int, str],
        cohorts: ProjectCohorts,
        former: FlagSet | None,
    ) -> None:
        self.entries: dict[str, CompiledFlag] = {}
        self.problems: dict[str, str] = {}
        self._reads: dict[tuple[object, ...], Reads] = {}
        self.tests: dict[object, EvaluationTest] = {}
        self._flags = flags
        self._group_types = group_types
        self._former = former
        self.cohorts = cohorts
        self.keys_by_id = {str(flag.id): key for key, flag in flags.items()}

    def add_all(self) -> None:
        active = [key for key, flag in self._flags.items() if flag.active]
        sorter = TopologicalSorter({key: self._dependencies(key) for key in active})
        with suppress(CycleError):  # flags outside every cycle are still handed out
            sorter.prepare()
        while ready := sorter.get_ready():
            for key in ready:
                self._add_flag(key)
            sorter.done(*ready)
        for key in active:
            if key not in self.entries and key not in self.problems:
                self.problems[key] = "depends on itself, or on a flag that does"

    def _add_flag(self, key: str) -> None:
        flag = self._flags[key]
        try:
            if flag.rules is None:
                raise ValueError(flag.problem or "the filters cannot be read")
            self.entries[key] = self._former_entry(flag) or self._compile_entry(flag, flag.rules)
        except ValueError as error:
            self.problems[key] = str(error)

    def _former_entry(self, flag: Flag) -> CompiledFlag | None:
        """Return the former entry of an unchanged flag, unless it depends on other flags.

        What a flag depends on may have changed even if the flag itself has not.
        """
        if self._former is None or self._former.flags.get(flag.key) is not flag:
            return None
        entry = self._former.by_key.get(flag.key)
        if entry is None or flag.rules is None or flag.rules.flags_named():
            return None
        for leaf in flag.rules.leaves():
            self._leaf_test(leaf)
        return entry

    def _compile_entry(self, flag: Flag, rules: Rules) -> CompiledFlag:
        before = []
        for key in self._dependencies(flag.key):
            if key in self.problems:
                raise ValueError(f"depends on flag {key}, which cannot be computed")
            before.append(self.entries[key])
        compiled = compile_rules(flag, rules, self._leaf_test, self._group_types)
        depends_on = dict.fromkeys(
            k for entry in before for k in (*entry.depends_on, entry.rules.key)
        )
        index = rules.group_type_index
        type_name = None if index is None else self._group_types.get(index)
        own = flag_reads(
            flag.key, rules, self.cohorts, type_name, keeps_experience=flag.keeps_experience
        )
        reads = merge_reads([own, *(e.reads for e in before)])
        return CompiledFlag(compiled, tuple(depends_on), self._shared(reads))

    def _shared(self, reads: Reads) -> Reads:
        """Return an equal Reads if there is one: a project's flags read the same few properties."""
        named = (reads.person, reads.cohorts, *reads.groups.items(), reads.continuity)
        return self._reads.setdefault(named, reads)

    def _leaf_test(self, leaf: Leaf) -> EvaluationTest:
        """Return a leaf's test; equal leaves share one, also with the flags of the former set."""
        key = _test_key(leaf)
        if key is None:
            return leaf_test(leaf, self.cohorts, self._required_flag)
        test = self.tests.get(key)
        if test is None:
            test = None if self._former is None else self._former.tests.get(key)
            self.tests[key] = test = test or leaf_test(leaf, self.cohorts, self._required_flag)
        return test

    def text_tables(self) -> tuple[TextTable[EvaluationTest], ...]:
        """Return the tables of tests, one for each property that many tests look at."""
        tests: dict[str, list[tuple[Property, EvaluationTest]]] = {}
        for leaf, test in self.tests.items():
            if isinstance(leaf, Property) and has_table(leaf):
                tests.setdefault(leaf.key, []).append((leaf, test))
        return tuple(
            text_table(key, each) for key, each in tests.items() if len(each) >= TABLE_TESTS_MIN
        )

    def _dependencies(self, key: str) -> list[str]:
        """Return the keys of the active flags that the conditions name.

        Unknown names are reported when the flag is compiled.
        """
        rules = self._flags[key].rules
        named = () if rules is None else rules.flags_named()
        dependencies = (self._find(name) for name in named)
        return list(dict.fromkeys(f.key for f in dependencies if f is not None and f.active))

    def _find(self, name: str) -> Flag | None:
        return self._flags.get(self.keys_by_id.get(name, name))

    def _required_flag(self, name: str) -> Flag:
        flag = self._find(name)
        if flag is None:
            raise ValueError(f"depends on flag {name}, which does not exist")
        return flag


def _test_key(leaf: Leaf) -> object:
    """Return what leaves with the same test have in common; None for one that shares none.

    Python considers 1, 1.0 and True equal, but conditions distinguish them.
    """
    if isinstance(leaf, InCohort):
        return leaf
    if not isinstance(leaf, Property):
        return None
    values = leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)
    if all(isinstance(value, str) for value in values):
        return leaf
    return leaf.key, leaf.operator, leaf.negation, repr(leaf.value)


def problem_of(flag_id: int, definitions: FlagDefinitions) -> str | None:
    """Return why the flag could not be computed if it were switched on, or None if it could."""
    rows = _by_name(definitions.flags)
    row = rows.get(str(flag_id))
    if row is None:
        return None
    flag = compile_flag(replace(row, active=True))
    flags = [flag, *_dependencies_of(flag, rows)]
    cohorts = map(compile_cohort, definitions.cohorts)
    return build_flag_set(flags, definitions.group_types, cohorts).problems.get(flag.key)


def broken_dependents(flag_id: int, former_key: str, definitions: FlagDefinitions) -> Sequence[str]:
    """Return the keys of active flags that refer to a flag which was deleted or renamed."""
    names = {str(flag_id), former_key}
    rows = _by_name(definitions.flags)
    return [
        row.key
        for row in definitions.flags
        if row.active and row.id != flag_id
        for missing in [names & set(_flags_named(compile_flag(row))) - rows.keys()]
        if missing
    ]


def uncomputable_flags(
    flags: Iterable[Flag], cohorts: Iterable[CohortDefinition]
) -> Mapping[str, str]:
    """Return why flags cannot be computed, by key, for those that use a cohort that cannot be read.

    Args:
        cohorts: All cohorts of the project that are not deleted.
    """
    known = ProjectCohorts({cohort.id: cohort for cohort in cohorts})
    problems = {flag.key: _cohort_problem(flag, known) for flag in flags}
    return {key: why for key, why in problems.items() if why is not None}


def _cohort_problem(flag: Flag, cohorts: ProjectCohorts) -> str | None:
    leaves = () if flag.rules is None else flag.rules.leaves()
    try:
        for leaf in leaves:
            if isinstance(leaf, InCohort):
                cohorts.cohort_test(leaf)
    except ValueError as error:
        return str(error)
    return None


def _by_name(flags: Sequence[FlagRow]) -> Mapping[str, FlagRow]:
    """Return flags by id (in decimal) and by key; an id takes precedence over an equal key."""
    return {**{row.key: row for row in flags}, **{str(row.id): row for row in flags}}


def _dependencies_of(flag: Flag, rows: Mapping[str, FlagRow]) -> Sequence[Flag]:
    """Return the flags that a flag depends on, directly or indirectly."""
    dependencies: dict[str, Flag] = {}
    pending = _flags_named(flag)
    while pending:
        row = rows.get(pending.pop())
        if row is not None and row.key != flag.key and row.key not in dependencies:
            dependencies[row.key] = compile_flag(row)
            pending += _flags_named(dependencies[row.key])
    return list(dependencies.values())


def _flags_named(flag: Flag) -> list[str]:
    return [] if flag.rules is None else flag.rules.flags_named()
