"""A release condition, read from a request, and the ClickHouse statement that counts its persons.

A cohort that is defined by properties is compared live. For a static cohort, and one with events,
the members of the last calculation count, which are in `cohort_inputs`.

Source: flags.md sections 5, 7 and 15.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from fanion.errors import Invalid
from fanion.flags.definitions.validation.conditions import value_kind
from fanion.flags.definitions.validation.filters import OF_CONDITION_SET
from fanion.flags.definitions.validation.parts import conditions
from fanion.flags.definitions.validation.posthog_fields import OF_FLAG
from fanion.flags.engine.conditions import COHORT_DEPTH_MAX, CohortDefinition, ProjectCohorts
from fanion.properties.bindings import Bindings
from fanion.properties.condition_sql import property_condition
from fanion.properties.filters import (
    COHORT_TYPES,
    Behavioral,
    ConditionGroup,
    FlagIs,
    InCohort,
    Leaf,
    Node,
    Property,
    leaves,
    parse_leaf,
)
from fanion.properties.match import (
    Moment,
    PropertyTest,
    all_of,
    always,
    any_of,
    never,
    property_test,
)
from fanion.properties.operators import CONDITION_FIELDS, GROUP_TYPE_INDEX_MAX
from fanion.rest.unknown_fields import CREDENTIAL_NAMES, require_known

LEAVES_MAX = 200
# A cohort that is reached on two paths is written out twice; this bounds that growth.
CONDITIONS_MAX = 1_000

_COUNT = """
  SELECT count(), countIf({condition})
    FROM persons FINAL
   WHERE project_id = {project}
"""
_MEMBER = (
    "person_id IN (SELECT person_id FROM cohort_inputs WHERE run = {run} AND cohort_id = {cohort})"
)

_GROUP_KEY = "$group_key"


@dataclass(frozen=True, slots=True)
class Reach:
    """The release conditions to count.

    Attributes:
        conditions: One of them must match, that is, all its leaves.
        group_type_index: None to count persons.
    """

    conditions: Sequence[Sequence[Leaf]]
    group_type_index: int | None

    @property
    def leaves(self) -> Sequence[Leaf]:
        return list(chain.from_iterable(self.conditions))

    def group_test(self) -> PropertyTest:
        """Return the test for a group's properties, which include its key as `$group_key`."""
        tests = [_group_test(condition) for condition in self.conditions]
        return any_of(tests) if tests else never


@dataclass(frozen=True, slots=True)
class CountStatement:
    """A statement that returns one row: the number of persons, and how many of them match."""

    text: str
    parameters: Mapping[str, Any]


@dataclass(slots=True)
class _Now:
    now: datetime


def moment_at(now: datetime) -> Moment:
    return _Now(now)


def _group_test(leaves: Sequence[Leaf]) -> PropertyTest:
    tests = [property_test(leaf) for leaf in leaves if isinstance(leaf, Property)]
    return all_of(tests) if tests else always


def read_reach(body: object, flag_fields: Sequence[str]) -> Reach:
    """Read one `condition`, or the writable fields of a flag.

    Args:
        flag_fields: The names of a flag's writable fields.

    Raises:
        Invalid: The body cannot be read.
    """
    if not isinstance(body, dict):
        raise _missing_condition()
    known = {"condition", "group_type_index"}.union(flag_fields, OF_FLAG)
    require_known((name for name in body if name not in CREDENTIAL_NAMES), known)
    if "condition" in body:
        if "filters" in body:
            raise Invalid("Send either condition or filters, not both.", attr="filters")
        condition = {} if body["condition"] is None else body["condition"]
        return _reach([condition], body.get("group_type_index"), "condition")
    if body.keys().isdisjoint(flag_fields):
        raise _missing_condition()
    return _reach_of_flag(body)


def _missing_condition() -> Invalid:
    return Invalid("Missing condition for which to get blast radius")


def _reach_of_flag(body: dict[str, Any]) -> Reach:
    filters = {} if body.get("filters") is None else body["filters"]
    if not isinstance(filters, dict):
        raise Invalid("The filters must be an object.", attr="filters")
    # Older filters without groups stand for one group.
    groups = filters.get("groups", [{"properties": filters.get("properties")}])
    if not isinstance(groups, list):
        raise Invalid("groups must be a list", attr="filters")
    own, sent = filters.get("aggregation_group_type_index"), body.get("group_type_index")
    if sent is not None and sent != own:
        raise Invalid(
            "Must equal aggregation_group_type_index of the filters, or be omitted.",
            attr="group_type_index",
        )
    return _reach(groups, own, "filters")


