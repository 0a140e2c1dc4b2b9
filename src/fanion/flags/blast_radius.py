"""Whom a release condition would reach: what is asked, and how it is put to the stores.

source: flags.md section 15
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from fanion.cohorts.definition import Criteria
from fanion.errors import Invalid
from fanion.flags.definition import GROUP_TYPE_INDEX_MAX
from fanion.properties.dates import parse_relative
from fanion.properties.filters import (
    Behavioral,
    FlagIs,
    Group,
    InCohort,
    Leaf,
    Node,
    Property,
    leaves,
    parse_leaf,
)
from fanion.properties.match import PropertyTest, all_of, always, property_test

LEAVES_MAX = 200

_GROUP_KEY = "$group_key"
_DATED = frozenset({"is_date_before", "is_date_after", "is_date_exact"})
# No cohort that is stored has it.
_UNSAVED = 0
# Holds for everybody: a cohort's criteria may not consist of negations alone, a flag's may.
_EVERYBODY = {"key": "$fanion_everybody", "type": "person", "operator": "is_not_set"}


@dataclass(frozen=True, slots=True)
class Reach:
    """leaves: as sent, all of which must hold; group_type_index: None asks about persons"""

    leaves: Sequence[Mapping[str, Any]]
    group_type_index: int | None

    def criteria(self, now: datetime) -> Criteria:
        """The same as the criteria of a cohort."""
        values = [_as_person(leaf, now) for leaf in self.leaves]
        tree = {"type": "AND", "values": [*values, _EVERYBODY]}
        return Criteria(_UNSAVED, None, False, {"properties": tree}, ())

    def group_test(self) -> PropertyTest:
        """Of a group's properties, with its key as `$group_key`."""
        tests = [property_test(leaf) for leaf in self._parsed() if isinstance(leaf, Property)]
        return all_of(tests) if tests else always

    def _parsed(self) -> Iterable[Leaf]:
        return (_parsed(leaf) for leaf in self.leaves)


def read_reach(body: object) -> Reach:
    """raises: Invalid"""
    if not isinstance(body, dict) or "condition" not in body:
        raise Invalid("Missing condition for which to get blast radius")
    condition = {} if body["condition"] is None else body["condition"]
    if not isinstance(condition, dict):
        raise Invalid("The condition must be an object.", attr="condition")
    raw = condition.get("properties")
    raw = [] if raw is None else raw
    if not isinstance(raw, list):
        raise Invalid("properties must be a list", attr="condition")
    if len(raw) > LEAVES_MAX:
        raise Invalid(f"There are more than {LEAVES_MAX} properties.", attr="condition")
    index = _group_type_index(body.get("group_type_index"))
    for leaf in raw:
        _check(_parsed(leaf), index)
    return Reach(raw, index)


def by_last_calculation(cohorts: Iterable[Criteria]) -> dict[int, Criteria]:
    """As flags ask for them: who did something is looked up, who has something is compared."""
    return {one.id: replace(one, is_static=True) if _is_on_events(one) else one for one in cohorts}


def _is_on_events(criteria: Criteria) -> bool:
    try:
        tree: Node = criteria.tree()
    except ValueError:
        return False
    return any(isinstance(leaf, Behavioral) for leaf in leaves(tree))


def _parsed(raw: object) -> Leaf:
    try:
        return parse_leaf(raw)
    except ValueError as error:
        raise Invalid(f"The condition cannot be read: {error}.", attr="condition") from None


def _check(leaf: Node, index: int | None) -> None:
    if isinstance(leaf, FlagIs | Behavioral | Group):
        raise Invalid("Only properties and cohorts can be counted.", attr="condition")
    if index is None:
        if isinstance(leaf, Property) and leaf.type == "group":
            raise Invalid("Invalid group type index for feature flag condition.")
        return
    if isinstance(leaf, InCohort):
        raise Invalid("Invalid group type index for feature flag condition.")
    if leaf.group_type_index != index and leaf.key != _GROUP_KEY:
        raise Invalid("Invalid group type index for feature flag condition.")


def _group_type_index(raw: object) -> int | None:
    if raw is None:
        return None
    if isinstance(raw, bool) or not isinstance(raw, int) or not 0 <= raw <= GROUP_TYPE_INDEX_MAX:
        raise Invalid("A valid integer is required.", attr="group_type_index")
    return raw


def _as_person(raw: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
    """Without a type it is a person's; dates that count back from now are written out."""
    leaf = dict(raw)
    if leaf.get("type") in (None, "", "event"):
        leaf["type"] = "person"
    value = leaf.get("value")
    operator = leaf.get("operator")
    if isinstance(operator, str) and operator in _DATED and isinstance(value, str):
        ago = parse_relative(value)
        if ago is not None:
            leaf["value"] = ago.before(now).isoformat()
    return leaf
