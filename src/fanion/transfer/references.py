"""References inside filters, converted from ids of an installation to names, and back.

Flags and cohorts refer to cohorts, flags and group types in trees of conditions; insights refer to
them anywhere in their filters. Payloads and variants of flags are user data and stay unchanged.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanion.actions.references import action_places
from fanion.flags.engine.definition import parse_rules
from fanion.properties.filters import COHORT_TYPES, SEGMENT
from fanion.transfer.document import CohortEntry, FlagEntry

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
    """Names by id, of one installation.

    Attributes:
        flags: Keys by id in decimal and by key, since a condition may contain either.
        named: Ids of the cohorts that were referred to so far.
        missing: Generated keys of cohorts that were referred to and are not in `cohorts`.
        actions: Without deleted ones, like the segments.
    """

    cohorts: Mapping[int, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    group_types: Mapping[int, str] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)
    missing: dict[int, str] = field(default_factory=dict)
    actions: Mapping[int, str] = field(default_factory=dict)
    segments: Mapping[int, str] = field(default_factory=dict)

    def named_part(self, part: dict[str, Any]) -> dict[str, Any]:
        kind = part.get("type")
        if isinstance(kind, str) and kind in COHORT_TYPES:
            cohort_id = _number(part.get("value"))
            if cohort_id is not None:
                part["value"] = {"cohort": self._cohort(cohort_id)}
        elif kind == "flag" and isinstance(part.get("key"), int | str):
            part["key"] = {"flag": self.flags.get(str(part["key"]))}
        elif kind == SEGMENT:
            segment_id = _number(part.get("value"))
            if segment_id is not None:
                part["value"] = {"segment": self.segments.get(segment_id)}
        for name in GROUP_TYPE_FIELDS:
            group_type = self.group_types.get(_number(part.get(name), -1))
            if group_type is not None:
                part[name] = {"group_type": group_type}
        if part.get("breakdown_type") == "cohort":
            part["breakdown"] = _each(part.get("breakdown"), self._named_number)
        for place, field_name in action_places(part):
            action_id = _number(place.get(field_name))
            if action_id is not None:
                place[field_name] = {"action": self.actions.get(action_id)}
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
    """Ids by name, of one installation.

    Attributes:
        flags: Ids in decimal.
    """

    cohorts: Mapping[str, int] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    group_types: Mapping[str, int] = field(default_factory=dict)
    actions: Mapping[str, int] = field(default_factory=dict)
    segments: Mapping[str, int] = field(default_factory=dict)

    def numbered_part(self, part: dict[str, Any]) -> dict[str, Any]:
        """Replace the names in an object of a condition by ids.

        Raises:
            ValueError: The object refers to something that is not in the document.
        """
        kind = part.get("type")
        if isinstance(kind, str) and kind in COHORT_TYPES:
            if _number(part.get("value")) is not None:
                raise ValueError(
                    f'cohort {part["value"]} must be given by key, as {{"cohort": "…"}}'
                )
            if "value" in part:
                part["value"] = _found(part["value"], "cohort", self.cohorts)
        elif kind == "flag" and "key" in part:
            part["key"] = self._flag(part["key"])
        elif kind == SEGMENT and "value" in part:
            part["value"] = self._segment(part["value"])
        for name in GROUP_TYPE_FIELDS:
            if name in part:
                part[name] = _found(part[name], "group_type", self.group_types)
        if part.get("breakdown_type") == "cohort":
            part["breakdown"] = _each(
                part.get("breakdown"), lambda value: _found(value, "cohort", self.cohorts)
            )
        for place, field_name in action_places(part):
            if place.get(field_name) is not None:
                place[field_name] = self._action(place[field_name])
        return part

    def _action(self, named: Any) -> Any:
        """Return the id of an action; 0, which no action has, for one that does not exist."""
        if _number(named) is not None:
            raise ValueError(f'action {named} must be given by name, as {{"action": "…"}}')
        return 0 if named == {"action": None} else _found(named, "action", self.actions)

    def _segment(self, named: Any) -> Any:
        """Return the id of a segment; 0, which no segment has, for one that does not exist."""
        if _number(named) is not None:
            raise ValueError(f'segment {named} must be given by name, as {{"segment": "…"}}')
        return 0 if named == {"segment": None} else _found(named, "segment", self.segments)

    def _flag(self, key: Any) -> Any:
        """Return the id of a flag that a condition names.

        A condition may also contain the plain key, as SDKs receive it.
        """
        if key == {"flag": None}:  # a flag that does not exist
            return ""
        if isinstance(key, str | int):
            key = {"flag": str(key)}
        return _found(key, "flag", self.flags)


def replace_ids(filters: Any, names: Names) -> Any:
    """Replace ids by names in the filters of a cohort or an insight."""
    return _rewritten(filters, names.named_part)


def replace_names(filters: Any, ids: Ids) -> Any:
    """Replace names by ids in the filters of a cohort or an insight.

    Raises:
        ValueError: The filters refer to something that is not in the document.
    """
    return _rewritten(filters, ids.numbered_part)


def replace_ids_in_flag(filters: Mapping[str, Any], names: Names) -> dict[str, Any]:
    return _flag_rewritten(filters, names.named_part)


def replace_names_in_flag(filters: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
    """Replace names by ids in the filters of a flag.

    Raises:
        ValueError: The filters refer to something that is not in the document.
    """
    return _flag_rewritten(filters, ids.numbered_part)


def _flag_rewritten(filters: Mapping[str, Any], change: Change) -> dict[str, Any]:
    own = "aggregation_group_type_index"
    top = change({own: filters[own]}) if own in filters else {}
    conditions = {
        name: _rewritten(filters[name], change) for name in _CONDITIONS_OF_FLAG if name in filters
    }
    # The keys keep their order.
    return {**filters, **top, **conditions}


def _rewritten(value: Any, change: Change) -> Any:
    """Return a copy in which every object is changed after those inside it."""
    if isinstance(value, dict):
        return change({name: _rewritten(inner, change) for name, inner in value.items()})
    if isinstance(value, list):
        return [_rewritten(inner, change) for inner in value]
    return value


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    return [change(item) for item in value] if isinstance(value, list) else change(value)


def _number(value: object, otherwise: Any = None) -> Any:
    """Return an id or index as clients send it."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return otherwise
    try:
        return int(value)
    except ValueError:
        return otherwise


