"""Whom a release condition would reach: what is asked.

source: flags.md section 15
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fanion.errors import Invalid
from fanion.flags.definition import GROUP_TYPE_INDEX_MAX
from fanion.properties.filters import Behavioral, FlagIs, InCohort, Leaf, Property, parse_leaf
from fanion.properties.match import PropertyTest, all_of, always, property_test

LEAVES_MAX = 200

_GROUP_KEY = "$group_key"


@dataclass(frozen=True, slots=True)
class Reach:
    """leaves: all of which must hold; group_type_index: None asks about persons"""

    leaves: Sequence[Leaf]
    group_type_index: int | None

    def group_test(self) -> PropertyTest:
        """Of a group's properties, with its key as `$group_key`."""
        tests = [property_test(leaf) for leaf in self.leaves if isinstance(leaf, Property)]
        return all_of(tests) if tests else always


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
    leaves = [_parsed(leaf) for leaf in raw]
    for leaf in leaves:
        _check(leaf, index)
    return Reach(leaves, index)


def _parsed(raw: object) -> Leaf:
    try:
        return parse_leaf(raw)
    except ValueError as error:
        raise Invalid(f"The condition cannot be read: {error}.", attr="condition") from None


def _check(leaf: Leaf, index: int | None) -> None:
    if isinstance(leaf, FlagIs | Behavioral):
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
