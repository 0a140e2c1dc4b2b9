"""Groups: their types, and the changes that events make to their properties."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Any

import msgspec

from fanion.events.event import GroupRow
from fanion.properties.size import (
    PROPERTIES_BYTES_MAX,
    SizedProperties,
    bytes_after,
    changed_properties,
    is_size_allowed,
)

GROUP_TYPES_MAX = 5
GROUP_TEXT_MAX = 400  # characters of a type or a key

_encode = msgspec.json.Encoder().encode


class GroupIdentify(msgspec.Struct, frozen=True):
    """A `$groupidentify` event.

    Attributes:
        properties: Merged over the stored ones.
        timestamp: An aware time in UTC.
    """

    group_type: str
    group_key: str
    properties: Mapping[str, Any]
    timestamp: datetime


@dataclass(slots=True, eq=False)
class GroupState(SizedProperties):
    """A group in memory.

    Attributes:
        version: The stored version; 0 for a new group.
    """

    properties: dict[str, Any]
    created_at: datetime
    version: int
    _bytes: int | None = field(default=None, repr=False)


def read_groups(value: object) -> Mapping[str, str]:
    """Return the keys in `properties.$groups` by type; invalid entries are left out.

    Source: capture.md section 5.
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
    """Return the `$groupidentify` of an event; None if its type or key is missing or too long."""
    group_type = text_of(properties.get("$group_type") or None)
    group_key = text_of(properties.get("$group_key") or None)
    if not (0 < len(group_type) <= GROUP_TEXT_MAX and 0 < len(group_key) <= GROUP_TEXT_MAX):
        return None
    group_set = properties.get("$group_set")
    given = group_set if isinstance(group_set, dict) else {}
    return GroupIdentify(group_type, group_key, given, timestamp)


def new_types(known: Mapping[str, int], named: Iterable[str]) -> dict[str, int]:
    """Return the indexes of group types that are seen for the first time, in the order seen.

    Each is given the next free index from 0 to 4; a sixth type is given none.
    """
    free = [index for index in range(GROUP_TYPES_MAX) if index not in known.values()]
    unseen = [name for name in dict.fromkeys(named) if name not in known]
    return dict(zip(unseen, free, strict=False))


def group_columns(groups: Mapping[str, str], types: Mapping[str, int]) -> dict[str, str]:
    """Return the key of every group of a known type, by the name `$group_<index>`."""
    return {f"$group_{types[name]}": key for name, key in groups.items() if name in types}


class GroupChange(Enum):
    """The effect of a `$groupidentify` on a group.

    TOO_LARGE means none, because the properties would exceed the limit.
    """

    NONE = auto()
    MADE = auto()
    TOO_LARGE = auto()


def merge_group(
    group: GroupState, identify: GroupIdentify, bytes_max: int = PROPERTIES_BYTES_MAX
) -> GroupChange:
    """Apply a `$groupidentify` to a group.

    For each property the last one processed wins; timestamps do not matter.

    Source: capture.md section 5.
    """
    put = changed_properties(group.properties, identify.properties)
    if not put:
        return GroupChange.NONE
    size = bytes_after(group.properties_bytes, group.properties, put)
    if not is_size_allowed(size, group.properties_bytes, bytes_max):
        return GroupChange.TOO_LARGE
    group.properties.update(put)
    group.properties_bytes = size
    return GroupChange.MADE


def new_group(identify: GroupIdentify) -> GroupState:
    """Return a group without properties, created at the time of the event."""
    return GroupState({}, identify.timestamp, 0)


def group_row(project_id: int, index: int, key: str, group: GroupState) -> GroupRow:
    """Return the row of a group as the event store mirrors it."""
    return GroupRow(
        project_id,
        index,
        key,
        _encode(group.properties),
        group.created_at,
        group.version,
        values=group.properties,
    )


def text_of(value: object) -> str:
    """Return a type or key as text: "" for null, false and empty values."""
    if type(value) is str:
        return value.replace("\0", "\ufffd")
    if not value and (value is False or not isinstance(value, int | float)):
        return ""
    return _encode(value).decode()
