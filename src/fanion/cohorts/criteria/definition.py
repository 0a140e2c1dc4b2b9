"""The criteria of a cohort as clients write them: `filters`, the older `groups`, and their fields.

Source: cohorts.md sections 2, 3 and 9.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanion.errors import Invalid
from fanion.properties.filters import COHORT_TYPES, ConditionGroup, parse_tree

DAYS_DEFAULT = 365
MIXED = "Property list cannot contain both PropertyGroup and Property objects"
NAME_CHARS_MAX = 400
UNSAVED = 0  # no stored cohort has this id

# Field names that PostHog's API, clients and interface, of any version, write into a cohort, apart
# from those that the structs of `cohorts.schemas` declare.
# Source: PostHog's published schema and clients.

# Read-only fields that clients send back with a cohort.
_MAINTAINED = frozenset(
    {
        *("id", "team_id", "created_by", "created_at", "version", "pending_version"),
        *("is_calculating", "count", "last_calculation", "errors_calculating"),
        *("last_error_message", "last_error_at", "last_backfill_person_properties_at"),
        *("next_calculation", "cohort_type", "experiment_set", "user_access_level"),
    }
)
# The last one is sent by the interface; no result depends on it.
FIELDS_OF_COHORT = _MAINTAINED | {"_create_in_folder"}

FIELDS_OF_FILTERS = frozenset({"properties"})
FIELDS_OF_GROUP = frozenset({"type", "values", "id", "sort_key"})

# Fields of every condition without a meaning here: those that the interface writes, and those that
# PostHog compiles.
ACCOMPANYING = frozenset({"id", "sort_key", "label", "conditionHash", "bytecode", "bytecode_error"})

# Fields of a query for a static cohort. The unsupported ones would change which persons match.
FIELDS_OF_QUERY = frozenset({"kind", "properties", "tags", "version", "response", "modifiers"})
UNSUPPORTED_FIELDS_OF_QUERY = (
    *("source", "select", "search", "fixedProperties", "orderBy", "limit", "offset"),
)


class CriteriaError(ValueError):
    """An error in criteria that makes the cohort impossible to calculate.

    The message is stored with the cohort, for its authors.
    """


@dataclass(frozen=True, slots=True)
class Criteria:
    """The criteria of one cohort as stored.

    Attributes:
        filters: None when the cohort has only `groups`.
    """

    id: int
    name: str | None
    is_static: bool
    filters: Mapping[str, Any] | None
    groups: Sequence[Mapping[str, Any]]

    @property
    def effective_filters(self) -> dict[str, Any]:
        """The `filters` as sent, or the equivalent of `groups`."""
        return dict(self.filters) if self.filters else filters_of_groups(self.groups)

    def nested_ids(self) -> list[int]:
        """Return the ids of the cohorts that the criteria name directly."""
        return nested_ids(self.effective_filters)

    def tree(self) -> ConditionGroup:
        """Parse the criteria.

        Raises:
            ValueError: The criteria cannot be parsed; the message names the part.
        """
        return parse_tree(self.effective_filters.get("properties"))


def check_filters(filters: object) -> None:
    """Raise Invalid unless `filters` is an object with the key `properties`.

    Source: cohorts.md section 12.
    """
    if not isinstance(filters, dict) or "properties" not in filters:
        raise Invalid("Filters must be a dictionary with a 'properties' key.", attr="filters")


def nested_ids(filters: Mapping[str, Any]) -> list[int]:
    """Return the ids of the cohorts that the criteria name directly, each once, in order.

    Ids that are not numbers are skipped.
    """
    ids: dict[int, None] = {}
    for leaf in leaves_of(filters.get("properties")):
        kind = leaf.get("type")
        if isinstance(kind, str) and kind in COHORT_TYPES:
            number = _cohort_id(leaf.get("value"))
            if number is not None:
                ids[number] = None
    return list(ids)


def leaves_of(raw: object) -> Iterator[Mapping[str, Any]]:
    """Yield every condition of a tree, those of outer groups first."""
    for values in _lists(raw):
        for leaf in values:
            if isinstance(leaf, dict) and "values" not in leaf:
                yield leaf


def behavioral_ids(cohorts: Mapping[int, Criteria]) -> set[int]:
    """Return the ids of the cohorts whose members depend on events, directly or through others."""
    outer: dict[int, list[int]] = {}
    waiting: list[int] = []
    for cohort in cohorts.values():
        if cohort.is_static:
            continue
        criteria = cohort.effective_filters
        if any(leaf.get("type") == "behavioral" for leaf in leaves_of(criteria.get("properties"))):
            waiting.append(cohort.id)
        for nested in nested_ids(criteria):
            outer.setdefault(nested, []).append(cohort.id)
    ids = set(waiting)
    while waiting:
        for cohort_id in outer.get(waiting.pop(), ()):
            if cohort_id not in ids:
                ids.add(cohort_id)
                waiting.append(cohort_id)
    return ids


def reaches(nested: Sequence[int], cohort_id: int, others: Mapping[int, Criteria]) -> bool:
    """Return whether one of the nested cohorts is the cohort or depends on it."""
    seen: set[int] = set()
    waiting = list(nested)
    while waiting:
        nested_id = waiting.pop()
        if nested_id == cohort_id:
            return True
        if nested_id not in seen and nested_id in others and not others[nested_id].is_static:
            seen.add(nested_id)
            waiting += others[nested_id].nested_ids()
    return False


def dependent_ids(cohort_id: int, cohorts: Iterable[Criteria]) -> set[int]:
    """Return the ids of the cohort and of all whose members depend on it, at any depth.

    Args:
        cohorts: The project's cohorts that are not deleted.
    """
    inside = {cohort.id: cohort.nested_ids() for cohort in cohorts if not cohort.is_static}
    result, waiting = {cohort_id}, [cohort_id]
    while waiting:
        inner = waiting.pop()
        outer = {outer_id for outer_id, nested in inside.items() if inner in nested} - result
        result |= outer
        waiting += outer
    return result


def filters_of_groups(groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the `filters` that are equivalent to `groups`.

    Source: cohorts.md section 9, "Mapping to filters".
    """
    if not groups:
        return {"properties": {}}
    return {"properties": {"type": "OR", "values": [_group_of(entry) for entry in groups]}}


