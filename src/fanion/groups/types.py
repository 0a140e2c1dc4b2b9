"""Groups: what events say of them, their types, their properties."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

GROUP_TYPES_MAX = 5
GROUP_TEXT_MAX = 400  # characters of a type or a key

_encode = msgspec.json.Encoder().encode


class GroupIdentify(msgspec.Struct, frozen=True):
    """A `$groupidentify`: `properties` are merged over the stored ones; timestamp: aware, UTC."""

    group_type: str
    group_key: str
    properties: Mapping[str, Any]
    timestamp: datetime


@dataclass(slots=True, eq=False)
class GroupState:
    """A group in memory. version: as stored, 0 for a new one; the store writes one more."""

    properties: dict[str, Any]
    created_at: datetime
    version: int


def read_groups(value: object) -> Mapping[str, str]:
    """`properties.$groups`, type to key; what is no group is left out.

    source: capture.md section 5
    """
    if not isinstance(value, dict):
        return {}
    groups: dict[str, str] = {}
    for name, given in value.items():
        key = text_of(given)
        if 0 < len(key) <= GROUP_TEXT_MAX and 0 < len(name) <= GROUP_TEXT_MAX:
            groups[name.replace("\0", "\ufffd")] = key
    return groups


def read_group_identify(properties: Mapping[str, Any], timestamp: datetime) -> GroupIdentify | None:
    """None without a type or a key."""
    group_type = text_of(properties.get("$group_type") or None)
    group_key = text_of(properties.get("$group_key") or None)
    if not (0 < len(group_type) <= GROUP_TEXT_MAX and 0 < len(group_key) <= GROUP_TEXT_MAX):
        return None
    group_set = properties.get("$group_set")
    given = group_set if isinstance(group_set, dict) else {}
    return GroupIdentify(group_type, group_key, given, timestamp)


def new_types(known: Mapping[str, int], named: Iterable[str]) -> dict[str, int]:
    """The indexes that types get when they are seen for the first time, in the order seen.

    Each takes the next free index from 0 to 4; past the fifth a type gets none.
    """
    free = [index for index in range(GROUP_TYPES_MAX) if index not in known.values()]
    unseen = [name for name in dict.fromkeys(named) if name not in known]
    return dict(zip(unseen, free, strict=False))


def group_columns(groups: Mapping[str, str], types: Mapping[str, int]) -> dict[str, str]:
    """`$group_<index>` with the key, for every group of a known type."""
    return {f"$group_{types[name]}": key for name, key in groups.items() if name in types}


def merge_group(stored: GroupState | None, identify: GroupIdentify) -> tuple[GroupState, bool]:
    """The group after an identify, and whether it differs from the stored one.

    Per key the last one processed wins, timestamps do not matter.
    """
    if stored is None:
        return GroupState(dict(identify.properties), identify.timestamp, 0), True
    merged = {**stored.properties, **identify.properties}
    if _encode(merged) == _encode(stored.properties):
        return stored, False
    return GroupState(merged, stored.created_at, stored.version), True


def text_of(value: object) -> str:
    """A type or key as text: "" for null, false and what is empty."""
    if type(value) is str:
        return value.replace("\0", "\ufffd")
    if not value and (value is False or not isinstance(value, int | float)):
        return ""
    return _encode(value).decode()
