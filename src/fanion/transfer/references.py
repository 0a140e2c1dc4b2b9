"""What filters refer to by number, in one installation, written by name, and back.

Flags and cohorts name cohorts, flags and group types inside trees of conditions; insights do so
anywhere in their filters. Payloads and variants of flags are the users' own and stay untouched.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fanion.properties.filters import COHORT_TYPES

GROUP_TYPE_FIELDS = (
    "group_type_index",
    "aggregation_group_type_index",
    "breakdown_group_type_index",
    "math_group_type_index",
)
_CONDITIONS_OF_FLAG = ("groups", "super_groups", "holdout_groups", "properties")

Change = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class Names:
    """Of one installation, from its numbers.

    flags:   by id in decimal and by key, since a condition may say either
    named:   the ids of cohorts that were met
    missing: of cohorts that were met and are not among `cohorts`, the keys made for them
    """

    cohorts: Mapping[int, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    group_types: Mapping[int, str] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)
    missing: dict[int, str] = field(default_factory=dict)

    def named_part(self, part: dict[str, Any]) -> dict[str, Any]:
        kind = part.get("type")
        if isinstance(kind, str) and kind in COHORT_TYPES:
            cohort_id = _number(part.get("value"))
            if cohort_id is not None:
                part["value"] = {"cohort": self._cohort(cohort_id)}
        elif kind == "flag" and isinstance(part.get("key"), int | str):
            part["key"] = {"flag": self.flags.get(str(part["key"]))}
        for name in GROUP_TYPE_FIELDS:
            group_type = self.group_types.get(_number(part.get(name), -1))
            if group_type is not None:
                part[name] = {"group_type": group_type}
        if part.get("breakdown_type") == "cohort":
            part["breakdown"] = _each(part.get("breakdown"), self._named_number)
        return part

    def _named_number(self, value: object) -> object:
        cohort_id = _number(value)
        return value if cohort_id is None else {"cohort": self._cohort(cohort_id)}

    def _cohort(self, cohort_id: int) -> str:
        self.named.add(cohort_id)
        known = self.cohorts.get(cohort_id)
        if known is None:
            known = self.missing.setdefault(cohort_id, self._unused(f"missing cohort {cohort_id}"))
        return known

    def _unused(self, key: str) -> str:
        while key in self.cohorts.values():
            key += "'"
        return key


@dataclass(frozen=True)
class Ids:
    """Of one installation, from names in a document. flags: in decimal"""

    cohorts: Mapping[str, int] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    group_types: Mapping[str, int] = field(default_factory=dict)

    def numbered_part(self, part: dict[str, Any]) -> dict[str, Any]:
        """raises: ValueError for what the document does not hold"""
        kind = part.get("type")
        if isinstance(kind, str) and kind in COHORT_TYPES:
            if _number(part.get("value")) is not None:
                raise ValueError(f'cohort {part["value"]} must be named: {{"cohort": its key}}')
            if "value" in part:
                part["value"] = _found(part["value"], "cohort", self.cohorts)
        elif kind == "flag" and "key" in part:
            part["key"] = self._flag(part["key"])
        for name in GROUP_TYPE_FIELDS:
            if name in part:
                part[name] = _found(part[name], "group_type", self.group_types)
        if part.get("breakdown_type") == "cohort":
            part["breakdown"] = _each(
                part.get("breakdown"), lambda value: _found(value, "cohort", self.cohorts)
            )
        return part

    def _flag(self, key: Any) -> Any:
        """A condition may hold the key alone, as SDKs get it."""
        if key == {"flag": None}:  # one that does not exist: not found under any id or key
            return ""
        if isinstance(key, str | int):
            key = {"flag": str(key)}
        return _found(key, "flag", self.flags)


def named(filters: Any, names: Names) -> Any:
    """Filters of a cohort or an insight, from numbers to names."""
    return _rewritten(filters, names.named_part)


def numbered(filters: Any, ids: Ids) -> Any:
    """The way back. raises: ValueError for what the document does not hold"""
    return _rewritten(filters, ids.numbered_part)


def named_flag(filters: Mapping[str, Any], names: Names) -> dict[str, Any]:
    return _flag_rewritten(filters, names.named_part)


def numbered_flag(filters: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
    """raises: ValueError for what the document does not hold"""
    return _flag_rewritten(filters, ids.numbered_part)


def _flag_rewritten(filters: Mapping[str, Any], change: Change) -> dict[str, Any]:
    own = "aggregation_group_type_index"
    top = change({own: filters[own]}) if own in filters else {}
    conditions = {
        name: _rewritten(filters[name], change) for name in _CONDITIONS_OF_FLAG if name in filters
    }
    # Keys stay in the order in which they were sent.
    return {**filters, **top, **conditions}


def _rewritten(value: Any, change: Change) -> Any:
    """A copy; every object in it is changed after what it holds."""
    if isinstance(value, dict):
        return change({name: _rewritten(one, change) for name, one in value.items()})
    if isinstance(value, list):
        return [_rewritten(one, change) for one in value]
    return value


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    return [change(one) for one in value] if isinstance(value, list) else change(value)


def _number(value: object, otherwise: Any = None) -> Any:
    """An id or index as clients write it."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return otherwise
    try:
        return int(value)
    except ValueError:
        return otherwise


def _found(value: Any, kind: str, known: Mapping[str, Any]) -> Any:
    """What is no reference stays, and is for the rules of flags and cohorts to judge."""
    if not isinstance(value, dict) or value.keys() != {kind}:
        return value
    name = value[kind]
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"{kind.replace('_', ' ')} {name!r} is not in the document")
    return known[name]