def exact_leaves(properties: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the conditions of the shortest form, an object of values by property."""
    return [{"key": key, "type": "person", "value": value} for key, value in properties.items()]


def _lists(raw: object) -> Iterator[list[Any]]:
    """Yield every list of values of a tree, outer lists first."""
    if isinstance(raw, dict):
        raw = raw.get("values")
    if isinstance(raw, list):
        yield raw
        for inner in raw:
            if isinstance(inner, dict) and "values" in inner:
                yield from _lists(inner)


def _cohort_id(value: object) -> int | None:
    try:
        if isinstance(value, int | str) and not isinstance(value, bool):
            return int(value)
    except ValueError:
        pass
    return None


def _group_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    properties = entry.get("properties")
    if properties:
        return _property_group(properties)
    return {"type": "AND", "values": [_behavioral(entry)]}


def _property_group(properties: object) -> dict[str, Any]:
    if isinstance(properties, dict):
        if "values" in properties:
            values = properties["values"]
            if isinstance(values, list):  # anything else is refused when the criteria are parsed
                values = [_as_person(value) for value in values]
            return {"type": properties.get("type") or "AND", "values": values}
        properties = exact_leaves(properties)
    leaves = properties if isinstance(properties, list) else []
    return {"type": "AND", "values": [_as_person(leaf) for leaf in leaves]}


def _as_person(leaf: object) -> object:
    """Turn an older condition without a type, or of type `event`, into one on the person."""
    if not isinstance(leaf, dict):
        return leaf
    if "values" in leaf:
        return _property_group(leaf)
    return {**leaf, "type": "person"} if leaf.get("type") in (None, "", "event") else leaf


def _behavioral(entry: Mapping[str, Any]) -> dict[str, Any]:
    event, action = entry.get("event_id"), entry.get("action_id")
    count = _whole(entry.get("count"))
    leaf: dict[str, Any] = {
        "key": event or action,
        "type": "behavioral",
        "event_type": "events" if event else "actions",
        "time_value": entry.get("days") or DAYS_DEFAULT,
        "time_interval": "day",
    }
    if count > 0:
        leaf["value"] = "performed_event_multiple"
        leaf["operator"] = entry.get("count_operator") or "eq"
        leaf["operator_value"] = count
    else:
        leaf["value"] = "performed_event"
        leaf["operator_value"] = 0
    return leaf


def _whole(value: object) -> int:
    try:
        return int(value) if isinstance(value, int | float | str) else 0
    except (ValueError, OverflowError):
        return 0