def _reach(conditions: list[Any], raw_index: object, attr: str) -> Reach:
    """Read the conditions from the field `attr`."""
    raw = [_properties(condition, attr) for condition in conditions]
    for name, count in (("properties", sum(map(len, raw))), ("groups", len(raw))):
        if count > LEAVES_MAX:
            raise Invalid(f"Ensure there are at most {LEAVES_MAX} {name}, not {count}.", attr=attr)
    index = _group_type_index(raw_index, attr)
    parsed = [[_parsed(leaf, attr) for leaf in leaves] for leaves in raw]
    for position, group in enumerate(raw):
        at = attr if attr == "condition" else f"{attr}__groups__{position}"
        for number, leaf in enumerate(group):
            _check_operator(leaf, f"{at}__properties__{number}")
    for leaf in chain.from_iterable(parsed):
        _check_leaf(leaf, index, attr)
    return Reach(parsed, index)


def _require_known_names(condition: Mapping[str, Any], attr: str) -> None:
    """Raise Invalid for an unknown name: with a misspelt name every person would count."""
    require_known(condition, OF_CONDITION_SET, attr)
    for leaf, at in conditions(condition, attr):
        require_known(leaf, CONDITION_FIELDS, at)


def _properties(condition: object, attr: str) -> list[Any]:
    if not isinstance(condition, dict):
        raise Invalid("The condition must be an object.", attr=attr)
    _require_known_names(condition, attr)
    raw = condition.get("properties")
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise Invalid("properties must be a list", attr=attr)
    return raw


def _parsed(raw: object, attr: str) -> Leaf:
    try:
        return parse_leaf(raw)
    except ValueError as error:
        raise Invalid(f"The condition cannot be read: {error}.", attr=attr) from None


def _check_operator(leaf: Mapping[str, Any], at: str) -> None:
    kind = str(leaf.get("type") or "person")
    if kind in COHORT_TYPES:
        value_kind(leaf, "cohort", at)
    elif kind not in ("flag", "behavioral"):
        value_kind(leaf, "person", at)


def _check_leaf(leaf: Leaf, index: int | None, attr: str) -> None:
    if isinstance(leaf, FlagIs | Behavioral):
        raise Invalid("Only properties and cohorts can be counted.", attr=attr)
    if index is None:
        if isinstance(leaf, Property) and leaf.type == "group":
            raise Invalid("Invalid group type index for feature flag condition.")
        return
    if isinstance(leaf, InCohort):
        raise Invalid("Invalid group type index for feature flag condition.")
    if leaf.group_type_index != index and leaf.key != _GROUP_KEY:
        raise Invalid("Invalid group type index for feature flag condition.")


def _group_type_index(raw: object, attr: str) -> int | None:
    if raw is None:
        return None
    if isinstance(raw, bool) or not isinstance(raw, int) or not 0 <= raw <= GROUP_TYPE_INDEX_MAX:
        field = "group_type_index" if attr == "condition" else attr
        raise Invalid("A valid integer is required.", attr=field)
    return raw


def stored_cohorts(condition_leaves: Sequence[Leaf], cohorts: ProjectCohorts) -> Sequence[int]:
    """Return the ids of the cohorts whose members the statement will look up, each once."""
    seen: dict[int, bool] = {}
    pending = list(condition_leaves)
    while pending:
        leaf = pending.pop()
        definition = cohorts.existing_cohort(leaf.cohort_id) if isinstance(leaf, InCohort) else None
        if definition is None or definition.id in seen:
            continue
        seen[definition.id] = cohorts.is_stored(definition)
        if not seen[definition.id] and definition.tree is not None:
            pending += leaves(definition.tree)
    return [cohort_id for cohort_id, is_stored in seen.items() if is_stored]


def count_statement(
    project_id: int,
    conditions: Sequence[Sequence[Leaf]],
    cohorts: ProjectCohorts,
    runs: Mapping[int, UUID],
    now: datetime,
) -> CountStatement:
    """Return the statement that counts the persons whom the conditions reach.

    Args:
        conditions: One of these conditions must match, that is, all its leaves.
        runs: Cohort id → the run under which the members of `stored_cohorts` were uploaded.

    Raises:
        ValueError: The criteria of a cohort cannot be tested live.
    """
    compiler = CountCompiler(cohorts, runs, now)
    clauses = [f"({' AND '.join(map(compiler.condition, leaves)) or '1'})" for leaves in conditions]
    text = _COUNT.format(
        condition=" OR ".join(clauses) or "0",
        project=compiler.bindings.add(project_id, "UInt64"),
    )
    return CountStatement(text, compiler.bindings.values)


class CountCompiler:
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
            return property_condition(node, self.bindings, self._now)
        if isinstance(node, InCohort):
            return self._cohort(node)
        raise ValueError("a cohort cannot depend on a flag")

    def _cohort(self, leaf: InCohort) -> str:
        definition = self._cohorts.existing_cohort(leaf.cohort_id)
        if definition is None:
            return "0"
        if definition.problem is not None:
            raise ValueError(f"cohort {definition.id}: {definition.problem}")
        condition = self._cohort_condition(definition)
        return f"(NOT {condition})" if leaf.negation else condition

    def _cohort_condition(self, definition: CohortDefinition) -> str:
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
