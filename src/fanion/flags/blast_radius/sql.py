"""A release condition as one ClickHouse statement that counts persons as evaluation decides them.

A cohort on properties is compared live; of a static one, and of one on events, the members of
the last calculation count, which lie in `cohort_inputs`.

source: flags.md sections 5, 7 and 15
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from fanion.flags.engine.conditions import COHORT_DEPTH_MAX, CohortDefinition, ProjectCohorts
from fanion.properties.cohort_sql import Bindings
from fanion.properties.filters import ConditionGroup, InCohort, Leaf, Node, Property, leaves
from fanion.properties.flag_sql import flag_condition

# Two paths to one cohort write it out twice: this bounds what many diamonds may grow to.
CONDITIONS_MAX = 1_000

_COUNT = """
  SELECT count(), countIf({condition})
    FROM persons FINAL
   WHERE project_id = {project}
"""
_MEMBER = (
    "person_id IN (SELECT person_id FROM cohort_inputs WHERE run = {run} AND cohort_id = {cohort})"
)


@dataclass(frozen=True, slots=True)
class CountStatement:
    """Of one row: how many persons there are, and how many the condition reaches."""

    text: str
    parameters: Mapping[str, Any]


def stored_cohorts(asked: Sequence[Leaf], cohorts: ProjectCohorts) -> Sequence[int]:
    """Ids of the cohorts whose members the statement will look up, each once."""
    seen: dict[int, bool] = {}
    waiting = list(asked)
    while waiting:
        leaf = waiting.pop()
        found = cohorts.existing(leaf.cohort_id) if isinstance(leaf, InCohort) else None
        if found is None or found.id in seen:
            continue
        seen[found.id] = cohorts.is_stored(found)
        if not seen[found.id] and found.tree is not None:
            waiting += leaves(found.tree)
    return [cohort_id for cohort_id, is_stored in seen.items() if is_stored]


def count_statement(
    project_id: int,
    asked: Sequence[Sequence[Leaf]],
    cohorts: ProjectCohorts,
    runs: Mapping[int, UUID],
    now: datetime,
) -> CountStatement:
    """asked: conditions of which one must hold; all leaves of it must
    runs:  under which the members of `stored_cohorts` lie

    raises: ValueError when the criteria of a cohort have no live answer
    """
    compiler = _CountCompiler(cohorts, runs, now)
    conditions = [f"({' AND '.join(map(compiler.condition, leaves)) or '1'})" for leaves in asked]
    text = _COUNT.format(
        condition=" OR ".join(conditions) or "0",
        project=compiler.bindings.add(project_id, "UInt64"),
    )
    return CountStatement(text, compiler.bindings.values)


class _CountCompiler:
    def __init__(self, cohorts: ProjectCohorts, runs: Mapping[int, UUID], now: datetime) -> None:
        self.bindings = Bindings()
        self._cohorts = cohorts
        self._runs = runs
        self._now = now
        self._inside: list[int] = []
        self._conditions = 0

    def condition(self, node: Node) -> str:
        if isinstance(node, Property):
            self._conditions += 1
            if self._conditions > CONDITIONS_MAX:
                raise ValueError(f"there are more than {CONDITIONS_MAX} conditions")
            return flag_condition(node, self.bindings, self._now)
        if isinstance(node, InCohort):
            return self._cohort(node)
        raise ValueError("a cohort cannot depend on a flag")

    def _cohort(self, leaf: InCohort) -> str:
        definition = self._cohorts.existing(leaf.cohort_id)
        if definition is None:
            return "0"
        if definition.problem is not None:
            raise ValueError(f"cohort {definition.id}: {definition.problem}")
        found = self._found(definition)
        return f"(NOT {found})" if leaf.negation else found

    def _found(self, definition: CohortDefinition) -> str:
        if self._cohorts.is_stored(definition):
            run = self.bindings.add(self._runs[definition.id], "UUID")
            cohort = self.bindings.add(definition.id, "UInt64")
            return f"({_MEMBER.format(run=run, cohort=cohort)})"
        if definition.id in self._inside:
            raise ValueError(f"cohort {definition.id} contains itself")
        if len(self._inside) >= COHORT_DEPTH_MAX:
            raise ValueError(f"cohorts are nested deeper than {COHORT_DEPTH_MAX}")
        self._inside.append(definition.id)
        try:
            return "0" if definition.tree is None else self._tree(definition.tree)
        finally:
            self._inside.pop()

    def _tree(self, node: Node) -> str:
        if not isinstance(node, ConditionGroup):
            return self.condition(node)
        if not node.children:
            return "0"
        return f"({f' {node.type} '.join(self._tree(child) for child in node.children)})"
