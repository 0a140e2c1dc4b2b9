"""The ClickHouse statement that lists the members who meet criteria.

Each condition on events is one scan of that event in its time window; all conditions on properties
together are one scan of the persons. Each scan returns (person, bit); the bits of a person are
combined by OR, and the tree is evaluated once per person.

Source: cohorts.md sections 5 to 8.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from textwrap import indent
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from fanion.cohorts.calculation.behaviour_sql import behaviour_query
from fanion.cohorts.criteria.definition import CriteriaError
from fanion.cohorts.criteria.resolve import (
    BehaviourLeaf,
    Combination,
    NoPerson,
    StaticMembership,
    Tree,
    leaves,
)
from fanion.properties.bindings import Bindings
from fanion.properties.condition_sql import property_condition
from fanion.properties.filters import Property

# Each condition has one bit of a 64-bit number.
BITS_MAX = 64

_PERSONS = "  SELECT person_id AS person, {bits} AS bits\n  FROM persons FINAL\n  WHERE {project}"
_MEMBERS = (
    "  SELECT person_id AS person, toUInt64({bit}) AS bits\n"
    "  FROM cohort_inputs\n"
    "  WHERE run = {run} AND cohort_id = {cohort}"
)
# Members as sixteen bytes, sorted, so that they can be compared in one pass.
_LIST = "SELECT UUIDStringToNum(toString(person)) AS member\nFROM (\n{select}\n)\nORDER BY member"
# Some events have no person: those without a profile, and those whose person was deleted without
# them.
_EXISTING = "person IN (SELECT person_id FROM persons FINAL WHERE {project})"
_COUNT = "SELECT count(), groupArray({sample})(person)\nFROM (\n{select}\n)"


@dataclass(frozen=True, slots=True)
class PlanContext:
    """The inputs of a calculation.

    Attributes:
        now: An aware time in UTC.
        zone: The project's time zone.
        run: Identifies this calculation; members of static cohorts are inserted under it.
    """

    project_id: int
    now: datetime
    zone: ZoneInfo
    run: UUID


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The SQL for the members of a cohort.

    Attributes:
        select: A SELECT of the members as `person`, each once.
        parameters: The values that the SQL binds.
        inputs: Static cohorts whose members must be in `cohort_inputs` when the statement runs.
    """

    select: str
    parameters: Mapping[str, Any]
    inputs: tuple[int, ...] = ()

    @property
    def members(self) -> str:
        """The statement that lists the members, sixteen bytes each, ascending.

        Some may have been deleted since, which only the records store can tell.
        """
        return _LIST.format(select=indent(self.select, "  "))

    def count(self, sample: int) -> str:
        """Return the statement for one row: the number of members, and some of them."""
        return _COUNT.format(sample=sample, select=indent(self.select, "  "))


def compile_plan(tree: Tree, moment: PlanContext) -> QueryPlan:
    """Compile resolved criteria.

    Raises:
        CriteriaError: There are more conditions than one statement can hold.
    """
    compiler = _PlanCompiler(moment)
    select = compiler.persons_where(tree) if _is_on_properties(tree) else compiler.combined(tree)
    return QueryPlan(select, compiler.bindings.values, tuple(compiler.inputs))


class _PlanCompiler:
    def __init__(self, moment: PlanContext) -> None:
        self.bindings = Bindings()
        self.inputs: list[int] = []
        self._moment = moment
        self.project = f"project_id = {self.bindings.add(moment.project_id, 'UInt64')}"
        self._bits: dict[str, int] = {}
        self._on_persons: list[tuple[Tree, int]] = []
        self._passes: list[str] = []

    def persons_where(self, tree: Tree) -> str:
        condition = self._property_tree(tree)
        return (
            f"SELECT person_id AS person\nFROM persons FINAL\nWHERE {self.project}"
            f"\n  AND {condition}"
        )

    def combined(self, tree: Tree) -> str:
        test = self._test(tree)
        if self._on_persons or any(leaf.negation for leaf in leaves(tree)):
            # Read all persons: one without any event may be a member too.
            self._passes.insert(0, self._persons_pass())
        passes = "\n  UNION ALL\n".join(self._passes)
        existing = _EXISTING.format(project=self.project)
        return (
            f"SELECT person\nFROM (\n{passes}\n)\nWHERE {existing}\nGROUP BY person\nHAVING {test}"
        )

    def _test(self, tree: Tree) -> str:
        if _is_on_properties(tree):
            if self._is_new(tree):
                self._on_persons.append((tree, self._new_bit(tree)))
            return self._bit_test(tree)
        if isinstance(tree, Combination):
            return _joined(tree.type, [self._test(child) for child in tree.children])
        if isinstance(tree, BehaviourLeaf):
            return self._did(tree)
        assert isinstance(tree, StaticMembership)
        return self._member_of(tree)

    def _did(self, leaf: BehaviourLeaf) -> str:
        if self._is_new(leaf.behaviour):
            bit = self._new_bit(leaf.behaviour)
            query = behaviour_query(
                leaf.behaviour,
                self.bindings,
                self._moment.now,
                self._moment.zone,
                self.project,
                f"toUInt64({1 << bit}) AS bits",
            )
            self._passes.append(indent(query, "  "))
        test = self._bit_test(leaf.behaviour)
        return f"NOT {test}" if leaf.negation else test

    def _member_of(self, leaf: StaticMembership) -> str:
        if self._is_new(leaf.cohort_id):
            bit = self._new_bit(leaf.cohort_id)
            self.inputs.append(leaf.cohort_id)
            add = self.bindings.add
            run, cohort = add(self._moment.run, "UUID"), add(leaf.cohort_id, "UInt64")
            self._passes.append(_MEMBERS.format(bit=1 << bit, run=run, cohort=cohort))
        test = self._bit_test(leaf.cohort_id)
        return f"NOT {test}" if leaf.negation else test

    def _persons_pass(self) -> str:
        bits = [f"if({self._property_tree(tree)}, {1 << bit}, 0)" for tree, bit in self._on_persons]
        total = bits[0] if bits else "0"
        for bit_of_tree in bits[1:]:
            total = f"bitOr({total}, {bit_of_tree})"
        return _PERSONS.format(bits=f"toUInt64({total})", project=self.project)

    def _property_tree(self, tree: Tree) -> str:
        if isinstance(tree, Combination):
            return _joined(tree.type, [self._property_tree(child) for child in tree.children])
        if isinstance(tree, Property):
            return property_condition(tree, self.bindings, self._moment.now)
        return "0"

    def _is_new(self, condition: object) -> bool:
        return repr(condition) not in self._bits

    def _new_bit(self, condition: object) -> int:
        if len(self._bits) >= BITS_MAX:
            raise CriteriaError(f"There are more than {BITS_MAX} conditions on events and cohorts.")
        return self._bits.setdefault(repr(condition), len(self._bits))

    def _bit_test(self, condition: object) -> str:
        return f"bitTest(groupBitOr(bits), {self._bits[repr(condition)]})"


def _is_on_properties(tree: Tree) -> bool:
    return all(isinstance(leaf, Property | NoPerson) for leaf in leaves(tree))


def _joined(kind: str, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({f' {kind} '.join(parts)})"
