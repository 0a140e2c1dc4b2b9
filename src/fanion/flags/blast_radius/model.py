"""Whom a release condition would reach: what is asked.

source: flags.md section 15
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from fanion.errors import Invalid
from fanion.flags.validation.filters import conditions
from fanion.flags.validation.posthog_fields import OF_FLAG, OF_GROUP, OF_PROPERTY
from fanion.properties.filters import Behavioral, FlagIs, InCohort, Leaf, Property, parse_leaf
from fanion.properties.match import PropertyTest, all_of, always, any_of, never, property_test
from fanion.properties.operators import GROUP_TYPE_INDEX_MAX
from fanion.rest.unknown_fields import CREDENTIAL_NAMES, require_known

LEAVES_MAX = 200

_GROUP_KEY = "$group_key"


@dataclass(frozen=True, slots=True)
class Reach:
    """conditions: of which one must hold; all leaves of it must
    group_type_index: None asks about persons
    """

    conditions: Sequence[Sequence[Leaf]]
    group_type_index: int | None

    @property
    def leaves(self) -> Sequence[Leaf]:
        return list(chain.from_iterable(self.conditions))

    def group_test(self) -> PropertyTest:
        """Of a group's properties, with its key as `$group_key`."""
        tests = [_group_test(condition) for condition in self.conditions]
        return any_of(tests) if tests else never


def _group_test(leaves: Sequence[Leaf]) -> PropertyTest:
    tests = [property_test(leaf) for leaf in leaves if isinstance(leaf, Property)]
    return all_of(tests) if tests else always


def read_reach(body: object, flag_fields: Sequence[str]) -> Reach:
    """Of one `condition`, or of a flag as it is written.

    flag_fields: the names of a flag's writable fields
    raises:      Invalid
    """
    if not isinstance(body, dict):
        raise _missing()
    known = {"condition", "group_type_index"}.union(flag_fields, OF_FLAG)
    require_known((name for name in body if name not in CREDENTIAL_NAMES), known)
    if "condition" in body:
        if "filters" in body:
            raise Invalid("Send either condition or filters, not both.", attr="filters")
        condition = {} if body["condition"] is None else body["condition"]
        return _reach([condition], body.get("group_type_index"), "condition")
    if body.keys().isdisjoint(flag_fields):
        raise _missing()
    return _reach_of_flag(body)


def _missing() -> Invalid:
    return Invalid("Missing condition for which to get blast radius")


def _reach_of_flag(body: dict[str, Any]) -> Reach:
    filters = {} if body.get("filters") is None else body["filters"]
    if not isinstance(filters, dict):
        raise Invalid("The filters must be an object.", attr="filters")
    # Filters without groups are the one group that they mean.
    groups = filters.get("groups", [{"properties": filters.get("properties")}])
    if not isinstance(groups, list):
        raise Invalid("groups must be a list", attr="filters")
    own, sent = filters.get("aggregation_group_type_index"), body.get("group_type_index")
    if sent is not None and sent != own:
        raise Invalid(
            "Must equal aggregation_group_type_index of the filters, or be left out.",
            attr="group_type_index",
        )
    return _reach(groups, own, "filters")


def _reach(conditions: list[Any], raw_index: object, attr: str) -> Reach:
    """attr: the field that the conditions come from"""
    raw = [_properties(condition, attr) for condition in conditions]
    if sum(map(len, raw)) > LEAVES_MAX:
        raise Invalid(f"There are more than {LEAVES_MAX} properties.", attr=attr)
    if len(raw) > LEAVES_MAX:
        raise Invalid(f"There are more than {LEAVES_MAX} groups.", attr=attr)
    index = _group_type_index(raw_index, attr)
    parsed = [[_parsed(leaf, attr) for leaf in leaves] for leaves in raw]
    for leaf in chain.from_iterable(parsed):
        _check(leaf, index, attr)
    return Reach(parsed, index)


def _require_known_names(condition: Mapping[str, Any], attr: str) -> None:
    """A misspelt name would count everyone. raises: Invalid"""
    require_known(condition, OF_GROUP, attr)
    for leaf, at in conditions(condition, attr):
        require_known(leaf, OF_PROPERTY, at)


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


def _check(leaf: Leaf, index: int | None, attr: str) -> None:
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