def _found(value: Any, kind: str, known: Mapping[str, Any]) -> Any:
    """Return the id that a reference names; other values stay.

    The validation of flags and cohorts decides about other values.
    """
    if not isinstance(value, dict) or value.keys() != {kind}:
        return value
    name = value[kind]
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"{kind.replace('_', ' ')} {name!r} is not in the document")
    return known[name]


def looping_cohorts(cohorts: Sequence[CohortEntry]) -> set[str]:
    """Return the keys of cohorts that refer to themselves, directly or through others."""
    inside = {
        cohort.key: {*cohorts_named(cohort.filters), *cohorts_named(cohort.groups)}
        for cohort in cohorts
    }
    return {key for key in inside if _reaches(key, inside)}


def looping_flags(flags: Sequence[FlagEntry], ids: Ids) -> set[str]:
    """Return the keys of flags that depend on themselves; an inactive flag depends on nothing."""
    keys = {ids.flags[flag.key]: flag.key for flag in flags}
    inside = {
        flag.key: {keys.get(name, name) for name in _flags_named(flag, ids)} for flag in flags
    }
    return {key for key in inside if _reaches(key, inside)}


def _flags_named(flag: FlagEntry, ids: Ids) -> Sequence[str]:
    if not flag.active:
        return ()
    try:
        return parse_rules(replace_names_in_flag(flag.filters, ids)).flags_named()
    except ValueError:  # reported separately
        return ()


def _reaches(key: str, inside: Mapping[str, set[str]]) -> bool:
    seen: set[str] = set()
    waiting = list(inside[key])
    while waiting:
        current = waiting.pop()
        if current == key:
            return True
        if current not in seen:
            seen.add(current)
            waiting += inside.get(current, ())
    return False


def cohorts_named(value: Any) -> Iterator[str]:
    """Yield the keys of cohorts that the criteria of a cohort refer to."""
    if isinstance(value, dict):
        reference = value.get("value")
        kind = value.get("type")
        if isinstance(kind, str) and kind in COHORT_TYPES and isinstance(reference, dict):
            yield str(reference.get("cohort"))
        for inner in value.values():
            yield from cohorts_named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from cohorts_named(inner)
